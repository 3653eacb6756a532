"""Senders of one implementation facing receivers of another, over a wire that both speak."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from seambase.errors import UnavailableError, UsageError
from seambench.contracts import registry
from seambench.contracts.common import Kind
from seambench.contracts.exchange import (
    Distributed,
    ExchangeReceiver,
    ExchangeRequest,
    ExchangeSender,
    ListeningReceiver,
    RemoteSender,
)
from seambench.contracts.outcomes import ProtocolError
from seambench.contracts.registry import PAIR

_WIRE = "wires."
#: Words about what a sender alone decides.
_OF_SENDERS = ("partitions.", "functions.", "buckets.", "keys.", "writers")
_WITHIN = ("transports.pass-through", "transports.local", "mixed")


@runtime_checkable
class _ManyWires(Protocol):
    """An implementation that can be bound to one of its wires."""

    def speaking(self, wire: str) -> Distributed:
        """The same, bound to a wire."""


class Pair:
    """Implements `contracts.exchange.Exchange` by two implementations, each of which is a side.

    What the pair can do is what both state. The sides need not share a process, so ways within
    one are not offered.
    """

    def __init__(self, sender: Any, receiver: Any) -> None:
        wires = [
            word
            for word in (*_stated(sender, "sender"), *_stated(receiver, "receiver"))
            if word.startswith(_WIRE)
        ]
        common = [word for word in wires if wires.count(word) > 1]
        if not common:
            raise UsageError(
                f"{sender.name} and {receiver.name} have no wire in common: they state "
                f"{', '.join(wires) or 'none'}"
            )
        wire = common[0].removeprefix(_WIRE)
        self._sender, self._receiver = _speaking(sender, wire), _speaking(receiver, wire)
        self.name = f"{sender.name}{PAIR}{receiver.name}"
        self.version = f"{sender.version}{PAIR}{receiver.version}"
        self.kind: Kind = "peer" if "peer" in (sender.kind, receiver.kind) else sender.kind
        ours, theirs = self._sender.capabilities, self._receiver.capabilities
        self.capabilities: Mapping[str, bool] = {
            word: True
            for word, stated in ours.items()
            if stated and word not in _WITHIN
            if theirs.get(word) or word.startswith(_OF_SENDERS)
        }

    def open(self, request: ExchangeRequest) -> OpenPair:
        """Get both sides ready; see `seambench.contracts.exchange.Exchange`."""
        return OpenPair(self._sender, [self._receiver] * request.receivers, request)

    def listen(self, request: ExchangeRequest, address: str) -> ListeningReceiver:
        """A receiver of the one; see `seambench.contracts.exchange.Distributed`."""
        return self._receiver.listen(request, address)

    def connect(
        self, request: ExchangeRequest, sender: int, addresses: Sequence[str]
    ) -> RemoteSender:
        """A sender of the other; see `seambench.contracts.exchange.Distributed`."""
        return _connected(self._sender, request, sender, addresses)

    def live_blocks(self) -> int:
        """Blocks of memory that either still holds; of one that does not count, none."""
        counts = [getattr(side, "live_blocks", int) for side in (self._sender, self._receiver)]
        return sum(count() for count in counts)


def _stated(side: Any, role: str) -> list[str]:
    """What an implementation states, which must have a role."""
    if not isinstance(side, Distributed) or not side.capabilities.get(role):
        raise UsageError(f"{side.name} does not state that it can be paired as a {role}")
    return [word for word, stated in side.capabilities.items() if stated]


def _speaking(side: Distributed, wire: str) -> Distributed:
    return side.speaking(wire) if isinstance(side, _ManyWires) else side


def names_of_pairs(name: str, against: str) -> list[str]:
    """Names of the pairs that two implementations make, as the registry takes them.

    The first is put under test, as senders and then as receivers if it states both.
    """
    under_test = registry.resolve("exchange", name)
    pairs = []
    if under_test.capabilities.get("sender"):
        pairs.append(f"{name}{PAIR}{against}")
    if under_test.capabilities.get("receiver"):
        pairs.append(f"{against}{PAIR}{name}")
    if not pairs:
        raise UsageError(f"{name} states neither `sender` nor `receiver`")
    for pair in pairs:
        registry.resolve("exchange", pair)
    return list(dict.fromkeys(pairs))


class OpenPair:
    """Both sides of one exchange, connected by Unix sockets in a folder of their own."""

    def __init__(
        self, sender: Distributed, receivers: Sequence[Distributed], request: ExchangeRequest
    ) -> None:
        self._stack = contextlib.ExitStack()
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="seam")))
        try:
            ready: list[ListeningReceiver] = [
                self._kept(receiver.listen(request, f"unix:{folder / str(number)}"))
                for number, receiver in enumerate(receivers)
            ]
            addresses = [one.address for one in ready]
            self.receivers: Sequence[ExchangeReceiver] = ready
            self.senders: Sequence[ExchangeSender] = [
                self._kept(_connected(sender, request, number, addresses))
                for number in range(request.senders)
            ]
        except BaseException:
            self.close()
            raise

    def _kept(self, end: Any) -> Any:
        self._stack.callback(end.close)
        return end

    def close(self) -> None:
        """End every process and connection. Repeatable."""
        self._stack.close()


def _connected(
    sender: Distributed, request: ExchangeRequest, number: int, addresses: Sequence[str]
) -> RemoteSender:
    """A sending side. The receivers said that they listen: who is not to be had breaks the wire."""
    try:
        return sender.connect(request, number, addresses)
    except UnavailableError as error:
        raise ProtocolError(f"sender {number} meets no receiver: {error}") from error
