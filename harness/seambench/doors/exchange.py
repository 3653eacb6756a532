"""The command door of the exchange seam: an outside program as senders, as receivers, or as both.

Where the program is one side only, `seambench.exchange.plain` is the other. What is said to it, and
what it must say, is in docs/doors.md.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from seambench.doors.command import Command, CommandCrashError
from seambench.doors.request import REQUEST_VERSION
from seambench.errors import InputError, RefusedError, UsageError
from seambench.exchange.frames import Frame, read_frame
from seambench.exchange.plain import WINDOW, FailedError, PlainReceiver, PlainSender
from seambench.seams import ExchangeReceiver, ExchangeRequest, ExchangeSender

__all__ = ["CommandExchange"]

_REFUSED = 2


class CommandExchange(Command):
    """An exchange of which a command is a side, or both: what its capabilities say."""

    def open(self, request: ExchangeRequest) -> _Open:
        """Start a process for each sender or receiver; see `seambench.seams.Exchange`."""
        sides = [side for side in ("sender", "receiver") if self.capabilities.get(side)]
        if not sides:
            raise UsageError(f"{self.name} states neither `sender` nor `receiver`")
        if request.transport != "sockets" or request.format != "arrow":
            raise RefusedError(
                f"{self.name}: commands exchange arrow over sockets, not {request.format} over "
                f"{request.transport}"
            )
        return _Open(self, request, sides)


class _Open:
    """Both sides of one exchange."""

    def __init__(
        self, exchange: CommandExchange, request: ExchangeRequest, sides: Sequence[str]
    ) -> None:
        self._stack = contextlib.ExitStack()
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="seam")))
        paths = [folder / str(number) for number in range(request.receivers)]
        try:
            self.receivers: Sequence[ExchangeReceiver] = [
                self._kept(
                    _CommandReceiver(exchange, request, number, path)
                    if "receiver" in sides
                    else PlainReceiver(request, path)
                )
                for number, path in enumerate(paths)
            ]
            self.senders: Sequence[ExchangeSender] = [
                self._kept(
                    _CommandSender(exchange, request, number, paths)
                    if "sender" in sides
                    else PlainSender(request, number, paths)
                )
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


def _asked(request: ExchangeRequest, role: str, number: int, paths: Sequence[Path]) -> bytes:
    """The request as one line of JSON."""
    content: dict[str, Any] = {
        "version": REQUEST_VERSION,
        "seam": "exchange",
        "role": role,
        "number": number,
        "senders": request.senders,
        "drivers": request.drivers,
        "addresses": [f"unix:{path}" for path in paths],
        "partition": request.partition,
        "function": request.function,
        "keys": list(request.keys),
        "order": request.order,
        "sort": [
            {"column": k.column, "descending": k.descending, "nulls_first": k.nulls_first}
            for k in request.sort
        ],
        "chunk_rows": request.chunk_rows,
        "buffer_bytes": request.buffer_bytes,
        "window": WINDOW,
    }
    return json.dumps({k: v for k, v in content.items() if v is not None}).encode() + b"\n"


class _Process:
    """One running command."""

    def __init__(self, exchange: CommandExchange, request: bytes) -> None:
        self._name = exchange.name
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            exchange.arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.input = self._process.stdin
        self.output = self._process.stdout
        self._timer = threading.Timer(exchange.timeout, self._process.kill)
        self._timer.daemon = True
        self._timer.start()
        with contextlib.suppress(BrokenPipeError):
            self.input.write(request)
            self.input.flush()

    def put(self, frame: Frame) -> None:
        """Hand a frame over.

        Raises:
            FailedError: the command has ended; see `end`.
        """
        try:
            self.input.write(frame.encode())
            self.input.flush()
        except (BrokenPipeError, ValueError):
            self.end()
            raise FailedError(f"{self._name}: it ended before its input did") from None

    def end(self) -> None:
        """Wait for the end and raise what the exit code stands for."""
        with contextlib.suppress(BrokenPipeError):
            self.input.close()
        code = self._process.wait()
        self._timer.cancel()
        self._errors.seek(0)
        said = " ".join(self._errors.read().decode("utf-8", "replace").split())[-2000:]
        if code == _REFUSED:
            raise FailedError(f"{self._name}: {said or 'refused without a reason'}")
        if code != 0:
            raise CommandCrashError(f"{self._name}: ended with {code}; it said: {said}")

    def kill(self) -> None:
        """End the command if it still runs; its output may still be read."""
        self._timer.cancel()
        if self._process.poll() is None:
            self._process.kill()

    def close(self) -> None:
        """End the command if it still runs, and give back what it holds."""
        self.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self.input.close()
        self.output.close()
        self._errors.close()


class _CommandSender:
    """A sending side that is a command."""

    def __init__(
        self,
        exchange: CommandExchange,
        request: ExchangeRequest,
        number: int,
        paths: Sequence[Path],
    ) -> None:
        self._process = _Process(exchange, _asked(request, "sender", number, paths))
        self._sent = 0
        self.close = self._process.close

    def write(self, batch: pa.RecordBatch) -> None:
        """Hand rows over; the command's pipe fills up where it waits."""
        self._process.put(Frame.data(self._sent, 0, batch))
        self._sent += 1

    def finish(self) -> None:
        """Say that nothing follows, and wait for the command's end."""
        self._process.put(Frame("E", self._sent))
        self._process.end()

    def cancel(self, reason: str) -> None:
        """Tell the command, which must tell its receivers."""
        with contextlib.suppress(FailedError, CommandCrashError, ValueError):
            self._process.put(Frame("X", body=reason.encode()))
            self._process.end()


class _CommandReceiver:
    """A receiving side that is a command; its frames are sorted to their drivers here."""

    def __init__(
        self, exchange: CommandExchange, request: ExchangeRequest, number: int, path: Path
    ) -> None:
        self._process = _Process(exchange, _asked(request, "receiver", number, [path]))
        self._changed = threading.Condition()
        self._rows: list[list[pa.RecordBatch]] = [[] for _ in range(request.drivers)]
        self._over = False
        self._error: Exception | None = None
        self._reading = threading.Thread(target=self._read_frames, daemon=True)
        self._reading.start()

    def _read_frames(self) -> None:
        error: Exception | None = None
        ended = False
        try:
            while not ended and (frame := read_frame(self._process.output.read)) is not None:
                ended = frame.kind == "E"
                if not ended:
                    self._keep(frame)
            self._process.end()
            if not ended:
                error = FailedError("the receiver ended without an end of its rows")
        except Exception as caught:  # told to whoever reads
            error = caught
        with self._changed:
            self._over, self._error = True, error
            self._changed.notify_all()

    def _keep(self, frame: Frame) -> None:
        if frame.kind != "D" or frame.driver >= len(self._rows):
            raise InputError(f"the receiver gives frame {frame.kind} for driver {frame.driver}")
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
