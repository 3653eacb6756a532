"""StarRocks' chunks back into batches: the message here, its columns' parts in the core.

Columns that follow one another are read in one go into a meta chain (`seam/chunk.h`), which the
engine's side turns into Arrow. A constant column has another number of rows, and so a chain of its
own. Source of the rules: StarRocks (June 2025), `protobuf_serde.cpp`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.extras import needs
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import call
from seamkit.core.memory import TrackedAllocator
from seamkit.core.varints import varint
from seamkit.exchange.formats.adaptive import INTEGERS
from seamkit.exchange.formats.chunk_bytes import (
    CODECS,
    PADDING_BYTES,
    VERSION,
    ChunkMeta,
    ChunkOptions,
)
from seamkit.exchange.formats.chunk_layout import ChunkColumn, TopColumn, top_column
from seamkit.exchange.formats.protobuf import CHUNK
from seamkit.exchange.formats.retyped import counted_by, retyped
from seamkit.offheap.columns.table import Chain
from seamkit.offheap.columns.types import Kind
from seamkit.offheap.engine.columns import EngineSchema, fill
from seamkit.serde.compression import decompress

with needs("seamkit[exchange]", "the exchange"):
    from google.protobuf.message import DecodeError

_CODEC_NAMES = {number: name for name, number in CODECS.items()}
_NO_CHUNK = "not a ChunkPB"
#: Of field `data`, of a run of bytes.
_DATA_KEY = 1 << 3 | 2
#: `struct seam_chunk_place` of each column; what reading sets is 0.
_Places = Sequence[tuple[int, bool, int, int]]


class ChunkReader:
    """Turns chunks into batches, whose memory is the allocator's. Threads may share it.

    Of the options only `size_limit` counts: a chunk says the rest itself.
    """

    def __init__(
        self,
        schema: pa.Schema,
        options: ChunkOptions | None = None,
        allocator: TrackedAllocator | None = None,
    ) -> None:
        self.schema = schema
        self.size_limit = (options or ChunkOptions()).size_limit
        self.allocator = allocator or TrackedAllocator()
        self._columns = [top_column(field) for field in schema]
        self._layout = _Layout(self._columns)
        self._engines: dict[tuple[int, int], EngineSchema] = {}

    def decode(
        self, chunk: bytes | bytearray | memoryview, known: ChunkMeta | None = None
    ) -> tuple[pa.RecordBatch, ChunkMeta]:
        """The batch in a ChunkPB, and what was said of its columns.

        `known` is what an earlier chunk of this channel said, for chunks that leave it out.
        """
        message, packed = _message(chunk)
        meta = self._meta(message) or known
        if meta is None:
            raise InputError("a chunk without slots and null flags, and none came before it")
        levels = list(message.encode_level) or [0] * len(self.schema)
        if len(levels) != len(self.schema):
            raise InputError(
                f"{counted(len(self.schema), 'column', 'have')} "
                f"{counted(len(levels), 'encode level')}"
            )
        open_ = _OpenChunk(self._data(message, packed), self.allocator, self.size_limit)
        version = open_.number(4, "version")
        if version != VERSION:
            raise InputError(f"a chunk of version {version}, not {VERSION} (at byte 0)")
        rows = open_.number(4, "number of rows")
        if rows > lib.SEAM_VECTOR_LIMIT:
            raise InputError(
                f"a chunk of {counted(rows, 'row')}; the most are 2^31 - 16 (at byte 4)"
            )
        arrays: list[Any] = []
        for const, stretch in itertools.groupby(range(len(levels)), lambda i: meta.is_consts[i]):
            if const:
                arrays += [self._constant(open_, i, levels[i], meta, rows) for i in stretch]
                continue
            numbers = list(stretch)
            places = [(levels[i], meta.is_nulls[i], 0, 0) for i in numbers]
            columns = self._read(open_, numbers[0], places, rows)
            kinds = [self.schema[i].type for i in numbers]
            arrays += [retyped(*both) for both in zip(columns, kinds, strict=True)]
        _check_end(open_, message, levels)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema), meta

    def _meta(self, message: Any) -> ChunkMeta | None:
        """What the message says of its columns; None if nothing."""
        count = len(self.schema)
        slots, nulls, consts = message.slot_id_map, message.is_nulls, message.is_consts
        if not (slots or nulls or consts):
            return None
        if not len(nulls) == len(consts) == count:
            raise InputError(
                f"{counted(count, 'column', 'are')} {len(nulls)} with {len(consts)} in the chunk"
            )
        places = dict(zip(slots[1::2], slots[0::2], strict=False))
        if len(slots) != 2 * count or sorted(places) != list(range(count)):
            raise InputError(f"the slots {list(slots)} are not those of {counted(count, 'column')}")
        return ChunkMeta(tuple(places[i] for i in range(count)), tuple(nulls), tuple(consts))

    def _data(self, message: Any, data: memoryview) -> memoryview:
        size = message.uncompressed_size
        if message.data_size != len(data):
            raise InputError(
                f"a chunk of {counted(message.data_size, 'byte')} came with {len(data)}"
            )
        codec = _CODEC_NAMES.get(message.compress_type)
        if codec is None:
            raise RefusedError(f"chunks of compression type {message.compress_type} are not read")
        if not 0 <= size <= self.size_limit:
            raise RefusedError(
                f"a chunk of {counted(size, 'byte')}; size_limit is {self.size_limit}"
            )
        if codec != "none":
            return decompress(codec, data, size, self.allocator)
        if size != len(data):
            raise InputError(f"a chunk of {counted(len(data), 'byte')} says that it has {size:,}")
        return data

    def _read(self, open_: _OpenChunk, begin: int, places: _Places, rows: int) -> list[Any]:
        """The values of columns that follow one another, none of them constant."""
        chain = open_.read(self._layout.columns + begin, places, rows)
        try:
            engine = self._engine(begin, begin + len(places))
            return list(fill(chain.whole(), engine, self.allocator).columns)
        except (InputError, pa.ArrowInvalid):  # the latter: what another unit has no room for
            self._blame(chain, begin)
            raise

    def _engine(self, begin: int, end: int) -> EngineSchema:
        found = self._engines.get((begin, end))
        if found is None:
            columns = self._columns[begin:end]
            fields = [pa.field(column.field.name, column.values) for column in columns]
            found = EngineSchema(pa.schema(fields), [column.type for column in columns])
            self._engines[begin, end] = found
        return found

    def _blame(self, chain: _ReadChain, begin: int) -> None:
        """Raise the error of the first column that has one: on its own its place is known."""
        for number, place in enumerate(chain.places):
            column = self._columns[begin + number]
            engine = self._engine(begin + number, begin + number + 1)
            try:
                fill(chain.only(number), engine, self.allocator)
            except (InputError, pa.ArrowInvalid) as error:
                raise _wrong(column.wire.path, str(error), place.at) from error

    def _constant(
        self, open_: _OpenChunk, index: int, level: int, meta: ChunkMeta, rows: int
    ) -> Any:
        """A column that is one value for all rows."""
        column, start = self._columns[index], open_.at
        path = column.wire.path
        said = open_.number(8, "number of rows", path)
        if said != rows:
            raise _wrong(path, f"a constant for {counted(said, 'row')} in a chunk of {rows}", start)
        if meta.is_nulls[index]:
            value = self._null(open_, index, level)
        else:
            [value] = self._read(open_, index, [(level, False, 0, 0)], 1)
        if column.runs:
            return _run(column.field.type, rows, value)
        if rows * max(value.nbytes, 8) > self.size_limit:
            raise RefusedError(
                f"column '{path}': a constant for {counted(rows, 'row')} takes more than "
                f"size_limit, {counted(self.size_limit, 'byte')} (at byte {start})"
            )
        return retyped(value.take(pa.array(np.zeros(rows, np.int64))), column.field.type)

    def _null(self, open_: _OpenChunk, index: int, level: int) -> Any:
        """The NULL of a constant column: of no type, a byte (`create_const_null_column`)."""
        column, start = self._columns[index], open_.at
        chain = open_.read(self._layout.bytes + index, [(level, True, 0, 0)], 1)
        if chain.flag(0) != 1 or not column.field.nullable:
            raise _wrong(
                column.wire.path,
                "a constant that is NULL has a value, or its field has no NULL",
                start,
            )
        return pa.nulls(1, column.values)


def _message(chunk: bytes | bytearray | memoryview) -> tuple[Any, memoryview]:
    """A message, and its `data` where it lies: that is nearly all of it, and not to be copied."""
    view = memoryview(chunk).cast("B")
    at, data = 0, slice(0, 0)
    while at < len(view) and data.stop == 0:
        begin = at
        key, at = varint(view, at, _NO_CHUNK)
        fixed = {1: 8, 5: 4}.get(key & 7)
        size, at = (0, at + fixed) if fixed else varint(view, at, _NO_CHUNK)
        at += size if key & 7 == 2 else 0
        if at > len(view) or key & 7 not in (0, 1, 2, 5):
            raise InputError(f"{_NO_CHUNK}: it breaks off within a field")
        if key == _DATA_KEY:
            rest, data = b"".join([view[:begin], view[at:]]), slice(at - size, at)
    try:
        message = CHUNK.FromString(rest if data.stop else bytes(view))
    except DecodeError as error:
        raise InputError(f"{_NO_CHUNK}: {error}") from error
    if message.data:
        raise InputError(f"{_NO_CHUNK}: it has data twice")
    return message, view[data]


def _wrong(path: str, what: str, at: int) -> InputError:
    place = f"column '{path}'" if path else "chunk"
    return InputError(f"{place}: {what} (at byte {at})")


def _run(kind: Any, rows: int, value: Any) -> Any:
    ends = counted_by(kind.run_end_type, np.array([rows] if rows else [], np.int64), kind)
    values = retyped(value.slice(0, min(rows, 1)), kind.value_type)
    return pa.RunEndEncodedArray.from_arrays(ends, values, kind)


def _check_end(open_: _OpenChunk, message: Any, levels: Sequence[int]) -> None:
    if open_.at != message.serialized_size:
        raise _wrong("", f"its columns end here, not at {message.serialized_size}", open_.at)
    padding = PADDING_BYTES if any(level & INTEGERS for level in levels) else 0
    left = len(open_.data) - open_.at
    if left != padding:
        raise _wrong("", f"{counted(left, 'byte', 'follow')} its columns, not {padding}", open_.at)


class _Layout:
    """Columns as the core's structures, which live as long as this does.

    Attributes:
        columns: as they are.
        bytes: what stands in place of each where it is NULL for all rows.
    """

    def __init__(self, columns: Sequence[TopColumn]) -> None:
        self._kept: list[Any] = []
        required = [not column.field.nullable for column in columns]
        self.columns = self._structures([column.wire for column in columns], required)
        self.bytes = self._structures(
            [ChunkColumn(column.wire.path, Kind.TINYINT) for column in columns]
        )

    def _structures(self, columns: Sequence[ChunkColumn], required: Sequence[bool] = ()) -> Any:
        made = ffi.new("struct seam_chunk_column[]", max(len(columns), 1))
        self._kept.append(made)
        for struct, column in zip(made, columns, strict=False):
            struct.kind, struct.large = column.kind, column.large
            struct.path = path = ffi.new("char[]", column.path.encode())
            self._kept.append(path)
            struct.n_children = len(column.children)
            struct.children = self._structures(column.children) if column.children else ffi.NULL
        for struct, value in zip(made, required, strict=False):
            struct.required = value
        return made


class _OpenChunk:
    """A chunk that is read, column after column, of at most `size_limit` bytes in all parts."""

    def __init__(self, data: memoryview, allocator: TrackedAllocator, size_limit: int) -> None:
        self.data = data
        self._allocator = allocator
        self._bytes = ffi.from_buffer("uint8_t[]", data)
        self._reader = ffi.gc(ffi.new("struct seam_chunk_reader *"), lib.seam_chunk_reader_reset)
        self._reader.data, self._reader.size_bytes = self._bytes, len(data)
        self._reader.limit_bytes, self._reader.allocator = size_limit, allocator.pointer

    @property
    def at(self) -> int:
        """The next byte."""
        return int(self._reader.at)

    def number(self, width: int, what: str, path: str = "") -> int:
        """A number without a sign, of 4 or 8 bytes."""
        at, left = self.at, len(self.data) - self.at
        if width > left:
            raise _wrong(path, f"{what} takes {counted(width, 'byte')} where {left} are left", at)
        self._reader.at += width
        return int.from_bytes(self.data[at : at + width], "little")

    def read(self, columns: Any, places: _Places, rows: int) -> _ReadChain:
        """The next columns as a chain, which lives until the next call."""
        read = ffi.new("struct seam_chunk_place[]", places)
        call(lib.seam_chunk_read, self._reader, columns, read, len(read), rows)
        texts = [self._text(self._reader.texts[i]) for i in range(self._reader.n_texts)]
        return _ReadChain(self._reader, read, texts)

    def _text(self, text: Any) -> memoryview:
        """Text that was one LZ4 block, put into the chain."""
        begin, size = text.at, text.size_bytes
        block = self.data[begin : begin + text.encoded_bytes]
        try:
            found = decompress("lz4", block, size, self._allocator, offset=begin)
        except InputError as error:
            path = ffi.string(text.path).decode()
            raise InputError(f"column '{path}': {error}") from error
        self._reader.words[text.word] = int(ffi.cast("uintptr_t", ffi.from_buffer(found)))
        return found


class _ReadChain:
    """What was read of some columns; the buffers are the chunk's and the reader's."""

    def __init__(self, reader: Any, places: Any, texts: Sequence[memoryview]) -> None:
        self._reader = reader
        self._texts = texts  # live as long as the chain points at them
        self.places = places

    def whole(self) -> Chain:
        """All of them."""
        return _chain(self._reader.words, self._reader.n_words, self._reader.extents)

    def only(self, number: int) -> Chain:
        """One of them. The chain before it is overwritten: ask for one after the other."""
        words, extents = self._reader.words, self._reader.extents
        last = number + 1 == len(self.places)
        begin = self.places[number].word
        end = self._reader.n_words if last else self.places[number + 1].word
        words[begin - 1], extents[begin - 1] = words[0], 0
        return _chain(words + begin - 1, end - begin + 1, extents + begin - 1)

    def flag(self, number: int) -> int:
        """The null flag of the first row of one of them."""
        word = self._reader.words[self.places[number].word]
        return int(ffi.cast("uint8_t *", word)[0])


def _chain(words: Any, n_words: int, extents: Any) -> Chain:
    addresses = [int(ffi.cast("uintptr_t", pointer)) for pointer in (words, extents)]
    return Chain(addresses[0], n_words, addresses[1])
