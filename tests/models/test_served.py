"""What served backends share: which server, which key, and what of it is shown."""

from __future__ import annotations

import keyring
import keyring.backend
import keyring.errors
import pytest
from openai_models import asked, made

from pmbench.core.errors import ConfigError, ModelUnavailable
from pmbench.models.serving import keys
from pmbench.models.settings import VARIABLE

pytestmark = pytest.mark.usefixtures("plain_environment")

KEY = "sk-proj-0123456789abcdef"


class Ring(keyring.backend.KeyringBackend):
    """A keyring in memory."""

    priority = 1

    def __init__(self, held=(), *, locked=False):
        super().__init__()
        self.held, self.locked = dict(held), locked

    def get_password(self, service, username):
        if self.locked:
            raise keyring.errors.KeyringLocked("no")
        return self.held.get((service, username))

    def set_password(self, service, username, password):
        self.held[service, username] = password

    def delete_password(self, service, username):
        del self.held[service, username]


@pytest.fixture(autouse=True)
def ring():
    before = keyring.get_keyring()
    ring = Ring()
    keyring.set_keyring(ring)
    yield ring
    keyring.set_keyring(before)


def test_the_vendors_own_server_is_remote_without_a_question_to_the_resolver(monkeypatch):
    def nobody(*_args, **_more):
        raise AssertionError("the resolver was asked")

    monkeypatch.setattr("socket.getaddrinfo", nobody)
    model = made("openai:gpt-4o")
    assert (model.endpoint.standing, model.local) == ("remote", False)
    assert model.endpoint.origin == "https://api.openai.com:443"


def test_a_server_on_this_machine_is_local():
    model = made("openai:m?base_url=http://127.0.0.1:8000/v1/")
    assert model.local and model.endpoint.standing == "loopback"
    assert model.identity()["endpoint"] == "http://127.0.0.1:8000/v1"
    assert not made("openai:m?base_url=http://192.0.2.7/v1").local


def test_an_endpoint_that_the_organisation_trusts_is_local(monkeypatch, tmp_path):
    file = tmp_path / "pmbench.toml"
    file.write_text('[policy]\ntrusted_endpoints = ["https://192.0.2.7", "https://api.openai.com"]\n')
    monkeypatch.setenv(VARIABLE, str(file))
    monkeypatch.setattr("socket.getaddrinfo", lambda *_a, **_m: [(2, 1, 6, "", ("192.0.2.7", 443))])
    for text in ("openai:m?base_url=https://192.0.2.7/v1", "openai:gpt-4o"):
        assert made(text).endpoint.standing == "trusted"
    assert made("openai:m?base_url=http://192.0.2.7/v1").endpoint.standing == "remote"


def test_a_key_comes_from_the_variable_else_from_the_keyring(monkeypatch, ring):
    assert keys.find_key(["A_KEY", "B_KEY"]) == ""
    ring.held[keys.SERVICE, "B_KEY"] = " from-the-ring\n"
    assert keys.find_key(["A_KEY", "B_KEY"]) == "from-the-ring"
    monkeypatch.setenv("B_KEY", f" {KEY}\n")
    assert keys.find_key(["A_KEY", "B_KEY"]) == KEY
    ring.locked = True
    assert keys.find_key(["A_KEY", "B_KEY"]) == KEY and keys.find_key(["A_KEY"]) == ""


def test_a_missing_key_is_told_with_its_remedy(ring):
    reason = made("openai:gpt-4o").unavailable()
    assert "OPENAI_API_KEY" in reason and "keyring set pmbench OPENAI_API_KEY" in reason
    ring.held[keys.SERVICE, "OPENAI_API_KEY"] = KEY
    assert made("openai:gpt-4o").unavailable() == ""
    assert "MY_KEY" in made("openai:gpt-4o?key=MY_KEY").unavailable()


def test_the_vendors_key_goes_to_the_vendor_only(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azures")
    monkeypatch.setenv("MY_KEY", "mine")

    def secret(text):
        return made(text).secret()

    version = "api_version=2024-10-21"
    assert secret("openai:gpt-4o") == secret("openai:gpt-4o?base_url=https://eu.api.openai.com/v1") == KEY
    assert secret(f"openai:d?azure=https://clinic.openai.azure.com&{version}") == "azures"
    for elsewhere in (
        "base_url=http://127.0.0.1:1/v1",
        "base_url=http://api.openai.com/v1",  # not over TLS
        "base_url=https://api.openai.com.example.org/v1",
        "base_url=https://api.openai.com:8443/v1",
        f"azure=https://clinic.openai.azure.com.example.org&{version}",
        f"azure=http://clinic.openai.azure.com&{version}",
        f"azure=https://clinic.cloudapp.azure.com&{version}",
    ):
        assert secret(f"openai:m?{elsewhere}") == "none"
        assert secret(f"openai:m?{elsewhere}&key=MY_KEY") == "mine"


@pytest.mark.parametrize(
    "key", [KEY, "AIzaSyA0123456789", "0123456789abcdef0123456789abcdef", "my_key", "A B"]
)
def test_a_key_on_the_command_line_is_refused_and_not_repeated(key):
    with pytest.raises(ConfigError) as caught:
        made(f"openai:gpt-4o?key={key}")
    assert key not in str(caught.value) and "never the key itself" in str(caught.value)


@pytest.mark.parametrize("key", ["sk-1\nX-Other: 1", "sk-ключ", "two words"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_repeated(monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ModelUnavailable) as caught:
        made("openai:gpt-4o").secret()
    assert key not in str(caught.value) and "OPENAI_API_KEY" in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "here",
        "ftp://host/v1",
        "http://",
        "http://me:hunter2@host/v1",
        "http://host/v1?a=1",
        "http://host/v1#a",
    ],
)
def test_what_is_no_servers_address_is_refused_and_not_repeated(url):
    for option in ("base_url=", "api_version=1&azure="):
        with pytest.raises(ConfigError) as caught:
            made(f"openai:m?{option}{url.replace('#', '%23')}")
        assert "http://host:port/path" in str(caught.value) and "hunter2" not in str(caught.value)


def test_requests_that_share_server_and_key_share_their_limits(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OTHER_KEY", "another")
    account = made("openai:gpt-4o").account()
    assert account == made("openai:o4-mini?timeout=5").account() and KEY not in account
    assert account != made("openai:gpt-4o?key=OTHER_KEY").account()
    assert account != made("openai:gpt-4o?base_url=http://127.0.0.1:1/v1").account()


def test_a_deadline_grows_with_the_answer_unless_it_is_given():
    model = made("openai:m?base_url=http://127.0.0.1:1/v1")
    assert [model.seconds(asked(max_tokens=n)) for n in (1, 2000)] == [30.05, 130.0]
    assert made("openai:m?timeout=7.5").seconds(asked()) == 7.5
    for bad in ("-1", "nan", "inf"):
        with pytest.raises(Exception, match="timeout"):
            made(f"openai:m?timeout={bad}")


def test_identity_holds_what_decides_answers_and_nothing_else(monkeypatch):
    def identity(text):
        return made(text).identity()

    plain = identity("openai:m")
    assert plain == identity("openai:m?timeout=9&key=MY_KEY&logprobs=off")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert plain == identity("openai:m") and KEY not in str(plain)
    others = [
        identity(text)
        for text in (
            "openai:other",
            "openai:m?api=responses",
            "openai:m?base_url=http://127.0.0.1:1/v1",
            "openai:m?base_url=http://127.0.0.1:1/v2",
            "openai:m?base_url=http://127.0.0.1:1/v1&thinking=off",
            "openai:m?reasoning=low",
            "openai:m?api=responses&summary=on",
            "openai:m?azure=http://127.0.0.1:1&api_version=1",
            "openai:m?azure=http://127.0.0.1:1&api_version=2",
        )
    ]
    assert len({str(sorted(one.items())) for one in [plain, *others]}) == 1 + len(others)
