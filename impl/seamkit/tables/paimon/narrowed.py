"""Columns whose type became narrower or another: what Paimon makes of values in older files.

Texts and bytes are cut to the length of `VARCHAR` and `VARBINARY`, and filled up to that of `CHAR`
and `BINARY`, but for bytes that became texts, which stay as long as they are. Whole numbers keep
their lowest bits, and so do decimals that become such; decimals are rounded; of times the digits
that the type lacks are cut off. What is true is 1 as a number, and numbers are true but for 0
(`CastExecutors` of paimon-common).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError
from seambase.values import EXACT, rounded
from seamkit.core.border import numpy_of
from seamkit.files.columns import Source
from seamkit.files.promotion import LOSSLESS, of_length
from seamkit.files.roaring import Positions
from seamkit.tables.paimon.metadata.schemas import Field

_Narrowing = tuple[pa.DataType, Callable[[pa.Array], pa.Array]]
"""The type that values are read in, and what makes them those of the column."""

_SIZED = re.compile(r"(VAR)?(?:CHAR|BINARY)\((\d+)\)")
_LONG_DIGITS = 18
_UNIT_DIGITS = {"ms": 3, "us": 6, "ns": 9}


@dataclass(frozen=True)
class CastFinder:
    """Finds columns in a file that was written by other fields than the table has."""

    find: Callable[[pa.Field], Source]  # finds them by their ids
    fields: Mapping[str, Field]  # of the table, by name
    written: Sequence[Field]  # those of the file
    # whether values of a type are read as those of another
    promotes: Callable[[pa.DataType, pa.DataType], bool]
    where: str

    def __call__(self, wanted: pa.Field) -> Source:
        """Where a column comes from."""
        source, own = self.find(wanted), self.fields.get(wanted.name)
        before = own and next((one for one in self.written if one.id == own.id), None)
        if own is None or before is None or source.read is None:
            return source
        if _has_changed(_is_zoned_otherwise, own, before):
            raise RefusedError(
                f"{self.where}: times of the column {own.name!r} have a zone now and had none, or "
                "the other way round: which times these are depends on where Java runs"
            )
        narrowing = narrowing_of(own, before)
        if narrowing is None:
            self._check(own, before)
            return source
        kind, made = narrowing
        read, make = source.read.with_type(kind), partial(_of_file, made)
        return replace(source, read=read, shown=kind, make=make)

    def _check(self, own: Field, before: Field) -> None:
        """Refuse what Paimon casts in a way that is not known here."""
        if _has_changed(narrowing_of, own, before) or _has_changed(self._is_strange, own, before):
            raise RefusedError(
                f"{self.where}: the column {own.name!r}, or a type within it, was changed from "
                f"{before.spelling} to {own.spelling}, which is not supported"
            )

    def _is_strange(self, own: Field, before: Field) -> bool:
        return own.type != before.type and not self.promotes(before.type, own.type)


def _of_file(
    made: Callable[[pa.Array], pa.Array], column: pa.Array | None, positions: Positions
) -> pa.Array:
    del positions
    assert column is not None
    return made(column)


def _has_changed(test: Callable[[Field, Field], object], own: Field, before: Field) -> bool:
    """Whether a test says something of a type or one within it; fields have ids in rows alone."""
    if own.spelling != before.spelling or not own.children:
        return bool(test(own, before))
    by_id = {one.id: one for one in before.children}
    others = [by_id.get(one.id) for one in own.children] if own.spelling == "ROW" else None
    return any(
        other is not None and _has_changed(test, one, other)
        for one, other in zip(own.children, others or before.children, strict=True)
    )


def _is_zoned_otherwise(own: Field, before: Field) -> bool:
    are_times = pa.types.is_timestamp(own.type) and pa.types.is_timestamp(before.type)
    return are_times and (own.type.tz is None) != (before.type.tz is None)


def narrowing_of(own: Field, before: Field) -> _Narrowing | None:
    """How values of a former type become those of a narrower one; None where they need nothing."""
    kinds, have, want = pa.types, before.type, own.type
    if own.children or before.children or own.spelling == before.spelling:
        return None
    if kinds.is_timestamp(have) and kinds.is_timestamp(want):
        is_cut = own.digits < before.digits
        return (have, partial(_with_digits, own.digits, want)) if is_cut else None
    is_exact = kinds.is_decimal(have) or kinds.is_integer(have) or kinds.is_boolean(have)
    if kinds.is_decimal(want) and is_exact:
        is_cut = not LOSSLESS.promotes(have, want)
        return (have, partial(_rounded, want)) if is_cut else None
    cast = _cast_of_fractions(have, want)
    if cast is not None:
        return have, partial(cast, want)
    if _is_of_truth(have, want):
        return have, partial(pc.cast, target_type=want)
    for of_kind in (kinds.is_integer, kinds.is_floating):
        if of_kind(have) and of_kind(want):
            is_cut = want.bit_width < have.bit_width
            return (have, partial(pc.cast, target_type=want, safe=False)) if is_cut else None
    match, former = (_SIZED.fullmatch(one.spelling) for one in (own, before))
    if match is None or (kinds.is_binary(have) and kinds.is_string(want)):
        return None
    size, is_filled = int(match[2]), match[1] is None
    if former is not None and int(former[2]) <= size and not is_filled:
        return None
    return want, partial(of_length if kinds.is_string(want) else _of_size, size, is_filled)


def _cast_of_fractions(
    have: pa.DataType, want: pa.DataType
) -> Callable[[pa.DataType, pa.Array], pa.Array] | None:
    """What makes whole numbers of others, or floating-point ones of decimals."""
    if pa.types.is_integer(want) and pa.types.is_floating(have):
        return _whole
    if not pa.types.is_decimal(have):
        return None
    if pa.types.is_integer(want):
        return _lowest_bits
    return _floating if pa.types.is_floating(want) else None


def _is_of_truth(have: pa.DataType, want: pa.DataType) -> bool:
    """Whether booleans become numbers, or whole numbers booleans."""
    if pa.types.is_boolean(have):
        return bool(pa.types.is_integer(want) or pa.types.is_floating(want))
    return bool(pa.types.is_integer(have) and pa.types.is_boolean(want))


def _of_size(size: int, is_filled: bool, column: pa.Array) -> pa.Array:
    least = size if is_filled else 0
    cut = [None if one is None else one[:size].ljust(least, b"\0") for one in column.to_pylist()]
    return pa.array(cut, column.type)


def _rounded(want: pa.Decimal128Type, column: pa.Array) -> pa.Array:
    values = [
        one if one is None else rounded(Decimal(one), want.precision, want.scale)
        for one in column.to_pylist()
    ]
    return pa.array(values, want)


def _whole(want: pa.DataType, column: pa.Array) -> pa.Array:
    """Numbers without what is behind the point, as Java casts them: nothing of what is none."""
    # Those beyond an int, or a long, are its ends; of shorter types the lowest bits of an int are
    # left.
    ends = np.iinfo(np.int64 if want.bit_width == 64 else np.int32)
    numbers = numpy_of(pc.fill_null(column, 0.0))
    low, high = numbers <= ends.min, numbers >= ends.max
    inside = np.where(low | high | np.isnan(numbers), 0, numbers).astype(ends.dtype)
    cut = np.select([low, high], [ends.min, ends.max], inside)
    valid = numpy_of(column.is_valid())
    return pc.cast(pa.array(cut, mask=~valid), want, safe=False)


def _lowest_bits(want: pa.DataType, column: pa.Array) -> pa.Array:
    """Decimals without what is behind the point; of those beyond the type the lowest bits."""
    half = 1 << want.bit_width - 1
    values = [
        one if one is None else (int(one) + half) % (2 * half) - half for one in column.to_pylist()
    ]
    return pa.array(values, want)


def _floating(want: pa.DataType, column: pa.Array) -> pa.Array:
    """Decimals as Paimon's `DecimalUtils.doubleValue` has them, then as floats where these are."""
    # Of at most 18 digits the digits become a double, which is divided by a power of ten: that may
    # be a neighbour of the nearest double. Of more it is the nearest one.
    scale, is_long = column.type.scale, column.type.precision <= _LONG_DIGITS

    def double(value: Decimal) -> float:
        return float(value.scaleb(scale, EXACT)) / float(10**scale) if is_long else float(value)

    return pa.array([one if one is None else double(one) for one in column.to_pylist()], want)


def _with_digits(digits: int, want: pa.DataType, column: pa.Array) -> pa.Array:
    """Times without the digits that a type lacks, as Paimon's `DateTimeUtils.truncate` has them."""
    # Milliseconds are cut towards 1970. Of finer types a fraction of a second that is a number of
    # so few digits, in nanoseconds, stays as it is.
    have = _UNIT_DIGITS[column.type.unit]
    numbers = numpy_of(pc.fill_null(column.cast(pa.int64()), 0))
    if digits <= _UNIT_DIGITS["ms"]:
        millis = numbers // 10 ** (have - _UNIT_DIGITS["ms"])
        cut = millis - np.fmod(millis, 10 ** (_UNIT_DIGITS["ms"] - digits))
    else:
        nanos = numbers % 10**have * 10 ** (9 - have)
        cut = np.where(nanos < 10**digits, numbers, numbers - numbers % 10 ** (have - digits))
        cut //= 10 ** (have - _UNIT_DIGITS[want.unit])
    valid = numpy_of(column.is_valid())
    return pa.array(cut, pa.int64(), mask=~valid).cast(want)
