"""Commands, statistics, limits and resets, by a bare client."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection

import aiohttp
import pytest
from server_fixture import HERE, CommandRefused, LoopbackLLM

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


def body(text):
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def post_all(server, bodies, *, headers=None, timeout=30.0, path="/v1/chat/completions"):
    """Posts all at once; the statuses and the headers, in order."""

    async def one(session, given):
        async with session.post(server.url + path, json=given, headers=headers) as response:
            await response.read()
            return response.status, response.headers

    async def whole():
        limits = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=limits, timeout=aiohttp.ClientTimeout(timeout)) as session:
            return await asyncio.gather(*(one(session, b) for b in bodies), return_exceptions=True)

    return asyncio.run(whole())


def test_an_unknown_key_of_a_plan_is_refused_and_the_old_plan_stays(llm_server):
    llm_server.control(faults=[{"kind": 500}])
    with pytest.raises(CommandRefused, match="latencies"):
        llm_server.control(latencies=5)
    assert post_all(llm_server, [BODY])[0][0] == 500


def test_everything_is_counted(llm_server):
    llm_server.control(latency=100, faults=[{"kind": 503, "contains": "bad"}])
    post_all(
        llm_server, [body("a"), body("a"), body("b"), body("bad")], headers={"Authorization": "Bearer k"}
    )
    stats = llm_server.stats()
    assert (stats["requests"], stats["most_in_flight"], stats["in_flight"], stats["connections"]) == (
        4,
        4,
        0,
        4,
    )
    assert stats["by_status"] == {"200": 3, "503": 1} and stats["by_fault"] == {"503": 1}
    assert stats["by_path"] == {"/v1/chat/completions": 4} and sum(stats["by_second"].values()) == 4
    assert stats["distinct"] == 3 and stats["answered_again"] == 1
    assert stats["bytes"] == stats["bytes_by_path"]["/v1/chat/completions"] > 4 * len(json.dumps(BODY))
    assert list(stats["by_key"].values()) == [4] and "k" not in stats["by_key"]
    assert {line[5] >= 0.09 for line in stats["log"]} == {True} and len(
        {line[2] for line in stats["log"]}
    ) == 3
    assert "log" not in llm_server.stats(log=False)


def test_commands_are_not_counted_and_a_reset_forgets_everything(llm_server):
    post_all(llm_server, [BODY])
    for _ in range(3):
        llm_server.stats()
    assert llm_server.stats()["requests"] == 1 == llm_server.stats()["connections"]
    llm_server.control(answers={"Hello": "scripted"})
    llm_server.reset()
    stats = llm_server.stats()
    assert (stats["requests"], stats["bytes"], stats["connections"]) == (0, 0, 0)


def test_bytes_that_are_no_request_are_counted(llm_server):
    with socket.create_connection((llm_server.host, llm_server.port)) as connection:
        connection.sendall(b"patient")
        time.sleep(0.2)
        stats = llm_server.stats()
    assert (stats["bytes"], stats["connections"], stats["requests"]) == (7, 1, 0)


def test_a_client_that_leaves_is_seen(llm_server):
    llm_server.control(faults=[{"kind": "hung"}])
    (error,) = post_all(llm_server, [BODY], timeout=0.3)
    assert isinstance(error, TimeoutError)
    time.sleep(0.2)
    stats = llm_server.stats()
    assert stats["by_status"] == {"499": 1} and stats["by_fault"] == {"hung": 1} and stats["in_flight"] == 0


def test_a_reset_lets_hanging_answers_go(llm_server):
    llm_server.control(faults=[{"kind": "hung"}])

    async def hang():
        async with aiohttp.ClientSession() as session:
            waiting = asyncio.create_task(session.post(llm_server.v1 + "/chat/completions", json=BODY))
            await asyncio.sleep(0.3)
            assert llm_server.stats()["in_flight"] == 1
            llm_server.reset()
            with pytest.raises(aiohttp.ClientError):
                await asyncio.wait_for(waiting, 5)

    asyncio.run(hang())


def test_the_limit_is_enforced_and_told_in_each_vendors_headers(llm_server):
    llm_server.control(rate_limit={"per_second": 5, "burst": 3})
    done = post_all(llm_server, [body(str(i)) for i in range(10)])
    statuses = [status for status, _ in done]
    assert 3 <= statuses.count(200) <= 5 and statuses.count(429) == 10 - statuses.count(200)
    headers = next(h for s, h in done if s == 429)
    assert int(headers["retry-after"]) >= 1 and 0 < int(headers["retry-after-ms"]) < 2000
    assert headers["x-ratelimit-limit-requests"] == "5" and headers["x-ratelimit-remaining-requests"] == "0"
    assert headers["x-ratelimit-reset-requests"].endswith(("ms", "s"))
    (_, headers), *_ = post_all(llm_server, [{**BODY, "max_tokens": 5}], path="/v1/messages")
    assert (
        headers["anthropic-ratelimit-requests-limit"] == "5"
        and "T" in headers["anthropic-ratelimit-requests-reset"]
    )
    watch = llm_server.stats()["rate_limit"]
    assert watch["requests"]["most_in_a_second"] >= 10 and not watch["requests"]["above_for_over_a_second"]


def test_a_lasting_excess_is_told(llm_server):
    llm_server.control(rate_limit={"per_second": 20, "burst": 5, "retry_after": False})

    async def too_fast():
        async with aiohttp.ClientSession() as session:
            for _ in range(90):
                async with session.post(llm_server.v1 + "/chat/completions", json=BODY) as response:
                    assert "retry-after" not in response.headers
                await asyncio.sleep(0.02)

    asyncio.run(too_fast())
    assert llm_server.stats()["rate_limit"]["requests"]["above_for_over_a_second"]


def test_errors_can_quote_the_input_and_carry_headers_and_dates(llm_server):
    fault = {
        "kind": 500,
        "quote": True,
        "retry_after": 60,
        "retry_after_date": True,
        "headers": {"x-more": "1"},
    }
    llm_server.control(faults=[fault], headers={"x-all": "2"})

    async def ask():
        url = llm_server.v1 + "/chat/completions"
        async with aiohttp.ClientSession() as session, session.post(url, json=body("my secret")) as response:
            return response.headers, await response.json()

    headers, told = asyncio.run(ask())
    assert "my secret" in told["error"]["message"]
    assert headers["retry-after"].endswith("GMT") and (headers["x-more"], headers["x-all"]) == ("1", "2")


def test_it_stops_when_its_standard_input_ends():
    server = LoopbackLLM()
    assert server._process.stdin is not None
    server._process.stdin.close()
    assert server._process.wait(timeout=20) is not None
    server.stop()


def test_both_loops_serve_and_the_command_line_prints_one_line(llm_servers):
    for loop in ("asyncio", "auto"):
        server = llm_servers("127.0.0.1", "--loop", loop)
        assert post_all(server, [BODY])[0][0] == 200
    command = [sys.executable, "-m", "loopback_llm", "--port", "0", "--until-eof"]
    ended = subprocess.run(command, cwd=HERE, input=b"", capture_output=True, check=True, timeout=30)
    assert list(json.loads(ended.stdout)) == ["port"] and ended.stdout.count(b"\n") == 1


def test_it_listens_where_it_is_told(llm_servers):
    elsewhere = llm_servers("127.0.0.2")
    assert post_all(elsewhere, [BODY])[0][0] == 200 and elsewhere.stats()["requests"] == 1


def test_large_requests_are_taken(llm_server):
    connection = HTTPConnection(llm_server.host, llm_server.port)
    connection.request("POST", "/v1/chat/completions", body=json.dumps(body("x" * 5_000_000)))
    assert connection.getresponse().status == 200
    connection.close()
    assert llm_server.stats()["bytes"] > 5_000_000


def test_a_request_through_a_proxy_is_told_from_a_direct_one(llm_server):
    async def ask():
        async with aiohttp.ClientSession() as session:
            target = "http://somewhere.invalid/v1/chat/completions"
            async with session.post(target, json=BODY, proxy=llm_server.url) as response:
                return response.status

    assert asyncio.run(ask()) == 200 and llm_server.stats()["through_proxy"] == 1
