"""Data files of a table in other forms, whichever of Parquet, ORC and Avro they are.

ORC files keep their types with the attributes. Of Avro files the first writer's schema stays letter
by letter, and records are read and written without its logical types, so that no value goes through
a Python type which has not all of its values.
"""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import fastavro
import pyarrow as pa
from pyarrow import orc

from seambench.contracts.tables import Form
from seambench.formats.forms.catalogue import PARQUET_FORMS
from seambench.formats.forms.containers import (
    AvroForm,
    avro_bytes,
    avro_content,
    put_file,
    recoded_avro,
    reheaded_avro,
)


@dataclass(frozen=True)
class AvroDataForm(AvroForm):
    """One way to write a file."""

    reverse: bool = False  # fields of the records that are rows in the other order

    def rewritten(self, data: bytes) -> bytes | None:
        """A file in this form; None where it has no place."""
        data = recoded_avro(data, pack=False)
        schema = fastavro.reader(io.BytesIO(data)).metadata["avro.schema"]
        spelled: Any = json.loads(schema)
        plain = _unmeant(spelled)
        content = avro_content(reheaded_avro(data, {"avro.schema": json.dumps(plain)}))
        if not content.rows or (self.reverse and len(_columns(spelled)) < 2):
            return None
        if self.reverse:
            for one in (spelled, plain):
                _columns(one).reverse()
            try:
                fastavro.parse_schema(plain)
            except fastavro.schema.UnknownType:
                return None  # a type would be named before it is said what it is
            schema = json.dumps(spelled)
        new = avro_bytes(replace(content, schema=plain), self)
        return reheaded_avro(new, {"avro.schema": schema})


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


@dataclass(frozen=True)
class OrcForm:
    """One way to write a file."""

    name: str
    title: str  # what it is, for people
    options: Mapping[str, Any] = field(default_factory=dict)  # arguments of pyarrow's writer
    texts: bool = False  # it is for files that have some

    def rewritten(self, data: bytes) -> bytes | None:
        """A file in this form; None where it has no place, or pyarrow has not all of its types."""
        before = orc.ORCFile(io.BytesIO(data))
        if not before.nrows or (self.texts and not _has_texts(before.schema)):
            return None
        out = io.BytesIO()
        try:
            orc.write_table(before.read(), out, **self.options)
        except pa.ArrowNotImplementedError:
            return None
        after = orc.ORCFile(io.BytesIO(out.getvalue()))
        same = after.schema.equals(before.schema, check_metadata=True)
        return out.getvalue() if same else None


def _has_texts(schema: pa.Schema) -> bool:
    return any(pa.types.is_string(one.type) for one in schema)


ORC_FORMS = (
    OrcForm("orc-stripes", "a stripe for each row", {"stripe_size": 1, "batch_size": 1}),
    OrcForm("orc-strides", "an entry of the row index for each row", {"row_index_stride": 1}),
    *(
        OrcForm(f"orc-{codec}", f"ORC compressed: {codec}", {"compression": codec})
        for codec in ("uncompressed", "zlib", "snappy", "lz4", "zstd")
    ),
    OrcForm("orc-runs-old", "integers in runs of the first version", {"file_version": "0.11"}),
    OrcForm(
        "orc-dictionary", "texts in dictionaries", {"dictionary_key_size_threshold": 1.0}, True
    ),
    OrcForm(
        "orc-direct", "texts without dictionaries", {"dictionary_key_size_threshold": 0.0}, True
    ),
)
"""Every form of an ORC file."""


class _DataForm(Protocol):
    """One way to write a data file."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    def rewritten(self, data: bytes) -> bytes | None:
        """A file in this form; None where it has no place in it."""


#: Forms of the files that begin so.
_FORMS: Mapping[bytes, Sequence[_DataForm]] = {
    b"PAR1": PARQUET_FORMS,
    b"ORC": ORC_FORMS,
    b"Obj\x01": AVRO_DATA_FORMS,
}


def rewritten_bytes(data: bytes, name: str) -> bytes | None:
    """A Parquet file in the form of a name; None where it has no place, as in what is no file."""
    [form] = [one for one in PARQUET_FORMS if one.name == name]
    return form.rewritten(data) if data[-4:] == b"PAR1" else None


def rewritten_as(file: Path, name: str) -> bool:
    """Bring one Parquet file into the form of a name; False where it has no place."""
    new = rewritten_bytes(file.read_bytes(), name)
    if new is not None:
        put_file(file, new)
    return new is not None


def data_forms(
    files: Callable[[Path], Iterable[Path]],
    mend: Callable[[Path, Mapping[str, int]], None] | None = None,
    kinds: Sequence[bytes] = tuple(_FORMS),
) -> list[Form]:
    """Forms of the data files of a table; those that begin with other bytes than `kinds` stay.

    `files` says which of the files below the folder are meant. `mend` puts right in metadata the
    sizes in bytes of files, by path below the folder.
    """

    def form(magic: bytes, one: _DataForm) -> Form:
        def change(table: Path) -> int:
            sizes = {}
            for file in files(table):
                data = file.read_bytes()
                new = one.rewritten(data) if data.startswith(magic) else None
                if new is not None:
                    put_file(file, new)
                    sizes[file.relative_to(table).as_posix()] = len(new)
            if sizes and mend is not None:
                mend(table, sizes)
            return len(sizes)

        return Form(one.name, one.title, change)

    return [form(magic, one) for magic in kinds for one in _FORMS[magic]]
