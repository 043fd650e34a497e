"""Patients' words stay at home: refused at plan, and nothing is sent, whichever part would have sent it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("plain_environment")

SECRET = "my brother Zyzzyva has a rash"


def prepared(tmp_path: Path) -> None:
    rows = [{"id": "1", "message": SECRET, "response": "Rest well.", "draft": "Rest."}] * 1
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def elsewhere(llm_servers: Any) -> Any:
    """A server whose address is not loopback: to pmbench it is a remote one, though the kernel keeps it here."""
    return llm_servers("0.0.0.0")


def untouched(server: Any, before: dict[str, Any]) -> None:
    """Not one connection more than what the test itself asked."""
    assert server.stats()["requests"] == before["requests"] == 0


GREETING = ["run", "-t", "greeting", "-d", "mine.jsonl"]
DRAFTING = ["run", "-t", "drafting-editf1", "-d", "mine.jsonl", "-m", "replay:@draft"]


@pytest.mark.parametrize("part", ["model", "judge", "theme judge", "embedder", "jobs", "anthropic", "google"])
def test_phi_never_leaves_and_the_part_that_would_send_it_is_named(
    pmbench, tmp_path: Path, elsewhere, part: str
) -> None:
    prepared(tmp_path)
    before = elsewhere.stats()
    chat = f"openai:m?base_url={elsewhere.v1}"
    asked = {
        "model": [*GREETING, "-m", chat],
        "judge": [*DRAFTING, "-j", f"content={chat}"],
        "theme judge": [*DRAFTING, "-j", f"theme={chat}"],
        "embedder": [*DRAFTING, "--embedder", f"openai:embed-m?base_url={elsewhere.v1}"],
        "jobs": [*GREETING, "-m", f"{chat}&batches=on", "--batch-api"],
        "anthropic": [*GREETING, "-m", f"anthropic:m?base_url={elsewhere.url}"],
        "google": [*GREETING, "-m", f"google:m?base_url={elsewhere.url}"],
    }[part]
    for allowed in ([], ["--allow-remote"]):
        done = pmbench(*asked, *allowed)
        assert done.returncode == 2, done.stdout
        assert "the data are phi and would be sent to http://" in done.stderr
        named = {"judge": "judge content", "theme judge": "judge theme", "embedder": "embedder"}
        assert f"({named.get(part, 'model')} " in done.stderr
        assert len(done.stderr.splitlines()) == 1 and SECRET not in done.stderr
    untouched(elsewhere, before)


def test_the_vendors_themselves_are_remote_with_or_without_a_key(pmbench, tmp_path: Path) -> None:
    prepared(tmp_path)
    for model in ("openai:gpt-4o", "anthropic:claude-sonnet-4-5", "google:gemini-2.5-pro", "gpt-4o"):
        done = pmbench(*GREETING, "-m", model)
        assert done.returncode == 2 and "the data are phi" in done.stderr


def test_proxies_of_the_environment_get_nothing(pmbench, tmp_path: Path, llm_server, elsewhere) -> None:
    prepared(tmp_path)
    proxies = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"), elsewhere.url)
    done = pmbench(*GREETING, "-m", f"openai:m?base_url={llm_server.v1}", env=proxies)
    assert done.returncode == 0, done.stderr
    assert llm_server.stats()["requests"] == 1
    assert elsewhere.stats()["requests"] == 0


def test_redirects_are_not_followed(pmbench, tmp_path: Path, llm_server, elsewhere) -> None:
    prepared(tmp_path)
    for status in (302, 307, 308):
        llm_server.control(
            faults=[{"kind": "redirect", "status": status, "to": f"{elsewhere.url}/v1/chat/completions"}]
        )
        done = pmbench(*GREETING, "-m", f"openai:m?base_url={llm_server.v1}", "--fresh")
        assert done.returncode == 2 and "redirect" in done.stderr
    assert elsewhere.stats()["requests"] == 0


def test_the_environment_cannot_name_another_server(pmbench, tmp_path: Path, llm_server, elsewhere) -> None:
    prepared(tmp_path)
    env = {
        "OPENAI_BASE_URL": elsewhere.v1,
        "ANTHROPIC_BASE_URL": elsewhere.url,
        "GOOGLE_GEMINI_BASE_URL": elsewhere.url,
    }
    for model in (
        f"openai:m?base_url={llm_server.v1}",
        f"anthropic:m?base_url={llm_server.url}",
        f"google:m?base_url={llm_server.url}",
    ):
        done = pmbench(*GREETING, "-m", model, env=env)
        assert done.returncode == 0, done.stderr
    assert llm_server.stats()["requests"] == 3
    assert elsewhere.stats()["requests"] == 0


def test_deidentified_needs_the_users_word_which_the_run_records(pmbench, tmp_path: Path, elsewhere) -> None:
    prepared(tmp_path)
    asked = [*GREETING, "-m", f"openai:m?base_url={elsewhere.v1}", "--sensitivity", "deidentified"]
    refused = pmbench(*asked)
    assert refused.returncode == 2 and "--allow-remote" in refused.stderr
    assert elsewhere.stats()["requests"] == 0
    allowed = pmbench(*asked, "--allow-remote")
    assert allowed.returncode == 0, allowed.stderr
    record = json.loads(next(tmp_path.glob("runs/greeting/*/*/run.json")).read_text())
    assert record["allow_remote"] is True
    assert record["remote"] == [f"model {asked[6]}: {elsewhere.url}"]


def test_public_data_may_go_anywhere_and_the_plan_says_where(pmbench, tmp_path: Path, elsewhere) -> None:
    prepared(tmp_path)
    done = pmbench(*GREETING, "-m", f"openai:m?base_url={elsewhere.v1}", "--sensitivity", "public")
    assert done.returncode == 0, done.stderr
    assert (
        f"sends public text of the data to model openai:m?base_url={elsewhere.v1}: {elsewhere.url}"
        in done.stderr
    )


def test_an_organisations_own_endpoint_is_trusted_by_its_origin(pmbench, tmp_path: Path, elsewhere) -> None:
    prepared(tmp_path)
    (tmp_path / "pmbench.toml").write_text(f'[policy]\ntrusted_endpoints = ["{elsewhere.url}"]\n')
    done = pmbench(*GREETING, "-m", f"openai:m?base_url={elsewhere.v1}")
    assert done.returncode == 0, done.stderr
    assert elsewhere.stats()["requests"] == 1
    where = f"{elsewhere.url} (trusted by pmbench.toml, not encrypted)"
    assert f"sends phi text of the data to model openai:m?base_url={elsewhere.v1}: {where}" in done.stderr
    record = json.loads(next(tmp_path.glob("runs/greeting/*/*/run.json")).read_text())
    assert record["remote"][0].endswith(where)


def test_what_a_run_leaves_is_for_its_owner_only(pmbench, tmp_path: Path, llm_server) -> None:
    prepared(tmp_path)
    env = {"MY_KEY": "sk-very-secret-0123456789"}
    model = f"openai:m?base_url={llm_server.v1}&key=MY_KEY"
    done = pmbench(*GREETING, "-m", model, env=env)
    assert done.returncode == 0, done.stderr
    for folder, _, files in os.walk(tmp_path / "runs"):
        assert Path(folder).stat().st_mode & 0o077 == 0, folder
        for name in files:
            path = Path(folder) / name
            assert path.stat().st_mode & 0o077 == 0, path
            assert b"sk-very-secret" not in path.read_bytes(), path
    assert "sk-very" not in done.stdout + done.stderr
    refused = pmbench(*GREETING, "-m", f"openai:m?base_url={llm_server.v1}&key=sk-very-secret")
    assert refused.returncode == 2 and "sk-very" not in refused.stderr
