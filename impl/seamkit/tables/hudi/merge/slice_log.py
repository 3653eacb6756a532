"""The folded logs of a slice, which the rows of its base file meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from seambase.errors import InputError
from seamkit.core.arrow_data import ExportedBatch, batch_of
from seamkit.core.memory import TrackedAllocator
from seamkit.files.reader import FileReader
from seamkit.scan.merging.assembly import assemble
from seamkit.scan.merging.log_index import LogIndex, Words
from seamkit.tables.hudi.merge.gaps import FilledLog
from seamkit.tables.hudi.merge.keys import SliceKeys
from seamkit.tables.hudi.merge.row_events import ordering_columns

__all__ = ["SliceLog"]


@dataclass
class SliceLog:
    """The folded logs of a slice: `seamkit.scan.units.Events`.

    Attributes:
        data: the log's rows with the columns to hand out; `index` refers to them.
        exported: the same as C structures.
        index: the folded events.
        keys: what tells its records and the base's apart.
        ordering: fields of the base to be compared, which may lie inside structs; empty if none
            need be.
        roots: the columns that hold them.
        least: the smallest ordering value of any event, if that is one whole number.
        kind: the type it is of.
        source: the file group, for messages.
        filled: the rows with their gaps filled, if versions of a record are put together.
        whole: whether no record was left out; see `Events.whole`.
    """

    data: pa.RecordBatch
    exported: ExportedBatch
    index: LogIndex
    keys: SliceKeys
    ordering: tuple[str, ...]
    roots: tuple[str, ...]
    least: int | None
    kind: pa.DataType | None
    source: str
    filled: FilledLog | None = None
    whole: bool = True

    @property
    def fills(self) -> bool:
        """Whether versions of a record fill each other's gaps."""
        return self.filled is not None

    def columns(self, reader: FileReader) -> Sequence[str]:
        """The key columns, and the ordering columns where a base row may win against an event."""
        return self.keys.roots if self._outranks(reader) else (*self.keys.roots, *self.roots)

    def _outranks(self, reader: FileReader) -> bool:
        """Whether no base row can win against an event, so that its ordering need not be read."""
        if self.least is None or self.kind is None:
            return False
        most = reader.greatest(self.ordering[0], self.kind)
        return most is not None and most <= self.least

    def meet(
        self, batch: pa.RecordBatch, first_row: int, source: str, losers: Words | None
    ) -> Words:
        """Where the values of each base row come from; see `Events.meet`."""
        if self.keys.by_position:
            keys = self.keys.of_positions(np.arange(first_row, first_row + batch.num_rows))
        else:
            keys = self.keys.of_rows(batch, source)
        compared = self.ordering and set(self.roots).issubset(batch.schema.names)
        ordering = ordering_columns(batch, self.ordering) if compared else None
        return self.index.probe(keys, ordering, losers)

    def put_together(
        self,
        batch: pa.RecordBatch,
        sources: Words,
        losers: Words | None,
        allocator: TrackedAllocator,
    ) -> pa.RecordBatch:
        """The rows that are left; see `Events.put_together`."""
        if self.filled is None or losers is None:
            return assemble(batch, self.data, self.exported, sources, allocator)
        return self.filled.assemble(batch, sources, losers, allocator)

    def rest(self) -> Words:
        """Rows that only the logs have.

        Raises:
            InputError: they go by position, and the base has no such row.
        """
        rest = self.index.rest()
        if self.keys.by_position and len(rest):
            raise InputError(
                f"{self.source}: the logs of the file group name rows that its base file has not"
            )
        return rest

    def beside(self, further: pa.RecordBatch) -> SliceLog:
        """This log with columns of another reading of the same slice."""
        schema = pa.schema([*self.data.schema, *further.schema])
        data = batch_of([*self.data.columns, *further.columns], schema, self.data.num_rows)
        return replace(self, data=data, exported=ExportedBatch(data))

    def fork(self, names: Sequence[str], allocator: TrackedAllocator) -> SliceLog:
        """The same events for another read."""
        data = self.data.select(list(names))
        index = self.index.fork(allocator)
        return replace(self, data=data, exported=ExportedBatch(data), index=index)
