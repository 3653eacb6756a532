"""A scanner over Arrow batches, whatever they are read from."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo

import pyarrow as pa

from seambase.errors import InputError, UsageError
from seambase.where import Filter, parse_filter
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.types import UNKNOWN, from_arrow
from seamkit.offheap.connector.arrow_columns import unzoned
from seamkit.offheap.connector.generator import Append, check_append
from seamkit.offheap.connector.scanner import ConnectorScanner
from seamkit.offheap.connector.selected import prune_columns


class BatchScanner(ConnectorScanner):
    """The rows of a source in order; a subclass says what its batches are.

    Args:
        path: of the source, for messages.
        schema: all columns that it has.
        fetch_size: most rows per chunk.
        required: columns asked for, in order; one that the source lacks is missing (NULL in every
            row). By default all.
        nested: dotted paths of the parts asked for; by default all.
        zone: of the clocks that show timestamps with a zone.
        predicate: DuckDB SQL over the source's columns; rows for which it is not true are left out.
        append: how rows are appended.
        allocator: where all memory comes from.
    """

    def __init__(
        self,
        path: str,
        schema: pa.Schema,
        fetch_size: int = 4096,
        *,
        required: Sequence[str] | None = None,
        nested: Sequence[str] = (),
        zone: tzinfo = UTC,
        predicate: str = "",
        append: Append = "columns",
        allocator: TrackedAllocator | None = None,
    ) -> None:
        self.path = path
        self._mode = check_append(append)
        wanted = list(schema.names if required is None else required)
        # Only columns asked for have to be of a type that a column holds.
        columns = {
            name: from_arrow(unzoned(schema.field(name).type))
            for name in wanted
            if name in schema.names
        }
        types = prune_columns(columns, wanted, nested)
        sources = [columns.get(name, UNKNOWN) for name in wanted]
        super().__init__(
            wanted, types, fetch_size, allocator, sources=sources, zone=zone, predicate=predicate
        )
        self._filter: Filter | None = parse_filter(predicate, schema) if predicate else None
        self._names = [name for name in wanted if name in columns]
        tested = self._filter.columns if self._filter else ()
        read = dict.fromkeys([*self._names, *tested])
        self._schema = pa.schema([schema.field(name) for name in read])
        self._batches: Iterator[pa.RecordBatch] | None = None

    @abstractmethod
    def _read(self, schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        """Open the source, for batches of at most so many rows."""

    def open(self) -> None:
        """Open the source."""
        self._batches = self._read(self._schema, max(self.fetch_size, 1))

    def close(self) -> None:
        """Close the source."""
        self._batches = None

    def get_next(self) -> int:
        """Append the next batch of which a row is left."""
        if self._batches is None:
            raise UsageError(f"{self.path}: the scanner is not open")
        for batch in self._batches:
            self.counters.raw_rows += batch.num_rows
            kept = batch if self._filter is None else batch.filter(self._filter.keep(batch))
            if kept.num_rows:
                self._append(kept)
                return int(kept.num_rows)
        return 0

    def _append(self, batch: pa.RecordBatch) -> None:
        columns = [batch.column(name) for name in self._names]
        if self._mode == "columns" and columns:
            self.append_batch(pa.RecordBatch.from_arrays(columns, names=self._names))
            return
        for appender, column in zip(self.appenders, columns, strict=True):
            try:
                items = column.to_pylist()
            except (ValueError, OverflowError) as error:
                raise InputError(
                    f"{self.path}: a value has no Python object ({error}); append whole columns"
                ) from error
            for item in items:
                appender.put(item)
