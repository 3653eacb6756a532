"""What adapters of foreign readers share: their packages, their requests, one read of a table."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from seambase.encodings import made_anew
from seambase.errors import (
    InputError,
    RefusedError,
    SeambenchError,
    UnavailableError,
    UsageError,
)
from seambase.extras import needs, not_installed
from seambase.scan import ScanReport
from seambench.contracts.common import Kind
from seambench.contracts.formats import resolve_format
from seambench.contracts.peers.catalogue import known_peer
from seambench.contracts.scan import Scanner, ScanRequest
from seambench_impl.peers import Named

if TYPE_CHECKING:
    # Brings pandas in, which takes longer than all else that a writer's process needs to start.
    import pyarrow.dataset as ds

Batches = Callable[[list[str]], Iterable[pa.RecordBatch]]

#: The schema of a table, and a function that reads some of its columns.
Opened = tuple[pa.Schema, Callable[[list[str]], pa.Table | Iterable[pa.RecordBatch]]]


def import_peer(module: str, reader: str, extra: str | None) -> Any:
    """Import a foreign library for a reader; the extra that brings it, if one can, is named."""
    if extra is None:
        installed_version(module, reader, extra)
    with needs(f"seambench[{extra}]", reader):
        return importlib.import_module(module)


def installed_version(package: str, reader: str, extra: str | None) -> str:
    """The version of a package, which is not imported for it; arguments as `import_peer`."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError as error:
        if extra is None:
            raise UnavailableError(
                f"{reader} needs the package {package!r}, which is not installed, and no extra "
                f"brings all that it needs: name a version, as {reader}@X, which gets an "
                "environment of its own"
            ) from error
        raise not_installed(package, f"seambench[{extra}]", reader) from error


def check_request(reader: Scanner, request: ScanRequest) -> None:
    """Hold a request to what a reader without filters offers; nothing is opened."""
    if f"query.{request.query}" not in reader.capabilities:
        raise RefusedError(f"{reader.name}: {request.query} queries are not offered here")
    if request.where is not None or request.strict:
        raise RefusedError(f"{reader.name} takes neither a filter as text nor strict")


def check_hudi_request(reader: Scanner, request: ScanRequest) -> None:
    """Hold a request to what a reader of Hudi tables offers; nothing is opened."""
    check_request(reader, request)
    if not (Path(request.table) / ".hoodie").is_dir():
        raise InputError(f"{request.table} is no Hudi table: it has no folder .hoodie")


def select_columns(all_columns: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    """Schema of the columns asked for; None means all but Hudi's own."""
    if columns is None:
        columns = resolve_format("hudi").shown(all_columns.names)
    for name in columns:
        if all_columns.get_field_index(name) < 0:
            raise UsageError(f"unknown column {name!r}; the columns are {all_columns.names}")
    return pa.schema([all_columns.field(name) for name in columns])


@contextlib.contextmanager
def foreign_errors(named: Callable[[BaseException, str], SeambenchError]) -> Iterator[None]:
    """What a library raises as an error of ours, made of it and of the first line that it says.

    A refusal of our own stays what it is.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit, RefusedError):
        raise
    except BaseException as error:  # panics of Rust do not derive from Exception
        lines = str(error).strip().splitlines() or [""]
        raise named(error, lines[0]) from error


class PeerScan:
    """A scan whose batches a foreign reader makes; it pushes no filters."""

    def __init__(
        self, scanner: Scanner, request: ScanRequest, schema: pa.Schema, batches: Batches
    ) -> None:
        """Make a scan; the dataset asks the adapter again for other columns.

        The schema is of the columns asked for; batches have the columns named (never none), under
        these names.
        """
        self._scanner = scanner
        self._request = request
        self._schema = schema
        self._batches = batches
        self._report = ScanReport()

    @property
    def schema(self) -> pa.Schema:
        """Schema of the batches: the requested columns in the requested order."""
        return self._schema

    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of batches."""
        self._report = ScanReport()
        return pa.RecordBatchReader.from_batches(self._schema, self._selected())

    def dataset(self) -> ds.Dataset:
        """The harness's dataset: columns go to the reader, filters are applied above it."""
        from seambench.engines.stream_dataset import StreamDataset

        return StreamDataset(self._scanner, self._request, self._schema)

    def report(self) -> ScanReport:
        """Rows of the last read; peers tell no paths."""
        return self._report

    def _selected(self) -> Iterator[pa.RecordBatch]:
        names = self._schema.names
        for batch in self._batches(names):
            self._report.rows += batch.num_rows
            named = batch.select(names)
            # A field may differ in nullability alone; other types would not fit and raise.
            yield pa.RecordBatch.from_arrays(named.columns, schema=self._schema) if names else named


class SnapshotReader(Named):
    """A peer that reads one snapshot of a table at once, some of its columns."""

    package: ClassVar[str]
    extra: ClassVar[str | None] = "peers"
    kind: Kind = "peer"

    def __init__(self) -> None:
        self.version = installed_version(self.package, self.name, self.extra)
        peer = known_peer("scan", self.name)
        self.capabilities: Mapping[str, bool] = peer.capabilities(self.version)
        for package in peer.others:
            installed_version(package, self.name, self.extra)

    def open(self, request: ScanRequest) -> PeerScan:
        """Open the table and read its schema."""
        snapshot = self._checked(request)
        module = import_peer(self.package, self.name, self.extra)
        with self._translated(request):
            whole, read = self._table(module, request, snapshot)
        schema = select_columns(whole, request.columns)

        def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
            with self._translated(request):
                # Without columns one is enough to count rows.
                rows = read(names or whole.names[:1])
                yield from rows.to_batches() if isinstance(rows, pa.Table) else rows

        return PeerScan(self, request, schema, batches)

    def _checked(self, request: ScanRequest) -> int | None:
        """Hold a request to what is offered; the number of the snapshot that is asked for."""
        if request.query != "snapshot" or request.where is not None or request.strict:
            raise RefusedError(f"{self.name} takes neither {request.query}, a filter, nor strict")
        if request.as_of is not None and not request.as_of.isdecimal():
            raise RefusedError(f"{self.name} takes the number of a snapshot, not {request.as_of}")
        return None if request.as_of is None else int(request.as_of)

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        """The table's schema, and a function that reads some of its columns."""
        raise NotImplementedError

    def _translated(self, request: ScanRequest) -> contextlib.AbstractContextManager[None]:
        """What a library raises, as a refusal: its first line."""
        return foreign_errors(
            lambda error, line: InputError(
                f"{self.name}: {request.table}: {line or type(error).__name__}"
            )
        )


class HudiReader(SnapshotReader):
    """A peer that reads Hudi tables, whose states are not numbered."""

    def _checked(self, request: ScanRequest) -> None:
        check_hudi_request(self, request)


def opened(columns: pa.Schema, read: Callable[[list[str]], pa.Table]) -> Opened:
    """A table in plain types, by its columns and by what reads some."""
    return plain_schema(columns), lambda names: plain_table(read(names))


def by_queries(ask: Callable[[str], pa.Table], source: str) -> Opened:
    """A table by what answers queries, in which it is called `source`."""
    nothing = ask(f"SELECT * FROM {source} LIMIT 0")  # noqa: S608 - an adapter's own text
    return opened(nothing.schema, lambda names: ask(f"SELECT {quoted(names)} FROM {source}"))  # noqa: S608


def quoted(names: list[str]) -> str:
    """A list of columns for a query."""
    return ", ".join('"' + name.replace('"', '""') + '"' for name in names)


def plain_table(table: pa.Table) -> pa.Table:
    """The table with plain texts and bytes where a library has its own kinds of them."""
    return table.cast(plain_schema(table.schema))


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The columns of `plain_table`."""
    return pa.schema([field.with_type(made_anew(field.type, _plain_type)) for field in schema])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    tests = pa.types
    if tests.is_large_string(kind) or tests.is_string_view(kind):
        return pa.string()
    if tests.is_large_binary(kind) or tests.is_binary_view(kind):
        return pa.binary()
    return pa.list_(kind.value_field) if tests.is_large_list(kind) else kind
