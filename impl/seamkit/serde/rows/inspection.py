"""What each byte of a stream of rows is: for people, and for the check of a row's structure.

How good UnsafeRows are: that they decode is the least of it. Spark compares and hashes unsafe rows
by their bytes, and updates long decimals and intervals where they lie (UnsafeRow.setDecimal,
setInterval). So rows that every reader reads may still break a grouping, or have a null bit
overwritten. Spark's own structural check (UnsafeRowUtils) asks for part of this.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seambase.errors import InputError, RefusedError, UsageError
from seambase.serde import SerdeField
from seambase.types import SerdeType, parse_spark
from seambase.walk import BrokenError, ByteField
from seambase.wording import counted
from seamkit.serde.rows.codec import Buffer, UnsafeRows
from seamkit.serde.rows.framing import GROUP_HEADER
from seamkit.serde.rows.serde import RowOptions, deserialize
from seamkit.serde.rows.walk import CompactWalk, Oddity, UnsafeWalk, Walk


def inspect_rows(
    format_: str,
    data: Buffer,
    fields: Sequence[SerdeField],
    options: Mapping[str, Any] | None = None,
) -> Iterator[ByteField]:
    """Every field of a stream in the order of its bytes, offsets counted from its start.

    What stands before a break is handed out first. Only plain groups are explained: the bytes
    within a compressed one have no place in the stream. Types are in Spark's words.
    """
    walks: dict[str, type[Walk]] = {"unsaferow": UnsafeWalk, "compactrow": CompactWalk}
    if format_ not in walks:
        raise UsageError(f"format {format_!r}: one of {', '.join(walks)} is meant")
    view = memoryview(data)
    columns = [(field.name, parse_spark(field.type)) for field in fields]
    for number, (begin, length, before) in enumerate(row_places(view, RowOptions.of(options))):
        yield from before
        yield ByteField(begin, length, 0, f"row {number}")
        yield from _fields_of_row(walks[format_](view), begin, length, columns)


def _fields_of_row(
    walk: Walk, begin: int, length: int, columns: Sequence[tuple[str, SerdeType]]
) -> Iterator[ByteField]:
    try:
        walk.row(begin, length, columns)
    except BrokenError:
        yield from walk.walked
        raise
    yield from walk.walked


def row_places(data: memoryview, options: RowOptions) -> Iterator[tuple[int, int, list[ByteField]]]:
    """Begin and length of each row, and what of the framing stands before it."""
    if options.framing != "packed":
        yield from _framed(data, options)
        return
    if options.lengths is None:
        raise UsageError("packed rows need their lengths: set the option `lengths`")
    lengths = np.asarray(options.lengths, np.int64)
    starts = np.cumsum(lengths) - lengths if options.offsets is None else options.offsets
    for begin, length in zip(starts, lengths, strict=True):
        if begin < 0 or length < 0 or begin + length > len(data):
            raise BrokenError(
                int(begin), "row", f"{counted(length, 'byte', 'are')} not within the {len(data)}"
            )
        yield int(begin), int(length), []


def _framed(data: memoryview, options: RowOptions) -> Iterator[tuple[int, int, list[ByteField]]]:
    at, walked = 0, []
    end = 0 if options.framing == "velox-group" else len(data)
    while at < len(data):
        if at == end:
            size = GROUP_HEADER.size
            if len(data) - at < size:
                raise BrokenError(at, "group", "its header is cut off")
            whole, packed, flag = GROUP_HEADER.unpack_from(data, at)
            walked.append(
                ByteField(at, size, 0, "group", {"size": whole, "compressed": packed, "is": flag})
            )
            if flag:
                raise UsageError(f"the group at byte {at} is compressed: decompress it first")
            if packed != whole or not 0 <= packed <= len(data) - at - size:
                raise BrokenError(
                    at, "group", f"{counted(packed, 'byte')} cannot follow, nor {whole} be"
                )
            at += size
            end = at + packed
            continue
        if end - at < 4:
            raise BrokenError(at, "length", "it is cut off")
        (length,) = struct.unpack_from(">i", data, at)
        walked.append(ByteField(at, 4, 0, "length", length))
        if not 0 <= length <= end - at - 4:
            raise BrokenError(
                at, "length", f"{counted(length, 'byte')} where {end - at - 4} are left"
            )
        yield at + 4, length, walked
        at, walked = at + 4 + length, []


@dataclass(frozen=True)
class RowGrade:
    """What can be done with a stream of UnsafeRows."""

    decodes: bool  # its values can be read
    # it is what Spark would have written, the places of null intervals aside
    same_bytes: bool = False
    # each long decimal and interval of a row or struct has its 16 bytes, so that it can be updated
    # in place
    updatable: bool = False
    oddities: tuple[Oddity, ...] = ()  # what readers let pass but Spark does not write
    reason: str = ""  # why it does not decode

    @property
    def text(self) -> str:
        """All of it in a line."""
        if not self.decodes:
            return f"not readable: {self.reason}"
        parts = ["as Spark writes them" if self.same_bytes else "other bytes than Spark writes"]
        parts.append("updatable in place" if self.updatable else "not updatable in place")
        odd = [f"{oddity.what} (at byte {oddity.offset})" for oddity in self.oddities[:3]]
        more = [f"and {len(self.oddities) - 3} more"] if len(self.oddities) > 3 else []
        return "; ".join([*parts, *odd, *more])


def grade(
    data: Buffer, fields: Sequence[SerdeField], options: Mapping[str, Any] | None = None
) -> RowGrade:
    """Grade a stream of UnsafeRows.

    Types are in Spark's words; the options are those of `seamkit.serde.rows.serde.RowOptions`.
    """
    chosen = RowOptions.of(options)
    view = memoryview(data)
    columns = [(field.name, parse_spark(field.type)) for field in fields]
    oddities: list[Oddity] = []
    same = True
    try:
        batch = deserialize("unsaferow", data, fields, options)
        again = UnsafeRows(fields).serialize(batch, framing="packed")
        ends = again.offsets + again.lengths
        spark = [bytes(again.data[a:b]) for a, b in zip(again.offsets, ends, strict=True)]
        for row, (begin, length, _) in zip(spark, row_places(view, chosen), strict=True):
            walk = UnsafeWalk(view)
            walk.row(begin, length, columns)
            oddities += walk.odd
            bare = bytearray(view[begin : begin + length])
            for offset, free in walk.free:
                bare[offset - begin : offset - begin + free] = bytes(free)
            same = same and bare == row
    except (InputError, RefusedError) as error:
        return RowGrade(decodes=False, reason=str(error))
    updatable = not any(oddity.place for oddity in oddities)
    return RowGrade(True, same, updatable, tuple(oddities))
