"""Arrow Flight: one DoExchange stream a channel.

A request is one record batch of one column, `payload: binary_view`, a row for each chunk, with the
protobuf message of the request beside it as app_metadata. Payloads stay opaque, so that every chunk
format travels alike; each becomes a buffer of the column as it is, and is read where it arrived. So
nothing is copied on this side of Flight. Answers come back as app_metadata without a batch; one to
no request says that the server lives, or, with an error, why it ends the stream.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, UnavailableError
from seambase.wording import counted
from seamkit.exchange.logic.messages import Answer
from seamkit.exchange.source import SourceRegistry
from seamkit.exchange.transports.address import read_pem
from seamkit.exchange.transports.base import (
    HELLO,
    MESSAGE_BYTES_AT_MOST,
    SECONDS_TO_GREET,
    Arrivals,
    Server,
    note,
)
from seamkit.exchange.transports.flight_channel import (
    FLIGHT_BYTES_AT_MOST,
    SECONDS_TO_CLOSE,
    flight,
    location,
    unpack,
)
from seamkit.exchange.transports.wire import (
    BEAT,
    decode_request_with,
    encode_answer,
)

#: Streams of one server, each with two threads.
_MOST_STREAMS = 1024


class _Replies:
    """The way back over one stream, from any thread, until the stream ends."""

    def __init__(self, writer: Any, on_silence: Callable[[str], None]) -> None:
        self._writer: Any = writer
        self._on_silence = on_silence
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._unanswered = 0
        self.hear(SECONDS_TO_GREET)

    def hear(self, silence_seconds: float) -> None:
        """The client said something; it is to say more within so many seconds."""
        self._heard, self._silence_seconds = time.monotonic(), silence_seconds

    def expect(self, count: int) -> None:
        """So many more (or fewer) answers are due: until then silence of the client is no fault."""
        with self._lock:
            self._unanswered += count
            self._heard = time.monotonic()

    def answer(self, answer: Answer) -> None:
        self.expect(-1)
        self.write(encode_answer(answer))

    def write(self, message: bytes) -> None:
        with self._lock:
            if not self._over.is_set():
                with contextlib.suppress(pa.ArrowException, OSError):  # the sender is gone
                    self._writer.write_metadata(message)

    def beat(self, seconds: float) -> None:
        """Show every so often that this side lives, and look whether the client does."""
        while not self._over.wait(seconds):
            silence = time.monotonic() - self._heard
            if self._unanswered == 0 and silence >= self._silence_seconds:
                reason = f"the sender said nothing for {self._silence_seconds:g} s"
                self.write(encode_answer(Answer(0, -1, reason)))
                self._on_silence(reason)
                return
            self.write(BEAT)

    def end(self) -> None:
        with self._lock:
            self._over.set()


class FlightServer(Server):
    """Takes requests from streams and delivers them to a registry.

    Flight gives each stream a thread; one more shows its client that the server lives. A stream
    cannot be broken off from this side: a client that is given up hears why, its sender is lost,
    and its thread stays until the client goes or its connection ends. So streams have a bound.

    What a request has is looked at after it has arrived: Flight's own bound is 2 GiB. Beyond
    `most_streams` one is refused. See `Server`.
    """

    most_bytes_at_most = FLIGHT_BYTES_AT_MOST

    def __init__(
        self,
        registry: SourceRegistry,
        address: str,
        *,
        most_streams: int = _MOST_STREAMS,
        **options: Any,
    ) -> None:
        super().__init__(registry, address, **options)
        self._most_streams = most_streams
        self._streams: set[_Replies] = set()
        self._lock = threading.Lock()
        tls, secured = self._tls, dict[str, Any]()
        if tls is not None:
            tls.context()  # which says what is wrong with the files
            secured["tls_certificates"] = [(read_pem(tls.certificate), read_pem(tls.key))]
            if tls.client_roots is not None:
                secured |= {"verify_client": True, "root_certificates": read_pem(tls.client_roots)}
        try:
            self._server = _server_class()(self, location(self._where, tls is not None), **secured)
        except (pa.ArrowException, OSError) as error:
            raise UnavailableError(f"cannot listen at {address}: {error}") from error
        self.address = str(self._where.with_port(self._server.port))
        # Flight itself would wait, at the end of the process, for clients that nobody told to go.
        atexit.register(self.close)

    def close(self) -> None:
        """Stop listening and tell every client to go. Repeatable.

        A client that does not go, since it stands still, keeps its stream until its connection
        ends. Flight has no way to break it off; the end of this process waits for that as well.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            atexit.unregister(self.close)
            streams = list(self._streams)
        closing = threading.Thread(target=self._server.shutdown, daemon=True)
        closing.start()
        for replies in streams:
            replies.write(encode_answer(Answer(0, -1, "the server closes")))
        closing.join(SECONDS_TO_CLOSE)

    def serve(self, said: bytes, reader: Any, writer: Any) -> None:
        """One stream, from its greeting to its end; what breaks the protocol ends it."""
        arrivals = Arrivals(self._registry)
        replies = _Replies(writer, lambda reason: self._give_up(arrivals, reason))
        reason = "its stream ended"
        try:
            self._admit(replies, said)
            replies.write(BEAT)
            for batch, message in reader:
                if self._closed:
                    break
                replies.hear(self._silence_seconds)
                self._take(batch, message, arrivals, replies)
        except (InputError, pa.ArrowException, OSError) as error:
            reason = str(error)
            note(self.errors, reason)
            raise
        finally:
            with self._lock:
                self._streams.discard(replies)
            replies.end()
            arrivals.end(reason)

    def _admit(self, replies: _Replies, said: bytes) -> None:
        """Take a stream in, and look after its client."""
        _check_hello(said)
        with self._lock:
            if len(self._streams) >= self._most_streams:
                raise InputError(
                    f"{counted(len(self._streams), 'stream', 'are')} open, and no more are taken"
                )
            self._streams.add(replies)
        threading.Thread(target=replies.beat, args=(self._beat_seconds,), daemon=True).start()

    def _give_up(self, arrivals: Arrivals, reason: str) -> None:
        note(self.errors, reason)
        arrivals.end(reason)

    def _take(
        self, batch: pa.RecordBatch | None, message: Any, arrivals: Arrivals, replies: _Replies
    ) -> None:
        if batch is None or message is None:
            raise InputError("a request is a batch with app_metadata")
        size = batch.get_total_buffer_size()  # of whole buffers: rows are not yet believed
        if size > self._most_bytes + MESSAGE_BYTES_AT_MOST:
            raise InputError(f"a request of {counted(size, 'byte')}; {self._most_bytes} are taken")
        exchange, request = decode_request_with(message.to_pybytes(), unpack(batch))
        if not request.is_announcement:
            replies.expect(1)
        arrivals.deliver(exchange, request, replies.answer)


def _check_hello(said: bytes) -> None:
    if said != HELLO:
        raise InputError(f"the peer says {said[:16]!r} and not {HELLO!r}")


def _server_class() -> Any:
    """The class that Flight calls; made when Flight is there."""
    module = flight()

    class Service(module.FlightServerBase):  # type: ignore[name-defined,misc]  # imported when used
        """Hands streams on."""

        def __init__(self, server: FlightServer, location: str, **options: Any) -> None:
            self._to = server
            super().__init__(location, **options)

        def do_action(self, _context: Any, action: Any) -> list[bytes]:
            if action.type != "hello":
                raise module.FlightServerError(f"there is no action {action.type!r}")
            return [HELLO]

        def do_exchange(self, _context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
            try:
                self._to.serve(descriptor.command or b"", reader, writer)
            except InputError as error:
                raise module.FlightServerError(str(error)) from error

    return Service
