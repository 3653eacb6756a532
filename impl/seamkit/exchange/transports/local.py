"""Pass-through: sender and receiver share a process, batches change hands, no byte is copied.

Receivers of this process, by the address at which others reach them: rows need not leave it. The
rule is StarRocks': a destination is local if its address is one of this process's, and batches
change hands with it where the exchange allows that (enable_exchange_pass_through). An exchange may
have destinations of both kinds.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import socket
import threading
from pathlib import Path
from typing import Any

from seamkit.exchange.logic.channel import Channel, OnAnswer, OnFailure
from seamkit.exchange.logic.messages import Request
from seamkit.exchange.source import SourceRegistry
from seamkit.exchange.transports.address import parse_address
from seamkit.exchange.transports.by_name import connect


class LocalChannel:
    """A `Channel` into a registry of this process."""

    pass_through = True
    most_bytes: int | None = None

    def __init__(self, registry: SourceRegistry, exchange: int) -> None:
        self._registry = registry
        self._exchange = exchange
        self._on_answer: OnAnswer | None = None

    def open(
        self,
        on_answer: OnAnswer,
        on_failure: OnFailure,  # noqa: ARG002 - never fails
        be_number: int | None = None,  # noqa: ARG002 - shares the receiver's fate
    ) -> None:
        """Remember whom to call."""
        self._on_answer = on_answer

    def send(self, request: Request) -> None:
        """Deliver the request in the caller's thread."""
        assert self._on_answer is not None, "a channel is opened before it sends"
        self._registry.deliver(self._exchange, request, self._on_answer)

    def close(self) -> None:
        """Nothing is open."""


#: Where nobody else can connect to.
_MADE_UP = "process:"

_lock = threading.Lock()
_here: dict[str, SourceRegistry] = {}


def announce(address: str, registry: SourceRegistry) -> None:
    """A server of this process delivers to `registry` what comes to an address."""
    where = _resolved(address)  # may ask for a host's number, which takes its time
    with _lock:
        _here[where] = registry


def withdraw(address: str) -> None:
    """Nobody listens at an address any more. Repeatable."""
    where = _resolved(address)
    with _lock:
        _here.pop(where, None)


def made_up_address() -> str:
    """An address that is good in this process alone, unlike any other."""
    return f"{_MADE_UP}{secrets.token_hex(8)}"


def find_local(address: str) -> SourceRegistry | None:
    """Where requests to an address arrive, if that is in this process."""
    where = _resolved(address)
    with _lock:
        return _here.get(where)


def instance_at(address: str) -> int:
    """The number of the fragment instance that receives at an address, 128 bits and not 0.

    A planner gives instances their numbers; where there is none, the address is what both sides
    know of each other.
    """
    return int.from_bytes(hashlib.blake2b(address.encode(), digest_size=16).digest()) or 1


def channel_to(
    transport: str, address: str, exchange: int, *, pass_through: bool = True, **options: Any
) -> Channel:
    """The way to the receiver at an address, or by a transport with options of its channel.

    With `pass_through` batches change hands where the receiver is in this process, by default as in
    StarRocks; otherwise they are carried there, too.
    """
    registry = find_local(address) if pass_through else None
    if registry is not None:
        return LocalChannel(registry, exchange)
    return connect(transport, address, exchange, **options)


def _resolved(address: str) -> str:
    """An address as all its spellings have it: a host by its number, a path without links."""
    if address.startswith(_MADE_UP):
        return address
    where = parse_address(address)
    if where.path:
        return f"unix:{Path(where.path).resolve()}"
    host = where.host
    with contextlib.suppress(OSError):
        host = socket.gethostbyname(host)
    return f"tcp:{host}:{where.port}"
