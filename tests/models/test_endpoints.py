"""Which servers are this machine, which are trusted, and which addresses may be connected to."""

from __future__ import annotations

from pathlib import Path

import pytest

from pmbench.core.errors import ConfigError
from pmbench.models.serving.endpoints import Endpoint, look_up, origin
from pmbench.models.settings import settings


@pytest.mark.parametrize(
    ("url", "standing"),
    [
        ("http://127.0.0.1:8000/v1", "loopback"),
        ("http://127.9.8.7:8000/v1", "loopback"),
        ("http://[::1]:8000/v1", "loopback"),
        ("http://[::ffff:127.0.0.1]:8000/v1", "loopback"),
        ("http://localhost:8000/v1/", "loopback"),
        ("http://LOCALHOST:8000/v1", "loopback"),
        ("http://0.0.0.0:8000/v1", "remote"),
        ("http://192.0.2.7:8000/v1", "remote"),
        ("http://[fe80::1%25lo]:8000/v1", "remote"),
        ("http://127.0.0.1.example.invalid/v1", "remote"),
        ("https://no-such-host.invalid/v1", "remote"),
    ],
)
def test_where_a_server_stands_is_told_by_its_addresses(url: str, standing: str) -> None:
    endpoint = look_up(url)
    assert endpoint.standing == standing
    assert endpoint.local == (standing == "loopback")


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1].elsewhere:80",
        "http://[::1]elsewhere",
        "",
        "localhost:8000",
        "ftp://127.0.0.1/",
        "http://",
        "http://user:pw@127.0.0.1/",
        "http://127.0.0.1:x/",
        # Addresses in other spellings, which one part of the machinery takes for a name and another does not.
        "http://2130706433:8000/v1",
        "http://127.1:8000/v1",
        "http://0x7f.0.0.1:8000/v1",
        "http://0177.0.0.1/",
        "http://\uff11\uff12\uff17.0.0.1:8000/v1",
        "http://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3/",
    ],
)
def test_what_is_no_server_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="not of the form"):
        look_up(url)


def test_a_trusted_endpoint_is_local_by_its_origin_only() -> None:
    trusted = ["https://192.0.2.7:8443", "http://192.0.2.8"]
    assert look_up("https://192.0.2.7:8443/v1", trusted).standing == "trusted"
    assert look_up("http://192.0.2.8:80/v1", trusted).standing == "trusted"
    for other in ("http://192.0.2.7:8443/v1", "https://192.0.2.7/v1", "https://192.0.2.9:8443/v1"):
        assert look_up(other, trusted).standing == "remote"


def test_only_addresses_that_were_looked_up_may_be_connected_to() -> None:
    here = look_up("http://127.0.0.1:8000")
    assert here.allows("127.0.0.1") and here.allows("::ffff:127.0.0.1")
    assert not here.allows("127.0.0.2") and not here.allows("192.0.2.7") and not here.allows("::1")
    trusted = look_up("https://192.0.2.7:8443", ["https://192.0.2.7:8443"])
    assert trusted.allows("192.0.2.7") and not trusted.allows("192.0.2.8")
    assert look_up("http://192.0.2.9").allows("198.51.100.1")
    # Whatever was looked up, a loopback endpoint connects to this machine only.
    assert not Endpoint("u", "o", "loopback", frozenset({"192.0.2.7"})).allows("192.0.2.7")


def test_an_origin_has_one_spelling() -> None:
    assert origin("HTTPS://Host.Example./a/b?c") == "https://host.example:443"
    assert origin("http://[::1]/") == "http://[::1]:80"


def test_settings_are_read_from_the_named_file_or_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert settings().policy.trusted_endpoints == ()
    Path("pmbench.toml").write_text(
        '[policy]\ntrusted_endpoints = ["https://llm.hospital.example:8443"]\n'
        "[limits.openai]\nrequests_per_minute = 500\n"
        '[limits."openai:gpt-4o"]\ntokens_per_minute = 30000\nconcurrency = 8\n'
    )
    found = settings()
    assert found.policy.trusted_endpoints == ("https://llm.hospital.example:8443",)
    assert found.rates("openai", "o3-mini").requests_per_minute == 500
    assert found.rates("openai", "gpt-4o").concurrency == 8
    assert found.rates("anthropic", "x").requests_per_minute is None
    other = tmp_path / "other.toml"
    other.write_text("")
    monkeypatch.setenv("PMBENCH_CONFIG", str(other))
    assert settings().policy.trusted_endpoints == ()
    monkeypatch.setenv("PMBENCH_CONFIG", str(tmp_path / "absent.toml"))
    with pytest.raises(ConfigError, match="there is no such file"):
        settings()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[polcy]\n", "unknown field `polcy`"),
        ('[policy]\ntrusted_endpoints = ["llm.hospital.example"]\n', "is no endpoint"),
        ('[policy]\ntrusted_endpoints = ["http://*:8766"]\n', "is no endpoint"),
        ('[policy]\ntrusted_endpoints = ["https://gate.example/ours"]\n', "is no endpoint"),
        ('[policy]\ntrusted_endpoints = ["https://u:Zyzzyva@gate.example"]\n', "is no endpoint"),
        ("[limits.opnai]\nconcurrency = 4\n", "no backend called 'opnai'. Did you mean openai"),
        ("[limits.openai]\nconcurrency = 0\n", "`concurrency` must be above 0"),
        ('[prices."openai:x"]\ninput = -1\noutput = 2\n', "`input` must be 0 or more"),
        ("[", "pmbench.toml"),
        ("\xff", "pmbench.toml"),
    ],
)
def test_a_file_that_cannot_be_understood_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pmbench.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"pmbench\.toml") as refused:
        settings()
    assert "Zyzzyva" not in str(refused.value)
    assert says in str(refused.value) and "\n" not in str(refused.value)
