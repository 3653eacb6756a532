"""Where a server listens, in one notation for every transport: `unix:PATH` or `tcp:HOST:PORT`."""

from __future__ import annotations

import socket
from dataclasses import dataclass, replace

from seambase.errors import UsageError


@dataclass(frozen=True)
class Address:
    """An address in its parts.

    Attributes:
        path: of a Unix socket; empty for TCP.
        host: a name or an IPv4 address.
        port: 0 for any that is free.
    """

    path: str = ""
    host: str = ""
    port: int = 0

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
