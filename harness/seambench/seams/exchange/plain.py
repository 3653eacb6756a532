"""The other end of an outside sender or receiver: plain threads and sockets over the frames.

They keep the rules of docs/doors.md to the letter and tell who breaks them.
"""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from seambase.errors import InputError, SeambenchError
from seambench import __version__
from seambench.conformance.plain import canonical
from seambench.contracts.common import Kind
from seambench.contracts.exchange import ExchangeRequest
from seambench.seams.exchange.frames import FRAME_VERSION, Frame, hello, read_frame
from seambench.seams.serde.values import plain_values

#: Frames of data that a sender may have without an answer, on each connection.
WINDOW = 8
#: Name of the wire that the frames are.
FRAMES = "frames"


class FailedError(SeambenchError):
    """The exchange failed, or an end of it broke the rules."""


def _reader(connection: socket.socket) -> Iterator[Frame]:
    with connection.makefile("rb") as stream:
        while (frame := read_frame(stream.read)) is not None:
            yield frame


class PlainExchange:
    """Implements `contracts.exchange.Distributed`: what an outside program meets by default."""

    name = "plain"
    version = __version__
    kind: Kind = "reference"
    capabilities: Mapping[str, bool] = dict.fromkeys(
        ("sender", "receiver", f"wires.{FRAMES}"), True
    )

    def listen(self, request: ExchangeRequest, address: str) -> PlainReceiver:
        """A receiver; see `seambench.contracts.exchange.Distributed`."""
        return PlainReceiver(request, address)

    def connect(
        self, request: ExchangeRequest, sender: int, addresses: Sequence[str]
    ) -> PlainSender:
        """A sender; see `seambench.contracts.exchange.Distributed`."""
        return PlainSender(request, sender, addresses)


class PlainReceiver:
    """A receiver for outside senders at `unix:PATH`; full, it withholds its answers."""

    def __init__(self, request: ExchangeRequest, address: str) -> None:
        self.address = address
        self._request = request
        self._changed = threading.Condition()
        self._rows: list[queue.SimpleQueue[tuple[pa.RecordBatch, int]]] = [
            queue.SimpleQueue() for _ in range(request.drivers)
        ]
        self._ended: set[int] = set()
        self._known: set[int] = set()
        self._error: str | None = None
        self._waiting_bytes = 0
        self._connections: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(address.removeprefix("unix:"))
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        sender: int | None = None
        try:
            frames = _reader(connection)
            sender = self._greet(next(frames, None))
            for sequence, frame in enumerate(frames):
                self._take(connection, sender, sequence, frame)
            self._fail_unless_ended(sender)
        except (SeambenchError, OSError, ValueError) as error:
            if sender is None or sender not in self._ended:
                self._fail(f"sender {sender}: {error}")

    def _greet(self, frame: Frame | None) -> int:
        said = json.loads(frame.body) if frame is not None and frame.kind == "H" else {}
        number = said.get("sender")
        with self._changed:
            if said.get("version") != FRAME_VERSION or number in self._known:
                raise InputError(f"no greeting of a new sender of version 1: {said}")
            if not isinstance(number, int) or not 0 <= number < self._request.senders:
                raise InputError(f"there is no sender {number}")
            self._known.add(number)
        return number

    def _take(self, connection: socket.socket, sender: int, sequence: int, frame: Frame) -> None:
        if frame.kind == "X" or self._error is not None:
            raise FailedError(self._error or frame.text())
        if frame.kind not in "DE" or frame.sequence != sequence or sender in self._ended:
            raise InputError(f"frame {frame.kind} {frame.sequence} came where {sequence} was due")
        if frame.kind == "E":
            with self._changed:
                self._ended.add(sender)
                self._changed.notify_all()
        else:
            if frame.driver >= len(self._rows):
                raise InputError(f"there is no driver {frame.driver}")
            self._put(frame)
        connection.sendall(Frame("A", frame.sequence).encode())

    def _put(self, frame: Frame) -> None:
        """Queue rows, and wait until they may be answered."""
        limit, size = self._request.buffer_bytes, len(frame.body)
        batch = frame.batch()
        with self._changed:
            self._waiting_bytes += size
            self._rows[frame.driver].put((batch, size))
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: limit is None or self._waiting_bytes <= limit or self._error is not None
            )

    def _fail(self, reason: str) -> None:
        with self._changed:
            self._error = self._error or reason
            self._changed.notify_all()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.sendall(Frame("X", body=self._error.encode()).encode())
                connection.shutdown(socket.SHUT_WR)

    def _fail_unless_ended(self, sender: int) -> None:
        if sender not in self._ended:
            raise FailedError("its connection closed before its end")

    def read(self, driver: int = 0, timeout: float | None = None) -> pa.RecordBatch | None:
        """The next batch of a driver; see `seambench.contracts.exchange.ExchangeReceiver`."""
        rows = self._rows[driver]

        def ready() -> bool:
            over = len(self._ended) == self._request.senders
            return self._error is not None or over or not rows.empty()

        with self._changed:
            if not self._changed.wait_for(ready, timeout):
                raise FailedError(f"nothing came to driver {driver} in {timeout} s")
            if self._error is not None:
                raise FailedError(self._error)
            if rows.empty():
                return None
            batch, size = rows.get()
            self._waiting_bytes -= size
            self._changed.notify_all()
            return batch

    def cancel(self, reason: str) -> None:
        """Give up."""
        self._fail(reason)

    def close(self) -> None:
        """Drop every connection."""
        for open_ in (self._listener, *self._connections):
            with contextlib.suppress(OSError):
                open_.shutdown(socket.SHUT_RDWR)
            open_.close()


class PlainSender:
    """A sender for outside receivers.

    Keys are hashed in a way of its own: equal ones meet. Addresses of receivers are `unix:PATH`.
    """

    def __init__(self, request: ExchangeRequest, number: int, addresses: Sequence[str]) -> None:
        self._request = request
        self._turn = 0
        self._lock = threading.Lock()
        self._open = set(range(request.writers))
        self._ways = [_Way(number, address) for address in addresses]

    def write(self, batch: pa.RecordBatch, driver: int = 0) -> None:
        """Deal and send the rows of a batch."""
        del driver
        with self._lock:
            self._write(batch)

    def _write(self, batch: pa.RecordBatch) -> None:
        step = self._request.chunk_rows
        for at in range(0, batch.num_rows, step):
            chunk = batch.slice(at, step)
            for part, rows in sorted(self._parts(chunk).items()):
                way, reader = divmod(part, self._request.drivers)
                self._ways[way].send(reader, chunk.take(pa.array(rows, pa.int64())))

    def _parts(self, batch: pa.RecordBatch) -> dict[int, list[int]]:
        request = self._request
        every = list(range(batch.num_rows))
        if request.partition == "broadcast":
            return {way * request.drivers: every for way in range(request.receivers)}
        if request.partition != "hash":
            self._turn = (self._turn + 1) % (request.receivers * request.drivers)
            return {self._turn: every}
        found: dict[int, list[int]] = {}
        keys = zip(*(plain_values(batch[name]) for name in request.keys), strict=True)
        for row, key in enumerate(keys):
            text = "\0".join(canonical(value) for value in key)
            part = zlib.adler32(text.encode()) % (request.receivers * request.drivers)
            found.setdefault(part, []).append(row)
        return found

    def finish(self, driver: int = 0) -> None:
        """After the last driver, end, and wait until everything is answered."""
        with self._lock:
            self._open.discard(driver)
            if self._open:
                return
        for way in self._ways:
            way.end()
        for way in self._ways:
            way.wait_until_answered()

    def cancel(self, reason: str) -> None:
        """Tell every receiver why nothing more comes."""
        for way in self._ways:
            way.fail(reason)

    def close(self) -> None:
        """Drop every connection."""
        for way in self._ways:
            way.close()


class _Way:
    """One connection to a receiver."""

    def __init__(self, number: int, address: str) -> None:
        self._changed = threading.Condition()
        self._sent = self._answered = 0
        self._ended = False
        self._error: str | None = None
        self._socket = _connected(address)
        self._socket.sendall(hello(number).encode())
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        reason = "the receiver closed the connection"
        try:
            for frame in _reader(self._socket):
                if frame.kind == "X":
                    reason = frame.text()
                    break
                with self._changed:
                    if frame.kind != "A" or frame.sequence >= self._sent:
                        reason = f"the receiver answers with frame {frame.kind} {frame.sequence}"
                        break
                    self._answered += 1
                    self._changed.notify_all()
        except (SeambenchError, OSError) as error:
            reason = str(error)
        with self._changed:
            if not (self._ended and self._answered == self._sent):
                self._error = self._error or reason
            self._changed.notify_all()

    def send(self, driver: int, batch: pa.RecordBatch) -> None:
        """Send rows, when the window has room."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._error is not None or self._sent - self._answered < WINDOW
            )
            self._put(Frame.data(self._sent, driver, batch))

    def end(self) -> None:
        """Say that nothing follows."""
        with self._changed:
            self._put(Frame("E", self._sent))
            self._ended = True

    def _put(self, frame: Frame) -> None:
        if self._error is not None:
            raise FailedError(self._error)
        self._sent += 1
        try:
            self._socket.sendall(frame.encode())
        except OSError as error:
            raise FailedError(f"the receiver took no more: {error}") from error

    def wait_until_answered(self) -> None:
        """Wait for the answers to everything."""
        with self._changed:
            self._changed.wait_for(lambda: self._error is not None or self._answered == self._sent)
            if self._answered != self._sent:
                raise FailedError(self._error or "")

    def fail(self, reason: str) -> None:
        """Say that the exchange fails."""
        with contextlib.suppress(OSError):
            self._socket.sendall(Frame("X", body=reason.encode()).encode())
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Drop the connection."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _connected(address: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.connect(address.removeprefix("unix:"))
    except OSError as error:
        made.close()
        raise FailedError(f"nobody listens at {address}: {error}") from error
    return made
