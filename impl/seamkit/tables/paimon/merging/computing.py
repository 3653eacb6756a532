"""Functions that compute with values: numbers, flags and texts."""

from __future__ import annotations

import decimal
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import RefusedError
from seamkit.tables.paimon.merging.choosing import FieldOptions, Function

__all__ = ["BoolAnd", "BoolOr", "Computing", "ListAgg", "Product", "Sum"]


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
        """The values to compute with."""
        values: list[Any] = column.to_pylist()
        return values

    def start(self, row: int) -> Any:
        """The row's value."""
        return self.values[row]

    def agg(self, kept: Any, row: int) -> Any:
        """Both together."""
        value = self.values[row]
        if kept is None or value is None:
            return value if kept is None else kept
        return self.together(kept, value)

    def reverse(self, kept: Any, row: int) -> Any:
        """Both together, the row's in front."""
        value = self.values[row]
        if kept is None or value is None:
            return value if kept is None else kept
        return self.together(value, kept)

    @abstractmethod
    def together(self, kept: Any, value: Any) -> Any:
        """What two values become."""

    def result(self, kept: Sequence[Any]) -> pa.Array:
        """The values as a column."""
        return pa.array(kept, self.column.type)


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
            step = decimal.Decimal(1).scaleb(-kind.scale)
            try:
                rounded = value.quantize(step, decimal.ROUND_HALF_UP, _DIGITS)
            except decimal.InvalidOperation:
                return None
            return rounded if len(rounded.as_tuple().digits) <= kind.precision else None
        return value


_DIGITS = decimal.Context(prec=100)
#: Any quotient of two decimals that has an end, has it within so many digits.
_EXACT = decimal.Context(prec=200, traps=[decimal.Inexact])


class Sum(_Numbers):
    """The sum."""

    name = "sum"

    def together(self, kept: Any, value: Any) -> Any:
        """Added."""
        if isinstance(kept, decimal.Decimal):
            return self.fitting(_DIGITS.add(kept, value))
        with np.errstate(over="ignore", invalid="ignore"):
            return self.fitting(kept + value)

    def retract(self, kept: Any, row: int) -> Any:
        """Taken away; of nothing, the negative."""
        value = self.values[row]
        if value is None:
            return kept
        if kept is None:
            return self.fitting(-value)
        if isinstance(kept, decimal.Decimal):
            return self.fitting(_DIGITS.subtract(kept, value))
        with np.errstate(over="ignore", invalid="ignore"):
            return self.fitting(kept - value)


class Product(_Numbers):
    """The product; what is taken back is divided by, as Java divides."""

    name = "product"

    def together(self, kept: Any, value: Any) -> Any:
        """Multiplied."""
        if isinstance(kept, decimal.Decimal):
            return self.fitting(_DIGITS.multiply(kept, value))
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
            return self.fitting(_EXACT.divide(kept, value))
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
