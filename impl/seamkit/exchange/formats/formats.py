"""How a chunk becomes bytes, by name: see `FORMATS`.

Both sides of an exchange are given the same name and schema; the bytes do not say what they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import pyarrow as pa

from seambase.encodings import made_anew, plain_schema
from seambase.errors import InputError, RefusedError, UsageError
from seambase.foreign_arrow import BREAKS, check_unpacked, sound, sound_stream, stream_of
from seambase.serde import SerdeField
from seambase.type_fields import fields_of
from seambase.wording import counted
from seamkit.core.memory import TrackedAllocator
from seamkit.core.payloads import ArrowPieces
from seamkit.exchange.formats.chunk_bytes import ChunkOptions, ChunkWriter
from seamkit.exchange.formats.chunk_reader import ChunkReader
from seamkit.exchange.formats.retyped import Bound
from seamkit.serde.presto import read, write
from seamkit.serde.presto.options import PageOptions
from seamkit.serde.rows import serde as rows
from seamkit.serde.stream.presto import Gatherer

Bytes = bytes | bytearray | memoryview


class Dealt(Protocol):
    """Rows of one part as a partitioner hands them out (`seamkit.exchange.partition`)."""

    schema: pa.Schema

    def pieces(self) -> ArrowPieces:
        """The rows as a message of Arrow's IPC format, their columns where they lie."""


@dataclass(frozen=True)
class ChunkFormat:
    """A format bound to a schema."""

    name: str
    encode: Callable[[pa.RecordBatch], Any]  # a batch as one buffer
    # a buffer as a batch; memory of the buffer may be shared
    decode: Callable[[Bytes], pa.RecordBatch]
    # what a partitioner hands out as a payload (see `seamkit.core.payloads`), where that is less
    # work than making it a batch first; None where it is not
    encode_dealt: Callable[[Dealt], Any] | None = None
    # makes what collects rows of small batches for one chunk, its memory an allocator's; None where
    # every batch is a chunk
    gather: Callable[[TrackedAllocator], Gatherer] | None = None


def chunk_format(
    name: str,
    schema: pa.Schema,
    options: Mapping[str, Any] | None = None,
    allocator: TrackedAllocator | None = None,
) -> ChunkFormat:
    """Bind one of `FORMATS` to the schema of an exchange.

    Options are those of `seambase.serde.SerdeRequest`, Arrow's `codec`, or fields of
    `ChunkOptions`; what is made is the allocator's.
    """
    if name not in FORMATS:
        raise UsageError(f"unknown chunk format {name!r}; there are {', '.join(FORMATS)}")
    return FORMATS[name](schema, dict(options or {}), allocator or TrackedAllocator())


def _arrow(schema: pa.Schema, options: dict[str, Any], _: TrackedAllocator) -> ChunkFormat:
    codec = options.pop("codec", None)
    if options:
        raise UsageError(f"the arrow format has no option {next(iter(options))!r}")
    settings = pa.ipc.IpcWriteOptions(compression=None if codec == "none" else codec)
    bound = Bound(schema)

    def encode(batch: pa.RecordBatch) -> Any:
        return stream_of([batch], batch.schema, settings)

    def decode(data: Bytes) -> pa.RecordBatch:
        batches = sound_stream(data, "a chunk", schema)
        if len(batches) != 1:
            raise InputError(f"a chunk is a stream of {counted(len(batches), 'batch')}, not of one")
        return bound(batches[0])

    return ChunkFormat("arrow", encode, decode)


def _arrow_batch(schema: pa.Schema, options: dict[str, Any], _: TrackedAllocator) -> ChunkFormat:
    """One encapsulated message of Arrow's IPC format: a record batch without its schema."""
    # The exchange knows the schema, so it is not said again with every chunk. Columns that were
    # dealt leave from where they lie. Buffers are used where they arrived, after their offsets and
    # sizes are checked; values (UTF-8, digits) are not.
    if options:
        raise UsageError(f"the arrow-batch format has no option {next(iter(options))!r}")
    for field in schema:
        if _holds_dictionary(field.type):
            raise RefusedError(
                f"column {field.name}: {field.type} needs its dictionary sent first, which the "
                "arrow-batch format does not; use the arrow format"
            )

    structure = pa.schema([pa.field(one.name, _structure(one.type)) for one in schema])
    bound = Bound(schema)

    def decode(data: Bytes) -> pa.RecordBatch:
        try:
            message = _one_message(data)
            sound(pa.ipc.read_record_batch(message, structure), "a chunk")
            batch = pa.ipc.read_record_batch(message, schema)
        except BREAKS as error:
            raise InputError(f"a chunk is no Arrow record batch of {schema}: {error}") from error
        return bound.held(batch)

    def check_types(given: pa.Schema) -> None:
        if not given.equals(schema) and given.types != schema.types:
            raise InputError(f"a chunk of {given.types}, not of {schema.types}")

    def encode(batch: pa.RecordBatch) -> Any:
        check_types(batch.schema)
        return batch.serialize()

    def encode_dealt(chunk: Dealt) -> Any:
        check_types(chunk.schema)
        return chunk.pieces()

    return ChunkFormat("arrow-batch", encode, decode, encode_dealt)


def _one_message(data: Bytes) -> pa.Message:
    file = pa.BufferReader(data)
    message = pa.ipc.read_message(file)
    if file.tell() != file.size():
        raise InputError("a chunk is more than one Arrow message")
    check_unpacked([message], "a chunk")
    return message


def _holds_dictionary(kind: pa.DataType) -> bool:
    return pa.types.is_dictionary(kind) or any(
        _holds_dictionary(kind.field(number).type) for number in range(kind.num_fields)
    )


def _structure(kind: pa.DataType) -> pa.DataType:
    """The type of the same buffers whose validation looks at sizes and offsets alone."""
    if pa.types.is_string(kind):
        return pa.binary()
    if pa.types.is_large_string(kind):
        return pa.large_binary()
    return pa.binary(16) if pa.types.is_decimal128(kind) else kind


def _presto(schema: pa.Schema, options: dict[str, Any], owner: TrackedAllocator) -> ChunkFormat:
    nanos = PageOptions.of(options).timestamps == "lossless"

    def words(of: pa.Schema) -> list[SerdeField]:
        return fields_of(_with_nanos_as_timestamps(of) if nanos else of, "presto")

    fields, bound = words(schema), Bound(schema, words)
    # Options by which a page depends on how its rows were handed over: no batch may join another.
    chosen = {"layout", "hash_tables", "preserve_encodings", "encodings"} & set(options)

    def decode(data: Bytes) -> pa.RecordBatch:
        pages = read.PageReader(fields, options, allocator=owner).read(data)
        batch = next(pages, None)
        if batch is None or next(pages, None) is not None:
            raise InputError("a chunk is not one page")
        return bound(batch)

    return ChunkFormat(
        "presto",
        lambda batch: write.serialize(batch, fields, options, allocator=owner),
        decode,
        gather=None if chosen else lambda owner: Gatherer(fields, options, owner),
    )


def _starrocks(schema: pa.Schema, options: dict[str, Any], owner: TrackedAllocator) -> ChunkFormat:
    known = {field.name for field in dataclasses.fields(ChunkOptions)}
    if unknown := [name for name in options if name not in known]:
        raise UsageError(f"the starrocks format has no option {unknown[0]!r}")
    bound = ChunkOptions(**options)
    reader = ChunkReader(schema, bound, owner)
    # Every chunk says all of its columns: who reads it may be anybody.
    return ChunkFormat(
        "starrocks",
        ChunkWriter(schema, bound, owner).encode,
        lambda data: reader.decode(data)[0],
    )


def _unsaferow(schema: pa.Schema, options: dict[str, Any], owner: TrackedAllocator) -> ChunkFormat:
    words = partial(fields_of, language="spark")
    fields, bound = words(schema), Bound(schema, words)
    return ChunkFormat(
        "unsaferow",
        lambda batch: rows.serialize("unsaferow", [batch], fields, options, allocator=owner),
        lambda data: bound(rows.deserialize("unsaferow", data, fields, options, allocator=owner)),
    )


def _with_nanos_as_timestamps(schema: pa.Schema) -> pa.Schema:
    """The schema with Velox's lossless timestamps as those of which Presto has a word."""

    def turned(kind: pa.DataType) -> pa.DataType:
        if kind == pa.timestamp("ms"):
            raise UsageError(f"lossless timestamps are Arrow's timestamp[ns], not {kind}: cast it")
        return pa.timestamp("ms") if kind == pa.timestamp("ns") else kind

    fields = [field.with_type(made_anew(field.type, turned)) for field in plain_schema(schema)]
    return pa.schema(fields)


#: Formats by name.
FORMATS: Mapping[str, Callable[[pa.Schema, dict[str, Any], TrackedAllocator], ChunkFormat]] = {
    "arrow": _arrow,
    "arrow-batch": _arrow_batch,
    "presto": _presto,
    "starrocks": _starrocks,
    "unsaferow": _unsaferow,
}
