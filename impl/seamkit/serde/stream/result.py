"""Memory of a stream: the arena of what is written, and columns that grow by a page read."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

import numpy as np
import pyarrow as pa

from seambase.errors import UsageError
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import batch_of, numpy_of
from seamkit.core.memory import TrackedAllocator

PAGE_BYTES: int = lib.SEAM_PAGE_BYTES


class StreamArena:
    """Owns one `struct seam_stream_arena`; its memory goes back with `clear` or with the handle.

    Behaves as Velox's StreamArena. One thread at a time.

    Args:
        allocator: where pages come from.
        tiny_ranges: streams begin with ranges of 16 bytes, not of 128: for so many columns and
            destinations that most streams stay short.
    """

    def __init__(self, allocator: TrackedAllocator, *, tiny_ranges: bool = False) -> None:
        self.allocator = allocator
        self._streams: WeakSet[object] = WeakSet()
        self.pointer: Any = ffi.gc(
            ffi.new("struct seam_stream_arena *"), lib.seam_stream_arena_clear
        )
        lib.seam_stream_arena_init(self.pointer, allocator.pointer)
        self.pointer.tiny_ranges = tiny_ranges

    @property
    def size_bytes(self) -> int:
        """Bytes of the pages that the arena holds, given away or not."""
        return int(lib.seam_stream_arena_bytes(self.pointer))

    def clear(self) -> None:
        """Give every range back at once; the arena is as after its construction.

        No stream may hold ranges any more: clear streams (and serializers) first.
        """
        if self._streams:
            raise UsageError(
                f"{counted(len(self._streams), 'stream', 'write')} to this arena: "
                "clear them before it"
            )
        lib.seam_stream_arena_clear(self.pointer)

    def hold(self, stream: object) -> None:
        """`stream` takes ranges from now on: the arena is not cleared before it lets go of them."""
        self._streams.add(stream)

    def let_go(self, stream: object) -> None:
        """The other way."""
        self._streams.discard(stream)


def flattened(array: Any) -> Any:
    """An array without dictionaries and runs at any level; itself, if it has none."""
    if pa.types.is_dictionary(array.type):
        return flattened(array.dictionary).take(array.indices)
    if pa.types.is_run_end_encoded(array.type):
        return flattened(array.values).take(pa.array(_runs(array)))
    if not any(map(_has_encoding, _children(array.type))):
        return array
    mask = array.is_null()
    if pa.types.is_struct(array.type):
        columns = [flattened(array.field(i)) for i in range(array.type.num_fields)]
        fields = [f.with_type(c.type) for f, c in zip(array.type, columns, strict=True)]
        return pa.StructArray.from_arrays(columns, fields=fields, mask=mask)
    offsets = pa.array(numpy_of(array.offsets))  # a copy: those of a slice take no mask
    if pa.types.is_map(array.type):
        keys, items = flattened(array.keys), flattened(array.items)
        return pa.MapArray.from_arrays(offsets, keys, items, mask=mask)
    return pa.ListArray.from_arrays(offsets, flattened(array.values), mask=mask)


def _children(data_type: Any) -> list[Any]:
    return [data_type.field(i).type for i in range(data_type.num_fields)]


def _has_encoding(data_type: Any) -> bool:
    encoded = pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type)
    return bool(encoded) or any(map(_has_encoding, _children(data_type)))


def _runs(array: Any) -> Any:
    """For each row the number of its run."""
    ends = numpy_of(array.run_ends)
    rows = np.arange(array.offset, array.offset + len(array))
    return np.searchsorted(ends, rows, side="right")


class VectorResult:
    """Rows of one or more pages of the same columns.

    A single page stays as it came, with its encodings. With another one after it columns become
    flat: pages of one column differ in their encodings.

    A result that is cleared and read into again uses the buffers that it has, as Velox's readers do
    with a result vector that nobody else holds: whoever still holds a batch keeps its buffers, and
    others take their place.

    Args:
        allocator: where buffers come from; None for one of the result's own, which keeps them.
    """

    def __init__(self, allocator: TrackedAllocator | None = None) -> None:
        self.allocator = allocator or TrackedAllocator(keeps_blocks=True)
        self._batches: list[Any] = []

    def clear(self) -> None:
        """Back to no rows; the result's own allocator keeps the buffers for the next."""
        self._batches.clear()

    @property
    def num_rows(self) -> int:
        """Rows of all pages."""
        return sum(batch.num_rows for batch in self._batches)

    def append(self, batch: Any) -> None:
        """Add the rows of a `pyarrow.RecordBatch`, which is kept, not copied."""
        self._batches.append(batch)

    def batch(self) -> Any:
        """All rows as one `pyarrow.RecordBatch`; None when nothing was appended."""
        if len(self._batches) > 1:
            self._batches = [self._joined()]
        return self._batches[0] if self._batches else None

    def _joined(self) -> Any:
        names = self._batches[0].schema.names
        columns = []
        for index in range(len(names)):
            chunks = [flattened(batch.column(index)) for batch in self._batches]
            columns.append(pa.concat_arrays(chunks))
        return batch_of(columns, names, self.num_rows)
