"""Streams of rows, by the name of their format and by options.

Velox's CompactRow (snapshot of August 2026).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seambase.serde import SerdeField
from seamkit.core._seam import lib
from seamkit.core.border import NativeMemoryError
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.compression import CODECS
from seamkit.serde.rows.codec import (
    Buffer,
    Framing,
    Integers,
    RowCodec,
    UnsafeRows,
    Writer,
    find_rows,
)
from seamkit.serde.rows.framing import compress_group, groups
from seamkit.serde.rows.program import RowProgram

Format = Literal["unsaferow", "compactrow"]


@dataclass(frozen=True)
class RowOptions:
    """Settings of a stream of rows; see docs/rows.md.

    Attributes:
        writer: whose UnsafeRows to write, `spark` or `velox`; readers take both.
        framing: `be32`, `packed` or `velox-group`.
        codec: what groups are compressed with, one of `seamkit.serde.compression.CODECS`.
        lengths: of packed rows that are to be read.
        offsets: of packed rows that are to be read; None: end to end.
        size_limit: most bytes a group or the batch that is read may take.
        depth_limit: most levels of columns within columns.
    """

    writer: Writer = "spark"
    framing: Framing = "be32"
    codec: str = "none"
    lengths: Integers | None = None
    offsets: Integers | None = None
    size_limit: int = 1 << 30
    depth_limit: int = 63

    def __post_init__(self) -> None:
        allowed: dict[str, tuple[str, ...]] = {
            "writer": get_args(Writer),
            "framing": get_args(Framing),
            "codec": CODECS,
        }
        for name, words in allowed.items():
            if getattr(self, name) not in words:
                raise UsageError(
                    f"option {name} = {getattr(self, name)!r}: one of {', '.join(words)} is meant"
                )
        for name in ("size_limit", "depth_limit"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise UsageError(f"option {name} = {value!r}: a whole number from 0 on is meant")
        if self.codec != "none" and self.framing != "velox-group":
            raise UsageError(f"codec = {self.codec!r}: only a velox-group can be compressed")

    @classmethod
    def of(cls, options: Mapping[str, Any] | None) -> RowOptions:
        """Options by name."""
        known = {field.name for field in dataclasses.fields(cls)}
        for name in options or {}:
            if name not in known:
                raise UsageError(f"a stream of rows has no option {name!r}")
        return cls(**(options or {}))


def row_codec(
    format_: str,
    fields: Sequence[SerdeField],
    options: RowOptions,
    allocator: TrackedAllocator | None = None,
) -> RowCodec:
    """The codec of a format."""
    program = _program(tuple(fields), options.depth_limit)
    if format_ == "unsaferow":
        return UnsafeRows(program, options.writer, allocator)
    if format_ == "compactrow":
        if options.writer != "spark":
            raise UsageError("option writer is of UnsafeRows: CompactRows have one writer, Velox")
        return CompactRows(program, allocator)
    raise UsageError(f"format {format_!r}: one of {', '.join(get_args(Format))} is meant")


@lru_cache(maxsize=256)
def _program(fields: tuple[SerdeField, ...], depth_limit: int) -> RowProgram:
    """Compiled once for batch after batch: of few rows, that would take most of the time."""
    return RowProgram(fields, depth_limit=depth_limit)


def serialize(
    format_: str,
    batches: Sequence[pa.RecordBatch],
    fields: Sequence[SerdeField],
    options: Mapping[str, Any] | None = None,
    *,
    allocator: TrackedAllocator | None = None,
) -> Buffer:
    """The rows of all batches one after the other; each batch is a group, where there are groups.

    `lengths` and `offsets` are for reading: here they may be there, and are not looked at.

    Raises:
        UsageError: batches that do not fit the fields, an option or a type that is none.
        InputError: see `RowCodec.serialize`.
        RefusedError: a type that the format does not have.
    """
    chosen = RowOptions.of(options)
    codec = row_codec(format_, fields, chosen, allocator)
    parts = []
    for batch in batches:
        part = codec.serialize(batch, framing=chosen.framing).data
        parts.append(compress_group(part, chosen.codec, codec.allocator))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def deserialize(
    format_: str,
    data: Buffer,
    fields: Sequence[SerdeField],
    options: Mapping[str, Any] | None = None,
    *,
    allocator: TrackedAllocator | None = None,
) -> pa.RecordBatch:
    """One batch of all rows of a stream.

    Args:
        format_: `unsaferow` or `compactrow`.
        data: the stream.
        fields: its columns, with types in Spark's words.
        options: see `RowOptions`.
        allocator: owner of the batch; None: one of its own that is held to `size_limit`.

    Raises:
        InputError: the bytes break the format; the message names the offset.
        RefusedError: a type that the format does not have, or a limit.
        UsageError: an option or a type that is none.
    """
    chosen = RowOptions.of(options)
    codec = row_codec(format_, fields, chosen, allocator or TrackedAllocator(chosen.size_limit))
    if chosen.framing != "packed" and (chosen.lengths is not None or chosen.offsets is not None):
        raise UsageError(f"framing {chosen.framing!r} has its own lengths: leave them out")
    if chosen.framing == "packed" and chosen.lengths is None:
        raise UsageError("packed rows need their lengths: set the option `lengths`")
    try:
        if chosen.framing == "velox-group":
            return _read_groups(codec, memoryview(data), chosen)
        return codec.deserialize(data, lengths=chosen.lengths, offsets=chosen.offsets)
    except NativeMemoryError as error:
        raise RefusedError(
            f"{error}: raise the option size_limit, or read fewer rows at once"
        ) from error


def _read_groups(codec: RowCodec, data: memoryview, options: RowOptions) -> pa.RecordBatch:
    """Rows of all groups; plain ones are read where they stand, so that offsets are right."""
    parts = list(groups(data, options.codec, options.size_limit, codec.allocator))
    if any(group.offset < 0 for group in parts):
        joined = parts[0].rows if len(parts) == 1 else b"".join(group.rows for group in parts)
        return codec.deserialize(joined, source="decompressed groups")
    offsets, lengths = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for group in parts:
        starts, sizes = find_rows(group.rows, base=group.offset)
        offsets.append(starts)
        lengths.append(sizes)
    return codec.deserialize(data, lengths=np.concatenate(lengths), offsets=np.concatenate(offsets))


class CompactRows(RowCodec):
    """CompactRows of one schema; see `RowCodec`."""

    _layout = staticmethod(lib.seam_compact_row_layout)
    _write = staticmethod(lib.seam_compact_row_write)
    _read = staticmethod(lib.seam_compact_row_read)
