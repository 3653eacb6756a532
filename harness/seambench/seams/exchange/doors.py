"""The command door of the exchange seam: an outside program as senders, as receivers, or as both.

Each side is a process of its own, written to and read from in frames; see docs/doors.md.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence

import pyarrow as pa

from seambase.errors import RefusedError
from seambench.conformance.doors.command import Command, Running
from seambench.contracts.exchange import ExchangeRequest
from seambench.contracts.outcomes import ProtocolError
from seambench.seams.exchange.door_messages import Outside
from seambench.seams.exchange.frames import Frame, read_frame
from seambench.seams.exchange.plain import FailedError

_SECONDS_TO_LISTEN = 20.0


class CommandExchange(Outside, Command):
    """An exchange of which a command is a side, or both: what its capabilities say."""

    def __init__(self, command: str, timeout: float = 600.0) -> None:
        super().__init__(command, timeout)
        self._state_wires()

    def listen(self, request: ExchangeRequest, address: str) -> _CommandReceiver:
        """Start a receiver, and wait until it listens; see `contracts.exchange.Distributed`."""
        self._require(request)
        return _CommandReceiver(self, request, self._line(request, "receiver", None, [address]))

    def connect(
        self, request: ExchangeRequest, sender: int, addresses: Sequence[str]
    ) -> _CommandSender:
        """Start a sender; see `contracts.exchange.Distributed`."""
        self._require(request)
        return _CommandSender(
            self, self._line(request, "sender", sender, addresses), request.writers
        )

    def _require(self, request: ExchangeRequest) -> None:
        if request.transport != "sockets":
            raise RefusedError(
                f"{self.name}: commands exchange over sockets, not over {request.transport}"
            )
        super()._require(request)


class _Side(Running):
    """One running command that is a side of an exchange."""

    def __init__(self, exchange: CommandExchange, request: bytes) -> None:
        super().__init__(exchange)
        self._side = exchange.name
        self.send(request)

    def put(self, frame: Frame) -> None:
        """Hand a frame over."""
        try:
            self.input.write(frame.encode())
            self.input.flush()
        except (BrokenPipeError, ValueError):
            self.end(FailedError)
            raise ProtocolError(f"{self._side}: it ended before its input did") from None


class _CommandSender:
    def __init__(self, exchange: CommandExchange, line: bytes, writers: int = 1) -> None:
        self._process = _Side(exchange, line)
        self._lock = threading.Lock()
        self._open = set(range(writers))
        self._sent = 0

    def close(self) -> None:
        """End the command if it still runs. Repeatable."""
        self._process.close()

    def write(self, batch: pa.RecordBatch, driver: int = 0) -> None:
        """Hand rows over; the command's pipe fills up where it waits."""
        with self._lock:
            self._process.put(Frame.data(self._sent, driver, batch))
            self._sent += 1

    def finish(self, driver: int = 0) -> None:
        """After the last driver, say that nothing follows, and wait for the command's end."""
        with self._lock:
            self._open.discard(driver)
            if self._open:
                return
            self._process.put(Frame("E", self._sent))
        self._process.end(FailedError)

    def cancel(self, reason: str) -> None:
        """Tell the command, which must tell its receivers."""
        with contextlib.suppress(FailedError, ValueError):
            self._process.put(Frame("X", body=reason.encode()))
            self._process.end(FailedError)


class _CommandReceiver:
    """A receiving side that is a command; its frames are sorted to their drivers here."""

    #: All that it hands on is taken as it comes, so that it has nothing to keep.
    is_taken_at_once = True

    def __init__(self, exchange: CommandExchange, request: ExchangeRequest, line: bytes) -> None:
        self.address = ""
        self._process = _Side(exchange, line)
        self._changed = threading.Condition()
        self._rows: list[list[pa.RecordBatch]] = [[] for _ in range(request.drivers)]
        self._over = False
        self._error: Exception | None = None
        self._reading = threading.Thread(target=self._read_frames, daemon=True)
        self._reading.start()
        try:
            self._wait_until_it_listens(exchange.name)
        except BaseException:
            self.close()
            raise

    def _wait_until_it_listens(self, name: str) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.address or self._over, _SECONDS_TO_LISTEN)
            if not self.address:
                raise self._error or ProtocolError(
                    f"{name}: it does not say that it listens (frame L)"
                )

    def _read_frames(self) -> None:
        error: Exception | None = None
        ended = False
        try:
            while not ended and (frame := read_frame(self._process.output.read)) is not None:
                ended = frame.kind == "E"
                if not ended:
                    self._keep(frame)
            self._process.end(FailedError)
            if not ended:
                error = ProtocolError("the receiver ended without an end of its rows")
        except Exception as caught:  # raised for whoever reads
            error = caught
        with self._changed:
            self._over, self._error = True, self._error or error
            self._changed.notify_all()

    def _keep(self, frame: Frame) -> None:
        if frame.kind == "L" and not self.address:
            with self._changed:
                self.address = frame.text()
                self._changed.notify_all()
            return
        if not self.address or frame.kind != "D" or frame.driver >= len(self._rows):
            raise ProtocolError(f"the receiver gives frame {frame.kind} for driver {frame.driver}")
        with self._changed:
            self._rows[frame.driver].append(frame.batch())
            self._changed.notify_all()

    def read(self, driver: int = 0, timeout: float | None = None) -> pa.RecordBatch | None:
        """The next batch of a driver."""
        rows = self._rows[driver]
        with self._changed:
            if not self._changed.wait_for(lambda: bool(rows) or self._over, timeout):
                raise FailedError(f"nothing came to driver {driver} in {timeout} s")
            if rows:
                return rows.pop(0)
            if self._error is not None:
                raise self._error
            return None

    def cancel(self, reason: str) -> None:
        """End the command: its senders must notice."""
        with self._changed:
            self._error = self._error or FailedError(reason)
        self._process.kill()

    def close(self) -> None:
        """End the command if it still runs."""
        self._process.kill()
        self._reading.join()
        self._process.close()
