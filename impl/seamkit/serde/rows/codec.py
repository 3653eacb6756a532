"""Columns into rows and rows into columns: what formats share, UnsafeRow and CompactRow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from seambase.errors import InputError, UsageError
from seambase.serde import SerdeField
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import ExportedBatch, address, call, new_error
from seamkit.core.memory import Block, TrackedAllocator
from seamkit.serde.rows.framing import GROUP_HEADER
from seamkit.serde.rows.program import RowProgram

Buffer = bytes | bytearray | memoryview
Framing = Literal["be32", "packed", "velox-group"]
Integers = Sequence[int] | np.ndarray[Any, Any]
_INT32_MAX = 2**31 - 1
_LENGTH_BYTES: int = lib.SEAM_ROW_LENGTH_BYTES


@dataclass(frozen=True)
class RowBytes:
    """Rows one after the other in one block.

    Attributes:
        data: the bytes; they live as long as this view of them.
        offsets: where each row begins in `data`, its length word not counted (int64).
        lengths: bytes of each row (int64).
    """

    data: memoryview
    offsets: np.ndarray[Any, Any]
    lengths: np.ndarray[Any, Any]


class RowCodec:
    """One format of rows for one schema. Threads may share it; the work runs outside the GIL.

    A format brings three functions of the core (`seam/compact_row.h`): what places rows, what
    writes and what reads them.

    Args:
        fields: the columns, in order, with types in Spark's words; or a program made of them.
        allocator: where output comes from; None for one of its own without a limit.
    """

    _layout: Callable[..., int]
    _write: Callable[..., int]
    _read: Callable[..., int]

    def __init__(
        self, fields: Sequence[SerdeField] | RowProgram, allocator: TrackedAllocator | None = None
    ) -> None:
        self.program = fields if isinstance(fields, RowProgram) else RowProgram(fields)
        self.allocator = allocator or TrackedAllocator()

    def sizes(self, batch: pa.RecordBatch, rows: Integers | None = None) -> Any:
        """Bytes of each row, length words not counted, as int64: exact, in one pass."""
        with _Source(self.program, batch, rows, self.allocator) as source:
            return np.diff(self._starts(source, 0))

    def _starts(self, source: _Source, gap: int) -> Any:
        starts = np.empty(source.choice.count + 1, np.int64)
        call(self._layout, source.pointer, source.choice, gap, _int64s(starts))
        return starts

    def serialize(
        self,
        batch: pa.RecordBatch,
        rows: Integers | None = None,
        *,
        framing: Framing = "be32",
        out: bytearray | memoryview | None = None,
    ) -> RowBytes:
        """Turn a batch into rows.

        Args:
            batch: the columns; dictionaries and runs are taken as they come.
            rows: numbers of the rows wanted, in order; None for all.
            framing: `be32` puts each row's length before it (32 bits, big-endian), as Spark's
                shuffle does; `velox-group` puts the header of a plain group before that; `packed`
                puts rows end to end.
            out: where to put them, if not into a new block; it must be large enough.
        """
        gap = 0 if framing == "packed" else _LENGTH_BYTES
        lead = GROUP_HEADER.size if framing == "velox-group" else 0
        with _Source(self.program, batch, rows, self.allocator) as source:
            starts = self._starts(source, gap)
            body = int(starts[-1]) - gap
            size = lead + body
            if out is None:
                out = Block(self.allocator, size).view
            elif len(out) < size:
                raise UsageError(f"the rows take {counted(size, 'byte')}, `out` has {len(out)}")
            view = ffi.from_buffer("uint8_t[]", out, require_writable=True)
            call(self._write, source.pointer, source.choice, gap, _int64s(starts), view + lead)
        if lead:
            _write_header(out, body)
        lengths = np.diff(starts)
        lengths -= gap
        starts += lead
        return RowBytes(memoryview(out)[:size], starts[:-1], lengths)

    def serialize_up_to(
        self,
        batch: pa.RecordBatch,
        limit_bytes: int,
        room: Callable[[int], memoryview],
    ) -> RowBytes:
        """Turn as many rows of a batch as fit, from its first, into rows end to end; at least one.

        The first row alone may have more than `limit_bytes`. `room` gives memory of at least so
        many bytes.
        """
        if batch.num_rows == 0:
            raise UsageError("a batch without rows has no first row")
        with _Source(self.program, batch, None, self.allocator) as source:
            starts = self._starts(source, 0)
            fitting = int(np.searchsorted(starts, limit_bytes, "right")) - 1
            starts = starts[: max(fitting, 1) + 1]
            source.choice.count = len(starts) - 1
            out = room(int(starts[-1]))
            if len(out) < starts[-1]:
                raise UsageError(
                    f"the rows take {counted(starts[-1], 'byte')}, there is room for {len(out)}"
                )
            view = ffi.from_buffer("uint8_t[]", out, require_writable=True)
            call(self._write, source.pointer, source.choice, 0, _int64s(starts), view)
        return RowBytes(out[: int(starts[-1])], starts[:-1], np.diff(starts))

    def deserialize(
        self,
        data: Buffer,
        *,
        lengths: Integers | None = None,
        offsets: Integers | None = None,
        source: str = "",
    ) -> pa.RecordBatch:
        """Turn rows into a batch of the program's schema; nothing of it points into `data`.

        Args:
            data: the rows. Without `lengths` each has its length before it, as `be32` says.
            lengths: bytes of each row.
            offsets: where each row begins; None with `lengths`: end to end, from the first byte.
            source: what messages call the input, such as a file's path.
        """
        view = ffi.from_buffer("uint8_t[]", data)
        frames = ffi.new("struct seam_row_frames *")
        frames.data = view
        frames.size_bytes = len(view)
        kept = _fill_frames(frames, view, lengths, offsets, source)
        array = ffi.new("struct ArrowArray *")
        given = self.allocator.pointer, self.program.root, frames, array
        call(self._read, *given, source=source)
        del kept
        return pa.RecordBatch._import_from_c(address(array), self.program.schema)


class _Source:
    """A batch and the rows chosen of it, open for the core."""

    def __init__(
        self,
        program: RowProgram,
        batch: pa.RecordBatch,
        rows: Integers | None,
        allocator: TrackedAllocator,
    ) -> None:
        program.check_batch(batch)
        self.choice: Any = ffi.new("struct seam_row_choice *")
        self.choice.count = batch.num_rows
        if rows is not None:
            self._rows = _whole_numbers(rows, "rows")
            _check_rows(self._rows, batch.num_rows)
            self.choice.count = len(self._rows)
            self.choice.rows = _int64s(self._rows)
        self._exported = ExportedBatch(batch)
        out = ffi.new("struct seam_row_input **")
        call(
            lib.seam_row_input_new,
            allocator.pointer,
            program.root,
            self._exported.schema,
            self._exported.array,
            out,
        )
        self.pointer: Any = out[0]

    def __enter__(self) -> _Source:
        return self

    def __exit__(self, *_: object) -> None:
        lib.seam_row_input_free(self.pointer)


def find_rows(data: Buffer, *, base: int = 0) -> tuple[Any, Any]:
    """Where the rows of a `be32` stream are, and their lengths (both int64).

    Args:
        data: the stream.
        base: where it begins; offsets and the errors' bytes count from there.
    """
    view = ffi.from_buffer("uint8_t[]", data)
    count = ffi.new("int64_t *")
    call(lib.seam_row_frames_count, view, len(view), count, begin=base)
    starts, lengths = np.empty(count[0], np.int64), np.empty(count[0], np.int64)
    pointers = _int64s(starts), _int64s(lengths)
    call(lib.seam_row_frames_find, view, len(view), count[0], *pointers)
    starts += base
    return starts, lengths


def whole_rows(data: Buffer) -> int:
    """Bytes at the front of a piece of a `be32` stream that are whole rows with their lengths."""
    view = ffi.from_buffer("uint8_t[]", data)
    error: Any = new_error()
    code = lib.seam_row_frames_count(view, len(view), ffi.new("int64_t *"), error)
    return int(error.offset) if code else len(view)


def _write_header(out: bytearray | memoryview, size: int) -> None:
    if size > _INT32_MAX:
        raise InputError(f"a group of {counted(size, 'byte')} is more than its header can state")
    GROUP_HEADER.pack_into(out, 0, size, size, 0)


def _int64s(values: Any) -> Any:
    """A pointer to an array of int64, which the caller keeps."""
    return ffi.cast("int64_t *", values.ctypes.data)


def _whole_numbers(values: Integers, what: str) -> Any:
    numbers = np.asarray(values)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise UsageError(f"{what}: a sequence of whole numbers is meant")
    if numbers.dtype == np.uint64 and numbers.size and numbers.max() > np.iinfo(np.int64).max:
        raise UsageError(f"{what}: {numbers.max()} does not fit 64 bits with a sign")
    return np.ascontiguousarray(numbers, np.int64)


def _check_rows(rows: Any, count: int) -> None:
    wrong = rows[(rows < 0) | (rows >= count)]
    if len(wrong):
        raise UsageError(f"row {wrong[0]} was chosen where there are {count}")


def _fill_frames(
    frames: Any, view: Any, lengths: Integers | None, offsets: Integers | None, source: str
) -> list[Any]:
    """Say where the rows are; what is returned must live until they are read."""
    if lengths is None:
        if offsets is not None:
            raise UsageError("offsets of rows need the lengths that go with them")
        count = ffi.new("int64_t *")
        call(lib.seam_row_frames_count, view, len(view), count, source=source)
        frames.count = count[0]
        return []
    sizes = _whole_numbers(lengths, "lengths")
    if offsets is None:
        starts = np.zeros(len(sizes), np.int64)
        np.cumsum(sizes[:-1], out=starts[1:])
        if sizes.sum() != len(view) or (sizes < 0).any():
            where = f"{source}: " if source else ""
            raise InputError(
                f"{where}the rows are said to take "
                f"{counted(sizes.sum(), 'byte')} where there are {len(view)}"
            )
    else:
        starts = _whole_numbers(offsets, "offsets")
    if len(starts) != len(sizes):
        raise UsageError(
            f"{counted(len(starts), 'offset')} of rows come with {counted(len(sizes), 'length')}"
        )
    frames.count = len(sizes)
    frames.starts = _int64s(starts)
    frames.lengths = _int64s(sizes)
    return [starts, sizes]


Writer = Literal["spark", "velox"]
_WRITERS = {"spark": lib.SEAM_UNSAFE_SPARK, "velox": lib.SEAM_UNSAFE_VELOX}


class UnsafeRows(RowCodec):
    """UnsafeRows of one schema; see `RowCodec`. What either writer made can be read.

    Args:
        fields: the columns, in order, with types in Spark's words; or a program made of them.
        writer: whose bytes to write. `spark`: those of UnsafeProjection. `velox`: those of
            UnsafeRowFast, with arrays that end on any byte and no places kept for nulls.
        allocator: where output comes from; None for one of its own without a limit.
    """

    _read = staticmethod(lib.seam_unsafe_row_read)

    def __init__(
        self,
        fields: Sequence[SerdeField] | RowProgram,
        writer: Writer = "spark",
        allocator: TrackedAllocator | None = None,
    ) -> None:
        super().__init__(fields, allocator)
        if writer not in _WRITERS:
            raise UsageError(f"writer = {writer!r}: one of {', '.join(get_args(Writer))} is meant")
        whose = _WRITERS[writer]
        self._layout = lambda source, *rest: lib.seam_unsafe_row_layout(source, whose, *rest)
        self._write = lambda source, *rest: lib.seam_unsafe_row_write(source, whose, *rest)
