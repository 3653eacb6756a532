"""A scanner over one Parquet file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from seambase.errors import InputError, UsageError
from seambase.where import Filter, parse_filter
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.types import UNKNOWN, ColumnType, from_arrow
from seamkit.offheap.connector.arrow_columns import unzoned
from seamkit.offheap.connector.generator import Door, check_door
from seamkit.offheap.connector.parameters import Common, Parameters, needed
from seamkit.offheap.connector.scanner import ConnectorScanner
from seamkit.offheap.connector.selected import prune_columns

__all__ = ["ParquetScanner"]


class ParquetScanner(ConnectorScanner):
    """The rows of a file, in order.

    Args:
        path: of the file; its footer is read at once.
        fetch_size: most rows per chunk.
        required: columns asked for, in order; one that the file lacks is missing (NULL in every
            row). By default all.
        nested: dotted paths of the parts asked for; by default all.
        zone: of the clocks that show timestamps with a zone.
        predicate: DuckDB SQL over the file's columns; rows for which it is not true are left out.
        door: how rows are appended.
        allocator: where all memory comes from.

    Raises:
        seambase.errors.InputError: the file is missing, truncated, or no Parquet file.
        seambase.errors.RefusedError: a column asked for is of a type that no off-heap column has.
        seambase.errors.UsageError: a path that leads nowhere, or a predicate that does not fit.
    """

    def __init__(
        self,
        path: str,
        fetch_size: int = 4096,
        *,
        required: Sequence[str] | None = None,
        nested: Sequence[str] = (),
        zone: tzinfo = UTC,
        predicate: str = "",
        door: Door = "columns",
        allocator: TrackedAllocator | None = None,
    ) -> None:
        self.path = path
        self._door = check_door(door)
        schema = _schema(path)
        wanted = list(schema.names if required is None else required)
        # Only columns asked for have to be of a type that a column holds.
        columns = {name: _type(schema.field(name)) for name in wanted if name in schema.names}
        types = prune_columns(columns, wanted, nested)
        sources = [columns.get(name, UNKNOWN) for name in wanted]
        super().__init__(
            wanted, types, fetch_size, allocator, sources=sources, zone=zone, predicate=predicate
        )
        self._filter: Filter | None = parse_filter(predicate, schema) if predicate else None
        self._names = [name for name in wanted if name in columns]
        self._file: pq.ParquetFile | None = None
        self._batches: Iterator[pa.RecordBatch] = iter(())

    @classmethod
    def from_parameters(
        cls, fetch_size: int, parameters: Parameters, allocator: TrackedAllocator | None = None
    ) -> Self:
        """From `data_file_path` and `door`."""
        common = Common.read(parameters, ("data_file_path", "door"))
        door: Any = parameters.get("door", "columns")
        return cls(
            needed(parameters, "data_file_path"),
            fetch_size,
            required=common.required,
            nested=common.nested,
            zone=common.zone,
            predicate=common.predicate,
            door=door,
            allocator=allocator,
        )

    def open(self) -> None:
        """Open the file."""
        read = list(dict.fromkeys([*self._names, *(self._filter.columns if self._filter else ())]))
        try:
            self._file = pq.ParquetFile(self.path)
        except (OSError, pa.ArrowInvalid) as error:
            raise InputError(f"{self.path}: not readable as Parquet ({error})") from error
        self._batches = self._file.iter_batches(max(self.fetch_size, 1), columns=read)

    def close(self) -> None:
        """Close the file."""
        self._batches = iter(())
        if self._file is not None:
            self._file.close()
            self._file = None

    def get_next(self) -> int:
        """Append the next batch of which a row is left.

        Raises:
            seambase.errors.InputError: the file is broken.
            seambase.errors.UsageError: the scanner is not open: it has no end to tell.
        """
        if self._file is None:
            raise UsageError(f"{self.path}: the scanner is not open")
        try:
            for batch in self._batches:
                self.counters.raw_rows += batch.num_rows
                kept = self._kept(batch)
                if kept.num_rows:
                    self._append(kept)
                    return int(kept.num_rows)
        except (OSError, pa.ArrowInvalid) as error:
            raise InputError(
                f"{self.path}: broken behind row {self.counters.raw_rows} ({error})"
            ) from error
        return 0

    def _kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that meet the predicate."""
        if self._filter is None:
            return batch
        return batch.filter(self._filter.keep(batch))

    def _append(self, batch: pa.RecordBatch) -> None:
        columns = [batch.column(name) for name in self._names]
        if self._door == "columns" and columns:
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


def _schema(path: str) -> pa.Schema:
    try:
        return pq.read_schema(path).remove_metadata()
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path}: not readable as Parquet ({error})") from error


def _type(field: pa.Field) -> ColumnType:
    return from_arrow(unzoned(field.type))
