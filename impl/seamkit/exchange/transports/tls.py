"""TLS of a transport: files in PEM form, the same for every one of them."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from seambase.errors import InputError


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
