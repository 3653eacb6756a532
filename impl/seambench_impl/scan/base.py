"""The native path: rows of one Parquet base file, as batches of the table's types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from seambench.errors import InputError
from seambench_impl.merge import batch_of
from seambench_impl.scan.resolve import resolve_batch
from seambench_impl.tables.storage import Storage

__all__ = ["DEFAULT_BATCH_ROWS", "BaseReader"]

DEFAULT_BATCH_ROWS = 256 * 1024
"""Large enough that its columns lie on huge pages and per-batch work does not show; a batch of wide
rows stays below 100 MB."""


class BaseReader:
    """One open base file. Its footer is read once: Hudi keeps a large bloom filter in it.

    Args:
        storage: the table's folder.
        path: the file below it.

    Raises:
        InputError: the file is missing, truncated, or no Parquet file.
    """

    def __init__(self, storage: Storage, path: str) -> None:
        self.name = storage.full(path)
        self._storage = storage
        self._path = path
        try:
            self._file = pq.ParquetFile(storage.open(path))
        except (OSError, pa.ArrowInvalid) as error:
            raise InputError(f"{self.name}: not readable as Parquet ({error})") from error
        self.num_rows: int = self._file.metadata.num_rows
        self._names = set(self._file.schema_arrow.names)

    def batches(
        self, schema: pa.Schema, batch_rows: int, *, use_threads: bool
    ) -> Iterator[pa.RecordBatch]:
        """All rows, with the columns and types of `schema`.

        Raises:
            InputError: a page is broken, or rows are missing.
        """
        present = [name for name in schema.names if name in self._names]
        if not present:
            yield from self._without_columns(schema, batch_rows)
            return
        rows = 0
        try:
            for batch in self._file.iter_batches(
                batch_size=batch_rows, columns=present, use_threads=use_threads
            ):
                rows += batch.num_rows
                yield resolve_batch(batch, schema, self.name)
        except (OSError, pa.ArrowInvalid) as error:
            raise InputError(f"{self.name}: broken after row {rows} ({error})") from error
        if rows != self.num_rows:
            raise InputError(f"{self.name}: {rows} rows, but its footer says {self.num_rows}")

    def _without_columns(self, schema: pa.Schema, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Rows of which nothing is read: a count, or columns that the file lacks."""
        for begin in range(0, self.num_rows, batch_rows):
            n = min(batch_rows, self.num_rows - begin)
            yield batch_of([pa.nulls(n, field.type) for field in schema], schema, n)

    def has_types_of(self, schema: pa.Schema) -> bool:
        """Whether the file holds these columns in just these types."""
        own = self._file.schema_arrow
        return all(
            field.name in self._names and own.field(field.name).type.equals(field.type)
            for field in schema
        )

    def filtered(
        self,
        schema: pa.Schema,
        columns: Sequence[str],
        condition: pc.Expression,
        batch_rows: int,
        *,
        use_threads: bool,
    ) -> Iterator[pa.RecordBatch]:
        """Rows that meet `condition`; row groups that cannot are skipped by their statistics.

        Args:
            schema: the columns that `columns` and `condition` name; `has_types_of` holds for it.
            columns: those to hand out.
            condition: applied exactly.
            batch_rows: most rows in a batch.
            use_threads: let pyarrow decode columns in parallel.
        """
        fragment = ds.ParquetFileFormat().make_fragment(self._storage.open(self._path))
        scanner = fragment.scanner(
            schema=schema,
            columns=list(columns),
            filter=condition,
            batch_size=batch_rows,
            batch_readahead=2,
            use_threads=use_threads,
        )
        try:
            for batch in scanner.to_batches():
                if batch.num_rows:
                    yield batch
        except (OSError, pa.ArrowInvalid) as error:
            raise InputError(f"{self.name}: broken ({error})") from error
