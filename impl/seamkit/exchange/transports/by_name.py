"""Network transports by name: `sockets`, `grpc` or `flight`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from seambase.errors import UsageError
from seamkit.exchange.logic.channel import Channel
from seamkit.exchange.source import SourceRegistry
from seamkit.exchange.transports.base import Server
from seamkit.exchange.transports.flight import FlightServer
from seamkit.exchange.transports.flight_channel import FlightChannel
from seamkit.exchange.transports.grpc_unary import GrpcChannel, GrpcServer
from seamkit.exchange.transports.sockets import SocketChannel, SocketServer

#: Server and channel of each; both take `tls` and `most_bytes`.
TRANSPORTS: Mapping[str, tuple[Callable[..., Server], Callable[..., Channel]]] = {
    "sockets": (SocketServer, SocketChannel),
    "grpc": (GrpcServer, GrpcChannel),
    "flight": (FlightServer, FlightChannel),
}


def serve(transport: str, registry: SourceRegistry, address: str, **options: Any) -> Server:
    """A server that delivers to `registry`; `options` are those of its class."""
    return _of(transport)[0](registry, address, **options)


def connect(transport: str, address: str, exchange: int, **options: Any) -> Channel:
    """A channel to an exchange behind a server; `options` are those of its class."""
    return _of(transport)[1](address, exchange, **options)


def _of(transport: str) -> tuple[Callable[..., Server], Callable[..., Channel]]:
    if transport not in TRANSPORTS:
        raise UsageError(f"unknown transport {transport!r}; there are {', '.join(TRANSPORTS)}")
    return TRANSPORTS[transport]
