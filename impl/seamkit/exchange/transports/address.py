"""Where a server listens (`unix:PATH` or `tcp:HOST:PORT`), and by which certificates."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass, replace
from pathlib import Path

from seambase.errors import InputError, UsageError


@dataclass(frozen=True)
class Address:
    """An address in its parts."""

    path: str = ""  # of a Unix socket; empty for TCP
    host: str = ""  # a name or an IPv4 address
    port: int = 0  # 0 for any that is free

    def __str__(self) -> str:
        return f"unix:{self.path}" if self.path else f"tcp:{self.host}:{self.port}"

    @property
    def family(self) -> socket.AddressFamily:
        """Of its sockets."""
        return socket.AF_UNIX if self.path else socket.AF_INET

    @property
    def target(self) -> str:
        """As gRPC writes it."""
        return f"unix:{self.path}" if self.path else f"{self.host}:{self.port}"

    def with_port(self, port: int) -> Address:
        """The same host with the port that was found; a Unix socket has none."""
        return self if self.path else replace(self, port=port)


def parse_address(text: str) -> Address:
    """Take an address apart."""
    kind, _, rest = text.partition(":")
    if kind == "unix" and rest:
        return Address(path=rest)
    host, _, port = rest.rpartition(":")
    if kind == "tcp" and host and port.isdigit() and int(port) < 1 << 16:
        return Address(host=host, port=int(port))
    raise UsageError(f"{text!r} is no address: unix:PATH or tcp:HOST:PORT is meant")


@dataclass(frozen=True)
class ServerTls:
    """What a server shows, and what it asks for.

    Attributes:
        certificate: its chain.
        key: its private key.
        client_roots: whoever signs clients' certificates; None asks clients for none.
    """

    certificate: Path
    key: Path
    client_roots: Path | None = None

    def context(self) -> ssl.SSLContext:
        """For a socket."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        _load_chain(context, self.certificate, self.key)
        if self.client_roots is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            _load_roots(context, self.client_roots)
        return context


@dataclass(frozen=True)
class ClientTls:
    """What a client believes, and what it shows.

    Attributes:
        roots: whoever signs servers' certificates.
        server_name: the name that must be in the server's certificate, where it is not the host of
            the address; Unix sockets need one.
        certificate: the client's own chain, for servers that ask for one.
        key: its private key.
    """

    roots: Path
    server_name: str | None = None
    certificate: Path | None = None
    key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """For a socket."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # which checks certificates and names
        _load_roots(context, self.roots)
        if self.certificate is not None:
            _load_chain(context, self.certificate, self.key)
        return context


def read_pem(path: Path | None) -> bytes | None:
    """The bytes of a file, None where there is none."""
    try:
        return None if path is None else path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def _load_chain(context: ssl.SSLContext, certificate: Path, key: Path | None) -> None:
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        raise InputError(f"{certificate} and {key} are no certificate and key: {error}") from error


def _load_roots(context: ssl.SSLContext, roots: Path) -> None:
    try:
        context.load_verify_locations(roots)
    except OSError as error:
        raise InputError(f"{roots} holds no certificates: {error}") from error
