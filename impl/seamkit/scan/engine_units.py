"""Which files of a plan go to an engine's own reader, and why the others stay.

Of a unit with changes most rows of the file stay as they are: the engine reads them under a mask,
while we add the rows that the file lacks. Nothing of this is worked out before the engine asks for
rows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.filters import apply_filter, filter_columns
from seamkit.core.arrow_data import batch_of
from seamkit.core.tasks import Task, run_tasks
from seamkit.engines.files import CHUNK_ROWS, EngineFiles, engine_files
from seamkit.files.kept import KEPT
from seamkit.scan.arguments import DEFAULT_BATCH_ROWS
from seamkit.scan.core_merges import KEEP
from seamkit.scan.events_cache import ChangedRows, EventsCache, UnitMatches
from seamkit.scan.masks import SharedMask
from seamkit.scan.pruning import rules_some_out
from seamkit.scan.units import KeyMask, Mask, ReadContext, ReadPlan, ReadUnit, Runs

if TYPE_CHECKING:
    import pyarrow.dataset as ds

#: Reads of their own that an engine is given at most: one for each set of values of partitions.
_MOST_READS = 64

#: Bits of one read's mask at most: an engine counts them in 32 bits.
_MOST_BITS = 1 << 31

#: What engines call the place of a row; a file's own column of that name would hide it.
_PLACES = frozenset(("file_index", "file_row_number", "_tmp_metadata_row_index"))

_MASK = pa.schema([pa.field("chunk", pa.int32()), pa.field("bits", pa.binary(CHUNK_ROWS // 8))])
_BITS = pa.schema([pa.field("bits", pa.binary())])


@dataclass(frozen=True)
class EngineShare:
    """A plan, split between an engine's own reader and ours.

    Attributes:
        files: what the engine's reader reads as it stands.
        changed: what it reads under a mask, with the units whose rows are gone.
        rest: what stays.
        reasons: for each unit of the plan, why it stays; None for those that go as they stand.
        matches: what keyed events do to their files.
    """

    files: Sequence[EngineFiles]
    changed: Sequence[tuple[EngineFiles, Sequence[ReadUnit]]]
    rest: ReadPlan
    reasons: Sequence[str | None]
    matches: UnitMatches | None

    def masked(self, context: ReadContext, threads: int) -> Iterator[EngineFiles]:
        """What the engine's reader reads under masks, which it asks for when it reads.

        Args:
            context: what reads lend.
            threads: units at once.
        """
        for files, units in self.changed:
            assert self.matches is not None
            masks = MaskedFiles(units, files.stride, self.matches, context, threads)
            yield replace(files, gone=masks.dataset())


def engine_share(
    plan: ReadPlan, columns: Sequence[str], matches: UnitMatches | None = None
) -> EngineShare:
    """Split a plan. Every unit without changes has its files' footers read.

    Args:
        plan: the units.
        columns: those that the scan hands out.
        matches: what keyed events do to their files, for an engine that can leave out rows which
            are gone; None for one that cannot. The footers of units with changes are read, too.
    """
    schema = pa.schema([plan.schema.field(name) for name in columns])
    reads: dict[object, tuple[EngineFiles, list[ReadUnit]]] = {}
    reasons: list[str | None] = []
    rest: list[ReadUnit] = []
    for unit in plan.units:
        found = _files_of(unit, schema, masks=matches is not None)
        why = unit.reason or "it has changes"
        if isinstance(found, str):
            reasons.append(found)
            rest.append(unit)
            continue
        key = [_key(files) for files in found]
        if len({*reads, *key}) > _MOST_READS or not all(map(_fits, found, map(reads.get, key))):
            reasons.append(f"an engine would have to read {_MOST_READS} partitions apart")
            rest.append(unit)
            continue
        reasons.append(None if unit.changes is None else f"{why}; DuckDB and Spark mask its file")
        if matches is not None and not isinstance(unit.changes, Mask | KeyMask | None):
            unit = _without_file(unit, matches)
            # Only what its file does not hold.
            rest.append(unit)
        for files in found:
            known, units = reads.get(_key(files), (replace(files, paths=[], stride=0), []))
            joined = replace(
                known,
                paths=[*known.paths, *files.paths],
                stride=max(known.stride, files.stride),
            )
            reads[_key(files)] = joined, [*units, unit]
    clean = [files for files, _ in reads.values() if not files.stride]
    changed = [pair for pair in reads.values() if pair[0].stride]
    return EngineShare(clean, changed, replace(plan, units=rest), reasons, matches)


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
    engine would have us look at all keys of the file.

    Args:
        unit: of any kind.
        schema: all columns of the table.
        shown: the columns that are handed out.
        condition: of rows; None for all.
        context: what the read lends.

    Returns:
        None where all stays with us. The unit that is left has the rows that the file does not
        hold; None where the file holds all.
    """
    found = _files_of(unit, shown, masks=True)
    tested = filter_columns(condition, schema)
    if isinstance(found, str) or len(found) != 1 or rules_some_out(unit, condition, schema, tested):
        return None
    (file,), none = found, np.empty(0, np.bool_)
    if not _is_plain(file, unit):
        return None
    file = replace(
        file, values={name: file.values[name] for name in unit.partition if name in file.values}
    )
    # Its events are asked for twice: where nothing is kept, this cache ends with the unit.
    matches = UnitMatches(schema, EventsCache(shared=KEPT if KEPT.most_bytes else None))
    matches.columns = list(dict.fromkeys([*shown.names, *tested]))
    if unit.changes is None:
        return file, none, None
    keyed = not isinstance(unit.changes, Mask | KeyMask)
    changed = _without_file(unit, matches) if keyed else unit
    gone = gone_rows(changed, matches, context)
    return None if gone is None else (file, gone, changed if keyed else None)


def _is_plain(file: EngineFiles, unit: ReadUnit) -> bool:
    """Whether an engine that goes by names in any letters finds the scan's columns in a file."""
    own = {name.casefold() for name in unit.files[0].open().schema.names}
    lacking = [name for name in file.values if name not in unit.partition]
    if any(file.values[name].is_valid or name.casefold() in own for name in lacking):
        return False
    wanted = [(name, file.schema.field(name).type) for name in file.stored]
    return [(one.name, one.type) for one in file.stored.values()] == wanted


def _fits(files: EngineFiles, read: tuple[EngineFiles, Sequence[ReadUnit]] | None) -> bool:
    """Whether the mask of a read has room for the rows of one more file."""
    stride = max(files.stride, 0 if read is None else read[0].stride)
    return stride * (1 + (0 if read is None else len(read[1]))) <= _MOST_BITS


def _files_of(unit: ReadUnit, schema: pa.Schema, *, masks: bool) -> list[EngineFiles] | str:
    """A unit's files, each a read of its own; or why it stays."""
    changed = unit.changes is not None
    if changed and (not masks or isinstance(unit.changes, Runs) or len(unit.files) != 1):
        return unit.reason or "it has changes"
    values = {name: value for name, value in unit.partition.items() if name in schema.names}
    found = []
    for file in unit.files:
        reader = file.open()
        files = engine_files(reader, schema, values)
        if isinstance(files, str):
            return files
        if changed and _PLACES.intersection(map(str.lower, reader.schema.names)):
            return "a column of its file hides the places of rows"
        chunks = max(math.ceil(reader.num_rows / CHUNK_ROWS), 1) if changed else 0
        found.append(replace(files, stride=chunks * CHUNK_ROWS))
    return found


def _key(files: EngineFiles) -> object:
    """What files that are read together have in common."""
    values = tuple((name, value.type, value.as_py()) for name, value in files.values.items())
    stored = tuple((name, own.name, own.type) for name, own in files.stored.items())
    return values, stored, bool(files.stride)


class MaskedFiles:
    """Which rows of the files of some units are gone, as an engine asks for it.

    Args:
        units: with one file each, in the order of the files in the engine's read.
        stride: places that each file has, whole chunks of them.
        matches: what keyed events do to their files.
        context: what the reads lend.
        threads: units at once.
    """

    def __init__(
        self,
        units: Sequence[ReadUnit],
        stride: int,
        matches: UnitMatches,
        context: ReadContext,
        threads: int,
    ) -> None:
        self._units = units
        self._stride = stride
        self._matches = matches
        self._context = context
        self._threads = threads

    def dataset(self) -> ds.Dataset:
        """See `seamkit.engines.files.EngineFiles`."""
        from seambase.dataset import ScanDataset

        return ScanDataset(_MASK, self._open)

    def _open(self, columns: list[str], condition: pc.Expression | None) -> pa.RecordBatchReader:
        schema = pa.schema([_MASK.field(name) for name in columns])
        stream = pa.RecordBatchReader.from_batches(_MASK, self._chunks())
        if condition is not None:
            return apply_filter(stream, condition, columns)
        batches = (batch.select(columns) for batch in stream)
        return pa.RecordBatchReader.from_batches(schema, batches)

    def _chunks(self) -> Iterator[pa.RecordBatch]:
        own = self._stride // CHUNK_ROWS
        tasks: list[Task] = [functools.partial(self._of, unit) for unit in self._units]
        for number, batch in run_tasks(tasks, self._threads):
            bits = np.zeros(self._stride // 8, np.uint8)
            some = np.frombuffer(batch.column(0)[0].as_buffer(), np.uint8)
            bits[: len(some)] = some
            numbers = pa.array(range(number * own, number * own + own), pa.int32())
            chunks = pa.FixedSizeBinaryArray.from_buffers(
                _MASK.field("bits").type, own, [None, pa.py_buffer(bits)]
            )
            yield batch_of([numbers, chunks], _MASK, own)

    def _of(self, unit: ReadUnit) -> Iterator[pa.RecordBatch]:
        gone = gone_rows(unit, self._matches, self._context)
        if gone is None:
            gone = np.ones(unit.files[0].open().num_rows, np.bool_)
        yield _one_row(np.packbits(gone).tobytes())


def gone_rows(
    unit: ReadUnit, matches: UnitMatches, context: ReadContext
) -> npt.NDArray[np.bool_] | None:
    """For each row of a unit's file whether it is gone.

    Args:
        unit: has one file, and changes that are a mask or `ChangedRows`.
        matches: what keyed events do to their files.
        context: what the read lends.

    Returns:
        None where the unit's events fill gaps, so that all of its rows come from us.
    """
    (file,) = unit.files
    if isinstance(unit.changes, ChangedRows):
        found = matches.of(file, unit.changes.changes, context)
        return None if found is None else np.not_equal(found.sources, KEEP)
    reader = file.open()
    assert unit.changes is not None
    gone = SharedMask(unit.changes).of(reader, context, DEFAULT_BATCH_ROWS)
    flags = np.zeros(reader.num_rows, np.bool_)
    flags[gone.within(0, reader.num_rows)] = True
    return flags


def _one_row(bits: bytes) -> pa.RecordBatch:
    return batch_of([pa.array([bits], pa.binary())], _BITS, 1)
