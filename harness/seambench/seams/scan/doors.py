"""The scan seam's doors: a reader that is any program, or a shared library.

A command gets one JSON object on standard input and writes an Arrow IPC stream to standard output.
A library has one function of the Arrow C interface:

    int seambench_scan(const char *request_json, struct ArrowArrayStream *out,
                       char *error, size_t error_size);

It fills `out`, or leaves it alone and writes a sentence into `error`. The stream is read by one
thread at a time. What ends and numbers mean is told in `seambench.conformance.doors`.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
from collections.abc import Iterator
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.dataset as ds

from seambase.errors import InputError, RefusedError
from seambase.foreign_arrow import sound_batches
from seambase.scan import ScanReport
from seambench.conformance.doors.command import Command, Running
from seambench.conformance.doors.facts import REQUEST_VERSION, Facts
from seambench.conformance.doors.library import ERROR_BYTES, ArrowArrayStream, Library, trusted
from seambench.contracts.outcomes import ProtocolError
from seambench.contracts.scan import Scan, Scanner, ScanRequest
from seambench.engines.stream_dataset import StreamDataset

__all__ = ["CommandScanner", "LibraryScanner", "scan_request"]


def scan_request(request: ScanRequest, facts: Facts) -> str:
    """The request as one JSON object; absent members mean null."""
    if request.where is not None and not facts.capabilities.get("where"):
        raise RefusedError(f"{facts.name}: it does not state that it applies filters (`where`)")
    query = {
        "type": request.query,
        "begin": request.begin,
        "end": request.end,
        "as_of": request.as_of,
        "changes_alone": request.changes_alone or None,
    }
    content: dict[str, Any] = {
        "version": REQUEST_VERSION,
        "seam": "scan",
        "table": request.table,
        "query": {key: value for key, value in query.items() if value is not None},
        "columns": None if request.columns is None else list(request.columns),
        "where": request.where,
        "batch_size": request.batch_rows,
        "threads": request.threads,
        "memory_limit": request.memory_limit_bytes,
        "strict": request.strict or None,
        "storage_options": dict(request.storage_options) or None,
        "allow": list(request.allow) or None,
    }
    return json.dumps({key: value for key, value in content.items() if value is not None})


class _Read(Protocol):
    """One read in progress."""

    schema: pa.Schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All batches; an error unless they are complete."""
        ...

    def close(self) -> None:
        """End it. Repeatable."""
        ...


class _Scanner(Scanner, Protocol):
    """A reader behind a door."""

    path: str

    def start(self, request: ScanRequest) -> _Read:
        """Begin one read."""
        ...


class CommandScanner(Command):
    """A scanner that is a command; started anew for each read."""

    path = "command"

    def open(self, request: ScanRequest) -> Scan:
        """Note the request; the command starts when schema or rows are asked for."""
        return _DoorScan(self, request)

    def start(self, request: ScanRequest) -> _Read:
        """Start the command for one read."""
        return _CommandRead(self, scan_request(request, self.facts))


class LibraryScanner(Library):
    """A scanner that is a shared library."""

    path = "library"

    def __init__(self, library: str) -> None:
        """Load the library; see `Library`."""
        super().__init__(library, ("seambench_scan",))
        function = self.functions["seambench_scan"]
        function.restype = ctypes.c_int
        function.argtypes = (
            ctypes.c_char_p,
            ctypes.POINTER(ArrowArrayStream),
            ctypes.c_char_p,
            ctypes.c_size_t,
        )

    def open(self, request: ScanRequest) -> Scan:
        """Note the request; the library is called when schema or rows are asked for."""
        return _DoorScan(self, request)

    def start(self, request: ScanRequest) -> _Read:
        """Call the library for one read."""
        stream = ArrowArrayStream()
        error = ctypes.create_string_buffer(ERROR_BYTES)
        asked = scan_request(request, self.facts).encode()
        code = self.functions["seambench_scan"](asked, ctypes.byref(stream), error, ERROR_BYTES)
        self.require_success(code, error.value)
        return _LibraryRead(self.name, self.reader(stream))


class _Output(io.RawIOBase):
    """The output of a program, which remembers whether it ended while more was asked for.

    A stream with an end mark is left before that: without the mark Arrow takes any end for one.
    """

    def __init__(self, output: IO[bytes]) -> None:
        self._output = output
        self.ended = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        piece = self._output.read(size)
        self.ended |= len(piece) < size or size < 0
        return piece


class _CommandRead:
    """The output of one run of a command."""

    def __init__(self, command: Command, request: str) -> None:
        self._name = command.name
        self._running = Running(command)
        self._running.send(request.encode())
        with contextlib.suppress(BrokenPipeError):
            self._running.input.close()
        self._output = _Output(self._running.output)
        try:
            self._stream = pa.ipc.open_stream(self._output)
        except (pa.ArrowException, OSError) as error:
            self._fail(f"its standard output is no Arrow IPC stream: {error}")
        self.schema: pa.Schema = self._stream.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from sound_batches(self._stream, "its standard output")
        except InputError as error:
            self._fail(str(error))
        if self._output.ended:
            self._fail("its stream has no end: a part may be missing")
        if self._running.says_more():
            self.close()
            raise ProtocolError(f"{self._name}: more bytes follow the end of its stream")
        self._running.output.close()
        self._running.end()

    def close(self) -> None:
        self._running.close()

    def _fail(self, problem: str) -> None:
        """Raise what the end of the command stands for; a problem of its own if it is success.

        What it still has to write is taken, so that it does not end by a pipe that we closed.
        """
        try:
            while self._running.output.read(1 << 20):
                pass
            self._running.output.close()
            self._running.end()
        finally:
            self.close()
        raise ProtocolError(f"{self._name}: {problem}")


class _LibraryRead:
    """The stream that a library gave."""

    def __init__(self, name: str, stream: pa.RecordBatchReader) -> None:
        self._name = name
        self._stream = stream
        self.schema: pa.Schema = stream.schema
        self.close = stream.close

    def batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._stream:
                yield trusted(batch, self._name)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self._name}: its stream broke off: {error}") from error


class _DoorScan:
    """One scan; the read that told the schema also gives the rows of the first stream."""

    def __init__(self, scanner: _Scanner, request: ScanRequest) -> None:
        self._scanner = scanner
        self._request = request
        self._started: _Read | None = None
        self._schema: pa.Schema | None = None
        self._report = ScanReport()

    @property
    def schema(self) -> pa.Schema:
        if self._schema is None:
            self._started = self._start()
        return self._schema

    def to_reader(self) -> pa.RecordBatchReader:
        read, self._started = self._started or self._start(), None
        report = self._report = ScanReport(paths={self._scanner.path: 1})

        def counted() -> Iterator[pa.RecordBatch]:
            with contextlib.closing(read):
                for batch in read.batches():
                    report.rows += batch.num_rows
                    yield batch

        return pa.RecordBatchReader.from_batches(self._schema, counted())

    def dataset(self) -> ds.Dataset:
        return StreamDataset(self._scanner, self._request, self.schema)

    def report(self) -> ScanReport:
        return self._report

    def _start(self) -> _Read:
        read = self._scanner.start(self._request)
        wanted = self._request.columns
        if wanted is not None and read.schema.names != list(wanted):
            read.close()
            raise ProtocolError(
                f"{self._scanner.name}: asked for columns {list(wanted)}, "
                f"a stream of {read.schema.names} came"
            )
        self._schema = read.schema
        return read

    def __del__(self) -> None:
        if self._started is not None:
            self._started.close()
