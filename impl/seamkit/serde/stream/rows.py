"""UnsafeRow and CompactRow by the stream, in the groups that Velox's serializers write.

Every append turns its rows into bytes at once, each with its length before it; a flush puts the
header of a group before them (Velox, RowSerializer, snapshot of August 2026).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from seambase.errors import InputError, UsageError
from seambase.serde import SerdeField
from seambase.wording import counted
from seamkit.core._seam import lib
from seamkit.core.memory import Block, TrackedAllocator
from seamkit.serde.compression import Skipper
from seamkit.serde.rows.codec import RowCodec, Writer
from seamkit.serde.rows.framing import GROUP_HEADER, compress_group
from seamkit.serde.rows.serde import Format, RowOptions, deserialize, row_codec
from seamkit.serde.selection import Rows, row_numbers
from seamkit.serde.stream.byte_stream import ByteInputStream, ByteOutputStream
from seamkit.serde.stream.registry import OutputStream
from seamkit.serde.stream.result import StreamArena, VectorResult

_LENGTH_BYTES: int = lib.SEAM_ROW_LENGTH_BYTES
_MAX_GROUP_BYTES = 2**31 - 1


class RowIterativeSerializer:
    """An `IterativeSerializer` of groups of rows, of whose options `codec` counts here."""

    def __init__(self, codec: RowCodec, options: RowOptions, arena: StreamArena) -> None:
        self.codec = codec
        self._options = options
        self._arena = arena
        self._stream = ByteOutputStream(arena)
        self._rows = 0
        self._skipper = Skipper()

    @property
    def num_rows(self) -> int:
        """Rows appended since the last flush or clear."""
        return self._rows

    def append(self, batch: Any, rows: Rows = None) -> None:
        """Append rows of a `pyarrow.RecordBatch`; a failure leaves earlier rows as they were."""
        append_row_partitions([self], batch, [rows])

    def take(self, data: memoryview, rows: int) -> None:
        """Append rows that are bytes already, each with its length before it."""
        self._stream.write(data)
        self._rows += rows

    def estimate(self, batch: Any, rows: Rows = None) -> Any:
        """The bytes of each row with its length, exactly, as an int64 array."""
        numbers, _ = row_numbers([rows], batch.num_rows)
        return self.codec.sizes(batch, numbers) + _LENGTH_BYTES

    @property
    def max_serialized_size(self) -> int:
        """Bytes of the group, exactly, unless compression makes it smaller."""
        return GROUP_HEADER.size + len(self._stream)

    def flush(self, out: OutputStream) -> int:
        """Write a group, and tell its bytes; its rows are gone then, as Velox's are."""
        size = len(self._stream)
        if size > _MAX_GROUP_BYTES:
            raise UsageError(
                f"a group of {counted(size, 'byte')} is more than its header can state"
            )
        allocator = self._arena.allocator
        block = Block(allocator, GROUP_HEADER.size + size)
        GROUP_HEADER.pack_into(block.view, 0, size, size, 0)
        self._stream.copy_to(block.view[GROUP_HEADER.size :])
        group = compress_group(block.view, self._options.codec, allocator, self._skipper)
        out.write(group)
        self.clear()
        return len(group)

    def clear(self) -> None:
        """Back to no rows. The memory goes back when the arena is cleared, after this."""
        self._stream.clear()
        self._rows = 0


def append_row_partitions(
    serializers: Sequence[RowIterativeSerializer], batch: Any, selections: Sequence[Rows]
) -> None:
    """Append selection i of a batch to serializer i: all destinations of an exchange at once.

    Rows of many destinations are turned into bytes together, then dealt out. Serializers are of the
    same columns and format, their arenas one or many.
    """
    if len(serializers) != len(selections):
        raise UsageError(
            f"{counted(len(selections), 'selection')} came for "
            f"{counted(len(serializers), 'serializer')}"
        )
    if not serializers:
        return
    codec = serializers[0].codec
    if any(serializer.codec is not codec for serializer in serializers):
        raise UsageError("a serializer is of other columns or another format than the first")
    numbers, counts = row_numbers(selections, batch.num_rows)
    written = codec.serialize(batch, numbers, framing="be32")
    ends = [*(written.offsets - _LENGTH_BYTES).tolist(), len(written.data)]
    starts = [0, *accumulate(counts)]
    for serializer, first, count in zip(serializers, starts, counts, strict=False):
        serializer.take(written.data[ends[first] : ends[first + count]], count)


class RowBatchSerializer:
    """A `BatchSerializer` of groups of rows."""

    def __init__(self, codec: RowCodec, options: RowOptions) -> None:
        self._codec = codec
        self._options = options

    def serialize(self, batch: Any, out: OutputStream, rows: Rows = None) -> int:
        """Write rows of a batch as one group; returns its bytes."""
        numbers = None if rows is None else row_numbers([rows], batch.num_rows)[0]
        written = self._codec.serialize(batch, numbers, framing="velox-group")
        group = compress_group(written.data, self._options.codec, self._codec.allocator)
        out.write(group)
        return len(group)


class RowVectorSerde:
    """The `VectorSerde` of a format of rows; options are those of `RowOptions`."""

    def __init__(
        self, name: str, format_: Format, allocator: TrackedAllocator | None = None
    ) -> None:
        self.name = name
        self._format = format_
        self._allocator = allocator or TrackedAllocator()
        # Serializers of one schema share their codec, so that they can be appended to together.
        self._codec = lru_cache(maxsize=256)(self._new_codec)

    def _new_codec(
        self, fields: tuple[SerdeField, ...], writer: Writer, depth_limit: int
    ) -> RowCodec:
        options = RowOptions(writer=writer, depth_limit=depth_limit)
        return row_codec(self._format, fields, options, self._allocator)

    def _codec_of(self, fields: Sequence[SerdeField], options: RowOptions) -> RowCodec:
        return self._codec(tuple(fields), options.writer, options.depth_limit)

    @staticmethod
    def _options(options: Mapping[str, Any]) -> dict[str, Any]:
        if options.get("framing", "velox-group") != "velox-group":
            raise UsageError(f"framing {options['framing']!r}: a stream of vectors is of groups")
        return {**options, "framing": "velox-group"}

    def iterative(
        self,
        fields: Sequence[SerdeField],
        options: Mapping[str, Any],
        arena: StreamArena,
        rows: int = 0,
    ) -> RowIterativeSerializer:
        """A serializer of no rows. `rows` sets nothing aside, as in Velox: their sizes vary."""
        del rows
        known = RowOptions.of(self._options(options))
        return RowIterativeSerializer(self._codec_of(fields, known), known, arena)

    def batch(self, fields: Sequence[SerdeField], options: Mapping[str, Any]) -> RowBatchSerializer:
        """A serializer of whole batches."""
        known = RowOptions.of(self._options(options))
        return RowBatchSerializer(self._codec_of(fields, known), known)

    def deserialize(
        self,
        source: ByteInputStream,
        fields: Sequence[SerdeField],
        options: Mapping[str, Any],
        result: VectorResult | None = None,
    ) -> VectorResult:
        """Read the next group, wherever its ranges are cut. See `VectorSerde`.

        Offsets in errors count from the beginning of the group, which the message names.
        """
        known = self._options(options)
        start = source.tell()
        _, size_bytes, _ = GROUP_HEADER.unpack(source.read(GROUP_HEADER.size))
        source.seek(start)
        # A header that contradicts itself is for the reader to refuse.
        group = source.read(GROUP_HEADER.size + max(size_bytes, 0))
        result = VectorResult(self._allocator) if result is None else result
        try:
            batch = deserialize(self._format, group, fields, known, allocator=result.allocator)
        except InputError as error:
            raise InputError(f"group at byte {start}: {error}") from error
        result.append(batch)
        return result
