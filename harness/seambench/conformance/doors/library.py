"""The library door: a reader is a shared library with one function of the Arrow C interface.

    int seambench_scan(const char *request_json, struct ArrowArrayStream *out,
                       char *error, size_t error_size);

It returns 0 and fills `out`, or 2 for a refusal or any other number for a failure, and then writes
a sentence into `error` (at most `error_size` bytes with the final 0) and leaves `out` alone. The
request is that of the command door. It is called with the interpreter's lock released, possibly by
several threads at once; the stream it fills is read by one thread at a time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from seambase.errors import InputError, RefusedError, SeambenchError, UsageError
from seambase.foreign_arrow import sound
from seambase.scan import ScanReport
from seambench.conformance.doors.request import read_facts, require_columns, scan_request
from seambench.contracts.common import Kind
from seambench.contracts.scan import Scan, ScanRequest
from seambench.engines.stream_dataset import StreamDataset

__all__ = ["ERROR_BYTES", "ArrowArrayStream", "LibraryScanner"]

_REFUSED = 2
ERROR_BYTES = 4096


class ArrowArrayStream(ctypes.Structure):
    """The struct of the Arrow C stream interface: four callbacks and a pointer."""

    _fields_ = (
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.c_void_p),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


class LibraryScanner:
    """A scanner that is a shared library; it stays loaded until the process ends."""

    kind: Kind = "peer"

    def __init__(self, library: str) -> None:
        """Load the library.

        Raises:
            UsageError: there is no such library, or it lacks `seambench_scan`.
        """
        path = Path(library).absolute()
        try:
            loaded = ctypes.CDLL(str(path))
            function = loaded.seambench_scan
        except (OSError, AttributeError) as error:
            raise UsageError(f"lib:{library}: {error}") from error
        function.restype = ctypes.c_int
        function.argtypes = (
            ctypes.c_char_p,
            ctypes.POINTER(ArrowArrayStream),
            ctypes.c_char_p,
            ctypes.c_size_t,
        )
        self._function = function
        facts = self._facts = read_facts(path)
        self.name = facts.name
        self.version = facts.version
        self.capabilities: Mapping[str, bool] = facts.capabilities

    def open(self, request: ScanRequest) -> Scan:
        """Note the request; the library is called when schema or rows are asked for."""
        return _LibraryScan(self, request)

    def start(self, request: ScanRequest) -> pa.RecordBatchReader:
        """Call the library for one read.

        Raises:
            RefusedError: it refused.
            SeambenchError: it failed, or gave other columns than asked for.
        """
        stream = ArrowArrayStream()
        said = ctypes.create_string_buffer(ERROR_BYTES)
        code = self._function(
            scan_request(request, self._facts).encode(), ctypes.byref(stream), said, ERROR_BYTES
        )
        if code != 0:
            reason = said.value.decode("utf-8", "replace") or "no reason given"
            kind = RefusedError if code == _REFUSED else SeambenchError
            raise kind(f"{self.name}: {reason}")
        if not stream.release:
            raise SeambenchError(f"{self.name}: it returned 0 but handed out no stream")
        try:
            # Moves the stream: from here on pyarrow releases it.
            reader = pa.RecordBatchReader._import_from_c(ctypes.addressof(stream))
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self.name}: its stream has no readable schema: {error}") from error
        require_columns(reader.schema, request, self.name)
        return reader


class _LibraryScan:
    """One scan; the call that told the schema also gives the rows of the first read."""

    def __init__(self, scanner: LibraryScanner, request: ScanRequest) -> None:
        self._scanner = scanner
        self._request = request
        self._started: pa.RecordBatchReader | None = None
        self._schema: pa.Schema | None = None
        self._report = ScanReport()

    @property
    def schema(self) -> pa.Schema:
        if self._schema is None:
            self._started = self._start()
        return self._schema

    def to_reader(self) -> pa.RecordBatchReader:
        reader, self._started = self._started or self._start(), None
        self._report = ScanReport(paths={"library": 1})
        return pa.RecordBatchReader.from_batches(self._schema, self._batches(reader))

    def dataset(self) -> ds.Dataset:
        return StreamDataset(self._scanner, self._request, self.schema)

    def report(self) -> ScanReport:
        return self._report

    def _start(self) -> pa.RecordBatchReader:
        reader = self._scanner.start(self._request)
        self._schema = reader.schema
        return reader

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        with reader:
            try:
                for batch in reader:
                    self._report.rows += sound(batch, self._scanner.name).num_rows
                    yield batch
            except (pa.ArrowException, OSError) as error:
                raise InputError(f"{self._scanner.name}: its stream broke off: {error}") from error
