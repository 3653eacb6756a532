"""Data files in Avro: rows as batches of the table's types, decoded by the core."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa

from seambase.errors import InputError
from seamkit.avro.decoder import AvroDecoder
from seamkit.avro.records import AvroContainer
from seamkit.avro.schema import arrow_schema
from seamkit.core.arrow_data import batch_of
from seamkit.files.promotion import LOSSLESS, TypeRules, nullable_throughout, resolve_batch
from seamkit.files.reader import FileReader, RowsWanted
from seamkit.files.storage import Storage

_ROW = "row"


class AvroReader(FileReader):
    """One open Avro file, whose rows are records: a `FileReader`."""

    def __init__(
        self,
        storage: Storage,
        path: str,
        rules: TypeRules = LOSSLESS,
        content: bytes | None = None,
    ) -> None:
        """Open a file, whose `content` need not be read again."""
        self._rules = rules
        self.name = storage.full(path)
        content = storage.read(path) if content is None else content
        self._container = AvroContainer(content, self.name, storage.bound)
        self._schema_text = _of_records(self._container.schema, self.name)
        [row] = arrow_schema(self._schema_text)
        if not pa.types.is_struct(row.type):
            raise InputError(f"{self.name}: its rows are no records")
        self.schema = pa.schema(map(nullable_throughout, row.type))
        self.num_rows = self._container.rows

    @property
    def writer_schema(self) -> bytes:
        """The writer's schema, JSON."""
        return self._container.schema

    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """See `FileReader.read`; texts are as they are. Small blocks are decoded into one batch."""
        schema, batch_rows = wanted.schema, wanted.batch_rows
        own_names = set(self.schema.names)
        present = [name for name in schema.names if name in own_names]
        if not present:
            for begin in range(0, self.num_rows, batch_rows):
                rows = min(batch_rows, self.num_rows - begin)
                yield batch_of([pa.nulls(rows, field.type) for field in schema], schema, rows)
            return
        for rows in self._decoded(pa.struct([self.schema.field(name) for name in present]), wanted):
            columns = pa.RecordBatch.from_arrays(rows.flatten(), schema=pa.schema(list(rows.type)))
            decoded = resolve_batch(columns, schema, self._rules, self.name)
            yield from (decoded.slice(i, batch_rows) for i in range(0, len(rows), batch_rows))

    def _decoded(self, own: pa.StructType, wanted: RowsWanted) -> Iterator[pa.StructArray]:
        """Rows of whole blocks, of as many as a batch needs at least."""
        decoder = AvroDecoder(self._schema_text, pa.schema([(_ROW, own)]), source=self.name)
        waiting = 0
        for at, count, block in self._container.blocks():
            decoder.decode_plain(block, count, f"{self.name}, block at byte {at}")
            waiting += count
            if waiting >= wanted.batch_rows:
                yield self._finished(decoder, waiting)
                waiting = 0
        if waiting:
            yield self._finished(decoder, waiting)

    def _finished(self, decoder: AvroDecoder, count: int) -> pa.StructArray:
        rows = decoder.finish().column(0)
        if rows.null_count or len(rows) != count:
            raise InputError(f"{self.name}: a row is null, or missing")
        return rows


def _of_records(schema: bytes, where: str) -> str:
    """The schema of a record whose one field is the file's datum.

    Its bytes are the same. The datum itself may be a union of a record and null, which the core
    takes as a field alone.
    """
    try:
        datum = json.loads(schema)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: its schema is no JSON ({error})") from error
    return json.dumps(
        {"type": "record", "name": "outermost", "fields": [{"name": _ROW, "type": datum}]}
    )
