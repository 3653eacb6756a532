"""Statistics of data files in the log: what holds for all rows of a file.

Minima and maxima bound the values, and need not be values themselves: with deletion vectors they
may be wide, texts are cut (the maximum upwards), and timestamps are cut down to milliseconds. So
they serve to leave files out, and for nothing else. Floating-point numbers are passed over: writers
differ in what NaN does to them.
"""

from __future__ import annotations

import datetime as dt
import functools
import json
import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError
from seamkit.files.statistics import bounds
from seamkit.tables.delta.log.actions import AddFile
from seamkit.tables.delta.partition_values import partition_value
from seamkit.tables.delta.schema import Field

__all__ = ["counted", "guarantee"]

_MILLISECOND = pa.scalar(dt.timedelta(milliseconds=1), pa.duration("us"))


def counted(add: AddFile) -> tuple[int | None, set[str]]:
    """The rows of a file, if its statistics tell, and the columns of which not all are null."""
    try:
        told = json.loads(add.stats or "null")
        rows, nulls = told["numRecords"], told.get("nullCount") or {}
        return int(rows), {name for name, n in nulls.items() if isinstance(n, int) and n < rows}
    except (InputError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None, set()


def guarantee(
    add: AddFile, fields: Sequence[Field], names: Collection[str]
) -> pc.Expression | None:
    """What the statistics of a file say of some columns; None if nothing.

    Statistics that are broken say nothing: they are optional.

    Args:
        add: the file.
        fields: the columns, none of them nested.
        names: of those that are of interest.
    """
    if add.stats is None or not fields:
        return None
    try:
        told = json.loads(add.stats, parse_float=Decimal)
        chosen = [field for field in fields if field.name in names]
        parts = [part for field in chosen for part in _of_column(told, field)]
    except (InputError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return functools.reduce(operator.and_, parts) if parts else None


def _of_column(told: Mapping[str, Any], field: Field) -> Iterator[pc.Expression]:
    rows, nulls = told["numRecords"], (told.get("nullCount") or {}).get(field.physical)
    if not isinstance(nulls, int) or not isinstance(rows, int):
        return
    if nulls == rows and told.get("tightBounds") is not False:
        yield pc.field(field.name).is_null()
    low = _value((told.get("minValues") or {}).get(field.physical), field.type)
    high = _value((told.get("maxValues") or {}).get(field.physical), field.type)
    if high is not None and pa.types.is_timestamp(field.type):
        high = pc.add(high, _MILLISECOND)
    yield from bounds(field.name, low, high, nullable=nulls > 0)


def _value(value: Any, kind: pa.DataType) -> pa.Scalar | None:
    """A minimum or maximum; None where there is none that could be relied on."""
    if value is None:
        return None
    if pa.types.is_integer(kind) and isinstance(value, int):
        return pa.scalar(value, kind)
    if pa.types.is_decimal(kind) and isinstance(value, (int, Decimal)):
        return pc.cast(pa.scalar(Decimal(value)), kind)
    if pa.types.is_string(kind) and isinstance(value, str):
        return pa.scalar(value, kind)
    if (pa.types.is_date(kind) or pa.types.is_timestamp(kind)) and isinstance(value, str):
        return partition_value(value, kind, "statistics")
    return None
