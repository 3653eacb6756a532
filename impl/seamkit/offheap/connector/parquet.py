"""A scanner over one Parquet file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from seambase.errors import InputError
from seamkit.core.memory import TrackedAllocator
from seamkit.files.parquet import open_parquet
from seamkit.offheap.connector.batches import BatchScanner
from seamkit.offheap.connector.parameters import Common, Parameters, needed


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
