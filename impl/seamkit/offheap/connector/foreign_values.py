"""Values as Arrow and pandas hold them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.extras import needs
from seamkit.offheap.columns.types import UNKNOWN, ColumnType
from seamkit.offheap.connector.parameters import wall_micros
from seamkit.offheap.connector.value import ColumnValue, PlainValue

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PER_MICRO = {"s": (1_000_000, 1), "ms": (1000, 1), "us": (1, 1), "ns": (1, 1000)}


class ArrowValue(PlainValue):
    """A `pyarrow.Scalar`, such as iterating over an array gives.

    Dates and timestamps need not be in the years that Python's have.
    """

    __slots__ = ()

    def is_null(self) -> bool:
        """Whether the scalar is null."""
        return not self.item.is_valid

    def get_byte(self) -> Any:
        """The scalar as Python's."""
        return self.item.as_py()

    get_boolean = get_short = get_int = get_long = get_double = get_float = get_byte

    def get_string_bytes(self) -> bytes:
        """The bytes of a string, which are UTF-8 already."""
        buffer = self.item.as_buffer()
        return PlainValue(b"" if buffer is None else buffer.to_pybytes()).get_string_bytes()

    def get_bytes(self) -> bytes:
        """The scalar as Python's."""
        return PlainValue(self.item.as_py()).get_bytes()

    def get_date(self) -> int:
        """Days of a date32."""
        if not isinstance(self.item, pa.Date32Scalar):
            raise TypeError("a date is given as date32")
        return int(self.item.value)

    def get_time(self) -> int:
        """Milliseconds of a time."""
        return PlainValue(self.item.as_py()).get_time()

    def get_datetime(self) -> int:
        """Microseconds of a timestamp of any unit; what is finer is cut towards the past."""
        if not isinstance(self.item, pa.TimestampScalar):
            raise TypeError("a timestamp is given as timestamp")
        factor, divisor = _PER_MICRO[self.item.type.unit]
        micros: int = self.item.value * factor // divisor
        if self.item.type.tz is None or self.zone is UTC:
            return micros
        return wall_micros(_EPOCH + timedelta(microseconds=micros), self.zone)

    def get_decimal(self, scale: int) -> int:
        """The scalar as Python's, rescaled."""
        return PlainValue(self.item.as_py()).get_decimal(scale)

    def get_variant(self) -> tuple[bytes, bytes]:
        """The fields of a struct of two binaries."""
        return PlainValue(self.item.as_py()).get_variant()

    def unpack_array(self) -> Iterable[ColumnValue | None]:
        """The elements of a list."""
        return [self.part(element, 0) for element in self.item.values]

    def unpack_map(self) -> tuple[Iterable[ColumnValue | None], Iterable[ColumnValue | None]]:
        """The entries of a map."""
        keys, values = self.item.values.field(0), self.item.values.field(1)
        return [self.part(key, 0) for key in keys], [self.part(value, 1) for value in values]

    def unpack_struct(self, field_indexes: Sequence[int]) -> Iterable[ColumnValue | None]:
        """The fields of a struct by name."""
        names = self.column.names
        return [self.part(self.item[names[index]], index) for index in field_indexes]


def _pandas() -> ModuleType:
    with needs("pandas", "a value out of pandas"):
        import pandas as pd
    return pd


class PandasValue(PlainValue):
    """An object out of a pandas column: Python's own, numpy's or pandas'.

    What pandas takes for missing is NULL: None, NaT, NA and NaN. A whole number may have become a
    float, for a column with missing values; one with a fraction is refused.
    """

    __slots__ = ()

    def __init__(self, item: Any = None, column: ColumnType = UNKNOWN, zone: tzinfo = UTC) -> None:
        if isinstance(item, np.datetime64):
            item = _pandas().Timestamp(item)
        elif isinstance(item, np.generic):
            item = item.item()
        super().__init__(item, column, zone)

    def is_null(self) -> bool:
        """Whether pandas takes the object for missing."""
        pd = _pandas()
        return pd.api.types.is_scalar(self.item) and bool(pd.isna(self.item))

    def get_byte(self) -> int:
        """A whole number, if need be out of a float."""
        item = self.item
        return int(item) if isinstance(item, float) and item.is_integer() else item

    get_short = get_int = get_long = get_byte

    def get_date(self) -> int:
        """A date, or a timestamp of midnight without a zone."""
        item = self.item
        if isinstance(item, _pandas().Timestamp) and item.tz is None and item == item.normalize():
            item = date(item.year, item.month, item.day)
        return PlainValue(item).get_date()
