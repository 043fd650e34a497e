"""Where a model is served: on this machine, at an endpoint that the organisation trusts, or elsewhere.

What counts is the address that is really connected to, not the name that somebody typed: a name is looked up
once, when a run is planned, and a connection is made to no address that was not seen then.
"""

from __future__ import annotations

import functools
import ipaddress
import re
import socket
import unicodedata
from collections.abc import Iterable
from typing import Literal
from urllib.parse import urlsplit

import msgspec

Standing = Literal["loopback", "trusted", "remote"]

_NUMBER = re.compile(r"0x[0-9a-f]*|\d+", re.IGNORECASE | re.ASCII)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.IGNORECASE | re.ASCII)

_PORTS = {"http": 80, "https": 443}


class Endpoint(msgspec.Struct, frozen=True):
    """A server's address.

    Attributes:
        url: as given, without user, password, query and fragment.
        origin: scheme, host and port.
        standing: `loopback`: every address of its name is this machine; `trusted`: its origin is in
            `[policy] trusted_endpoints`; `remote`: anything else.
        addresses: what its name stood for when it was looked up; empty for a remote one, where any will do.
    """

    url: str
    origin: str
    standing: Standing
    addresses: frozenset[str] = frozenset()

    @property
    def local(self) -> bool:
        """Whether patients' words may be sent there."""
        return self.standing != "remote"

    def allows(self, address: str) -> bool:
        """Whether a connection may be made to an address: a local endpoint's must be one of those looked up."""
        if not self.local:
            return True
        plain = _plain(address)
        return plain in self.addresses and (self.standing == "trusted" or _is_loopback(plain))


def look_up(url: str, trusted: Iterable[str] = ()) -> Endpoint:
    """The endpoint that a URL names. Asks the resolver for every name that is no address.

    Args:
        url: of a server.
        trusted: origins that count as local.

    Raises:
        ValueError: it is no URL of a server.
    """
    named = origin(url)
    if not named:
        raise ValueError("not of the form http://host:port/path")
    parts = urlsplit(url.strip())
    path = parts.path.rstrip("/")
    plain = f"{named}{path}"
    believed = named in {origin(text) for text in trusted}
    addresses = _addresses(parts.hostname or "", parts.port or _PORTS[parts.scheme.lower()])
    if addresses and all(map(_is_loopback, addresses)):
        return Endpoint(plain, named, "loopback", addresses)
    if believed:
        return Endpoint(plain, named, "trusted", addresses)
    return Endpoint(plain, named, "remote")


@functools.lru_cache(256)
def origin(url: str) -> str:
    """Scheme, host and port of a URL in one spelling; empty if it is none of http or https."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return ""
    scheme, host = parts.scheme.lower(), (parts.hostname or "").rstrip(".")
    after = parts.netloc.rpartition("]")[2]
    if "[" in parts.netloc and after and not after.startswith(":"):
        return ""  # [::1].elsewhere: some would go to one, some to the other
    if (
        scheme not in _PORTS
        or not _is_host(host)
        or port == 0
        or parts.username is not None
        or parts.password is not None
    ):
        return ""
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{port or _PORTS[scheme]}"


def _is_host(host: str) -> bool:
    """Whether a host is a name, or an address in its usual digits.

    Not `127.1`, `0x7f.1` or full-width digits: resolvers take them for addresses and clients for names, or the
    other way round.
    """
    if ":" in host:
        return "[" not in host and _is_address(host.partition("%")[0])
    if unicodedata.normalize("NFKC", host) != host:
        return False
    try:
        labels = host.encode("idna").decode().split(".")
    except UnicodeError:
        return False
    if _NUMBER.fullmatch(labels[-1]):
        return _is_address(host)
    return all(map(_LABEL.fullmatch, labels))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _addresses(host: str, port: int) -> frozenset[str]:
    """Every address of a host; empty where its name cannot be looked up."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return frozenset()
    return frozenset(_plain(str(entry[4][0])) for entry in found)


def _plain(address: str) -> str:
    """An address without its zone, and IPv4 in its own form."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return str(mapped or parsed)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
