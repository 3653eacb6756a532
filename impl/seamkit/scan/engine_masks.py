"""Units whose file an engine's own reader reads under a mask, while we add the rows it lacks.

Of a unit with changes most rows of the file stay as they are. Which are gone is worked out once and
told as bits; what replaces them, and what is new, are rows of the unit's events. Nothing of this is
done before the engine asks for rows.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.filters import apply_filter
from seamkit.core.arrow_data import batch_of
from seamkit.core.tasks import Task, run_tasks
from seamkit.engines.files import CHUNK_ROWS
from seamkit.scan.events_cache import EventsSource, Matches
from seamkit.scan.masks import GoneRows, SharedMask
from seamkit.scan.merge_path import UnitMerge
from seamkit.scan.merging.log_index import KEEP, REMOVE
from seamkit.scan.native_path import Wanted
from seamkit.scan.options import DEFAULT_BATCH_ROWS
from seamkit.scan.stretches import Neighbours, Stretch
from seamkit.scan.units import DataFile, Events, Keyed, Positions, ReadContext, ReadUnit

if TYPE_CHECKING:
    import pyarrow.dataset as ds

__all__ = ["ChangedRows", "MaskedFiles", "UnitMatches", "changed_rows", "gone_rows"]

_MASK = pa.schema([pa.field("chunk", pa.int32()), pa.field("bits", pa.binary(CHUNK_ROWS // 8))])
_BITS = pa.schema([pa.field("bits", pa.binary())])


class UnitMatches:
    """Which rows of files their units' events replace or remove; worked out by one thread a unit.

    Args:
        schema: all columns of the table that events may be met by.
        events: where events come from, and where what was found is kept.
    """

    def __init__(self, schema: pa.Schema, events: EventsSource) -> None:
        self._schema = schema
        self.events = events
        self._lock = threading.Lock()
        self._alone: dict[int, threading.Lock] = {}
        # Columns that a read beside asks of the events: the logs are decoded for both at once.
        self.columns: Sequence[str] = ()

    def of(self, file: DataFile, changes: Keyed, context: ReadContext) -> Matches | None:
        """What the events of a unit do to its file; None where they fill gaps of its rows.

        Raises:
            SeambenchError: what is wrong with the file or the events.
        """
        with self._lock:
            alone = self._alone.setdefault(id(changes), threading.Lock())
        with alone:
            source = self.events.of(changes)
            if source.known is not None:
                return source.known
            events = source.load(self.columns, context)
            if isinstance(events, np.ndarray):
                found = _removed(events, file)
            elif events.fills:
                return None
            else:
                found = self._met(events, file)
            if source.keep is not None:
                source.keep(found)
            return found

    def _met(self, events: Events, file: DataFile) -> Matches:
        reader = file.open()
        names = dict.fromkeys(events.columns(reader))
        schema = pa.schema([self._schema.field(name) for name in names])
        batches = reader.batches(schema, DEFAULT_BATCH_ROWS, use_threads=False)
        at = Neighbours(range(reader.num_row_groups), 0, reader.num_rows)
        met = Stretch.meeting(batches, events, at, reader.name, keeps=False)
        return Matches(met.sources, events.rest(), events.data.num_rows)


def _removed(positions: Positions, file: DataFile) -> Matches:
    """Events that do nothing but remove rows by position."""
    reader = file.open()
    gone = GoneRows(positions, reader.num_rows, reader.name)
    sources = np.full(reader.num_rows, KEEP, np.int32)
    sources[gone.within(0, reader.num_rows)] = REMOVE
    return Matches(sources, np.empty(0, np.int32), 0)


@dataclass(frozen=True)
class ChangedRows:
    """Changes of a unit of which the rows that its file does not hold are read, and no others.

    They are `seamkit.scan.units.Keyed`.

    Attributes:
        file: the unit's, which an engine reads under a mask.
        changes: its events.
        matches: what they do to the file.
    """

    file: DataFile
    changes: Keyed
    matches: UnitMatches

    @property
    def key_columns(self) -> frozenset[str]:
        """None: there is no file of which row groups could be left out."""
        return frozenset()

    def identity(self) -> Hashable | None:
        """See `Keyed.identity`."""
        return self.changes.identity()

    def load(self, names: Sequence[str], context: ReadContext) -> Events | Positions:
        """See `Keyed.load`."""
        return self.changes.load(names, context)

    def further(self, names: Sequence[str], context: ReadContext) -> pa.RecordBatch:
        """See `Keyed.further`."""
        return self.changes.further(names, context)


def changed_rows(
    changed: ChangedRows, schema: pa.Schema, wanted: Wanted, context: ReadContext
) -> Iterator[pa.RecordBatch]:
    """The rows that replace others or are added; all rows of a unit whose events fill gaps.

    Args:
        changed: the unit.
        schema: all columns of the table.
        wanted: what to hand out.
        context: what the read lends.
    """
    changes, file = changed.changes, changed.file
    found = changed.matches.of(file, changes, context)
    source = changed.matches.events.of(changes)
    if found is None:
        return UnitMerge(file, changes, schema, wanted, context, source).all_rows()
    if not len(found.changed):
        return iter(())
    only = Matches(np.empty(0, np.int32), found.changed, found.n_events)
    source = replace(source, known=only, keep=None)
    return UnitMerge(None, changes, schema, wanted, context, source).all_rows()


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

    Raises:
        SeambenchError: what is wrong with the file or its changes.
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
