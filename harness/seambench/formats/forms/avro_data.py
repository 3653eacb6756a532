"""Avro files of rows written again: same records, whatever their types mean.

The first writer's schema stays in the file letter by letter. Records are read and written without
its logical types, so that no value goes through a Python type which has not all of its values.
"""

from __future__ import annotations

import copy
import io
import json
from dataclasses import dataclass
from typing import Any

import fastavro

from seambench.formats.forms.containers import recoded_avro, reheaded_avro


@dataclass(frozen=True)
class AvroDataForm:
    """One way to write a file.

    Attributes:
        title: what it is, for people.
        codec: as Avro names it.
        block_bytes: size at which a block ends.
        reverse: fields of the records that are rows in the other order.
    """

    name: str
    title: str
    codec: str = "deflate"
    block_bytes: int = 16_000
    reverse: bool = False

    def rewritten(self, data: bytes) -> bytes | None:
        """A file in this form; None where it has no place."""
        data = recoded_avro(data, pack=False)
        told = fastavro.reader(io.BytesIO(data)).metadata
        spelled: Any = json.loads(told["avro.schema"])
        plain = _unmeant(spelled)
        reader = fastavro.reader(
            io.BytesIO(reheaded_avro(data, {"avro.schema": json.dumps(plain)}))
        )
        rows = list(reader)
        if not rows or (self.reverse and len(_columns(spelled)) < 2):
            return None
        if self.reverse:
            for one in (spelled, plain):
                _columns(one).reverse()
            try:
                fastavro.parse_schema(plain)
            except fastavro.schema.UnknownType:
                return None  # a type would be named before it is said what it is
        out = io.BytesIO()
        kept = {key: value for key, value in told.items() if not key.startswith("avro.")}
        is_zstd = self.codec == "zstandard"
        fastavro.writer(
            out,
            plain,
            rows,
            codec="null" if is_zstd else self.codec,
            sync_interval=self.block_bytes,
            metadata=kept,
        )
        schema = json.dumps(spelled) if self.reverse else told["avro.schema"]
        new = reheaded_avro(out.getvalue(), {"avro.schema": schema})
        return recoded_avro(new, pack=True) if is_zstd else new


def _columns(schema: Any) -> list[Any]:
    """The fields of rows, which are records or, as Paimon says, records or null."""
    [record] = [one for one in (schema if isinstance(schema, list) else [schema]) if one != "null"]
    fields: list[Any] = record["fields"]
    return fields


def _unmeant(schema: Any) -> Any:
    """A schema without logical types."""
    if isinstance(schema, list):
        return [_unmeant(one) for one in schema]
    if not isinstance(schema, dict):
        return copy.copy(schema)
    return {key: _unmeant(value) for key, value in schema.items() if key != "logicalType"}


AVRO_DATA_FORMS = (
    AvroDataForm("avro-data-plain", "rows in Avro files without compression", "null"),
    AvroDataForm("avro-data-deflate", "rows in Avro files, deflated"),
    AvroDataForm("avro-data-zstd", "rows in Avro files with Zstandard", "zstandard"),
    AvroDataForm("avro-data-bzip2", "rows in Avro files with bzip2", "bzip2"),
    AvroDataForm("avro-data-blocks", "Avro files with a block for each row", block_bytes=1),
    AvroDataForm("avro-data-fields", "columns of Avro files in another order", reverse=True),
)
"""Every form of an Avro file of rows."""
