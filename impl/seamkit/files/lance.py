"""Files in Lance: rows as batches of the table's types, through the package pylance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.extras import needs
from seamkit.files.parquet import check_names
from seamkit.files.promotion import LOSSLESS, TypeRules, resolve_batch
from seamkit.files.reader import FileReader, RowsWanted, check_rows, rows_of_nulls
from seamkit.files.storage import Storage

_T = TypeVar("_T")


class LanceReader(FileReader):
    """One Lance file: a `FileReader`."""

    def __init__(self, storage: Storage, path: str, rules: TypeRules = LOSSLESS) -> None:
        self.name = storage.full(path)
        if not storage.is_local:
            raise RefusedError(f"{self.name}: files in Lance are read on this machine alone")
        with storage.open(path) as content:  # a regular file that is there
            self.size_bytes: int = content.size()
        with needs("seamkit[lance]", "a base file in Lance"):
            from lance.file import LanceFileReader
        self._open: Callable[..., Any] = LanceFileReader
        self._rules = rules
        metadata = self._called(lambda: self._open(self.name).metadata(), "not readable as Lance")
        self.schema = metadata.schema.remove_metadata()
        self.num_rows: int = metadata.num_rows
        check_names(self.schema.names, self.name)

    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """See `FileReader.read`; texts come as they are."""
        schema = wanted.schema
        own_names = set(self.schema.names)
        present = [name for name in schema.names if name in own_names]
        if not present:
            yield from rows_of_nulls(schema, self.num_rows, wanted.batch_rows)
            return
        rows = 0
        for batch in self._pieces(present, wanted.batch_rows):
            rows += batch.num_rows
            yield resolve_batch(batch, schema, self._rules, self.name)
        check_rows(rows, self.num_rows, self.name)

    def _pieces(self, present: list[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        broken = "broken"
        file = self._called(lambda: self._open(self.name, columns=present), broken)
        results = self._called(lambda: file.read_all(batch_size=batch_rows), broken)
        batches = self._called(results.to_batches, broken)
        while (batch := self._called(lambda: next(batches, None), broken)) is not None:
            yield batch

    def _called(self, call: Callable[[], _T], what: str) -> _T:
        """What a call of pylance gives, whose panics do not derive from `Exception`."""
        try:
            return call()
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit)):
                raise
            line = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise InputError(f"{self.name}: {what} ({line})") from error
