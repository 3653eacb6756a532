"""How good UnsafeRows are: that they decode is the least of it.

Spark compares and hashes unsafe rows by their bytes, and updates long decimals and intervals where
they lie (UnsafeRow.setDecimal, setInterval). So rows that every reader reads may still break a
grouping, or have a null bit overwritten. Spark's own structural check (UnsafeRowUtils) asks for
part of this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seambase.errors import InputError, RefusedError
from seambase.serde import SerdeField
from seambase.types import parse_spark
from seamkit.serde.rows.codec import Buffer
from seamkit.serde.rows.inspection import row_places
from seamkit.serde.rows.serde import RowOptions, deserialize
from seamkit.serde.rows.unsafe_row import UnsafeRows
from seamkit.serde.rows.walk import Oddity, UnsafeWalk


@dataclass(frozen=True)
class RowGrade:
    """What can be done with a stream of UnsafeRows.

    Attributes:
        decodes: its values can be read.
        same_bytes: it is what Spark would have written, the places of null intervals aside.
        updatable: each long decimal and interval of a row or struct has its 16 bytes, so that it
            can be updated in place.
        oddities: what readers let pass but Spark does not write.
        reason: why it does not decode.
    """

    decodes: bool
    same_bytes: bool = False
    updatable: bool = False
    oddities: tuple[Oddity, ...] = ()
    reason: str = ""

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
            found = bytearray(view[begin : begin + length])
            for offset, free in walk.free:
                found[offset - begin : offset - begin + free] = bytes(free)
            same = same and found == row
    except (InputError, RefusedError) as error:
        return RowGrade(decodes=False, reason=str(error))
    updatable = not any(oddity.place for oddity in oddities)
    return RowGrade(True, same, updatable, tuple(oddities))
