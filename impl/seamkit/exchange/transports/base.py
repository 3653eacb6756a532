"""What servers offer to a process that receives, and what transports share."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import ClassVar

from seambase.errors import InputError, UsageError
from seamkit.exchange.logic.channel import OnAnswer, OnFailure
from seamkit.exchange.logic.messages import Answer, Request
from seamkit.exchange.source import ExchangeSource, Reply, SourceRegistry
from seamkit.exchange.transports.address import ClientTls, ServerTls, parse_address

#: Both ends say first what they speak; the last byte is the version of the protocol.
HELLO = b"SEAMXCH\x01"
#: For connecting, a handshake and the greeting.
SECONDS_TO_GREET = 10.0
#: A server that is silent for so long is given up. Answers may be withheld for hours, so what
#: counts is any sign of life.
SILENCE_SECONDS = 60.0
#: How often a server that has nothing to say shows that it lives.
BEAT_SECONDS = 15.0
#: A sender that says nothing for so long, though nothing keeps it waiting, is given up.
SENDER_SILENCE_SECONDS = 3600.0
#: A message without its payloads.
MESSAGE_BYTES_AT_MOST = 1 << 20
#: Above this a request has two parts, as with StarRocks: what one message can have at most.
RPC_HTTP_MIN_SIZE = (1 << 31) - 1024
#: What a server keeps of what peers did wrong: hostile ones may go on for long.
_MOST_ERRORS = 1000


def note(errors: list[str], reason: str) -> None:
    """Keep what a peer did wrong, unless there is a lot of that already."""
    if len(errors) < _MOST_ERRORS:
        errors.append(reason)


def announcement(be_number: int) -> Request:
    """What a channel says first: whose it is. It has no answer."""
    return Request(be_number, 0)


class Server(ABC):
    """Takes requests for the exchanges of a process; what servers of a network have in common.

    Args:
        registry: where exchanges are known.
        address: `unix:PATH` or `tcp:HOST:PORT`; port 0 for any.
        tls: None for plain connections.
        most_bytes: payload of one request beyond which a peer is refused. None for
            `most_bytes_at_most`.
        beat_seconds: how often clients are shown that the server lives, or asked whether they do.
        silence_seconds: a sender that says nothing for so long, though it has all its answers, is
            given up; looked at every `beat_seconds`. Its announcement is due in 10 seconds.

    Attributes:
        address: where it listens, with the port that was found.
        errors: what peers did wrong, a sentence each; the first thousand.
    """

    address: str

    #: `most_bytes` where none is given.
    most_bytes_at_most: ClassVar[int]

    def __init__(
        self,
        registry: SourceRegistry,
        address: str,
        *,
        tls: ServerTls | None = None,
        most_bytes: int | None = None,
        beat_seconds: float = BEAT_SECONDS,
        silence_seconds: float = SENDER_SILENCE_SECONDS,
    ) -> None:
        self._where = parse_address(address)
        self._registry = registry
        self._tls = tls
        self._most_bytes = self.most_bytes_at_most if most_bytes is None else most_bytes
        self._beat_seconds = beat_seconds
        self._silence_seconds = silence_seconds
        self.errors: list[str] = []
        self._closed = False

    @abstractmethod
    def close(self) -> None:
        """Stop listening and drop every connection. Repeatable."""


class OpenRequests:
    """Requests of a channel that wait for an answer. Thread-safe."""

    def __init__(self, on_failure: OnFailure) -> None:
        self._on_failure = on_failure
        self._lock = threading.Lock()
        self._sequences: set[int] = set()
        self._broken: str | None = None

    def add(self, sequence: int) -> bool:
        """A request is about to leave; False where it failed, since the channel is broken."""
        with self._lock:
            broken = self._broken
            if broken is None:
                self._sequences.add(sequence)
                return True
        self._on_failure(sequence, broken)
        return False

    def answered(self, sequence: int) -> None:
        """An answer came."""
        with self._lock:
            self._sequences.discard(sequence)

    def fail(self, reason: str) -> None:
        """Whatever has no answer failed; and so will what is still to be sent."""
        with self._lock:
            self._broken = self._broken or reason
            unanswered, self._sequences = sorted(self._sequences), set()
        for sequence in unanswered:
            self._on_failure(sequence, reason)


def join(thread: threading.Thread | None) -> None:
    """Wait for a thread that is about to end, unless it is this one."""
    if thread is not None and thread is not threading.current_thread():
        thread.join(SECONDS_TO_GREET)


class RequestChannel(ABC):
    """What channels over a network have in common: options, and what becomes of a request.

    Args:
        address: of a server of the same transport.
        exchange: number of the exchange there.
        tls: None for a plain connection.
        most_bytes: payload of one request; the server takes no more than its own bound. None for
            `most_bytes_at_most`.
        silence_seconds: a server that shows no life for so long is given up; more than its
            `beat_seconds`.
        rpc_http_min_size: payload of a request beyond which it leaves in two parts, the message,
            then the payloads. Where they are apart anyway (sockets, Flight) it changes nothing.
    """

    pass_through = False
    #: `most_bytes` where none is given.
    most_bytes_at_most: ClassVar[int]
    #: What `write` raises over a channel that is of no more use.
    broken_by: ClassVar[tuple[type[Exception], ...]]

    def __init__(
        self,
        address: str,
        exchange: int,
        *,
        tls: ClientTls | None = None,
        most_bytes: int | None = None,
        silence_seconds: float = SILENCE_SECONDS,
        rpc_http_min_size: int = RPC_HTTP_MIN_SIZE,
    ) -> None:
        if not 0 <= rpc_http_min_size <= RPC_HTTP_MIN_SIZE:
            raise UsageError(
                f"rpc_http_min_size is 0 to {RPC_HTTP_MIN_SIZE}, what one message can have, "
                f"not {rpc_http_min_size}"
            )
        self.most_bytes: int | None = self.most_bytes_at_most if most_bytes is None else most_bytes
        self._address = address
        self._where = parse_address(address)
        self._exchange = exchange
        self._tls = tls
        self._silence_seconds = silence_seconds
        self._rpc_http_min_size = rpc_http_min_size
        self._open: OpenRequests | None = None
        self._be_number: int | None = None

    def send(self, request: Request) -> None:
        """Hand a request over; it waits for its answer until the channel is broken."""
        assert self._open is not None, "a channel is opened before it sends"
        if not self._open.add(request.sequence):
            return
        self._be_number = request.be_number
        try:
            self.write(request)
        except self.broken_by as error:
            self._open.fail(f"{self._address}: {error}")

    def take(self, answer: Answer, on_answer: OnAnswer) -> None:
        """Pass an answer on."""
        assert self._open is not None, "a channel is opened before it hears"
        if answer.be_number != self._be_number:
            raise InputError(
                f"an answer to sender {answer.be_number} came to sender {self._be_number}"
            )
        self._open.answered(answer.sequence)
        on_answer(answer)

    @abstractmethod
    def write(self, request: Request) -> None:
        """Let a request leave; raises one of `broken_by`."""


class Arrivals:
    """Requests of one connection on their way to a registry; of use to one thread.

    A connection is one sender's way to one exchange, and says so first, in an announcement.
    `announced`: that is so; not where each request comes by itself.
    """

    def __init__(self, registry: SourceRegistry, *, announced: bool = True) -> None:
        self._registry = registry
        self._announced = announced
        self._sender: tuple[int, int] | None = None
        #: Where the sender sends to, as soon as that is known. The number may be another
        #: exchange's by the time the connection ends.
        self._source: ExchangeSource | None = None

    def deliver(self, exchange: int, request: Request, reply: Reply) -> None:
        """See `SourceRegistry.deliver`; an announcement only says who will send."""
        sender = (exchange, request.be_number)
        if self._sender is None and (request.is_announcement or not self._announced):
            self._sender = sender
        elif request.is_announcement or sender != self._sender:
            raise InputError(self._complaint(sender, request))
        if self._source is None:
            self._source = self._registry.find(exchange)
        if not request.is_announcement:
            self._registry.deliver(exchange, request, reply)

    def _complaint(self, sender: tuple[int, int], request: Request) -> str:
        what = f"request {request.sequence} of sender {sender[1]} to exchange {sender[0]}"
        if self._sender is None:
            return f"{what} came before its sender was announced"
        if request.is_announcement:
            return f"sender {sender[1]} is announced where sender {self._sender[1]} was before"
        return f"{what} came from sender {self._sender[1]} to exchange {self._sender[0]}"

    def end(self, reason: str) -> None:
        """Nothing more comes over this connection."""
        if self._sender is None:
            return
        exchange, be_number = self._sender
        if self._source is not None:
            self._source.lose(be_number, reason)
        else:
            self._registry.lose(exchange, be_number, reason)
