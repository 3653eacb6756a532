"""Aggregate functions of fields: what a value becomes when another row of its key comes.

Most functions choose: their value is that of some row, so they keep its number, and no value is
touched. The others compute with values: numbers, flags and texts here, arrays and maps in `nested`,
sets in bytes in `sketches`. In all, None is null. Functions know the rows of one batch.
"""

from __future__ import annotations

import decimal
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.encodings import made_anew
from seambase.errors import RefusedError
from seambase.values import EXACT, decimal_of, rounded
from seamkit.core.border import numpy_of

FieldOptions = Mapping[str, str]
"""Options of one field, without `fields.NAME.` in front."""


class Function(ABC):
    """The aggregate function of one field over the rows of a batch."""

    name: str

    def __init__(self, column: pa.Array, options: FieldOptions, where: str) -> None:
        self.column = column
        self.options = options
        self.where = where
        self.valid: npt.NDArray[np.bool_] = np.ones(len(column), np.bool_)
        if column.null_count:
            self.valid = numpy_of(column.is_valid())

    def begin(self) -> None:  # noqa: B027  (most functions have nothing to forget)
        """A new key begins."""

    @abstractmethod
    def agg(self, kept: Any, row: int) -> Any:
        """What is kept after a row was added to what was kept."""

    def reverse(self, kept: Any, row: int) -> Any:
        """What is kept after a row came that is older than what was kept."""
        return self.agg(kept, row)

    def retract(self, kept: Any, row: int) -> Any:
        """What is kept after a row was taken back."""
        del kept, row
        raise RefusedError(
            f"{self.where}: the function {self.name} takes no retracts; Paimon refuses them, too, "
            "unless ignore-retract is set"
        )

    @abstractmethod
    def start(self, row: int) -> Any:
        """What is kept where a row's own value is taken over."""

    @abstractmethod
    def result(self, kept: Sequence[Any]) -> pa.Array:
        """What was kept of each key, as a column."""


class Choosing(Function):
    """A function whose value is that of a row; it keeps the row's number."""

    def start(self, row: int) -> int | None:
        """The row, unless its value is null."""
        return row if self.valid[row] else None

    def result(self, kept: Sequence[int | None]) -> pa.Array:
        """The values of the rows."""
        return self.column.take(pa.array(kept, pa.int64()))


class LastValue(Choosing):
    """The newest value, null or not."""

    name = "last_value"

    def agg(self, kept: Any, row: int) -> Any:
        """The row's own."""
        del kept
        return self.start(row)

    def reverse(self, kept: Any, row: int) -> Any:
        """What was kept: it is newer."""
        del row
        return kept

    def retract(self, kept: Any, row: int) -> Any:
        """Nothing is left."""
        del kept, row


class LastNonNull(Choosing):
    """The newest value that is not null."""

    name = "last_non_null_value"

    def agg(self, kept: Any, row: int) -> Any:
        """The row's own, if it has one."""
        return row if self.valid[row] else kept

    def reverse(self, kept: Any, row: int) -> Any:
        """What was kept, if there is something."""
        return self.start(row) if kept is None else kept

    def retract(self, kept: Any, row: int) -> Any:
        """Nothing is left, unless the row has no value."""
        return None if self.valid[row] else kept


class FirstValue(Choosing):
    """The oldest value, null or not."""

    name = "first_value"
    _begun = False

    def begin(self) -> None:
        """Nothing has come yet."""
        self._begun = False

    def agg(self, kept: Any, row: int) -> Any:
        """The first row's."""
        if self._begun:
            return kept
        self._begun = True
        return self.start(row)

    def reverse(self, kept: Any, row: int) -> Any:
        """The row's own: it is older; but what a retract began with stays, as in Paimon."""
        if self._begun:
            return self.start(row)
        self._begun = True
        return kept


class FirstNonNull(Choosing):
    """The oldest value that is not null."""

    name = "first_non_null_value"
    _begun = False

    def begin(self) -> None:
        """Nothing has come yet."""
        self._begun = False

    def agg(self, kept: Any, row: int) -> Any:
        """The value of the first row that has one; not that of a retract with which a key began."""
        if self._begun or not self.valid[row]:
            return kept
        self._begun = True
        return row

    def reverse(self, kept: Any, row: int) -> Any:
        """The row's own, null or not; but what a retract began with stays, as in Paimon."""
        if self._begun or kept is None:
            return self.start(row)
        self._begun = True
        return kept


class _Extreme(Choosing):
    """The smallest or largest value; NaN is above all numbers, -0 below 0 (Java's compare)."""

    sign = 1

    def __init__(self, column: pa.Array, options: FieldOptions, where: str) -> None:
        super().__init__(column, options, where)
        self._ranks = value_ranks(column, where) * self.sign

    def agg(self, kept: Any, row: int) -> Any:
        """The more extreme of both; of equal ones the one that was kept."""
        if not self.valid[row]:
            return kept
        if kept is None:
            return row
        return row if self._ranks[row] > self._ranks[kept] else kept


class Max(_Extreme):
    """The largest value."""

    name = "max"


class Min(_Extreme):
    """The smallest value."""

    name = "min"
    sign = -1


def value_ranks(column: pa.Array, where: str) -> npt.NDArray[np.int64]:
    """A number for each row that orders its value among the others."""
    kind = column.type
    if pa.types.is_nested(kind):
        raise RefusedError(f"{where}: values of {kind} have no order")
    if pa.types.is_floating(kind):
        width = 4 if kind.bit_width == 32 else 8
        values = numpy_of(pc.fill_null(column, 0.0))
        numbers = values.view(f"i{width}").astype(np.int64)
        top = np.int64(0x7FFFFFFF if width == 4 else 0x7FFFFFFFFFFFFFFF)
        ordered = np.where(numbers < 0, numbers ^ top, numbers)
        return np.where(np.isnan(values), top, ordered)
    if pa.types.is_boolean(kind):
        column = pc.cast(column, pa.int8())
    if pa.types.is_string(kind):
        column = pc.cast(column, pa.binary())
    ranks = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
    return numpy_of(ranks).astype(np.int64)


class Computing(Function):
    """A function that computes with values; two nulls are null, one null changes nothing."""

    def __init__(self, column: pa.Array, options: FieldOptions, where: str) -> None:
        super().__init__(column, options, where)
        if not self.takes(column.type):
            raise RefusedError(f"{where}: the function {self.name} takes no {column.type}")
        self.values = self.take_out(column)

    @staticmethod
    @abstractmethod
    def takes(kind: pa.DataType) -> bool:
        """Whether it computes with values of a type."""

    def take_out(self, column: pa.Array) -> Sequence[Any]:
        """The values to compute with; times are numbers, as Python does not know all of them."""
        values: list[Any] = column.view(_with_numbers(column.type)).to_pylist()
        return values

    def start(self, row: int) -> Any:
        """The row's value."""
        return self.values[row]

    def agg(self, kept: Any, row: int) -> Any:
        """Both together."""
        return self._both(kept, self.values[row])

    def reverse(self, kept: Any, row: int) -> Any:
        """Both together, the row's in front."""
        return self._both(self.values[row], kept)

    def _both(self, first: Any, second: Any) -> Any:
        if first is None or second is None:
            return second if first is None else first
        return self.together(first, second)

    @abstractmethod
    def together(self, kept: Any, value: Any) -> Any:
        """What two values become."""

    def result(self, kept: Sequence[Any]) -> pa.Array:
        """The values as a column."""
        kind = self.column.type
        return pa.array(kept, _with_numbers(kind)).view(kind)


def _with_numbers(kind: pa.DataType) -> pa.DataType:
    """A type of the same bits with numbers for times, at every depth."""

    def turn(flat: pa.DataType) -> pa.DataType:
        if not pa.types.is_temporal(flat):
            return flat
        return pa.int32() if flat.bit_width == 32 else pa.int64()

    return made_anew(kind, turn)


class _Numbers(Computing):
    """A function of numbers: integers wrap, a decimal that does not fit is null."""

    @staticmethod
    def takes(kind: pa.DataType) -> bool:
        """Numbers."""
        is_plain = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        return bool(is_plain or pa.types.is_decimal(kind))

    def take_out(self, column: pa.Array) -> Sequence[Any]:
        """The numbers; floats in their own precision."""
        if pa.types.is_float32(column.type):
            return [None if v is None else np.float32(v) for v in column.to_pylist()]
        return super().take_out(column)

    def fitting(self, value: Any) -> Any:
        """A result in the field's type."""
        kind = self.column.type
        if pa.types.is_integer(kind):
            half = 1 << (kind.bit_width - 1)
            return (value + half) % (2 * half) - half
        if pa.types.is_decimal(kind):
            return rounded(value, kind.precision, kind.scale)
        return value


#: Any quotient of two decimals that has an end, has it within so many digits.
_ENDING = decimal.Context(prec=200, traps=[decimal.Inexact])


#: Paimon adds decimals of so many digits as whole numbers of 64 bits, whether the sum fits or not.
_WORD_DIGITS = 18


class Sum(_Numbers):
    """The sum."""

    name = "sum"

    def fitting(self, value: Any) -> Any:
        """A result in the field's type; that of few digits may have more until all rows came."""
        kind = self.column.type
        if not pa.types.is_decimal(kind) or kind.precision > _WORD_DIGITS:
            return super().fitting(value)
        half, whole = 1 << 63, int(EXACT.scaleb(value, kind.scale))
        return decimal_of((whole + half) % (2 * half) - half, kind.scale)

    def result(self, kept: Sequence[Any]) -> pa.Array:
        """The sums; one that does not fit is refused where Paimon hands it out all the same."""
        kind = self.column.type
        if pa.types.is_decimal(kind):
            most = decimal.Decimal(1).scaleb(kind.precision - kind.scale)
            for value in kept:
                if value is not None and value.copy_abs() >= most:
                    raise RefusedError(
                        f"{self.where}: the sum {value} does not fit {kind}; Paimon hands it out "
                        "with more digits than its type has"
                    )
        return super().result(kept)

    def together(self, kept: Any, value: Any) -> Any:
        """Added."""
        if isinstance(kept, decimal.Decimal):
            return self.fitting(EXACT.add(kept, value))
        with np.errstate(over="ignore", invalid="ignore"):
            return self.fitting(kept + value)

    def retract(self, kept: Any, row: int) -> Any:
        """Taken away; of nothing, the negative."""
        value = self.values[row]
        if value is None:
            return kept
        if isinstance(value, decimal.Decimal):
            return self.fitting(EXACT.subtract(kept or decimal.Decimal(), value))
        if kept is None:
            return self.fitting(-value)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.fitting(kept - value)


class Product(_Numbers):
    """The product; what is taken back is divided by, as Java divides."""

    name = "product"

    def together(self, kept: Any, value: Any) -> Any:
        """Multiplied."""
        if isinstance(kept, decimal.Decimal):
            return self.fitting(EXACT.multiply(kept, value))
        with np.errstate(over="ignore", invalid="ignore"):
            return self.fitting(kept * value)

    def retract(self, kept: Any, row: int) -> Any:
        """Divided; of nothing, nothing. Integers lose what is behind the point."""
        value = self.values[row]
        if kept is None or value is None:
            return kept
        if pa.types.is_floating(self.column.type):
            with np.errstate(all="ignore"):
                return np.divide(kept, value, dtype=type(value))
        if value == 0:
            raise RefusedError(f"{self.where}: product takes back a 0, which Paimon fails at")
        if not isinstance(kept, decimal.Decimal):
            quotient = abs(kept) // abs(value)
            return self.fitting(quotient if (kept < 0) == (value < 0) else -quotient)
        try:
            return self.fitting(_ENDING.divide(kept, value))
        except decimal.Inexact as error:
            raise RefusedError(
                f"{self.where}: product takes back {value} of {kept}, which has no end of digits; "
                "Paimon fails at it"
            ) from error


class _Flags(Computing):
    @staticmethod
    def takes(kind: pa.DataType) -> bool:
        """Flags."""
        return bool(pa.types.is_boolean(kind))


class BoolAnd(_Flags):
    """Whether all are true."""

    name = "bool_and"

    def together(self, kept: Any, value: Any) -> Any:
        """Both."""
        return kept and value


class BoolOr(_Flags):
    """Whether one is true."""

    name = "bool_or"

    def together(self, kept: Any, value: Any) -> Any:
        """One of them."""
        return kept or value


class ListAgg(Computing):
    """Texts, one behind the other with a delimiter between them."""

    name = "listagg"

    def __init__(self, column: pa.Array, options: FieldOptions, where: str) -> None:
        super().__init__(column, options, where)
        self._delimiter = options.get("list-agg-delimiter", ",")
        self._distinct = options.get("distinct", "false").lower() == "true"
        if self._distinct and not self._delimiter:
            raise RefusedError(f"{where}: listagg of distinct texts has no delimiter")

    @staticmethod
    def takes(kind: pa.DataType) -> bool:
        """Texts."""
        return bool(pa.types.is_string(kind))

    def together(self, kept: Any, value: Any) -> Any:
        """Both, with a delimiter unless one is empty (as in Paimon 1.4; 0.9.0 puts one always).

        If they are to be distinct, just the parts of the newer text that are not there; what was
        kept first stays as it is.
        """
        if not kept or not value:
            return kept or value
        if not self._distinct:
            return f"{kept}{self._delimiter}{value}"
        there = set(kept.split(self._delimiter))
        parts = dict.fromkeys(value.split(self._delimiter))
        more = [part for part in parts if part and part not in there]
        return self._delimiter.join([kept, *more])
