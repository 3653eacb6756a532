"""Which files of a plan go to an engine's own reader, and why the others stay.

Of a unit with changes most rows of the file stay as they are: the engine reads them under a mask,
while we add the rows that the file lacks. Nothing of this is worked out before the engine asks for
rows.
"""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.filters import apply_filter, filter_columns
from seambase.wording import counted
from seamkit.core.border import batch_of
from seamkit.core.tasks import Task, each, run_tasks
from seamkit.engines.files import ELSEWHERE, EngineFiles, engine_files
from seamkit.files.file_cache import KEPT
from seamkit.files.storage import is_far
from seamkit.scan.events_cache import Bits, ChangedRows, EventsCache, UnitMatches
from seamkit.scan.pruning import rules_some_out
from seamkit.scan.units import KeyMask, Mask, ReadContext, ReadPlan, ReadUnit, Runs

if TYPE_CHECKING:
    import pyarrow.dataset as ds

#: Reads of their own that an engine is given at most: one for each set of values of partitions.
_MOST_READS = 64

#: What Python has of a path's bytes that are no UTF-8, which engines do not take.
_NO_TEXT = re.compile("[\ud800-\udfff]")

#: Rows of a file under a mask at most: an engine counts its bits in 32 bits.
_MOST_BITS = (1 << 31) - 8

#: What engines call the place of a row; a file's own column of that name would hide it.
_PLACES = frozenset(("file_index", "file_row_number", "_tmp_metadata_row_index"))

_MASK = pa.schema([pa.field("file", pa.uint64()), pa.field("bits", pa.binary())])
_KEPT_AT_ONCE = 1 << 24

FileOfUnit = tuple[ReadUnit, int]
"""A unit, and the number of one of its files."""


@dataclass(frozen=True)
class EngineShare:
    """A plan, split between an engine's own reader and ours."""

    # what the engine's reader reads, each with the units whose files these are
    reads: Sequence[tuple[EngineFiles, Sequence[FileOfUnit]]]
    rest: ReadPlan  # what stays
    # for each unit of the plan, whether the engine's reader reads it as it stands, and what is to
    # be said of it
    ways: Sequence[tuple[bool, str]]
    matches: UnitMatches | None  # which rows of files are gone

    def files(
        self, context: ReadContext, threads: int, by_us: Callable[[Sequence[ReadUnit]], ds.Dataset]
    ) -> Iterator[EngineFiles]:
        """What the engine's reader reads; for masks, and for what is read instead, it asks later.

        `by_us` gives the rows of some units as we read them.
        """
        for files, units in self.reads:
            if units[0][0].changes is not None:
                assert self.matches is not None
                masks = MaskedFiles(units, self.matches, context, threads)
                files = replace(files, gone=masks.dataset())
            if files.ours:
                alone = [replace(unit, files=[unit.files[number]]) for unit, number in units]
                files = replace(files, instead=by_us(alone))
            yield files


def engine_share(
    plan: ReadPlan,
    columns: Sequence[str],
    matches: UnitMatches | None = None,
    *,
    by_query: bool = False,
    threads: int = 1,
) -> EngineShare:
    """Split a plan. Every unit without changes has the footers of its files here read.

    `matches` says what keyed events do to their files, for an engine that can leave out rows which
    are gone, and then footers of units with changes are read, too; None for one that cannot.
    `by_query`: it may be given files some of whose columns only we read, as it asks once for all
    columns of a query, so that we know before it reads whose rows there are to be.
    """
    schema = pa.schema([plan.schema.field(name) for name in columns])
    reads: dict[tuple[bool, object], tuple[EngineFiles, list[str], list[FileOfUnit]]] = {}
    ways: list[tuple[bool, str]] = []
    rest: list[ReadUnit] = []
    files_of = functools.partial(_files_of, schema=schema, masks=matches is not None)
    for unit, files_or_why in zip(plan.units, each(files_of, plan.units, threads), strict=True):
        if not isinstance(files_or_why, str) and not by_query:
            files_or_why = _why_ours(unit, files_or_why) or files_or_why
        if isinstance(files_or_why, str):
            ways.append((False, files_or_why))
            rest.append(unit)
            continue
        keys = [(unit.changes is not None, _key(files)) for files in files_or_why]
        if len({*reads, *keys}) > _MOST_READS:
            ways.append((False, f"an engine would have to read {_MOST_READS} partitions apart"))
            rest.append(unit)
            continue
        ways.append((unit.changes is None, "" if unit.changes is None else _under_masks(unit)))
        if not isinstance(unit.changes, Mask | KeyMask | Runs | None):
            assert matches is not None
            unit = _without_file(unit, matches)
            # Only what its file does not hold.
            rest.append(unit)
        for number, (key, files) in enumerate(zip(keys, files_or_why, strict=True)):
            _, paths, places = reads.setdefault(key, (files, [], []))
            paths += files.paths
            places.append((unit, number))
    whole = [(replace(files, paths=paths), places) for files, paths, places in reads.values()]
    return EngineShare(whole, replace(plan, units=rest), ways, matches)


def _why_ours(unit: ReadUnit, files: Sequence[EngineFiles]) -> str | None:
    """Why a unit is not for an engine that does not say what a query needs; None if it is."""
    ours = {name: why for one in files for name, why in one.ours.items()}
    if not ours:
        return None
    why, names = next(iter(ours.values())), ", ".join(map(repr, ours))
    if unit.changes is not None:
        return why
    return f"{why}; Polars reads the file for queries without {names}"


def _under_masks(unit: ReadUnit) -> str:
    """What is said of a unit of whose files some rows are gone."""
    by_duckdb_alone = isinstance(unit.changes, Runs)
    who = "DuckDB masks its files" if by_duckdb_alone else "DuckDB and Spark mask its file"
    return f"{unit.why or 'it has changes'}; {who}"


def _without_file(unit: ReadUnit, matches: UnitMatches) -> ReadUnit:
    """A unit with events, of which only the rows are read that its file does not hold."""
    (file,), changes = unit.files, unit.changes
    assert not isinstance(changes, Mask | KeyMask | Runs | None)
    return replace(unit, changes=ChangedRows(file, changes, matches))


def masked_unit(
    unit: ReadUnit,
    schema: pa.Schema,
    shown: pa.Schema,
    condition: pc.Expression | None,
    context: ReadContext,
) -> tuple[EngineFiles, npt.NDArray[np.bool_], ReadUnit | None] | None:
    """Split one unit: a file for an engine's reader, which of its rows are gone, and what is left.

    All of it stays with us where a filter leaves it out, or leaves out row groups by their keys: an
    engine would have us look at all keys of the file. `schema` has all columns of the table,
    `shown` those that are handed out. The unit that is left has the rows that the file does not
    hold; None where it holds all.
    """
    files = _files_of(unit, shown, masks=True)
    tested = filter_columns(condition, schema)
    if isinstance(files, str) or len(files) != 1 or rules_some_out(unit, condition, schema, tested):
        return None
    (file,), none = files, np.empty(0, np.bool_)
    if file.ours or not _is_plain(file, unit):
        return None
    file = replace(
        file, values={name: file.values[name] for name in unit.partition if name in file.values}
    )
    # Its events are asked for twice: where nothing is kept, this cache ends with the unit.
    matches = UnitMatches(schema, EventsCache(shared=KEPT if KEPT.most_bytes else None))
    matches.columns = list(dict.fromkeys([*shown.names, *tested]))
    if unit.changes is None:
        return file, none, None
    keyed = not isinstance(unit.changes, Mask | KeyMask | Runs)
    changed = _without_file(unit, matches) if keyed else unit
    bits = matches.gone(changed, context)
    if bits is None:
        return None
    gone = np.unpackbits(bits[0], count=unit.files[0].open().num_rows).astype(np.bool_)
    return file, gone, changed if keyed else None


def _is_plain(file: EngineFiles, unit: ReadUnit) -> bool:
    """Whether Spark, which goes by names in any letters, finds the scan's columns in a file."""
    # Of a filter's value it cuts digits off before it tests row groups of milliseconds by it.
    own = {name.casefold() for name in unit.files[0].open().schema.names}
    lacking = [name for name in file.values if name not in unit.partition]
    if any(file.values[name].is_valid or name.casefold() in own for name in lacking):
        return False
    alike = all(
        own.name == name and _spark_reads(own.type, file.schema.field(name).type)
        for name, own in file.stored.items()
    )
    return alike and "timestamp[ms" not in str([own.type for own in file.stored.values()])


def _spark_reads(have: pa.DataType, want: pa.DataType) -> bool:
    """Whether Spark's reader gives values of one type as those of another."""
    # It does so of decimals, while they stay in as many of Parquet's bits.
    if not pa.types.is_decimal(have) or not pa.types.is_decimal(want):
        return bool(have == want)
    bits = (9, 18, 38)
    return bool(
        have.scale == want.scale
        and have.precision <= want.precision
        and bisect.bisect_left(bits, have.precision) == bisect.bisect_left(bits, want.precision)
    )


def _files_of(unit: ReadUnit, schema: pa.Schema, *, masks: bool) -> list[EngineFiles] | str:
    """A unit's files, each a read of its own; or why it stays."""
    changes = unit.changes
    changed = changes is not None
    by_rule = isinstance(changes, Runs) and not isinstance(changes.rule, str)
    if changed and (not masks or by_rule or not unit.files):
        return unit.why or "it has changes"
    values = {name: value for name, value in unit.partition.items() if name in schema.names}
    if any(is_far(file.name) for file in unit.files):  # none is fetched for its footer
        return ELSEWHERE
    if any(_NO_TEXT.search(file.name) for file in unit.files):
        return "its path is no UTF-8"
    found = []
    for file in unit.files:
        reader = file.open()
        files = engine_files(reader, schema, values)
        if isinstance(files, str):
            return files
        if changed and _PLACES.intersection(map(str.lower, reader.schema.names)):
            return "a column of its file hides the places of rows"
        if changed and reader.num_rows > _MOST_BITS:
            return f"it has {counted(reader.num_rows, 'row')}, and an engine masks {_MOST_BITS}"
        found.append(files)
    return found


def _key(files: EngineFiles) -> object:
    """What files that are read together have in common."""
    # As texts: to Python a zero equals that of the other sign, and no NaN another.
    values = tuple((name, value.type, repr(value.as_py())) for name, value in files.values.items())
    stored = tuple((name, own.name, own.type) for name, own in files.stored.items())
    return values, stored


class MaskedFiles:
    """Which rows of some files are gone, in the order in which an engine reads them."""

    def __init__(
        self, files: Sequence[FileOfUnit], matches: UnitMatches, context: ReadContext, threads: int
    ) -> None:
        self._units: dict[int, tuple[ReadUnit, list[tuple[int, int]]]] = {}
        for number, (unit, own) in enumerate(files):
            self._units.setdefault(id(unit), (unit, []))[1].append((number, own))
        self._matches = matches
        self._context = context
        self._threads = threads

    def dataset(self) -> ds.Dataset:
        """See `seamkit.engines.files.EngineFiles`."""
        from seambase.dataset import ScanDataset

        return ScanDataset(_MASK, self._open)

    def _open(self, columns: list[str], condition: pc.Expression | None) -> pa.RecordBatchReader:
        schema = pa.schema([_MASK.field(name) for name in columns])
        stream = pa.RecordBatchReader.from_batches(_MASK, self._batches())
        if condition is not None:
            return apply_filter(stream, condition, columns)
        batches = (batch.select(columns) for batch in stream)
        return pa.RecordBatchReader.from_batches(schema, batches)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """What is known at once, in few batches; the rest as it is worked out."""
        tasks: list[Task] = []
        ready: list[tuple[int, Bits]] = []
        size = 0
        for unit, numbers in self._units.values():
            known = self._matches.events.gone(unit)
            if known is None:
                tasks.append(functools.partial(self._of, unit, numbers))
                continue
            ready += [(number, known[own]) for number, own in numbers]
            size += sum(bits.nbytes for bits in known)
            if size > _KEPT_AT_ONCE:
                yield _mask_rows(ready)
                ready, size = [], 0
        if ready:
            yield _mask_rows(ready)
        yield from (batch for _, batch in run_tasks(tasks, self._threads))

    def _of(self, unit: ReadUnit, numbers: Sequence[tuple[int, int]]) -> Iterator[pa.RecordBatch]:
        gone = self._matches.gone(unit, self._context)
        if gone is None:
            gone = [np.packbits(np.ones(file.open().num_rows, np.bool_)) for file in unit.files]
        yield _mask_rows([(number, gone[own]) for number, own in numbers])


def _mask_rows(masks: Sequence[tuple[int, Bits]]) -> pa.RecordBatch:
    """A row for each file; a byte at least, since there are no texts of no bits."""
    numbers = pa.array([number for number, _ in masks], pa.uint64())
    bits = pa.array([bits.tobytes() or b"\0" for _, bits in masks], pa.binary())
    return batch_of([numbers, bits], _MASK, len(masks))
