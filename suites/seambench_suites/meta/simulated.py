"""A scanner that reads no file: it works out a golden table's rows from its declared operations.

It is a second witness for the expected rows, and, bent on purpose, a source of wrong readers that
the suite must find. It knows the merge rules and nothing of bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from seambase.errors import RefusedError, UsageError
from seambase.scan import ScanReport
from seambench.conformance.plain import typed
from seambench.contracts.common import Kind
from seambench.contracts.formats import resolve_format
from seambench.contracts.scan import ScanRequest
from seambench.formats.arrow_rows import arrow_rows
from seambench.formats.golden import load_origin
from seambench.formats.hudi.golden import TableSpec, WriteSpec, load_table
from seambench_suites.cases import ROOT

Row = dict[str, Any]

#: Steps whose rows follow from the declaration; what they do to files is not simulated.
_OPERATIONS = frozenset(
    (
        "bulk_insert",
        "upsert",
        "delete",
        "insert_overwrite_table",
        "rollback",
        "crash",
        "savepoint",
        "compact",
        "schedule-compaction",
    )
)
#: Options that move files and change no row.
_HARMLESS = ("hoodie.clean", "hoodie.keep", "hoodie.write.", "hoodie.table.cdc", "hoodie.parquet")


def simulates(spec: TableSpec) -> bool:
    """Whether a table's rows can be worked out from its declaration here."""
    steps = {write.operation for write in spec.writes}
    chosen = [name for step in spec.writes for name in step.options] + list(spec.options)
    return (
        steps <= _OPERATIONS
        and all(name.startswith(_HARMLESS) for name in chosen)
        and spec.index != "simple"
        and not spec.partition
    )


def undone(writes: Sequence[WriteSpec]) -> set[int]:
    """Numbers of the writes that a later step took back, or that never completed."""
    dead = {write.of for write in writes if write.operation == "rollback"}
    return dead | {number for number, write in enumerate(writes) if write.operation == "crash"}


class Simulation:
    """The rows of one table after some of its writes; methods are there to be bent."""

    def __init__(self, spec: TableSpec) -> None:
        self.spec = spec

    def snapshot(self, writes: Iterable[WriteSpec]) -> list[Row]:
        """Rows after the writes: logs meet each other first, the base last."""
        base: dict[tuple[Any, ...], Row] = {}
        logs: dict[tuple[Any, ...], Row] = {}
        for write in writes:
            if write.operation == "insert_overwrite_table":
                base, logs = self._keyed(write), {}
            elif write.operation == "bulk_insert":
                base |= self._keyed(write)
            else:
                for key, event in self.events(write):
                    older = logs.get(key)
                    logs[key] = event if older is None else self.merge(older, event)
            if write.compaction == "run" or self.spec.table_type == "copy-on-write":
                base, logs = self._applied(base, logs), {}
        return list(self._applied(base, logs).values())

    def read_optimized(self, writes: Iterable[WriteSpec]) -> list[Row]:
        """Rows of the base files alone."""
        writes = list(writes)
        if self.spec.table_type == "copy-on-write":
            return self.snapshot(writes)
        last = max(
            (i for i, w in enumerate(writes) if w.compaction == "run" or "insert" in w.operation),
            default=-1,
        )
        return self.snapshot(writes[: last + 1])

    def events(self, write: WriteSpec) -> list[tuple[tuple[Any, ...], Row]]:
        """What a write puts into logs, by key.

        `#` is `put`, `delete` or `default-delete`, `@` the number of the write.
        """
        found = []
        for row in write.rows:
            kind = "delete" if row.get("_hoodie_is_deleted") else "put"
            ordering = self.spec.ordering
            int_zero = (
                ordering is not None
                and self.spec.columns[ordering] == "int"
                and row.get(ordering) == 0
            )
            if write.operation == "delete" or (kind == "delete" and int_zero):
                kind = "default-delete"
            found.append((self.key(row), {**row, "#": kind, "@": write.of}))
        return found

    def merge(self, older: Row, newer: Row) -> Row:
        """Which of two events of one key counts."""
        default = "default-delete" in (older["#"], newer["#"])
        if self.spec.merge == "commit-time" or default:
            return newer
        ordering = str(self.spec.ordering)
        type_ = self.spec.columns[ordering]
        first, second = (typed(event[ordering], type_) for event in (older, newer))
        return newer if second >= first else older

    def key(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """A row's record key."""
        return tuple(row[name] for name in self.spec.keys)

    def _keyed(self, write: WriteSpec) -> dict[tuple[Any, ...], Row]:
        return {self.key(row): {**row, "#": "put", "@": write.of} for row in write.rows}

    def _applied(
        self, base: Mapping[tuple[Any, ...], Row], logs: Mapping[tuple[Any, ...], Row]
    ) -> dict[tuple[Any, ...], Row]:
        """The base with what the logs came to."""
        merged = {
            key: self.merge(base[key], event) if key in base else event
            for key, event in logs.items()
        }
        return {key: row for key, row in {**base, **merged}.items() if row["#"] == "put"}


class SimulatedReader:
    """Implements `seambench.contracts.scan.Scanner` over a `Simulation`."""

    name = "simulated"
    version = "0"
    kind: Kind = "reference"
    simulation: type[Simulation] = Simulation
    capabilities: Mapping[str, bool] = dict.fromkeys(
        (
            "formats.hudi",
            "query.snapshot",
            "query.read-optimized",
            "query.incremental",
            "as-of",
            "merge.event-time",
            "merge.commit-time",
            "blocks.avro",
            "blocks.parquet",
            "blocks.delete",
            "table-version.6",
            "table-version.8",
            "table-version.9",
            "replace-commit",
            "schema-evolution",
            "pushdown",
        ),
        True,
    )

    def open(self, request: ScanRequest) -> SimulatedScan:
        """Work out the rows."""
        golden, table = ROOT / "golden" / "hudi", Path(request.table)
        folder = golden / table.name
        if not folder.exists():
            folder = golden / table.parent.name / table.name
        spec = load_table(folder)
        if spec.partition:
            raise RefusedError(f"{request.table}: partitioned tables are not supported")
        columns = request.columns
        if columns is None:
            columns = resolve_format("hudi").shown(spec.columns)
        for name in columns:
            if name not in spec.columns:
                raise UsageError(f"{request.table} has no column {name!r}")
        origin = load_origin(folder)
        until = _number(origin.instants, request.as_of)
        if request.query == "incremental":
            until = _number(origin.completions or origin.instants, request.end)
        dead = self.hidden(spec.writes)
        lasting = [
            replace(write, of=number)
            for number, write in enumerate(spec.writes[:until], 1)
            if write.rows and number not in dead
        ]
        rows = self.rows(spec, lasting, request)
        if request.query == "incremental" and request.begin is not None:
            begin = _number(origin.completions or origin.instants, request.begin)
            rows = [row for row in rows if self.is_new(row["@"], begin)]
        return SimulatedScan(_table(spec, rows).select(columns), request.batch_rows)

    def hidden(self, writes: Sequence[WriteSpec]) -> set[int]:
        """Numbers of the writes that count for nothing."""
        return undone(writes)

    def is_new(self, write: int, begin: int) -> bool:
        """Whether a write lies in a window that begins at another."""
        return write > begin

    def rows(self, spec: TableSpec, writes: list[WriteSpec], request: ScanRequest) -> list[Row]:
        """Rows of the view asked for; each write's `of` is its own number."""
        simulation = self.simulation(spec)
        if request.query == "read-optimized":
            return simulation.read_optimized(writes)
        return simulation.snapshot(writes)


class SimulatedScan:
    """Implements `seambench.contracts.scan.Scan` over a table in memory."""

    def __init__(self, table: pa.Table, batch_size: int | None) -> None:
        self.table = table
        self.batch_size = batch_size
        self._report = ScanReport()

    @property
    def schema(self) -> pa.Schema:
        """Schema of the columns asked for."""
        return self.table.schema

    def to_reader(self) -> pa.RecordBatchReader:
        """All rows."""
        self._report.rows += self.table.num_rows
        batches = self.table.to_batches(max_chunksize=self.batch_size)
        return pa.RecordBatchReader.from_batches(self.table.schema, batches)

    def dataset(self) -> ds.Dataset:
        """All rows, as pyarrow's own dataset in memory."""
        return ds.dataset(self.table)

    def report(self) -> ScanReport:
        """Rows handed out so far."""
        return self._report


def _number(times: Sequence[str], time: str | None) -> int:
    """Number of the step at a time; None means the last."""
    return len(times) if time is None else times.index(time) + 1


def _table(spec: TableSpec, rows: Iterable[Row]) -> pa.Table:
    """Rows as an Arrow table of the declared types."""
    types = spec.columns
    listed = [{name: typed(row.get(name), types[name]) for name in types} for row in rows]
    return arrow_rows(listed, types)
