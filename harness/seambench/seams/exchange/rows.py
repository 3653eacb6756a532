"""Rows of the exchange seam's cases: generated values, encodings of columns, and their order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import UsageError
from seambase.types import SerdeType
from seambase.values import SortKey

Encoding = Literal[
    "plain", "dictionary", "run", "view", "large", "sliced", "sliced-dictionary", "sliced-run"
]


def sorted_rows(batch: pa.RecordBatch, rows: Sequence[int], keys: Sequence[SortKey]) -> list[int]:
    """Row numbers ordered by keys; equal ones stay as they were.

    NaN is the greatest number; texts compare by their code points, so as their bytes in UTF-8 do.
    """
    order = list(rows)
    for key in reversed(keys):
        column = batch[key.column]
        values = column.to_pylist()
        if pa.types.is_floating(column.type):
            values = [value if value is None else _sortable(value) for value in values]
        there = [row for row in order if values[row] is not None]
        nulls = [row for row in order if values[row] is None]
        there.sort(key=values.__getitem__, reverse=key.descending)
        order = nulls + there if key.nulls_first else there + nulls
    return order


def _sortable(value: float) -> tuple[bool, float]:
    """A key that compares."""
    return value != value, 0.0 if value != value else value


def encoded(batch: pa.RecordBatch, encoding: Encoding) -> pa.RecordBatch:
    """The rows with every column in an encoding, as far as its type has one.

    What is sliced is a part of a longer batch, and begins with a bit of its second byte of nulls;
    its runs are as long as rows are alike.
    """
    if encoding.startswith("sliced"):
        around = pa.concat_batches([*[batch.slice(0, 1)] * 9, batch, batch.slice(0, 1)])
        columns = [_sliceable(column, encoding) for column in around.columns[:-1]]
        whole = pa.RecordBatch.from_arrays([*columns, around.columns[-1]], batch.schema.names)
        return whole.slice(9 * min(batch.num_rows, 1), batch.num_rows)
    arrays = [_column(column, encoding) for column in batch.columns[:-1]]
    return pa.RecordBatch.from_arrays([*arrays, batch.columns[-1]], batch.schema.names)


def _sliceable(array: pa.Array, encoding: Encoding) -> pa.Array:
    if encoding == "sliced-run" and not pa.types.is_nested(array.type):
        return pc.run_end_encode(array)
    return _column(array, "dictionary") if encoding == "sliced-dictionary" else array


def _column(array: pa.Array, encoding: Encoding) -> pa.Array:
    kinds = pa.types
    if encoding == "dictionary" and not kinds.is_nested(array.type):
        return array.dictionary_encode()
    if encoding == "run" and not kinds.is_nested(array.type):
        ends = pa.array(range(1, len(array) + 1), pa.int32())
        return pa.RunEndEncodedArray.from_arrays(ends, array)
    if encoding in ("view", "large"):
        for test, view, large in (
            (kinds.is_string, pa.string_view(), pa.large_string()),
            (kinds.is_binary, pa.binary_view(), pa.large_binary()),
        ):
            if test(array.type):
                return array.cast(view if encoding == "view" else large)
    return array


def generated(type_: SerdeType, count: int, distinct: int | None, seed: str) -> list[Any]:
    """Values of any type, about every eighth of them null on each level."""
    dice = random.Random(f"{seed}:{type_.text}")
    values = [_value(type_, dice) for _ in range(count if distinct is None else distinct)]
    return values if distinct is None else [dice.choice(values) for _ in range(count)]


def _value(type_: SerdeType, dice: random.Random) -> Any:
    if dice.random() < 0.125:
        return None
    kind = type_.kind
    if kind == "struct":
        return tuple(_value(child, dice) for child in type_.children)
    if kind == "array":
        return [_value(type_.children[0], dice) for _ in range(dice.randrange(4))]
    if kind == "map":
        size = dice.randrange(4)
        keys = [dice.randrange(100) * size + at for at in range(size)]
        return [
            (_of_number(type_.children[0], key), _value(type_.children[1], dice)) for key in keys
        ]
    return _of_number(type_, dice.getrandbits(62) - 2**61)


_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def _of_number(type_: SerdeType, number: int) -> Any:
    """A value of a flat type, by a number."""
    kind = type_.kind
    if kind in _BITS:
        return number % (1 << (_BITS[kind] - 1)) * (-1 if number < 0 else 1)
    if kind == "boolean":
        return number % 2 == 0
    if kind in ("string", "binary"):
        text = f"é{number % 10 ** (number % 18)}" * (number % 3)
        return text if kind == "string" else text.encode()
    if kind in ("float", "double"):
        return float(number % 2**20) / 8
    if kind == "decimal":
        return Decimal(number % 10**type_.precision).scaleb(-type_.scale)
    if kind == "date":
        return number % 40_000 - 10_000
    if kind in ("timestamp", "timestamp_ntz"):
        return number % 4 * 10**15 - 10**15 + number % 10**9
    raise UsageError(f"no values are generated for type {type_.text}")
