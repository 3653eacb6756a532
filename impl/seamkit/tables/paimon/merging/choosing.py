"""Aggregate functions of fields: what a value becomes when another row of its key comes.

Most functions choose: their value is that of some row, so they keep its number, and no value is
touched. The others compute with values (`computing`). In both, None is null. Functions know the
rows of one batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError

__all__ = [
    "Choosing",
    "FieldOptions",
    "FirstNonNull",
    "FirstValue",
    "Function",
    "LastNonNull",
    "LastValue",
    "Max",
    "Min",
    "value_ranks",
]

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
