"""Scanners over Arrow batches, whatever they are read from, and over a Parquet file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from seambase.errors import InputError, UsageError
from seambase.where import Filter, parse_filter
from seamkit.core.memory import TrackedAllocator
from seamkit.files.parquet import open_parquet
from seamkit.offheap.columns.types import UNKNOWN, from_arrow
from seamkit.offheap.connector.arrow_columns import unzoned
from seamkit.offheap.connector.generator import Append, check_append
from seamkit.offheap.connector.parameters import Common, Parameters, needed
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


class ParquetScanner(BatchScanner):
    """The rows of a file, whose footer is read at once, in order; see `BatchScanner`."""

    def __init__(self, path: str, fetch_size: int = 4096, **choices: Any) -> None:
        super().__init__(path, _schema(path), fetch_size, **choices)
        self._file: pq.ParquetFile | None = None

    @classmethod
    def from_parameters(
        cls, fetch_size: int, parameters: Parameters, allocator: TrackedAllocator | None = None
    ) -> Self:
        """From `data_file_path` and `append`."""
        common = Common.read(parameters, ("data_file_path", "append"))
        append: Any = parameters.get("append", "columns")
        return cls(
            needed(parameters, "data_file_path"),
            fetch_size,
            required=common.required,
            nested=common.nested,
            zone=common.zone,
            predicate=common.predicate,
            append=append,
            allocator=allocator,
        )

    def _read(self, schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        try:
            content = pa.OSFile(self.path)
        except OSError as error:
            raise InputError(f"{self.path}: not readable ({error})") from error
        self._file = open_parquet(content, self.path)
        return self._checked(self._file.iter_batches(rows, columns=schema.names))

    def _checked(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except (OSError, pa.ArrowInvalid) as error:
            raise InputError(
                f"{self.path}: broken behind row {self.counters.raw_rows} ({error})"
            ) from error

    def close(self) -> None:
        """Close the file."""
        super().close()
        if self._file is not None:
            self._file.close()
            self._file = None


def _schema(path: str) -> pa.Schema:
    try:
        return pq.read_schema(path).remove_metadata()
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path}: not readable as Parquet ({error})") from error
