"""Arrow data of others, and the one rule of trust: it is looked through before anybody uses it.

Beside it stands how our own becomes bytes for others.

Arrow's readers take lengths, offsets and indexes as they come; whoever follows a wrong one reads
what is not there, or ends the process. So each batch that comes out of bytes, a pipe or a library
of somebody else passes `sound`, once, before its first row or size is asked for.

Whether texts are sound is seen from their buffers where it can be, not text by text.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.wording import counted

# By the id of the type: pyarrow's extension types cannot be hashed.
_OFFSETS = {pa.string().id: np.int32, pa.large_string().id: np.int64}


def is_text(kind: pa.DataType) -> bool:
    """Whether `is_plain` can be asked about columns of this type."""
    return kind.id in _OFFSETS


def is_plain(column: pa.Array) -> bool:
    """Whether offsets are in order and within the data, and all texts ASCII.

    It takes a quarter of the time that Arrow takes to look at each text; of a column that is not
    plain, Arrow says what is wrong, if anything is. The type `is_text`, and the buffers are as long
    as `validate` makes sure.
    """
    _, offsets, data = column.buffers()
    # The offsets of a column without rows may be no bytes at all.
    if offsets is None or data is None or not len(column):
        return False
    ends = np.frombuffer(offsets, _OFFSETS[column.type.id])
    ends = ends[column.offset : column.offset + len(column) + 1]
    first, last = int(ends[0]), int(ends[-1])
    if first < 0 or last > data.size or (ends[1:] < ends[:-1]).any():
        return False
    content = np.frombuffer(data, np.uint8)[first:last]
    return not len(content) or int(content.max()) < 0x80


#: What pyarrow raises over bytes that are not what they should be.
BREAKS = (pa.ArrowException, OSError, ValueError, EOFError)

#: Most bytes that the compressed buffers of what comes in one piece may become.
MOST_UNPACKED_BYTES = 1 << 31

#: What ends an IPC stream: the mark of a message, and a length of nothing.
_END_MARK = b"\xff\xff\xff\xff\0\0\0\0"


def sound(batch: pa.RecordBatch, source: str, schema: pa.Schema | None = None) -> pa.RecordBatch:
    """The batch itself, once its types, sizes, offsets, indexes and values are as they should be.

    It must have the types and names of the schema, if one is given; `source` says whose it is, for
    messages.
    """
    own = batch.schema
    try:
        names = own.names
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: a column's name is no UTF-8: {error}") from error
    if schema is not None and (own.types != schema.types or names != schema.names):
        raise InputError(f"{source}: a batch of {_types_of(own)} came, not of {_types_of(schema)}")
    try:
        batch.validate()  # all buffers are there and as long as they must be
        kinds = enumerate(own.types)
        plain = {i for i, kind in kinds if is_text(kind) and _is_plain(batch.column(i))}
        others = [i for i in range(len(names)) if i not in plain]
        (batch.select(others) if plain else batch).validate(full=True)
    except BREAKS as error:
        raise InputError(f"{source}: {_unsound_column(batch, names)}: {error}") from error
    return batch


def _is_plain(column: pa.Array) -> bool:
    """Whether a column of texts is sound at a glance; those with nulls Arrow looks through."""
    return not column.null_count and column.buffers()[0] is None and is_plain(column)


def sound_batches(
    batches: Iterable[pa.RecordBatch], source: str, schema: pa.Schema | None = None
) -> Iterator[pa.RecordBatch]:
    """Batches of a stream as they come; see `sound`."""
    coming = iter(batches)
    while True:
        try:
            batch = next(coming, None)
        except BREAKS as error:
            raise InputError(f"{source} is no whole Arrow stream: {error}") from error
        if batch is None:
            return
        yield sound(batch, source, schema)


def sound_stream(
    data: Any, source: str, schema: pa.Schema | None = None, *, marked: bool = False
) -> list[pa.RecordBatch]:
    """All batches of an IPC stream in memory, which they share; see `sound`.

    Nothing may follow the stream: who reads it would never hear of that. `marked`: the end mark
    must stand at the very end. Arrow lets writers leave it out where the bytes end; without it
    nobody can tell a stream from its first half.
    """
    buffer = pa.py_buffer(data)
    most = max(0, buffer.size - len(_END_MARK)) if marked else buffer.size
    file = pa.BufferReader(buffer.slice(0, most))
    try:
        reader = pa.ipc.open_stream(file)
    except BREAKS as error:
        raise InputError(f"{source} is no Arrow IPC stream: {error}") from error
    with reader:
        check_unpacked(pa.ipc.MessageReader.open_stream(buffer.slice(0, most)), source)
        batches = list(sound_batches(reader, source, schema))
        if file.tell() != most:
            raise InputError(f"{source}: more bytes follow the end of its Arrow IPC stream")
    if marked and buffer.slice(most).to_pybytes() != _END_MARK:
        raise InputError(f"{source} is no whole Arrow stream: it lacks the end mark")
    return batches


def check_unpacked(messages: Iterable[pa.Message], source: str) -> None:
    """Refuse IPC messages whose compressed buffers say that they become too much, all together.

    Arrow makes room for whatever a buffer says, and 33 KiB of zstd are 1 GiB of zeros.
    """
    try:
        unpacked = sum(map(_unpacked_bytes, messages))
    except (*BREAKS, struct.error) as error:  # of metadata that Arrow lets pass, too
        raise InputError(f"{source} is no whole Arrow stream: {error}") from error
    if unpacked > MOST_UNPACKED_BYTES:
        raise RefusedError(
            f"{source} becomes {counted(unpacked, 'byte')} when it is unpacked; the most are "
            f"{MOST_UNPACKED_BYTES:,}"
        )


#: In Arrow's Message.fbs: the fields of a message, of a dictionary and of a record batch.
_KIND, _HEADER, _DICTIONARY_BATCH, _BUFFERS, _COMPRESSION = 1, 2, 1, 2, 3
_DICTIONARY, _RECORDS = 2, 3


def _unpacked_bytes(message: pa.Message) -> int:
    """What the buffers of a message become; 0 where none is compressed."""
    # Arrow has looked through the metadata, a flatbuffer, when it made a message of it.
    words = memoryview(message.metadata)
    root = _reference(words, 0)
    kind, header = _field(words, root, _KIND), _field(words, root, _HEADER)
    if not kind or not header or words[kind] not in (_DICTIONARY, _RECORDS):
        return 0
    batch = _reference(words, header)
    if words[kind] == _DICTIONARY:
        batch = _reference(words, _field(words, batch, _DICTIONARY_BATCH))
    listed = _field(words, batch, _BUFFERS)
    if not listed or not _field(words, batch, _COMPRESSION):
        return 0
    first = _reference(words, listed)
    count = struct.unpack_from("<I", words, first)[0]
    body = memoryview(message.body)
    sizes = [
        struct.unpack_from("<q", body, begin)[0]
        for begin, size in struct.iter_unpack("<qq", words[first + 4 :][: 16 * count])
        if size >= 8 and 0 <= begin <= len(body) - 8
    ]
    return sum(size for size in sizes if size > 0)


def _reference(words: memoryview, at: int) -> int:
    """Where that lies to which the 32 bits at a place point."""
    return at + int(struct.unpack_from("<I", words, at)[0])


def _field(words: memoryview, table: int, number: int) -> int:
    """Where a field of a table lies; 0 where the table does not have it."""
    names = table - struct.unpack_from("<i", words, table)[0]
    at = 4 + 2 * number
    if at >= struct.unpack_from("<H", words, names)[0]:
        return 0
    offset = struct.unpack_from("<H", words, names + at)[0]
    return table + offset if offset else 0


def stream_of(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, options: Any = None
) -> pa.Buffer:
    """An IPC stream of batches of a schema, with its end mark; `options` are Arrow's."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def _unsound_column(batch: pa.RecordBatch, names: list[str]) -> str:
    for name, column in zip(names, batch.columns, strict=True):
        try:
            column.validate(full=True)
        except BREAKS:
            return f"column {name!r} is not sound"
    return "it is not sound"


def _types_of(schema: pa.Schema) -> str:
    shown = ", ".join(f"{field.name} {field.type}" for field in schema)
    return f"({shown})" if len(shown) <= 300 else f"({shown[:300]}...)"
