"""What each byte of a stream of rows is: for people, and for the check of a row's structure."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from seambase.errors import UsageError
from seambase.serde import SerdeField
from seambase.types import SerdeType, parse_spark
from seambase.walk import BrokenError, Met
from seamkit.serde.rows.codec import Buffer
from seamkit.serde.rows.framing import GROUP_HEADER
from seamkit.serde.rows.serde import RowOptions
from seamkit.serde.rows.walk import CompactWalk, UnsafeWalk, Walk


def inspect_rows(
    format_: str,
    data: Buffer,
    fields: Sequence[SerdeField],
    options: Mapping[str, Any] | None = None,
) -> Iterator[Met]:
    """Every field of a stream in the order of its bytes, offsets counted from its start.

    What was met before a break is handed out first. Only plain groups are explained: the bytes
    within a compressed one have no place in the stream. Types are in Spark's words.
    """
    walks: dict[str, type[Walk]] = {"unsaferow": UnsafeWalk, "compactrow": CompactWalk}
    if format_ not in walks:
        raise UsageError(f"format {format_!r}: one of {', '.join(walks)} is meant")
    view = memoryview(data)
    columns = [(field.name, parse_spark(field.type)) for field in fields]
    for number, (begin, length, before) in enumerate(row_places(view, RowOptions.of(options))):
        yield from before
        yield Met(begin, length, 0, f"row {number}")
        yield from _met(walks[format_](view), begin, length, columns)


def _met(
    walk: Walk, begin: int, length: int, columns: Sequence[tuple[str, SerdeType]]
) -> Iterator[Met]:
    try:
        walk.row(begin, length, columns)
    except BrokenError:
        yield from walk.met
        raise
    yield from walk.met


def row_places(data: memoryview, options: RowOptions) -> Iterator[tuple[int, int, list[Met]]]:
    """Begin and length of each row, and what of the framing was met before it."""
    if options.framing != "packed":
        yield from _framed(data, options)
        return
    if options.lengths is None:
        raise UsageError("packed rows need their lengths: set the option `lengths`")
    lengths = np.asarray(options.lengths, np.int64)
    starts = np.cumsum(lengths) - lengths if options.offsets is None else options.offsets
    for begin, length in zip(starts, lengths, strict=True):
        if begin < 0 or length < 0 or begin + length > len(data):
            raise BrokenError(int(begin), "row", f"{length} bytes are not within the {len(data)}")
        yield int(begin), int(length), []


def _framed(data: memoryview, options: RowOptions) -> Iterator[tuple[int, int, list[Met]]]:
    at, met = 0, []
    end = 0 if options.framing == "velox-group" else len(data)
    while at < len(data):
        if at == end:
            size = GROUP_HEADER.size
            if len(data) - at < size:
                raise BrokenError(at, "group", "its header is cut off")
            whole, packed, flag = GROUP_HEADER.unpack_from(data, at)
            met.append(Met(at, size, 0, "group", {"size": whole, "compressed": packed, "is": flag}))
            if flag:
                raise UsageError(f"the group at byte {at} is compressed: decompress it first")
            if packed != whole or not 0 <= packed <= len(data) - at - size:
                raise BrokenError(at, "group", f"{packed} bytes cannot follow, nor {whole} be")
            at += size
            end = at + packed
            continue
        if end - at < 4:
            raise BrokenError(at, "length", "it is cut off")
        (length,) = struct.unpack_from(">i", data, at)
        met.append(Met(at, 4, 0, "length", length))
        if not 0 <= length <= end - at - 4:
            raise BrokenError(at, "length", f"{length} bytes where {end - at - 4} are left")
        yield at + 4, length, met
        at, met = at + 4 + length, []
