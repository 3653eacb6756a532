"""The scan seam's doors: readers that are no classes, and what all of them share.

A command gets one JSON object on standard input and writes an Arrow IPC stream to standard output.
A library has one function of the Arrow C interface:

    int seambench_scan(const char *request_json, struct ArrowArrayStream *out,
                       char *error, size_t error_size);

A service gets the same object by POST (`seambench.seams.scan.service`), a Python function has its
members as arguments (`seambench.seams.scan.function`).

A library fills `out`, or leaves it alone and writes a sentence into `error`. The stream is read by
one thread at a time. What ends and numbers mean stands in `seambench.conformance.doors`.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.dataset as ds

from seambase.errors import InputError, RefusedError
from seambase.foreign_arrow import sound_batches
from seambase.scan import ScanReport
from seambench.conformance.doors.command import Command, Running
from seambench.conformance.doors.facts import REQUEST_VERSION, Facts, WithFacts
from seambench.conformance.doors.library import ArrowArrayStream, Library, trusted
from seambench.contracts.outcomes import ProtocolError, TimedOutError
from seambench.contracts.scan import Scan, ScanRequest
from seambench.engines.stream_dataset import StreamDataset
from seambench.seams.scan.cases import ScanCase
from seambench.seams.scan.check import request_of

#: The one function of a library.
_SCAN = "seambench_scan"


def scan_request(request: ScanRequest, facts: Facts) -> str:
    """The request as one JSON object; absent members mean null."""
    return json.dumps(
        {"version": REQUEST_VERSION, "seam": "scan", **request_members(request, facts)}
    )


def request_members(request: ScanRequest, facts: Facts) -> dict[str, Any]:
    """What a request asks, by the names that the doors have for it; nothing that is absent."""
    if request.where is not None and not facts.capabilities.get("where"):
        raise RefusedError(f"{facts.name}: it does not state that it applies filters (`where`)")
    if request.row_kinds and not facts.capabilities.get("row-kinds"):
        raise RefusedError(f"{facts.name}: it does not state that it hands out kinds of rows")
    query = {
        "type": request.query,
        "begin": request.begin,
        "end": request.end,
        "as_of": request.as_of,
        "changes_alone": request.changes_alone or None,
        "row_kinds": request.row_kinds or None,
    }
    content: dict[str, Any] = {
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
    return {key: value for key, value in content.items() if value is not None}


class Read(Protocol):
    """One read in progress."""

    schema: pa.Schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All batches; an error unless they are complete."""

    def close(self) -> None:
        """End it. Repeatable."""


class DoorScanner(WithFacts, ABC):
    """A reader behind a door; `path` is what its reads are counted as."""

    path: str

    def open(self, request: ScanRequest) -> Scan:
        """Note the request; a read begins when schema or rows are asked for."""
        return DoorScan(self, request)

    @abstractmethod
    def start(self, request: ScanRequest) -> Read:
        """Begin one read."""


class CommandScanner(Command, DoorScanner):
    """A scanner that is a command; started anew for each read."""

    path = "command"

    def start(self, request: ScanRequest) -> Read:
        """Start the command for one read."""
        running = Running(self)
        running.send(scan_request(request, self.facts).encode())
        with contextlib.suppress(BrokenPipeError):
            running.input.close()
        return StreamRead(self.name, "its standard output", running)


class LibraryScanner(Library, DoorScanner):
    """A scanner that is a shared library."""

    path = "library"

    def __init__(self, library: str) -> None:
        """Load the library; see `Library`."""
        super().__init__(library, (_SCAN,))
        self.declare(_SCAN, ctypes.c_char_p, ctypes.POINTER(ArrowArrayStream))

    def start(self, request: ScanRequest) -> Read:
        """Call the library for one read."""
        stream = ArrowArrayStream()
        self.call(_SCAN, scan_request(request, self.facts).encode(), ctypes.byref(stream))
        return _LibraryRead(self.name, self.reader(stream))


class Source(Protocol):
    """Whoever writes a stream: a running program, or a service that answers."""

    @property
    def output(self) -> IO[bytes]:
        """The bytes that it writes."""

    def says_more(self) -> bool:
        """Whether more comes behind what was read."""

    def end(self) -> None:
        """Wait for its end, and raise what it stands for unless it is success."""

    def close(self) -> None:
        """End it. Repeatable."""


class _Output(io.RawIOBase):
    """What somebody writes, which remembers whether it ended while more was asked for.

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


class StreamRead:
    """One Arrow IPC stream, from its beginning to its end mark."""

    def __init__(self, name: str, what: str, source: Source) -> None:
        self._name, self._what, self._source = name, what, source
        self._output = _Output(source.output)
        try:
            self._stream = pa.ipc.open_stream(self._output)
        except (pa.ArrowException, OSError) as error:
            self._fail(f"{what} is no Arrow IPC stream: {error}")
        except TimedOutError:
            self.close()
            raise
        self.schema: pa.Schema = self._stream.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All of them; then whoever wrote them must have ended well."""
        try:
            yield from sound_batches(self._stream, self._what)
        except InputError as error:
            self._fail(str(error))
        if self._output.ended:
            self._fail("its stream has no end: a part may be missing")
        if self._source.says_more():
            self.close()
            raise ProtocolError(f"{self._name}: more bytes follow the end of its stream")
        self._source.output.close()
        self._source.end()

    def close(self) -> None:
        """End whoever writes. Repeatable."""
        self._source.close()

    def _fail(self, problem: str) -> None:
        """Raise what the end of the source stands for; a problem of its own if it is success.

        What it still has to write is taken, so that it does not end by a pipe that we closed.
        """
        try:
            while self._source.output.read(1 << 20):
                pass
            self._source.output.close()
            self._source.end()
        finally:
            self.close()
        raise ProtocolError(f"{self._name}: {problem}")


class _LibraryRead:
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


class DoorScan:
    """One scan; the read that gave the schema also gives the rows of the first stream."""

    def __init__(self, scanner: DoorScanner, request: ScanRequest) -> None:
        self._scanner = scanner
        self._request = request
        self._started: Read | None = None
        self._schema: pa.Schema | None = None
        self._report = ScanReport()

    @property
    def schema(self) -> pa.Schema:
        """The columns that were asked for, of those types that came."""
        if self._schema is None:
            self._started = self._start()
        return self._schema

    def to_reader(self) -> pa.RecordBatchReader:
        """A read of its own, but for the first."""
        read, self._started = self._started or self._start(), None
        report = self._report = ScanReport(paths={self._scanner.path: 1})

        def counted() -> Iterator[pa.RecordBatch]:
            with contextlib.closing(read):
                for batch in read.batches():
                    report.rows += batch.num_rows
                    yield batch

        return pa.RecordBatchReader.from_batches(self._schema, counted())

    def dataset(self) -> ds.Dataset:
        """A dataset each of whose scans is a read."""
        return StreamDataset(self._scanner, self._request, self.schema)

    def report(self) -> ScanReport:
        """How many rows came."""
        return self._report

    def _start(self) -> Read:
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


def keep_scan(case: ScanCase, folder: Path) -> list[str]:
    """Unpack the table into `folder/table`, as the case edits it; see `Seam.keep`."""
    table, request = folder / "table", folder / "request.json"
    case.table.unpack(table, case.edits)
    if case.form:
        case.table.format.form(case.form).change(table)
    request.write_text(line_of_case(case, table) + "\n", encoding="utf-8")
    looked_at = [f"seamkit inspect {table}"] if find_spec("seamkit") else []
    return [
        *looked_at,
        f"./reader < {request} > rows.arrows    # as the door for programs asks",
    ]


def line_of_case(case: ScanCase, table: Path = Path("TABLE")) -> str:
    """The request as the door for programs has it; a filter only whoever states `where` gets."""
    return scan_request(request_of(case, table), Facts("any reader", capabilities={"where": True}))
