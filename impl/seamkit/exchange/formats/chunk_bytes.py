"""StarRocks' chunks on the wire: a ChunkPB with its columns' bytes in `data`.

`data` is version 1 and the number of rows, 32 bits each, then the columns, all
little-endian; if a column's integers may be encoded, 16 bytes of 0 follow that belong to nobody
(its decoder there reads so far beyond). The whole is compressed if that pays. Values under null are
0 here, where StarRocks leaves what memory held. Source of the rules: StarRocks (June 2025),
`protobuf_serde.cpp`. There are no golden bytes of a real server: this is by specification.

Columns have the layout of off-heap columns. They are written by way of such, and read
(`chunk_reader`) as a chain of addresses into the chunk: conversions of dates, datetimes and
decimals are theirs.

The parts of a chunk's columns, one after the other: sizes, values, flags, offsets, bytes.

A part is its size in bytes (32 bits, or 64), then its bytes. From 256 bytes on a column's encode
level may say that another size follows and the bytes are encoded: integers by Stream VByte, over
32-bit words whatever their width, offsets of 32 bits by their differences; strings as one LZ4
block, unless they are too many for one. Source: StarRocks (June 2025), `column_array_serde.cpp`.
They are read in the core (`seam/chunk.h`).
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import InputError, UsageError
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.memory import Block, TrackedAllocator
from seamkit.core.varints import varint_bytes
from seamkit.exchange.formats.adaptive import (
    ADAPTIVE,
    INTEGERS,
    STRINGS,
    CompressStrategy,
    EncodeLevels,
)
from seamkit.exchange.formats.chunk_layout import ChunkColumn, TopColumn, top_column
from seamkit.exchange.formats.protobuf import CHUNK
from seamkit.offheap.columns.table import OffHeapTable
from seamkit.offheap.columns.types import CTypes, Kind
from seamkit.serde.compression import compress

#: Of the layout.
VERSION = 1
#: Behind columns of which one may have encoded integers.
PADDING_BYTES = 16
# Of a message of 2 GiB, what its other fields leave.
_MOST_BYTES = 2**31 - 2**16
#: Numbers of CompressionTypePB.
CODECS = {"none": 2, "snappy": 3, "lz4": 4, "zlib": 6, "zstd": 7, "gzip": 8}


@dataclass(frozen=True)
class ChunkOptions:
    """How chunks are written, and what is read.

    Attributes:
        encode_level: see `EncodeLevels`; StarRocks' session variable `transmission_encode_level`.
        codec: of whole chunks: `lz4`, `none`, `snappy`, `zlib`, `zstd` or `gzip`; `auto`: LZ4 where
            it paid before (`adaptive.py`), StarRocks' own choice, which goes by chance.
        compress_ratio: a chunk is sent compressed if it becomes smaller by more than this factor
            (`rpc_compress_ratio_threshold`).
        slots: ids of the columns' slots; by default 0, 1, ...
        size_limit: most bytes of a chunk once it is decompressed, and of its parts once decoded.
    """

    encode_level: int = ADAPTIVE | INTEGERS | STRINGS
    codec: str = "lz4"
    compress_ratio: float = 1.1
    slots: tuple[int, ...] | None = None
    size_limit: int = 2**31

    def __post_init__(self) -> None:
        known = ("auto", *CODECS)
        if self.codec not in known:
            raise UsageError(f"codec {self.codec!r}: one of {', '.join(known)} is meant")


@dataclass(frozen=True)
class ChunkMeta:
    """What the first chunk of a channel says of its columns, and later ones need not repeat."""

    slots: tuple[int, ...]  # id of each column's slot
    is_nulls: tuple[bool, ...]  # each column has null flags; of a constant column: it is NULL
    is_consts: tuple[bool, ...]  # each column is one value for all rows


class ChunkWriter:
    """Turns batches into chunks of one sender. Threads may share it.

    A field of a run-end encoded type becomes a constant column in every chunk in which it is one
    run.

    Args:
        schema: of the batches.
        options: see there.
        allocator: owner of what is made on the way; a new one without limit by default.

    Raises:
        RefusedError: a field that no supported column of StarRocks holds.
        UsageError: no such level, or not as many slots as fields.
    """

    def __init__(
        self,
        schema: pa.Schema,
        options: ChunkOptions | None = None,
        allocator: TrackedAllocator | None = None,
    ) -> None:
        self.schema = schema
        self.options = options or ChunkOptions()
        self.allocator = allocator or TrackedAllocator()
        self._columns = [top_column(field) for field in schema]
        self._types = CTypes([column.type for column in self._columns])
        self._levels = EncodeLevels(len(schema), self.options.encode_level)
        self._strategy = CompressStrategy() if self.options.codec == "auto" else None
        self._lock = threading.Lock()
        self._slots = self._checked_slots()

    def _checked_slots(self) -> tuple[int, ...]:
        slots = self.options.slots
        if slots is None:
            return tuple(range(len(self.schema)))
        if len(set(slots)) != len(self.schema) or len(slots) != len(self.schema):
            raise UsageError(
                f"{counted(len(self.schema), 'column', 'need')} as many slots, not {list(slots)}"
            )
        if any(not 0 <= slot < 2**31 for slot in slots):
            raise UsageError(f"the ids of slots have 31 bits, not so {list(slots)}")
        return tuple(slots)

    def encode(self, batch: pa.RecordBatch, known: ChunkMeta | None = None) -> bytes:
        """A batch of the writer's schema as one ChunkPB.

        What the receiver `known` to has already is left out if it still holds. A null in
        a field without them, a value that its column cannot hold, and more bytes than the format or
        the codec can take are refused.
        """
        if batch.schema.types != self.schema.types:
            raise UsageError(f"a batch of another schema:\n{batch.schema}")
        with self._lock:
            levels = list(self._levels.levels)
        values = [_constant(array) for array in batch.columns]
        consts = tuple(value is not None for value in values)
        nulls = tuple(
            field.nullable if value is None else not value[0].is_valid
            for field, value in zip(self.schema, values, strict=True)
        )
        meta = ChunkMeta(self._slots, nulls, consts)
        message = CHUNK(encode_level=levels)
        if meta != known:
            message.slot_id_map.extend(n for pair in enumerate(meta.slots) for n in pair[::-1])
            message.is_nulls.extend(meta.is_nulls)
            message.is_consts.extend(meta.is_consts)
        parts = [PartWriter(level, self.allocator) for level in levels]
        with OffHeapTable(self._types, batch.num_rows, self.allocator) as table:
            _fill(table, batch, values)
            for i, part in enumerate(parts):
                _write_top(self._columns[i], table, i, batch, values[i], part)
            encoded = self._message(message, batch.num_rows, parts)
        with self._lock:
            self._levels.update([part.raw_bytes for part in parts], [part.bytes for part in parts])
        return encoded

    def _codec(self) -> str:
        if self._strategy is None:
            return self.options.codec
        with self._lock:
            return "lz4" if self._strategy.choose() else "none"

    def _learn(self, raw_bytes: int, packed_bytes: int, nanoseconds: int) -> None:
        if self._strategy is not None:
            with self._lock:
                self._strategy.feed(raw_bytes, max(packed_bytes, 1), max(nanoseconds, 1))

    def _message(self, message: Any, rows: int, parts: Sequence[PartWriter]) -> bytes:
        """The message with its data, which parts lend: copied once if it is not compressed."""
        padding = PADDING_BYTES if any(part.level & INTEGERS for part in parts) else 0
        head = np.array([VERSION, rows], "<u4").tobytes()
        pieces = [head, *(piece for part in parts for piece in part.pieces), bytes(padding)]
        size = sum(map(len, pieces))
        if size > _MOST_BYTES:
            raise InputError(f"a chunk of {counted(size, 'byte')}; a message takes {_MOST_BYTES}")
        message.serialized_size, message.uncompressed_size = size - padding, size
        message.compress_type = CODECS["none"]
        codec = self._codec()
        if codec != "none":
            data = b"".join(pieces)
            pieces = [data]
            smaller = self._compressed(codec, data)
            if size > self.options.compress_ratio * len(smaller):
                message.compress_type, pieces, size = CODECS[codec], [smaller], len(smaller)
        message.data_size = size
        # `data` is field 1, and so the first: its key and length come before its bytes.
        head = bytes([1 << 3 | 2]) + varint_bytes(size)
        return b"".join([head, *pieces, message.SerializeToString()])

    def _compressed(self, codec: str, data: bytes) -> memoryview:
        if codec == "lz4" and len(data) > lib.SEAM_CHUNK_LZ4_BYTES:
            raise InputError(
                f"a chunk of {counted(len(data), 'byte')} is too large for one LZ4 block"
            )
        begin = time.perf_counter_ns()
        smaller = compress(codec, data, self.allocator)
        self._learn(len(data), len(smaller), time.perf_counter_ns() - begin)
        return smaller


def _constant(array: Any) -> Any:
    """The one value of an array that is a single run, as an array; None of any other."""
    if not pa.types.is_run_end_encoded(array.type) or not len(array):
        return None
    if array.find_physical_length() != 1:
        return None
    value = array.values.slice(array.find_physical_offset(), 1)
    # Only the value tells whether it is NULL, not the index that leads to it.
    return value.dictionary_decode() if pa.types.is_dictionary(value.type) else value


def _fill(table: OffHeapTable, batch: pa.RecordBatch, constants: Sequence[Any]) -> None:
    """The columns' values. Of a constant the table gets one row, so that it never has a chain."""
    if all(constant is None for constant in constants):
        table.append_batch(batch)
        return
    for index, constant in enumerate(constants):
        if constant is None:
            table.append_arrow(index, batch.column(index))
        elif constant[0].is_valid:
            table.append_arrow(index, constant)


def _write_top(
    column: TopColumn,
    table: OffHeapTable,
    index: int,
    batch: pa.RecordBatch,
    constant: Any,
    out: PartWriter,
) -> None:
    """One column of a chunk; `constant` if it is one."""
    if constant is not None:
        out.number(batch.num_rows, 8)
        if not constant[0].is_valid:
            if not column.field.nullable:
                raise _null_in(column)
            out.integers(b"\1")  # of no type: a byte (`create_const_null_column`)
            out.integers(b"\0")
            return
    vector = table.vector(index)
    nulls = _view(vector.nulls, vector.rows)
    if constant is None and column.field.nullable:
        out.integers(nulls)
    elif np.frombuffer(nulls, np.uint8).any():
        raise _null_in(column)
    _write_values(column.wire, vector, out)


def _null_in(column: TopColumn) -> InputError:
    return InputError(f"column '{column.field.name}' has nulls where its field has none")


def _write_values(column: ChunkColumn, vector: Any, out: PartWriter) -> None:
    """What follows the null flags."""
    rows = vector.rows
    if column.kind.has_offsets:
        width = 8 if column.large else 4
        out.text(_view(vector.bytes, vector.offsets[rows]), width=width)
        offsets = _view(vector.offsets, 4 * (rows + 1))
        if column.large:
            offsets = np.frombuffer(offsets, "<i4").astype("<u8").data.cast("B")
        out.integers(offsets, rising=not column.large, width=width)
    elif column.kind is not Kind.STRUCT and column.kind.is_nested:
        out.integers(_view(vector.offsets, 4 * (rows + 1)), rising=True)
    elif not column.kind.is_nested:
        out.integers(_view(vector.data, rows * vector.width))
    for index, child in enumerate(column.children):
        inner = lib.seam_vector_child(vector, index)
        out.integers(_view(inner.nulls, inner.rows))
        _write_values(child, inner, out)


def _view(pointer: Any, size: int) -> memoryview:
    """Bytes of a vector, which stay its own."""
    return memoryview(ffi.buffer(pointer, size) if size else b"")


_ENCODED_FROM_BYTES = 256
_NUMBERS = {4: struct.Struct("<I"), 8: struct.Struct("<Q")}


def _encodes_strings(level: int, size: int) -> bool:
    return bool(level & STRINGS) and _ENCODED_FROM_BYTES <= size <= lib.SEAM_CHUNK_LZ4_BYTES


def _encodes_integers(level: int, size: int) -> bool:
    return bool(level & INTEGERS) and size >= _ENCODED_FROM_BYTES


@dataclass
class PartWriter:
    """Collects the parts of one column."""

    level: int  # of the column
    allocator: TrackedAllocator  # owner of what is encoded
    # the column so far; what was not encoded is borrowed
    pieces: list[Any] = field(default_factory=list)
    raw_bytes: int = 0  # of the parts before they were encoded, sizes not counted

    @property
    def bytes(self) -> int:
        """Of all pieces."""
        return sum(map(len, self.pieces))

    def number(self, value: int, width: int) -> None:
        """A number without a sign, of 4 or 8 bytes."""
        self.pieces.append(_NUMBERS[width].pack(value))

    def _size(self, part: Any, width: int) -> None:
        if len(part) > 2 ** (8 * width) - 1:
            raise InputError(f"a part of {counted(len(part), 'byte')} does not fit its 32-bit size")
        self.raw_bytes += len(part)
        self.number(len(part), width)

    def integers(self, part: Any, *, rising: bool = False, width: int = 4) -> None:
        """Values of fixed width, flags or offsets, borrowed until the pieces are used.

        `rising`: 32-bit offsets; `width` is that of the size.
        """
        self._size(part, width)
        if not _encodes_integers(self.level, len(part)):
            self.pieces.append(part)
            return
        block = Block(self.allocator, lib.seam_streamvbyte_most(len(part)))
        words = ffi.from_buffer("uint8_t[]", part)
        size = lib.seam_streamvbyte_encode(words, len(part), rising, block.pointer)
        self.number(size, 8)
        self.pieces.append(block.view[:size])

    def text(self, part: Any, *, width: int = 4) -> None:
        """Bytes of strings or binaries; arguments as above."""
        self._size(part, width)
        if not _encodes_strings(self.level, len(part)):
            self.pieces.append(part)
            return
        block = compress("lz4", part, self.allocator)
        self.number(len(block), 8)
        self.pieces.append(block)
