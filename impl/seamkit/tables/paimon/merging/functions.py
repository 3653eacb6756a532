"""Aggregate functions of fields: what a value becomes when another row of its key comes.

Most functions choose: their value is that of some row, so they keep its number, and no value is
touched. The others compute with values. In both, None is null. Functions know the rows of one
batch; `Choosing` and `Computing` say where values come from and how they become a column.
"""

from __future__ import annotations

import decimal
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError

__all__ = ["FUNCTIONS", "FieldOptions", "Function", "make_function", "value_ranks"]

FieldOptions = Mapping[str, str]
"""Options of one field, without `fields.NAME.` in front."""


class Function(ABC):
    """The aggregate function of one field over the rows of a batch.

    Args:
        column: the field's values.
        options: of the field.
        where: table and field, for messages.
    """

    name: str

    def __init__(self, column: pa.Array, options: FieldOptions, where: str) -> None:
        self.column = column
        self.options = options
        self.where = where
        self.valid: npt.NDArray[np.bool_] = np.ones(len(column), np.bool_)
        if column.null_count:
            self.valid = column.is_valid().to_numpy(zero_copy_only=False)

    def begin(self) -> None:  # noqa: B027  (most functions have nothing to forget)
        """A new key begins."""

    @abstractmethod
    def agg(self, kept: Any, row: int) -> Any:
        """What is kept after a row was added to what was kept."""

    def reverse(self, kept: Any, row: int) -> Any:
        """What is kept after a row came that is older than what was kept."""
        return self.agg(kept, row)

    def retract(self, kept: Any, row: int) -> Any:
        """What is kept after a row was taken back.

        Raises:
            RefusedError: the function cannot take anything back.
        """
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
        """The row's own: it is older."""
        del kept
        return self.start(row)


class FirstNonNull(Choosing):
    """The oldest value that is not null."""

    name = "first_non_null_value"

    def agg(self, kept: Any, row: int) -> Any:
        """What was kept, if there is something."""
        return self.start(row) if kept is None else kept

    def reverse(self, kept: Any, row: int) -> Any:
        """The row's own, if it has one: it is older."""
        return row if self.valid[row] else kept


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
    """A number for each row that orders its value among the others.

    Raises:
        RefusedError: values of this type have no order.
    """
    kind = column.type
    if pa.types.is_nested(kind):
        raise RefusedError(f"{where}: values of {kind} have no order")
    if pa.types.is_floating(kind):
        width = 4 if kind.bit_width == 32 else 8
        numbers = np.frombuffer(
            np.ascontiguousarray(pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False)),
            f"i{width}",
        ).astype(np.int64)
        top = np.int64(0x7FFFFFFF if width == 4 else 0x7FFFFFFFFFFFFFFF)
        nan = np.isnan(pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False))
        ordered = np.where(numbers < 0, numbers ^ top, numbers)
        return np.where(nan, top, ordered)
    if pa.types.is_boolean(kind):
        column = pc.cast(column, pa.int8())
    if pa.types.is_string(kind):
        column = pc.cast(column, pa.binary())
    ranks = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
    found: npt.NDArray[np.int64] = ranks.to_numpy().astype(np.int64)
    return found


class Computing(Function):
    """A function that computes with values; two nulls are null, one null changes nothing."""

    def __init__(self, column: pa.Array, options: FieldOptions, where: str) -> None:
        super().__init__(column, options, where)
        self.values = self.take_out(column)

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

    def take_out(self, column: pa.Array) -> Sequence[Any]:
        """The numbers; floats in their own precision."""
        kind = column.type
        if pa.types.is_float32(kind):
            return [None if v is None else np.float32(v) for v in column.to_pylist()]
        numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not numeric and not pa.types.is_decimal(kind):
            raise RefusedError(f"{self.where}: the function {self.name} takes no {kind}")
        values: list[Any] = column.to_pylist()
        return values

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
    """The product; it takes nothing back, since what is divided again is not what it was."""

    name = "product"

    def together(self, kept: Any, value: Any) -> Any:
        """Multiplied."""
        if isinstance(kept, decimal.Decimal):
            return self.fitting(_DIGITS.multiply(kept, value))
        with np.errstate(over="ignore", invalid="ignore"):
            return self.fitting(kept * value)


class BoolAnd(Computing):
    """Whether all are true."""

    name = "bool_and"

    def together(self, kept: Any, value: Any) -> Any:
        """Both."""
        return kept and value


class BoolOr(Computing):
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


class Collect(Computing):
    """The items of arrays in one array, each once if they are to be distinct."""

    name = "collect"

    def __init__(self, column: pa.Array, options: FieldOptions, where: str) -> None:
        super().__init__(column, options, where)
        self._distinct = options.get("distinct", "false") == "true"

    def agg(self, kept: Any, row: int) -> Any:
        """Both; of one array, too, each item once if they are to be distinct."""
        found = super().agg(kept, row)
        return _each_once(found) if self._distinct and found is not None else found

    def together(self, kept: Any, value: Any) -> Any:
        """One behind the other."""
        return [*kept, *value]

    def retract(self, kept: Any, row: int) -> Any:
        """Each item that is taken back is removed once."""
        value = self.values[row]
        if kept is None or value is None:
            return kept
        left = list(kept)
        for item in value:
            if item in left:
                left.remove(item)
        return left


def _each_once(items: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if item not in found:
            found.append(item)
    return found


class MergeMap(Computing):
    """The entries of maps in one map; of a key the newest."""

    name = "merge_map"

    def together(self, kept: Any, value: Any) -> Any:
        """The entries of both."""
        return list((dict(kept) | dict(value)).items())

    def retract(self, kept: Any, row: int) -> Any:
        """Without the keys that are taken back."""
        value = self.values[row]
        if kept is None or value is None:
            return kept
        gone = dict(value)
        return [(key, item) for key, item in kept if key not in gone]


class NestedUpdate(Computing):
    """Rows in an array; with a key of their own, of each key the newest."""

    name = "nested_update"

    def __init__(self, column: pa.Array, options: FieldOptions, where: str) -> None:
        super().__init__(column, options, where)
        keys = options.get("nested-key", "")
        self._keys = [name.strip() for name in keys.split(",") if name.strip()]
        if "count-limit" in options:
            raise RefusedError(f"{where}: nested_update with a count-limit is not supported")

    def agg(self, kept: Any, row: int) -> Any:
        """Both; of one array, too, the newest of each key."""
        found = super().agg(kept, row)
        return self._newest(found) if self._keys and found is not None else found

    def together(self, kept: Any, value: Any) -> Any:
        """One behind the other; nulls are left out."""
        return [item for item in (*kept, *value) if item is not None]

    def _key(self, item: Any) -> Any:
        return repr([item[name] for name in self._keys]) if self._keys else repr(item)

    def _newest(self, items: Sequence[Any]) -> list[Any]:
        found: dict[Any, Any] = {}
        for item in items:
            if item is not None:
                found[self._key(item)] = item
        return list(found.values())

    def retract(self, kept: Any, row: int) -> Any:
        """Without the rows that are taken back."""
        value = self.values[row]
        if kept is None or value is None:
            return kept
        gone = {self._key(item) for item in value if item is not None}
        return [item for item in kept if item is not None and self._key(item) not in gone]


FUNCTIONS: Mapping[str, Callable[[pa.Array, FieldOptions, str], Function]] = {
    one.name: one
    for one in (
        LastValue,
        LastNonNull,
        FirstValue,
        FirstNonNull,
        Max,
        Min,
        Sum,
        Product,
        BoolAnd,
        BoolOr,
        ListAgg,
        Collect,
        MergeMap,
        NestedUpdate,
    )
} | {"first_not_null_value": FirstNonNull}


def make_function(name: str, column: pa.Array, options: FieldOptions, where: str) -> Function:
    """A function by its name.

    Raises:
        RefusedError: it is not supported, or not for this type.
    """
    if name not in FUNCTIONS:
        known = ", ".join(FUNCTIONS)
        raise RefusedError(
            f"{where}: the aggregate function {name!r} is not supported; there are {known}"
        )
    return FUNCTIONS[name](column, options, where)
