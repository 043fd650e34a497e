"""The transport: only to what was checked, nothing of the environment, no redirects, and all errors understood."""

from __future__ import annotations

import asyncio
import datetime
import logging
import os
import socket
import ssl
from ipaddress import ip_address

import aiohttp
import httpx2
import pytest
from http_probe import probing

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.models.serving import connection, endpoints, failures
from pmbench.models.serving.endpoints import Endpoint, look_up

pytestmark = pytest.mark.usefixtures("plain_environment")


def get(endpoint, url, **more):
    async def whole():
        async with connection.client(endpoint, 4) as client:
            return await client.send(client.build_request("GET", url, **more))

    return asyncio.run(whole())


def test_an_address_that_was_not_looked_up_is_not_connected_to(llm_server):
    """The name stood for another address when the run was planned: as after a change of DNS."""
    moved = Endpoint(llm_server.v1, llm_server.url, "loopback", frozenset({"127.0.0.9"}))
    with pytest.raises(ModelUnavailable, match="stands for another address now"):
        get(moved, f"{llm_server.v1}/models")
    assert llm_server.stats()["connections"] == 0


def test_a_name_that_moves_off_this_machine_is_not_followed(llm_server, monkeypatch):
    """A name that was loopback at plan time; at connect time it stands for two addresses, none of them seen."""
    named = f"http://models.example:{llm_server.port}"
    real = socket.getaddrinfo
    now = ["127.0.0.1"]

    def resolver(host, port, *rest, **more):
        if host != "models.example":
            return real(host, port, *rest, **more)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in now]

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    endpoint = look_up(named)
    assert endpoint.standing == "loopback"
    assert get(endpoint, f"{named}/v1/models").status_code == 200
    before = llm_server.stats()["connections"]
    now[:] = ["127.0.0.2", "127.0.0.3"]
    with pytest.raises(ModelUnavailable, match="stands for another address now"):
        get(endpoint, f"{named}/v1/models")
    now[:] = ["127.0.0.2", "127.0.0.1"]  # one of them is as it was: that one is used
    assert get(endpoint, f"{named}/v1/models").status_code == 200
    assert llm_server.stats()["connections"] == before + 1


def test_a_trusted_endpoint_is_held_to_its_addresses_and_a_remote_one_is_not(llm_server):
    trusted = Endpoint(llm_server.v1, llm_server.url, "trusted", frozenset({"10.0.0.7"}))
    with pytest.raises(ModelUnavailable):
        get(trusted, f"{llm_server.v1}/models")
    assert (
        get(Endpoint(llm_server.v1, llm_server.url, "remote"), f"{llm_server.v1}/models").status_code == 200
    )


def test_a_request_to_another_server_is_held_back(llm_server, llm_servers):
    other = llm_servers()
    with pytest.raises(ModelUnavailable, match="another server"):
        get(look_up(llm_server.url), f"{other.v1}/models")
    assert llm_server.stats()["connections"] == other.stats()["connections"] == 0


def test_redirects_are_not_followed_even_by_those_who_ask_for_them(llm_server, llm_servers):
    other = llm_servers()
    llm_server.control(faults=[{"kind": "redirect", "to": f"{other.v1}/models", "status": 302}])
    endpoint = look_up(llm_server.url)
    assert get(endpoint, f"{llm_server.v1}/models").status_code == 302

    async def following():
        async with connection.session(endpoint, 4) as session, session.get(f"{llm_server.v1}/models"):
            pass

    with pytest.raises(ModelUnavailable, match="another server"):
        asyncio.run(following())
    assert other.stats()["connections"] == 0 and other.stats()["bytes"] == 0


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"])
def test_proxy_variables_lead_nowhere(llm_server, llm_servers, monkeypatch, name):
    proxy = llm_servers()
    monkeypatch.setenv(name, proxy.url)
    assert get(look_up(llm_server.url), f"{llm_server.v1}/models").status_code == 200
    assert proxy.stats()["connections"] == 0


def test_a_netrc_file_adds_nothing(monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password hunter2\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))

    async def whole():
        async with probing() as probe, connection.client(look_up(probe.url), 4) as client:
            await client.send(client.build_request("GET", probe.url))
            return probe.header("Authorization")

    assert asyncio.run(whole()) is None


def test_cookies_are_not_kept_and_packed_answers_are_unpacked():
    async def whole():
        async with probing(answer={"a": "ä" * 100}, packed=True) as probe:
            probe.headers["Set-Cookie"] = "session=1"
            async with connection.client(look_up(probe.url), 4) as client:
                answers = [await client.send(client.build_request("GET", probe.url)) for _ in range(2)]
            return answers, probe.header("Cookie"), probe.header("Accept-Encoding")

    answers, cookie, encodings = asyncio.run(whole())
    assert answers[1].json() == {"a": "ä" * 100} and cookie is None and encodings == "gzip, deflate"


def test_no_more_connections_than_asked_for(llm_server):
    llm_server.control(latency=20)

    async def whole():
        async with connection.client(look_up(llm_server.url), 3) as client:
            asked = [client.build_request("GET", f"{llm_server.v1}/models") for _ in range(12)]
            await asyncio.gather(*(client.send(one) for one in asked))

    asyncio.run(whole())
    stats = llm_server.stats()
    assert (stats["requests"], stats["connections"], stats["most_in_flight"]) == (12, 3, 3)


def test_large_bodies_go_out_whole():
    async def whole():
        content = b"x" * 3_000_000
        async with probing() as probe, connection.client(look_up(probe.url), 4) as client:
            await client.send(client.build_request("POST", probe.url, content=content))
            return probe.requests[0][1] == content

    assert asyncio.run(whole())


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_that_does_not_end_is_not_read_to_its_end(monkeypatch, packed):
    monkeypatch.setattr(connection, "LONGEST_ANSWER", 100_000)

    async def whole(method, size):
        async with probing(answer=b"0" * size, packed=packed) as probe:
            async with connection.client(look_up(probe.url), 1) as client:
                answers = [
                    await client.send(client.build_request(method, probe.url))
                    for _ in range(2)  # the one connection can be used again
                ]
            return [len(answer.content) for answer in answers]

    assert asyncio.run(whole("POST", 100_000)) == [100_000] * 2
    assert asyncio.run(whole("GET", 100_001)) == [100_001] * 2, "files of batch jobs are larger"
    with pytest.raises(RequestFailed, match="too-large"):
        asyncio.run(whole("POST", 100_001))


def test_time_limits_of_the_caller_are_kept(llm_server):
    llm_server.control(faults=[{"kind": "hung"}])
    with pytest.raises(httpx2.ReadTimeout):
        get(look_up(llm_server.url), f"{llm_server.v1}/models", timeout=httpx2.Timeout(None, read=0.1))


def test_a_server_that_is_not_there_is_a_connection_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(httpx2.ConnectError):
            get(look_up(url), url)


def test_a_server_that_speaks_no_tls_is_sent_nothing(llm_server):
    url = llm_server.url.replace("http:", "https:")
    with pytest.raises(httpx2.ConnectError):
        get(look_up(url), url)
    assert llm_server.stats()["requests"] == 0


def test_variables_are_hidden_for_a_moment_only(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.example")
    monkeypatch.setenv("OTHER", "1")
    with pytest.raises(ValueError), connection.environment_without("OPENAI_"):
        assert "OPENAI_BASE_URL" not in os.environ and os.environ["OTHER"] == "1"
        raise ValueError
    assert os.environ["OPENAI_BASE_URL"] == "http://elsewhere.example"


def test_loggers_are_kept_from_saying_more():
    logger = logging.getLogger("pmbench-test-quiet")
    logger.setLevel(logging.DEBUG)
    connection.quiet(logger.name)
    assert logger.level == logging.INFO
    logger.setLevel(logging.ERROR)
    connection.quiet(logger.name)
    assert logger.level == logging.ERROR


def test_the_session_is_aiohttps_own_and_trusts_no_environment():
    async def whole():
        async with connection.session(look_up("http://127.0.0.1:9"), 7) as session:
            return type(session), session.trust_env, session.connector.limit

    assert asyncio.run(whole()) == (aiohttp.ClientSession, False, 7)
    assert endpoints.origin("http://127.0.0.1:9/v1") == "http://127.0.0.1:9"


def certificate(folder):
    """A server's TLS, its certificate signed by itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "cert.pem", folder / "key.pem"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return context, public


def test_a_certificate_that_nobody_vouches_for_ends_the_run_with_a_remedy(tmp_path, monkeypatch):
    context, public = certificate(tmp_path)

    async def whole():
        async with probing(tls=context) as probe, connection.client(look_up(probe.url), 4) as client:
            try:
                await client.send(client.build_request("GET", probe.url))
            except httpx2.RequestError as error:
                return failures.from_exception(error, where="model openai:m"), probe.requests
            return None, probe.requests

    refused, requests = asyncio.run(whole())
    assert isinstance(refused, ModelUnavailable) and "SSL_CERT_FILE" in str(refused) and not requests
    monkeypatch.setenv("SSL_CERT_FILE", str(public))  # the remedy works
    refused, requests = asyncio.run(whole())
    assert refused is None and len(requests) == 1
