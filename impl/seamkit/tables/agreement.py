"""What a table's metadata says of the values of a file, held against the file itself.

Metadata states ranges and counts of nulls to leave files out by. A file's footer has them, too: two
that no rows can have in common tell of another file in this one's place, whatever its length is.
Of a file of several row groups the first one is read: looking up a key shall not cost more for it.
Of one without a footer the rows that come first are looked at.

Bounds may be wider than the values, on either side, and Parquet's, too, whatever their type: ranges
contradict each other where they have nothing in common. Where a footer states values of the column
(ORC does, and Parquet by writers that a caller knows), those of whole numbers, days and short
decimals, which nobody cuts, lie within what is stated; and where the metadata states values as
well, and both were written in Java, they are the same. Other writers state ranges that are wider
than a file's rows. Floating-point numbers are passed over, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seambase.wording import counted
from seamkit.files.reader import FileReader
from seamkit.files.statistics import ColumnRange, FileStatistics

#: Columns of a footer that are compared for one file: each takes some microseconds.
_FOOTER_COLUMNS = 16
#: Columns of a file without a footer: the rows that come first are decoded once more for them.
_MOST_COLUMNS = 4
_MOST_ROWS = 1 << 16
#: Digits that pass through a floating-point number, as writers of JSON make of decimals, unchanged.
_SAFE_DIGITS = 15
#: How Java's writers of Parquet and ORC call themselves.
JAVA = ("parquet-mr", "ORC_JAVA")


def check_stated(
    reader: FileReader,
    stated: FileStatistics,
    by: str,
    *,
    in_all: bool = False,
    of_all: bool = True,
    by_java: bool = False,
) -> None:
    """Make sure that a file is the one that metadata (of all its rows) speaks of.

    `by` says whose metadata these are, for messages. Of a file without a footer the first rows are
    read. `in_all` asks all row groups, and not the first one alone.
    Unless `of_all` the metadata speaks of rows that are not deleted, and nothing is known of files
    of several row groups. `by_java`: ranges of Java's writer of Parquet are known to end in values.
    """
    ranges = {name: one for name, one in stated.columns.items() if _kind(one) is not None}
    names = list(ranges)[: _FOOTER_COLUMNS if reader.has_footer else _MOST_COLUMNS]
    schema = pa.schema([(name, _kind(ranges[name])) for name in names])
    is_whole = in_all or reader.num_row_groups <= 1
    if not of_all and not is_whole:
        return
    has_values = not reader.has_footer or reader.created_by.startswith(JAVA if by_java else "ORC")
    is_exact = is_whole and has_values and reader.created_by.startswith(JAVA)
    known = known_columns(reader, schema, in_all=in_all)
    for name, own in known.items():
        its = replace(
            ranges[name],
            nulls=ranges[name].nulls if is_whole and of_all else None,
            exact=ranges[name].exact if is_exact else (False, False),
        )
        if not (of_all and has_values):
            own = replace(own, exact=(False, False))
        if contradict(its, own):
            raise InputError(
                f"{reader.name}: the values of {name} are {shown(own)}, and {by} says {shown(its)}"
            )


class Part(NamedTuple):
    """What a file's partition says of one of its columns."""

    field: pa.Field  # the column, in name and type of the file's reader
    value: object  # of the partition, for messages
    # whether values of the partition may have a least and a greatest one, each None if it is not
    # known; None where the partition has nothing but nulls
    fits: Callable[[pa.Scalar | None, pa.Scalar | None], bool] | None


def part_of_one(field: pa.Field, value: pa.Scalar) -> Part:
    """What a partition says of a column that has one value in it, or null."""
    return Part(field, value, partial(_may_be, value) if value.is_valid else None)


def _may_be(value: pa.Scalar, least: pa.Scalar | None, greatest: pa.Scalar | None) -> bool:
    """Whether a value lies within a range, whose ends are None if they are not known."""
    is_after = least is not None and pc.less(value, least).as_py()
    return not is_after and not (greatest is not None and pc.less(greatest, value).as_py())


def check_partition(reader: FileReader, parts: Sequence[Part]) -> None:
    """Make sure that a file's columns may have the values that its partition says."""
    schema = pa.schema(list({one.field.name: one.field for one in parts}.values()))
    known = known_columns(reader, schema, in_all=True)
    for name, value, fits in ((one.field.name, one.value, one.fits) for one in parts):
        own = known.get(name, ColumnRange())
        is_null = own.nulls is not None and own.nulls == reader.num_rows > 0
        if fits is None:
            is_other = own.least is not None or (own.nulls is not None and not is_null)
        else:
            is_other = is_null or not fits(own.least, own.greatest)
        if is_other and reader.num_rows:
            raise InputError(
                f"{reader.name}: the values of {name} are {shown(own)}, and its manifest says that "
                f"they are those of the partition {value}"
            )


def known_columns(reader: FileReader, schema: pa.Schema, *, in_all: bool) -> dict[str, ColumnRange]:
    """What a file says of some columns; of the rows that come first, if it says nothing.

    Columns that it has in another type than `schema` are left out. All row groups are asked, or the
    first one.
    """
    if reader.has_footer or not schema.names:
        groups = None if in_all else range(min(reader.num_row_groups, 1))
        return dict(reader.statistics(schema, groups).columns)
    batch = next(reader.batches(schema, _MOST_ROWS, use_threads=False), None)
    if batch is None or not batch.num_rows:
        return {}
    return {
        name: ColumnRange(None, ends["min"], ends["max"], (True, True))
        for name, column in zip(schema.names, batch.columns, strict=True)
        if (ends := pc.min_max(column)) and ends["min"].is_valid
    }


def contradict(stated: ColumnRange, own: ColumnRange) -> bool:
    """Whether no column can be as both say."""
    if None not in (stated.nulls, own.nulls) and stated.nulls != own.nulls:
        return True
    if _is_beyond(stated.least, own, 0) or _is_beyond(stated.greatest, own, 1):
        return True
    return any(_differ(stated, own, end) for end in (0, 1))


def shown(known: ColumnRange) -> str:
    """A range for people."""
    if known.least is None and known.greatest is None:
        return "not stated" if known.nulls is None else f"of {counted(known.nulls, 'null')}"
    nulls = "" if known.nulls is None else f", with {counted(known.nulls, 'null')}"
    return f"{known.least} to {known.greatest}{nulls}"


def _is_beyond(bound: pa.Scalar | None, own: ColumnRange, end: int) -> bool:
    """Whether values of a file's range lie beyond the end of a stated one: all, or exact ones."""
    is_value = own.exact[end] and bound is not None and _is_whole(bound.type)
    near, far = (own.least, own.greatest) if end == 0 else (own.greatest, own.least)
    value = near if is_value else far
    if bound is None or value is None or value.type != bound.type:
        return False
    compare = pc.less if end == 0 else pc.greater
    return bool(compare(value, bound).as_py())


def _differ(stated: ColumnRange, own: ColumnRange, end: int) -> bool:
    """Whether ends are not the same, of which both sides say that they are values."""
    bound, value = (one.least if end == 0 else one.greatest for one in (stated, own))
    if bound is None or value is None or not (stated.exact[end] and own.exact[end]):
        return False
    return _is_whole(value.type) and bound.type == value.type and not bound.equals(value)


def _is_whole(kind: pa.DataType) -> bool:
    """Whether values of a type are never cut."""
    is_short = pa.types.is_decimal128(kind) and kind.precision <= _SAFE_DIGITS
    return bool(pa.types.is_integer(kind) or pa.types.is_date32(kind) or is_short)


def _kind(known: ColumnRange) -> pa.DataType | None:
    """The type of a range; None if there is none, or none that is compared."""
    kind = next((end.type for end in (known.least, known.greatest) if end is not None), None)
    return kind if kind is not None and is_compared(kind) else None


def is_compared(kind: pa.DataType) -> bool:
    """Whether ranges of a type are compared: writers agree in its order."""
    tests = pa.types
    return bool(
        tests.is_integer(kind)
        or tests.is_date32(kind)
        or tests.is_timestamp(kind)
        or tests.is_decimal128(kind)
        or tests.is_string(kind)
    )
