"""Files that metadata is kept in, written again: any file, and Avro files by another writer."""

from __future__ import annotations

import copy
import io
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa


def put_file(file: Path, data: bytes) -> None:
    """Write a file in the place of one; it keeps its date and loses Hadoop's checksum file."""
    stat = file.stat() if file.exists() else None
    file.write_bytes(data)
    if stat is not None:
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


_ZSTD = b"avro.codec\x12zstandard"
#: What an Avro file begins with.
_HEADER = {
    "type": "record",
    "name": "header",
    "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": 4}},
        {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": 16}},
    ],
}


@dataclass(frozen=True)
class AvroFile:
    """An Avro file: schema, key-value metadata without Avro's own, and records."""

    schema: Any
    metadata: dict[str, str]
    rows: list[Any]


@dataclass(frozen=True)
class AvroForm:
    """How an Avro file is written."""

    name: str
    title: str  # what it is, for people
    codec: str = "deflate"  # as Avro names it; the empty text leaves deflate
    block_bytes: int = 16_000  # size at which a block ends
    # of a file, what else is changed; None where there is nothing to change
    change: Callable[[AvroFile], AvroFile | None] | None = None


def is_avro(file: Path) -> bool:
    """Whether a file begins as Avro's do."""
    with file.open("rb") as stream:
        return stream.read(4) == b"Obj\x01"


def read_avro(file: Path) -> AvroFile:
    """Read a whole Avro file."""
    return avro_content(file.read_bytes())


def avro_content(data: bytes) -> AvroFile:
    """What the bytes of an Avro file hold."""
    reader = fastavro.reader(io.BytesIO(recoded_avro(data, pack=False)))
    metadata = {k: v for k, v in reader.metadata.items() if not k.startswith("avro.")}
    return AvroFile(reader.writer_schema, metadata, list(reader))


def write_avro(file: Path, content: AvroFile, form: AvroForm | None = None) -> bool:
    """Write an Avro file; False where the form changes nothing of it."""
    form = form or AvroForm("", "")
    changed = form.change(content) if form.change is not None else content
    if changed is None:
        return False
    put_file(file, avro_bytes(changed, form))
    return True


def avro_bytes(content: AvroFile, form: AvroForm) -> bytes:
    """An Avro file with a content as it is, in blocks and by the codec of a form."""
    out = io.BytesIO()
    fastavro.writer(
        out,
        content.schema,
        content.rows,
        codec="null" if form.codec == "zstandard" else form.codec,
        sync_interval=form.block_bytes,
        metadata=content.metadata,
    )
    data = out.getvalue()
    return recoded_avro(data, pack=True) if form.codec == "zstandard" else data


def recoded_avro(data: bytes, *, pack: bool) -> bytes:
    """A file whose blocks are packed by Zstandard or unpacked: fastavro may lack the library.

    Blocks to be packed have no codec yet; a file of another codec stays as it is when unpacked.
    """
    if not pack and _ZSTD not in data:
        return data
    stream = io.BytesIO(data)
    header: Any = fastavro.schemaless_reader(stream, _HEADER)
    header["meta"]["avro.codec"] = b"zstandard" if pack else b"null"
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _HEADER, header)
    while stream.tell() < len(data):
        count, block = (fastavro.schemaless_reader(stream, kind) for kind in ("long", "bytes"))
        if pack:
            block = pa.compress(block, codec="zstd", asbytes=True)
        else:
            block = pa.input_stream(pa.BufferReader(block), compression="zstd").read()
        fastavro.schemaless_writer(out, "long", count)
        fastavro.schemaless_writer(out, "bytes", block)
        out.write(stream.read(16) and header["sync"])
    return out.getvalue()


def reheaded_avro(data: bytes, changed: Mapping[str, str]) -> bytes:
    """A file with other entries of its header's metadata; its blocks stay."""
    stream = io.BytesIO(data)
    header: Any = fastavro.schemaless_reader(stream, _HEADER)
    header["meta"] |= {key: value.encode() for key, value in changed.items()}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _HEADER, header)
    return out.getvalue() + stream.read()


def _records(schema: Any) -> Iterator[dict[str, Any]]:
    """Every record of a schema, the outer ones first."""
    if isinstance(schema, list):
        for branch in schema:
            yield from _records(branch)
    elif isinstance(schema, dict):
        if schema.get("type") == "record":
            yield schema
            for field in schema["fields"]:
                yield from _records(field["type"])
        else:
            for key in ("type", "items", "values"):
                if isinstance(schema.get(key), (dict, list)):
                    yield from _records(schema[key])


def _reversed_fields(content: AvroFile) -> AvroFile:
    """The fields of every record in the other order, but of the entries of maps."""
    schema = copy.deepcopy(content.schema)
    for record in _records(schema):
        if [field["name"] for field in record["fields"]] != ["key", "value"]:
            record["fields"].reverse()
    return replace(content, schema=schema)


AVRO_FORMS = (
    AvroForm("avro-plain", "metadata in Avro files without compression", codec="null"),
    AvroForm("avro-deflate", "metadata in Avro files of another writer, deflated"),
    AvroForm("avro-zstd", "metadata in Avro files with Zstandard", codec="zstandard"),
    AvroForm("avro-blocks", "metadata in Avro files, a record a block", block_bytes=1),
    AvroForm("avro-fields", "fields of Avro records in another order", change=_reversed_fields),
)
"""How Avro files of metadata can be written, whatever they hold."""
