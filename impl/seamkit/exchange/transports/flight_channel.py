"""The sending side of Arrow Flight; see `seamkit.exchange.transports.flight`.

Requests as Flight carries them: payloads as rows, where they lie; and where servers are.
"""

from __future__ import annotations

import contextlib
import struct
import threading
import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, UnavailableError, UsageError
from seambase.foreign_arrow import sound
from seambase.wording import counted
from seamkit.core.payloads import flat
from seamkit.exchange.logic.channel import OnAnswer, OnFailure
from seamkit.exchange.logic.messages import Answer, Request
from seamkit.exchange.transports.address import Address, read_pem
from seamkit.exchange.transports.base import (
    HELLO,
    SECONDS_TO_GREET,
    OpenRequests,
    RequestChannel,
    announcement,
    join,
)
from seamkit.exchange.transports.wire import (
    decode_answer,
    encode_request,
)

#: Payload of one request, where no other limit is given.
FLIGHT_BYTES_AT_MOST = 256 << 20
SECONDS_TO_CLOSE = 2.0
SCHEMA = pa.schema([pa.field("payload", pa.binary_view(), nullable=False)])
_INLINE_BYTES = 12  # what a view holds by itself


def flight() -> Any:
    """The module of Flight, unless pyarrow was built without it."""
    try:
        import pyarrow.flight
    except ImportError as error:
        raise UnavailableError("this pyarrow was built without Flight: use its wheels") from error
    return pyarrow.flight


def pack(payloads: Sequence[Any]) -> pa.RecordBatch:
    """Payloads as rows; each longer one is a buffer of the array."""
    views: list[bytes] = []
    buffers: list[pa.Buffer] = []
    for payload in map(flat, payloads):
        view = memoryview(payload).cast("B")
        if len(view) <= _INLINE_BYTES:
            views.append(struct.pack("<i12s", len(view), bytes(view)))
        else:
            views.append(struct.pack("<i4sii", len(view), bytes(view[:4]), len(buffers), 0))
            buffers.append(pa.py_buffer(payload))
    array = pa.Array.from_buffers(
        pa.binary_view(), len(views), [None, pa.py_buffer(b"".join(views)), *buffers]
    )
    return pa.RecordBatch.from_arrays([array], schema=SCHEMA)


def unpack(batch: pa.RecordBatch) -> list[memoryview]:
    """The rows again, where they are."""
    if batch.schema.types != SCHEMA.types:
        raise InputError(f"a batch of {batch.schema.types} came, not of {SCHEMA.types}")
    array = sound(batch, "a request").column(0)
    if array.null_count:
        raise InputError(f"{counted(array.null_count, 'payload', 'are')} null")
    _, views, *buffers = array.buffers()
    payloads = []
    for row in range(array.offset, array.offset + len(array)):
        view = memoryview(views)[row * 16 : row * 16 + 16]
        size, _, number, start = struct.unpack("<i4sii", view)
        if size <= _INLINE_BYTES:
            payloads.append(view[4 : 4 + size])
        else:
            payloads.append(memoryview(buffers[number])[start : start + size])
    return payloads


def location(where: Address, tls: bool) -> str:
    """The address as Flight writes it; TLS over a Unix socket is refused."""
    if where.path and tls:
        raise UsageError(f"{where}: Flight has no TLS over Unix sockets")
    if where.path:
        return f"grpc+unix://{where.path}"
    return f"grpc+{'tls' if tls else 'tcp'}://{where.host}:{where.port}"


class FlightChannel(RequestChannel):
    """A `Channel` over one DoExchange stream; see `RequestChannel`."""

    most_bytes_at_most = FLIGHT_BYTES_AT_MOST
    broken_by = (pa.ArrowException, OSError)

    def __init__(self, address: str, exchange: int, **options: Any) -> None:
        self._flight = flight()
        super().__init__(address, exchange, **options)
        self._heard = 0.0
        self._over = threading.Event()
        self._client: Any = None
        self._writer: Any = None
        self._reader: Any = None
        # gRPC ends the process over two calls on the way out, or one after its end.
        self._writing = threading.Lock()
        self._ended = False
        self._threads: list[threading.Thread] = []

    def open(
        self, on_answer: OnAnswer, on_failure: OnFailure, be_number: int | None = None
    ) -> None:
        """Connect, greet and begin the stream."""
        client = self._connect()
        try:
            self._greet(client)
            descriptor = self._flight.FlightDescriptor.for_command(HELLO)
            self._writer, self._reader = client.do_exchange(descriptor)
            self._writer.begin(SCHEMA)
            if be_number is not None:
                self.write(announcement(be_number))
        except (pa.ArrowException, OSError, InputError) as error:
            client.close()
            raise UnavailableError(f"{self._address} cannot be reached: {error}") from error
        self._client = client
        self._open = OpenRequests(on_failure)
        self._heard = time.monotonic()
        self._threads = [
            threading.Thread(target=self._listen, args=(self._open, on_answer), daemon=True),
            threading.Thread(target=self._watch, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def write(self, request: Request) -> None:
        """Waits while the stream takes no more."""
        message, payloads = encode_request(self._exchange, request, inline=False)
        batch = pack(payloads)
        with self._writing:
            if self._ended:
                raise OSError("the channel was closed")
            self._writer.write_with_metadata(batch, message)

    def close(self) -> None:
        """End the stream; it is broken off if the server does not end it as well."""
        if self._open is None:
            return
        if self._writing.acquire(timeout=SECONDS_TO_CLOSE):
            if not self._ended:
                self._ended = True
                with contextlib.suppress(pa.ArrowException, OSError):
                    self._writer.done_writing()
            self._writing.release()
        if not self._over.wait(SECONDS_TO_CLOSE):
            self._reader.cancel()
        for thread in self._threads:
            join(thread)

    def _connect(self) -> Any:
        options: dict[str, Any] = {}
        if self._tls is not None:
            self._tls.context()  # which says what is wrong with the files
            options = {
                "tls_root_certs": read_pem(self._tls.roots),
                "cert_chain": read_pem(self._tls.certificate),
                "private_key": read_pem(self._tls.key),
                "override_hostname": self._tls.server_name,
            }
        return self._flight.FlightClient(
            location(self._where, self._tls is not None),
            generic_options=[
                ("grpc.enable_http_proxy", 0),
                ("grpc.enable_retries", 0),
                ("grpc.use_local_subchannel_pool", 1),
            ],
            **options,
        )

    def _greet(self, client: Any) -> None:
        action = self._flight.Action("hello", HELLO)
        limits = self._flight.FlightCallOptions(timeout=SECONDS_TO_GREET)
        heard = [result.body.to_pybytes() for result in client.do_action(action, limits)]
        if heard != [HELLO]:
            raise InputError(f"it does not speak this protocol: {heard[:1]!r}")

    def _listen(self, waiting: OpenRequests, on_answer: OnAnswer) -> None:
        """Read answers until the stream ends."""
        reason = "closed the stream"
        try:
            for _, message in self._reader:
                self._heard = time.monotonic()
                answer = _answer(message)
                if answer.sequence >= 0:
                    self.take(answer, on_answer)
                elif answer.error is not None:
                    reason = answer.error
                    break
        except (pa.ArrowException, OSError, InputError) as error:
            reason = str(error)
        if time.monotonic() - self._heard >= self._silence_seconds:
            reason = f"showed no life for {self._silence_seconds} s"
        waiting.fail(f"{self._address}: {reason}")
        with contextlib.suppress(pa.ArrowException, OSError):
            self._reader.cancel()
        with self._writing, contextlib.suppress(pa.ArrowException, OSError):
            self._ended = True
            self._writer.close()
        self._client.close()
        self._over.set()

    def _watch(self) -> None:
        """Break the stream off when nothing is heard for too long."""
        while not self._over.wait(self._silence_seconds / 4):
            if time.monotonic() - self._heard >= self._silence_seconds:
                self._reader.cancel()
                return


def _answer(message: pa.Buffer | None) -> Answer:
    if message is None:
        raise InputError("a batch came, where answers are meant")
    return decode_answer(message.to_pybytes())
