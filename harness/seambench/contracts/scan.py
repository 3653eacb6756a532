"""The scan seam: a scanner hands a table's rows to an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb

    # Brings pandas in, which takes longer than all else that a process for cases needs to start.
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

from seambase.description import TableDescription
from seambase.scan import Query, ScanReport
from seambench.contracts.common import Kind


@dataclass(frozen=True)
class ScanRequest:
    """One read of one table.

    Attributes:
        table: folder of the table.
        query: which view of it. `cdc` has columns of its own, those of the format's own readers;
            the page on each format tells them.
        as_of: instant up to which changes count (`snapshot` and `read-optimized`), or None.
        begin: exclusive lower bound of an incremental or `cdc` query.
        end: inclusive upper bound of an incremental or `cdc` query.
        changes_alone: an incremental query merges what changed without the rows that it changed.
        row_kinds: an incremental query hands out all rows that were written, those that take others
            back too, and has a column more, in front of the others where none is named: `rowkind`,
            `+I`, `-U`, `+U` or `-D`. Only scanners that state `row-kinds` see it.
        columns: names in the order wanted; None for all without the format's meta columns.
        where: DuckDB SQL over the table's columns; only scanners that come in as commands or
            libraries see it, for objects the harness applies it over `Scan.dataset()`.
        batch_rows: most rows in a batch, or None for the scanner's choice.
        threads: tasks at once, or None for one per core.
        memory_limit_bytes: bytes the scanner's own allocations may reach, or None.
        strict: refuse damage that the format's own reader would skip.
        storage_options: of the file system on which the table lies.
        allow: addresses of folders on other hosts that the table's metadata may name. Readers that
            go wherever metadata sends them need no such word.
    """

    table: str
    query: Query = "snapshot"
    as_of: str | None = None
    begin: str | None = None
    end: str | None = None
    changes_alone: bool = False
    row_kinds: bool = False
    columns: Sequence[str] | None = None
    where: str | None = None
    batch_rows: int | None = None
    threads: int | None = None
    memory_limit_bytes: int | None = None
    strict: bool = False
    storage_options: Mapping[str, Any] = field(default_factory=dict)
    allow: Sequence[str] = ()


@runtime_checkable
class Scan(Protocol):
    """An open scan. `to_reader` and `dataset` may be called again: each call reads anew."""

    @property
    def schema(self) -> pa.Schema:
        """Schema of the batches: the requested columns in the requested order."""

    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of batches. Batches of different slices may come in any order."""

    def dataset(self) -> ds.Dataset:
        """A dataset over all columns asked for, to which engines push columns and filters."""

    def report(self) -> ScanReport:
        """What the reads so far did (complete once a stream is drained)."""


@runtime_checkable
class Parted(Scan, Protocol):
    """A scan that can be cut, so that several processes or machines share it. It can be pickled."""

    @property
    def n_parts(self) -> int:
        """How many parts there are."""

    def part(self, number: int, columns: Sequence[str], condition: pc.Expression | None) -> Scan:
        """One part; all together give the scan's rows, each exactly once.

        Args:
            number: which one, from 0.
            columns: those to hand out; the scan's schema has them all.
            condition: further rows to leave out, over any columns of the scan.
        """


@runtime_checkable
class Written(Parted, Protocol):
    """A scan whose parts can be written down as data, for other processes to read."""

    def plans(self, groups: Sequence[Sequence[int]]) -> tuple[list[str], Callable[[str], Parted]]:
        """Write a plan for each group of parts.

        Args:
            groups: numbers of parts.

        Returns:
            The plans, and what reads one; it can be pickled.

        Raises:
            RefusedError: the scan has no such plan.
        """


@runtime_checkable
class Related(Scan, Protocol):
    """A scan of a scanner that states `relation`: DuckDB's own reader takes part in it."""

    def relation(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """The rows as a relation of DuckDB; queries over it push columns and filters down."""


@runtime_checkable
class Answering(Scan, Protocol):
    """A scan of a scanner that states `sql`: its own engine answers queries over such scans."""

    def answer(self, sql: str, tables: Mapping[str, Scan | Path]) -> Sequence[tuple[Any, ...]]:
        """The rows of a query, as Python values.

        Args:
            sql: in the SQL that engines share.
            tables: by the names that the query has for them: scans of the same scanner, and
                folders of Parquet files.
        """


@runtime_checkable
class Bare(Parted, Protocol):
    """A scan whose files can also be read without what changes their rows."""

    def files_alone(self) -> Parted:
        """The same parts as their data files stand, to tell what merging costs; no answer."""


@runtime_checkable
class Describing(Protocol):
    """A scanner that tells what is known of a table before its rows are read."""

    def describe(self, request: ScanRequest) -> TableDescription:
        """The newest state of the table, in units that are the parts of its snapshot scan.

        A table whose metadata is broken is described as that (`TableDescription.broken`).

        Raises:
            seambase.errors.InputError: there is no table.
            seambase.errors.RefusedError: this scanner does not read it.
            seambase.errors.UnavailableError: this machine lacks what the scanner needs.
        """


class Scanner(Protocol):
    """A reader of tables.

    `capabilities` maps words to True: `formats.NAME` for each table format, `formats.parquet`,
    `query.snapshot`, `query.read-optimized`, `query.incremental`, `query.cdc`, `as-of`,
    `row-kinds`, `merge.commit-time`, `merge.event-time`,
    `blocks.avro`, `blocks.parquet`, `blocks.delete`, `table-version.6`, `table-version.9`,
    `pushdown` (the dataset prunes columns and applies filters), `relation` (its scans are
    `Related`, and queries read them that way), `sql` (its scans are `Answering`, and its own
    engine answers queries), `strict`, `types.decimal`, ...

    An implementation may also offer `describe` (`Describing`), by which `seambench audit` looks at
    tables.
    """

    name: str
    version: str
    kind: Kind
    capabilities: Mapping[str, bool]

    def open(self, request: ScanRequest) -> Scan:
        """Plan a read; no row is touched yet.

        Raises:
            seambase.errors.UsageError: unknown column, contradictory request.
            seambase.errors.InputError: the folder is no table, or a file of it is broken.
            seambase.errors.RefusedError: legal, but this scanner does not support it.
            seambase.errors.UnavailableError: this machine lacks what the scanner needs.
        """
