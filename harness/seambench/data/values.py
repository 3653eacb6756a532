"""New values for updated rows: for a handful of columns of each type, types unchanged.

Every value follows from the row's 64 drawn bits (and, for shifts, its old value). Texts are mostly
as long as TPC-H's own; some are long, some empty, some hold characters of two to four UTF-8 bytes,
so that readers meet them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError

_Draws = npt.NDArray[np.uint64]
_Change = Callable[[pa.Array, _Draws, int], pa.Array]

_MODES = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]
_PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
_SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
_CONTAINERS = ["SM CASE", "SM BOX", "MED BAG", "MED BOX", "LG CASE", "LG BOX", "JUMBO PKG"]
# Words that the queries' LIKE patterns look for are among them.
_WORDS = [
    *("special", "requests", "pending", "deposits", "Customer", "Complaints", "express", "final"),
    *("ironic", "theodolites", "silent", "foxes", "pinto", "beans", "quickly", "above", "ideas"),
]
_FOREIGN = ["größer", "naïve", "Ωμέγα", "крыло", "東京", "価格", "ज़मीन", "🚚📦", "Ł"]
_POOL_SIZE = 2048


def _bits(draws: _Draws, shift: int, below: int) -> npt.NDArray[np.int64]:
    """A number in `0 .. below - 1` from 20 of the drawn bits."""
    part = (draws >> np.uint64(shift)) & np.uint64(0xFFFFF)
    return (part % np.uint64(below)).astype(np.int64)


def _decimals(unscaled: npt.NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    words = np.empty((unscaled.size, 2), dtype=np.int64)
    words[:, 0] = unscaled
    words[:, 1] = unscaled >> 63
    return pa.Array.from_buffers(kind, unscaled.size, [None, pa.py_buffer(words)])


def _unscaled(column: pa.Array) -> npt.NDArray[np.int64]:
    """The low words of decimals of at most 18 digits, which are their whole value."""
    words = np.frombuffer(column.buffers()[1], dtype=np.int64)
    first = 2 * column.offset
    return words[first : first + 2 * len(column) : 2]


def _cents(first: int, last: int, step: int = 1) -> _Change:
    """A decimal between two numbers of hundredths."""

    def change(column: pa.Array, draws: _Draws, _seed: int) -> pa.Array:
        count = (last - first) // step + 1
        return _decimals(first + step * _bits(draws, 0, count), column.type)

    return change


def _shift_cents(most: int) -> _Change:
    """The old decimal plus up to so many hundredths."""

    def change(column: pa.Array, draws: _Draws, _seed: int) -> pa.Array:
        return _decimals(_unscaled(column) + _bits(draws, 7, most + 1), column.type)

    return change


def _shift_days(most: int) -> _Change:
    """The old date, up to so many days earlier or later."""

    def change(column: pa.Array, draws: _Draws, _seed: int) -> pa.Array:
        days = column.view(pa.int32()).to_numpy() + _bits(draws, 13, 2 * most + 1) - most
        return pa.array(days.astype(np.int32)).view(pa.date32())

    return change


def _integers(first: int, last: int) -> _Change:
    def change(column: pa.Array, draws: _Draws, _seed: int) -> pa.Array:
        return pa.array(first + _bits(draws, 19, last - first + 1)).cast(column.type)

    return change


def _choice(words: list[str]) -> _Change:
    def change(_column: pa.Array, draws: _Draws, _seed: int) -> pa.Array:
        return pa.array(words, pa.string()).take(pa.array(_bits(draws, 23, len(words))))

    return change


@lru_cache(maxsize=4)
def _text_pool(seed: int) -> pa.Array:
    """Texts to draw from; the first is empty."""
    rng = random.Random(seed)
    pool = [""]
    for number in range(1, _POOL_SIZE):
        kind = number % 10
        length = rng.randint(30, 60) if kind == 0 else rng.randint(2, 6)
        words = rng.choices(_WORDS, k=length)
        if kind in (1, 2):
            words[rng.randrange(length)] = rng.choice(_FOREIGN)
        pool.append(" ".join(words))
    return pa.array(pool, pa.string())


def _text(_column: pa.Array, draws: _Draws, seed: int) -> pa.Array:
    number = pa.array(_bits(draws, 29, _POOL_SIZE))
    # Without a part of its own, a text could come from a neighbour's row unnoticed.
    own = pc.cast(pa.array((draws & np.uint64(0xFFFFFF)).astype(np.int64)), pa.string())
    joined = pc.binary_join_element_wise(_text_pool(seed).take(number), own, " #")
    return pc.if_else(pc.equal(number, 0), pa.scalar("", pa.string()), joined)


CHANGED_COLUMNS: dict[str, dict[str, _Change]] = {
    "lineitem": {
        "l_quantity": _cents(100, 5000, 100),
        "l_extendedprice": _shift_cents(500_000),
        "l_discount": _cents(0, 10),
        "l_shipdate": _shift_days(45),
        "l_shipmode": _choice(_MODES),
        "l_comment": _text,
    },
    "orders": {
        "o_orderstatus": _choice(["F", "O", "P"]),
        "o_totalprice": _shift_cents(900_000),
        "o_orderdate": _shift_days(30),
        "o_orderpriority": _choice(_PRIORITIES),
        "o_shippriority": _integers(0, 3),
        "o_comment": _text,
    },
    "customer": {
        "c_acctbal": _shift_cents(100_000),
        "c_mktsegment": _choice(_SEGMENTS),
        "c_comment": _text,
    },
    "part": {
        "p_size": _integers(1, 50),
        "p_container": _choice(_CONTAINERS),
        "p_retailprice": _shift_cents(10_000),
        "p_comment": _text,
    },
    "partsupp": {
        "ps_availqty": _integers(1, 9999),
        "ps_supplycost": _cents(100, 100_000),
        "ps_comment": _text,
    },
    "supplier": {"s_acctbal": _shift_cents(100_000), "s_comment": _text},
    "nation": {"n_comment": _text},
    "region": {"r_comment": _text},
}


def new_values(
    table: str, rows: pa.RecordBatch, draws: npt.NDArray[np.uint64], seed: int
) -> pa.RecordBatch:
    """Replace the values of a TPC-H table's changing columns; same rows, same schema.

    `draws` are 64 bits for each row, and the seed chooses the texts.
    """
    changed = CHANGED_COLUMNS[table]
    columns = []
    for field, column in zip(rows.schema, rows.columns, strict=True):
        change = changed.get(field.name)
        if change is not None and column.null_count:
            raise InputError(f"table {table}: column {field.name} holds a null")
        columns.append(column if change is None else change(column, draws, seed))
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)
