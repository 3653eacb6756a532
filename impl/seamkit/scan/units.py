"""The contract between table formats and scanners: what to read, as read units.

A table format plans: it looks at its metadata, and says which files hold the rows of a read, which
of those rows are gone, and which columns have one value for all of them. A scan (`seamkit.scan`)
reads what was planned; it knows no table format.

A unit is a file slice, a section of a bucket, or a data file with its deletes: rows that are read
together, and independently of all other units. What changes a unit's rows decides how it is read:

- nothing: the rows of its files as they stand (native path);
- `Mask`: some rows of its file are gone, by position (native path, under a mask);
- `KeyMask`: some are gone, by keys that deletes name (native path, under a mask that is worked out
  as the file is read);
- `Keyed`: events replace or remove rows of its file by key, and add others (merge path);
- `Runs`: its files are sorted runs, in which rows of one key are merged (merge path).

Units, files and what they hold are pickled where a scan is cut into parts for several processes, so
openers and loaders are functions of modules or `functools.partial` of such, not lambdas.
"""

from __future__ import annotations

import copyreg
import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.description import StoredFile
from seambase.scan import ScanWarning
from seambase.values import value_class
from seambase.wording import counted
from seamkit.core.border import batch_of, repeated
from seamkit.core.memory import TrackedAllocator
from seamkit.core.tasks import gc_paused
from seamkit.files.reader import FileReader, PageCounts
from seamkit.files.roaring import Positions
from seamkit.files.statistics import ColumnRange, FileStatistics
from seamkit.scan.core_merges import RowNumbers

_FIRST_UNITS, _GROWTH = 64, 4


def _counted(value: pa.Scalar) -> tuple[Callable[..., pa.Scalar], tuple[pa.Scalar, pa.DataType]]:
    """How a day or a time is pickled: as Arrow's number, cast to its type."""
    number = pa.int32() if pa.types.is_date32(value.type) else pa.int64()
    return pc.cast, (pa.scalar(value.value, number), value.type)


# Arrow itself makes one of Python's of it, of which there is none behind the year 9999.
copyreg.pickle(pa.Date32Scalar, _counted)
copyreg.pickle(pa.TimestampScalar, _counted)


def unknown() -> Hashable | None:
    """The identity of what nobody can tell from a later state of itself."""
    return None


Identity = Callable[[], Hashable | None]
"""All that something depends on, so that equal ones give equal rows; files count as they are at the
moment of the call. None where that is not known, so that nothing is kept of it for other scans."""


class UnitFile(Protocol):
    """A file of rows: what a unit asks of it."""

    @property
    def name(self) -> str:
        """The file's whole path, or its address."""

    @property
    def size_bytes(self) -> int:
        """Of the file; files are spread over threads by it."""

    @property
    def rows(self) -> int | None:
        """That it holds, as the table's metadata tells; None where it does not."""

    @property
    def statistics(self) -> Callable[[Collection[str]], FileStatistics] | None:
        """What the table's metadata tells of some columns of all its rows; None for nothing.

        In the table's names and types. Asked by reads that have a filter, for the columns that it
        tests: a table has many files and columns.
        """

    @property
    def has_footer(self) -> bool:
        """Whether it ends in a footer that says how many rows and which ranges it has.

        Parquet and ORC do; statistics are not looked for in a file without one, such as text.
        """

    def open(self) -> FileReader:
        """Open it: called once by every thread that reads.

        The reader gives columns under the table's names and in the table's types, and null or a
        default for those that the file lacks.
        """

    def identity(self) -> Hashable | None:
        """All that tells the file from others, and that decides how its rows are read."""


@value_class
class DataFile:
    """A file of rows that is made of its values; see `UnitFile`."""

    name: str
    size_bytes: int
    open: Callable[[], FileReader]
    rows: int | None = None
    statistics: Callable[[Collection[str]], FileStatistics] | None = None
    has_footer: bool = True
    identity: Identity = unknown


@value_class
class Mask:
    """Rows of a unit's one file that are gone.

    Attributes:
        load: gives their positions. Called once a read, when a thread comes to the unit. It checks
            what it reads (its checksums, how many rows are said to be gone) and raises a typed
            error that names the file of the mask. That the positions ascend and lie inside the data
            file is checked by the scan.
        rows: how many they are, as the metadata tells; None where it does not.
        identity: of the positions.
    """

    load: Callable[[], Positions]
    rows: int | None = None
    identity: Identity = unknown


KeyTest = Callable[[pa.RecordBatch], npt.NDArray[np.bool_]]
"""Says of each row of a batch of keys whether it is gone. One thread at a time."""


@dataclass(frozen=True)
class KeyMask:
    """Rows of a unit's one file that are gone by their keys, and perhaps some by position.

    Attributes:
        keys: sets of key columns, each with its test; a row is gone where one of the tests says so.
            The file's reader gives these columns under their names, which need not be the table's.
        mask: rows that are gone by position; None if none are.
        identity: of the keys, and of how they are compared with those of the file.
    """

    keys: Sequence[tuple[pa.Schema, Callable[[ReadContext], KeyTest]]]
    mask: Mask | None = None
    identity: Identity = unknown


@dataclass(frozen=True)
class ReadContext:
    """What a read lends to the changes of its units.

    Attributes:
        allocator: where decoded rows live.
        warnings: receives what was skipped.
        threads: that may decode the changes of one unit at once.
        held_bytes: what the rows of one unit's changes may take in memory while they are collected;
            the others wait on local disk. None for no bound.
        spent: receives seconds by what they were spent on, from readers that count them.
        condition: what rows of the unit are tested for afterwards, over the table's columns; None
            for nothing. A reader that is not the scan's own may leave out rows that surely do not
            meet it, never by a value that the unit's changes may replace; see
            `seamkit.scan.pruning.settled_columns`. So may changes leave out events by their keys;
            see `LoadedEvents.whole`.
        file: opens the unit's file, for changes that depend on what it tells; None where no row of
            it is read.
    """

    allocator: TrackedAllocator
    warnings: list[ScanWarning]
    threads: int = 1
    held_bytes: int | None = None
    spent: list[tuple[str, float]] = field(default_factory=list)
    condition: pc.Expression | None = None
    file: Callable[[], FileReader] | None = None


@dataclass(frozen=True)
class Wanted:
    """What a read hands out of a unit.

    Attributes:
        schema: the columns to hand out and those of the filter, in the table's types.
        columns: names of those to hand out, in order.
        condition: rows to keep, or None for all.
        tested: names of the filter's columns.
        known: columns with one value for the whole unit, which need not be read.
        batch_rows: most rows in a batch.
        pages: receives how many pages of Parquet files are read.
    """

    schema: pa.Schema
    columns: Sequence[str]
    condition: pc.Expression | None
    tested: Sequence[str]
    known: Mapping[str, pa.Scalar]
    batch_rows: int
    pages: PageCounts | None = None

    def read(self, names: Sequence[str]) -> pa.Schema:
        """The fields of those among `names` that must be read."""
        return pa.schema([self.schema.field(name) for name in names if name not in self.known])

    def whole(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """What was read with the `known` columns beside it, in a schema's order."""
        if not self.known:
            return batch
        columns = [
            repeated(self.known[name], batch.num_rows) if name in self.known else batch.column(name)
            for name in schema.names
        ]
        return batch_of(columns, schema, batch.num_rows)


class Events(Protocol):
    """The changes of one unit, decoded and folded by key. One thread at a time, in file order."""

    @property
    def data(self) -> pa.RecordBatch:
        """Rows that replace others or are added, in the table's types."""

    @property
    def fills(self) -> bool:
        """Whether events hold some values of a row only; others come from the row below."""

    def columns(self, reader: FileReader) -> Sequence[str]:
        """The columns of a file that say which events its rows meet, and which of both wins."""

    def meet(
        self, batch: pa.RecordBatch, first_row: int, source: str, losers: RowNumbers | None
    ) -> RowNumbers:
        """For each row of a batch, in the order of the file, where its values come from.

        The batch has `columns`. `losers` receives for each row the event's row that it stays above,
        or -1; there where `fills` is true.
        """

    def put_together(
        self,
        batch: pa.RecordBatch,
        sources: RowNumbers,
        losers: RowNumbers | None,
        allocator: TrackedAllocator,
    ) -> pa.RecordBatch:
        """The rows of a batch that are left, as `meet` says.

        It has the columns of `data` in its order. Where `fills` is false, texts may come as
        dictionaries. Its buffers belong to this call; the allocator owns the result's.
        """

    def rest(self) -> RowNumbers:
        """Rows of `data` that met no row of the file, and are added behind its rows."""


class LoadedEvents(Events, Protocol):
    """Events that may be kept from one read to the next."""

    @property
    def whole(self) -> bool:
        """Whether all are there; not so where the condition of a read left some out."""

    def over(self, data: pa.RecordBatch) -> LoadedEvents:
        """These events with other columns of the rows of `data`, as `Keyed.further` gives them."""

    def fork(self, names: Sequence[str], allocator: TrackedAllocator) -> LoadedEvents:
        """The same events for another read, with some columns of `data`; these have met no row."""


class Keyed(Protocol):
    """Events by key that replace or remove rows of a unit's file, or add rows.

    A unit with such changes has one file at most; without one, there are only rows to add.
    """

    @property
    def key_columns(self) -> frozenset[str]:
        """Columns whose values no event changes.

        A filter on them may leave row groups of the file unread. Empty where every row must be met,
        or where rows fill each other.
        """

    def identity(self) -> Hashable | None:
        """All that `load` and the unit's file depend on, so that equal ones give equal events.

        Files count as they are at the moment of the call: one that is written anew is another.
        None where that is not known.
        """

    def load(self, names: Sequence[str], context: ReadContext) -> LoadedEvents | Positions:
        """Decode and fold the events, whose `data` will have these columns, in order.

        Where all that they do is to remove rows by position, these positions come back.
        """

    def further(self, names: Sequence[str], context: ReadContext) -> pa.RecordBatch:
        """More columns of the rows of all events, which were loaded before; nothing is folded.

        Asked where events neither fill each other nor are positions, and `load` left none out.
        """


class Combine(Protocol):
    """What several rows of one key become, where that is not one of them."""

    def columns(self, names: Sequence[str]) -> Sequence[str]:
        """The columns that must be read for some columns to be handed out, these among them."""

    def merge(self, rows: pa.RecordBatch, starts: RowNumbers, retracts: pa.Array) -> pa.RecordBatch:
        """Merge the rows of each of some keys, of which there are two at least.

        Rows are in the order of their keys, the oldest row of a key first; `starts` are the first
        of each, and `retracts` says which take back what was there. A key that has a row has one in
        the end.
        """


@dataclass(frozen=True)
class Runs:
    """Sorted runs that are merged by key; in each a key is there once at most, in ascending order.

    A key that has one row alone is never merged: the row is there, unless it is a retract.

    Attributes:
        runs: the files of each run, in the order of their keys.
        keys: columns of the key, the weightiest first; no rule changes their values.
        order: columns that order the rows of one key; rows that tie are ordered by their runs,
            those of the last run being the latest.
        descending: of the first so many columns of `order` smaller values are later.
        kinds: column of row kinds, odd numbers being retracts; None where no row is one.
        system: columns of files that are named above and are none of the table's.
        ignores_retracts: whether they are passed over, as if they were not there.
        rule: which row of a key is left, or what they become together.
        masks: rows of files that are gone before anything is merged, by name of the file.
        whole: numbers of runs whose rows have in them what deeper runs have of their keys; it says
            nothing where one row of a key is left.
        depths: of each run how deep it lies, where there are such.
    """

    runs: Sequence[Sequence[UnitFile]]
    keys: Sequence[str]
    order: Sequence[str] = ()
    descending: int = 0
    kinds: str | None = None
    system: pa.Schema = field(default_factory=lambda: pa.schema([]))
    ignores_retracts: bool = False
    rule: Literal["last", "first"] | Combine = "last"
    masks: Mapping[str, Mask] = field(default_factory=dict)
    whole: Sequence[int] = ()
    depths: Sequence[int] = ()

    def __post_init__(self) -> None:
        if self.whole and (
            len(self.depths) != len(self.runs) or not set(self.whole) <= set(range(len(self.runs)))
        ):
            raise ValueError(f"{self.depths} of {counted(len(self.runs), 'run')}, {self.whole}")
        if not self.runs or not self.keys or not 0 <= self.descending <= len(self.order):
            raise ValueError(
                f"{counted(len(self.runs), 'run')} by {counted(len(self.keys), 'key')}, "
                f"{self.descending} of {counted(len(self.order), 'column')} of order descending"
            )

    @property
    def words(self) -> Hashable | None:
        """How rows of one key are merged; None where they become one by a rule of its own."""
        if not isinstance(self.rule, str):
            return None
        files = tuple(tuple(file.name for file in run) for run in self.runs)
        order = tuple(self.order), self.descending, self.kinds, self.ignores_retracts
        return files, tuple(self.keys), order, self.rule, tuple(self.masks)


Changes = Mask | KeyMask | Keyed | Runs


Guarantee = Callable[[Collection[str]], pc.Expression | None]
"""What holds for all rows of some files, of some columns; None where nothing is known."""

Ranges = Callable[[Collection[str]], Mapping[str, ColumnRange]]
"""Ranges of some columns in all rows of some files, by name."""

FileTest = Callable[[pc.Expression, pa.Schema, Collection[str]], bool]
"""Whether files may hold rows that meet a condition; see `ReadUnit.file_test`."""


class Buckets(Protocol):
    """How a table spreads its rows over buckets by their keys."""

    def numbers(self, condition: pc.Expression) -> Collection[int] | None:
        """The buckets in which rows may meet a condition; None for all."""


@value_class
class ReadUnit:
    """Rows that are read together.

    Attributes:
        name: how plans and messages call it: a path, a file group.
        files: where its rows lie; one file where it has a mask, at most one where
            it has events, all files of its runs.
        partition: columns that have one value in all rows of the unit; they are not read.
        group: what the writer lays out as one, for descriptions: a partition, a bucket of it.
        changes: what happens to the rows of its files.
        reason: why it is read the way it is, for `Scan.explain`; see `why`.
        guarantee: says what holds for all rows of the unit of some columns, in the table's names
            and types, besides the statistics of its files; None where nothing is known. Asked as
            these are. A filter that it rules out leaves the unit unread. It need not repeat
            `partition`.
        ranges: says of some columns, by name, what range the values of all rows of the unit have,
            those of its changes too; None where nothing is known. For statistics.
        file_test: says of a condition, the columns that it tests, and those among them that count,
            whether the files of the unit may hold rows that meet it; False only where surely none
            do. It counts by columns whose values changes never replace: a unit is left out by it
            where they add none, and otherwise its file.
        changed_by: the files that its changes are read from, for descriptions; those of sorted runs
            are among `files`.
        bucket: how the table spreads rows over buckets, and the number of the one that holds all
            rows of the unit; None where rows may be anywhere.
        made: whether a reader of its own makes its rows of those of its files, such as the
            difference of two states, so that nothing that is stated of the files holds for them.
    """

    name: str
    files: Sequence[UnitFile]
    partition: Mapping[str, pa.Scalar] = field(default_factory=dict)
    group: str = ""
    changes: Changes | None = None
    reason: str = ""
    guarantee: Guarantee | None = None
    ranges: Ranges | None = None
    file_test: FileTest | None = None
    changed_by: Sequence[StoredFile] = ()
    bucket: tuple[Buckets, int] | None = None
    made: bool = False

    def __post_init__(self) -> None:
        if self.changes is None:
            return
        if isinstance(self.changes, Mask | KeyMask) and len(self.files) != 1:
            raise ValueError(f"{self.name}: a mask goes with one file, not {len(self.files)}")
        if isinstance(self.changes, Runs):
            if sum(map(len, self.changes.runs)) != len(self.files):
                raise ValueError(f"{self.name}: its files are not those of its runs")
        elif len(self.files) > 1:
            raise ValueError(f"{self.name}: events go with one file, not {len(self.files)}")

    @property
    def why(self) -> str:
        """Its reason, and how much changes it: rows of a mask, sorted runs, otherwise files."""
        if isinstance(self.changes, Runs):
            extent = counted(len(self.changes.runs), "run")
        elif isinstance(self.changes, Mask) and self.changes.rows is not None:
            extent = counted(self.changes.rows, "row")
        else:
            extent = counted(len(self.changed_by), "file") if self.changed_by else ""
        return ": ".join(filter(None, (self.reason, extent)))

    @property
    def size_bytes(self) -> int:
        """Bytes of its files."""
        return sum(file.size_bytes for file in self.files)

    @property
    def read_bytes(self) -> int:
        """Bytes of its files, and of those that change it."""
        return self.size_bytes + sum(file.size_bytes for file in self.changed_by)


class UnitsInTime(Sequence[ReadUnit]):
    """Units of a plan, made when they are asked for first: a plan may have very many.

    What may be wrong with one is to be raised before: `make`, which gives those of some numbers,
    raises nothing. `read_bytes` gives those of all, so that parts are dealt out before any is made.
    """

    def __init__(
        self,
        count: int,
        make: Callable[[Sequence[int]], Iterable[ReadUnit]],
        read_bytes: Callable[[], list[int]],
    ) -> None:
        self._numbers = range(count)
        self._make = make
        self._made: dict[int, ReadUnit] = {}
        self._lock = threading.Lock()
        self.read_bytes = read_bytes

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[ReadUnit]:
        # In batches that grow: who stops early has made few.
        begin = 0
        while begin < len(self):
            batch = self[begin : _GROWTH * begin + _FIRST_UNITS]
            yield from batch
            begin += len(batch)

    @overload
    def __getitem__(self, at: int) -> ReadUnit: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[ReadUnit]: ...

    def __getitem__(self, at: int | slice) -> ReadUnit | Sequence[ReadUnit]:
        chosen = self._numbers[at]
        numbers = [chosen] if isinstance(chosen, int) else chosen
        with gc_paused(), self._lock:
            new = numbers
            if not self._made.keys().isdisjoint(numbers):
                new = [number for number in numbers if number not in self._made]
            units = list(self._make(new))
            self._made.update(zip(new, units, strict=True))
            if new is not numbers:
                units = [self._made[number] for number in numbers]
        return units[0] if isinstance(chosen, int) else units

    def __reduce__(self) -> tuple[type[list[ReadUnit]], tuple[list[ReadUnit]]]:
        return list, (list(self),)


def gone_identity(unit: ReadUnit) -> Hashable | None:
    """All that decides which rows of a unit's files are gone; None where that is not known."""
    changes = unit.changes
    if not isinstance(changes, Mask | KeyMask | Runs | None):
        return changes.identity()
    parts = [file.identity() for file in unit.files]
    if isinstance(changes, Runs):
        parts += [mask.identity() for mask in changes.masks.values()]
        own: Hashable = changes.words
    else:
        own = None if changes is None else changes.identity()
        if isinstance(changes, KeyMask) and changes.mask is not None:
            parts.append(changes.mask.identity())
    return None if own is None or None in parts else (type(changes).__name__, own, *parts)


@dataclass(frozen=True)
class ReadPlan:
    """What a table format planned for one read.

    Attributes:
        table: the table's folder or address, for messages.
        schema: all columns that may be asked for or tested, in the table's order; every reader of
            every unit can give them.
        units: in the order in which `Scan.to_table` shows their rows.
        heading: what `Scan.explain` says after the table and how many units there are, such as
            where files were listed.
        notes: further lines of it, such as what was left out.
        warnings: what went wrong while planning and was done otherwise; a list may grow when a
            filter asks what is known of units.
        again: plans the same read anew, of the table as it then is; None where that is of no use.
            Asked once, where a read fails before a row was handed out: a cleaner may have removed
            a file in the meantime.
    """

    table: str
    schema: pa.Schema
    units: Sequence[ReadUnit]
    heading: str = ""
    notes: Sequence[str] = ()
    warnings: Sequence[ScanWarning] = ()
    again: Callable[[], ReadPlan] | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes of its units' files."""
        return sum(unit.size_bytes for unit in self.units)
