"""Models that a command of a plugin borrows: kept at home, paid for once, bounded, closed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pmbench.core.errors import ConfigError, DoesNotOffer, PolicyError, UnknownName, UserError
from pmbench.running.borrowed import Spent, Unfinished, open_models

pytestmark = pytest.mark.usefixtures("plain_environment")


@pytest.fixture(autouse=True)
def _key(plain_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def ask(names: dict[str, str], *questions: str, role: str = "model", **more: Any) -> tuple[list[str], Spent]:
    async def work() -> tuple[list[str], Spent]:
        async with open_models(names, quiet=True, **more) as borrowed:
            said = []
            for question in questions:
                messages = [{"role": "user", "content": question}]
                said.append((await borrowed[role].chat(messages, max_tokens=20)).text)  # type: ignore[list-item]
            return said, borrowed.spent

    return asyncio.run(work())


def at(server: Any, name: str = "m") -> str:
    return f"openai:{name}?base_url={server.v1}"


def test_answers_are_kept_and_asked_for_once(llm_server: Any, tmp_path: Path) -> None:
    names = {"model": at(llm_server), "judge": at(llm_server)}
    first = ask(names, "Is it raining?", "Is it late?", runs=tmp_path)
    again = ask(names, "Is it raining?", "Is it late?", role="judge", runs=tmp_path)
    assert first[0] == again[0]
    assert (first[1].requests, first[1].stored) == (2, 0)
    assert (again[1].requests, again[1].stored) == (0, 2)
    assert llm_server.stats()["requests"] == 2


@pytest.mark.parametrize("part", ["model", "judge", "embedder"])
def test_phi_is_refused_before_anything_is_sent_or_written(
    llm_server: Any, llm_servers: Any, tmp_path: Path, part: str
) -> None:
    elsewhere = llm_servers("0.0.0.0")
    names = {"model": at(llm_server), "judge": at(llm_server)}
    embedder = None
    if part == "embedder":
        embedder = at(elsewhere, "embed")
    else:
        names[part] = at(elsewhere)
    for allow in (False, True):
        with pytest.raises(PolicyError, match=rf"the data are phi and would be sent to .*\({part} "):
            ask(names, "Mr Smith?", runs=tmp_path / "runs", embedder=embedder, allow_remote=allow)
    assert elsewhere.stats()["requests"] == llm_server.stats()["requests"] == 0
    assert not (tmp_path / "runs").exists()


def test_deidentified_text_leaves_where_that_is_allowed_and_it_is_said(
    llm_servers: Any, tmp_path: Path
) -> None:
    elsewhere = llm_servers("0.0.0.0")
    with pytest.raises(PolicyError, match="--allow-remote"):
        ask({"model": at(elsewhere)}, "Who?", runs=tmp_path, sensitivity="deidentified")

    async def work() -> list[str]:
        async with open_models(
            {"model": at(elsewhere)},
            runs=tmp_path,
            sensitivity="deidentified",
            allow_remote=True,
            quiet=True,
        ) as borrowed:
            return list(borrowed.remote)

    assert [line.split(": ")[0] for line in asyncio.run(work())] == [
        f"sends deidentified text to model {at(elsewhere)}"
    ]


def test_a_budget_is_over_all_roles_and_ends_as_unfinished(llm_server: Any, tmp_path: Path) -> None:
    names = {"model": at(llm_server), "judge": at(llm_server, "other")}
    with pytest.raises(Unfinished, match="3 requests that --max-requests allows") as caught:
        ask(names, *(f"Question {n}?" for n in range(9)), runs=tmp_path, max_requests=3)
    assert caught.value.exit_status == 1
    told = str(caught.value)
    assert "Give this command again with a higher --max-requests" in told and "run" not in told
    assert llm_server.stats()["requests"] == 3
    said, spent = ask(names, *(f"Question {n}?" for n in range(9)), runs=tmp_path)
    assert len(said) == 9 and spent.stored == 3 and spent.requests == 6


def test_what_ends_a_command_for_its_price_says_what_to_type(
    llm_servers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = llm_servers("0.0.0.0")
    (tmp_path / "pmbench.toml").write_text('[prices."openai:m"]\ninput = 1000.0\noutput = 1000.0\n')
    monkeypatch.chdir(tmp_path)
    questions = [f"Question {n}?" for n in range(9)]
    with pytest.raises(Unfinished, match="again with a higher --max-cost: what was answered is kept") as dear:
        ask({"model": at(elsewhere)}, *questions, runs="runs", sensitivity="public", max_cost=0.1)
    assert "$" in str(dear.value) and "the run" not in str(dear.value)
    assert 0 < elsewhere.stats()["requests"] < 9


def test_a_server_that_is_down_ends_a_command_without_an_option_that_it_does_not_have(
    llm_server: Any, tmp_path: Path
) -> None:
    from pmbench.core.errors import Halted

    async def work() -> None:
        async with open_models({"model": at(llm_server)}, runs=tmp_path, quiet=True):
            raise Halted(
                "m: 20 requests in a row failed", to_go_on="give the same command with --retry-failed"
            )

    with pytest.raises(Unfinished, match="To go on, give this command again") as down:
        asyncio.run(work())
    assert "--retry-failed" not in str(down.value)


def test_an_embedder_of_a_server_is_paid_once_and_counted(llm_server: Any, tmp_path: Path) -> None:
    async def work() -> tuple[tuple[int, ...], Spent]:
        async with open_models({}, runs=tmp_path, embedder=at(llm_server, "embed"), quiet=True) as borrowed:
            assert borrowed.embedder is not None
            return (await borrowed.embedder.embed(["a", "b"])).shape, borrowed.spent

    shape, spent = asyncio.run(work())
    assert shape == (2, 32) and spent.requests == 1
    assert asyncio.run(work())[1].requests == 0


@pytest.mark.parametrize(
    ("names", "more", "error"),
    [
        ({"model": "no-such-model"}, {}, UnknownName),
        ({"model": "openai:embed"}, {"sensitivity": "public"}, DoesNotOffer),
        ({"model": "replay:answers.jsonl"}, {}, UserError),
        ({"model": "openai:m"}, {"sensitivity": "public", "max_requests": 0}, ConfigError),
        ({"model": "openai:unheard-of"}, {"sensitivity": "public", "max_cost": 1.0}, ConfigError),
        ({"model": "openai:m"}, {"sensitivity": "public", "seed": -1}, ConfigError),
    ],
)
def test_what_cannot_be_is_refused(
    tmp_path: Path, names: dict[str, str], more: dict[str, Any], error: type[UserError]
) -> None:
    with pytest.raises(error) as caught:
        ask(names, "Who?", runs=tmp_path, **more)
    assert "\n" not in str(caught.value)


SCRIPT = """
import asyncio, sys
from pmbench.running.borrowed import open_models

async def work():
    async with open_models({"model": sys.argv[1]}, runs="runs", quiet=True) as borrowed:
        asking = [
            borrowed["model"].chat([{"role": "user", "content": f"Number {n}?"}], max_tokens=9) for n in range(8)
        ]
        await asyncio.gather(*asking)

try:
    asyncio.run(work())
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_ctrl_c_waits_for_what_was_sent_and_keeps_it(llm_server: Any, tmp_path: Path) -> None:
    llm_server.control(latency=700)
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, at(llm_server)], cwd=tmp_path, env=os.environ, stderr=subprocess.PIPE
    )
    while llm_server.stats(log=False)["requests"] < 2 and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)  # an impatient user
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 130, complaint
    sent = llm_server.stats(log=False)["requests"]
    again = subprocess.run(
        [sys.executable, "-c", SCRIPT, at(llm_server)], cwd=tmp_path, check=False, timeout=60
    )
    assert again.returncode == 0
    # Nothing that was sent before was sent again.
    assert sent >= 2 and llm_server.stats(log=False)["requests"] == 8


def test_the_block_may_fail_and_all_is_closed(llm_server: Any, tmp_path: Path) -> None:
    async def work() -> None:
        async with open_models({"model": at(llm_server)}, runs=tmp_path, quiet=True) as borrowed:
            await borrowed["model"].chat([{"role": "user", "content": "Who?"}], max_tokens=9)
            raise ValueError("mine")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="mine"):
        asyncio.run(work())
    assert signal.getsignal(signal.SIGINT) is before
