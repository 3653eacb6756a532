"""Presto's and Velox's partition functions: a plain Python witness, and Presto's own classes."""

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xxhash

from seambase.errors import RefusedError, UsageError
from seambench.seams.serde.values import plain_values
from seamkit.exchange.partition import Function, Partitioner, PartitionRule, hash_rows, parts_of
from seamkit_tests.samples.lacking import OrSkipped
from seamkit_tests.samples.presto_partition import PrestoPartitioning
from seamkit_tests.samples.wide_hashes import presto_hash, velox_hash

_NUMBERS = [0, 1, -1, 42, None, -(2**31), 2**31 - 1]
_LISTS: list[Any] = [[1, 2], [], None, [None], [2, 1], [7], [-1]]


def _decimals(values: list[int | None], type_: pa.DataType) -> pa.Array:
    return pa.array([None if value is None else Decimal(value) for value in values], type_)


_COLUMNS: dict[str, pa.Array] = {
    "boolean": pa.array([True, False, None, True, False, True, None]),
    "tinyint": pa.array([0, 1, -1, None, 127, -128, 5], pa.int8()),
    "smallint": pa.array([0, 1, -1, None, 32767, -32768, 5], pa.int16()),
    "integer": pa.array(_NUMBERS, pa.int32()),
    "bigint": pa.array([*_NUMBERS[:5], 2**63 - 1, -(2**63)], pa.int64()),
    "real": pa.array([0.0, -0.0, 1.5, None, float("nan"), -2.25, float("-inf")], pa.float32()),
    "double": pa.array([0.0, -0.0, 1.5, None, float("nan"), -2.25, float("inf")]),
    "varchar": pa.array(["", "a", "1234567", "12345678", None, "é中😀" * 3, "x" * 100]),
    "varbinary": pa.array([b"", b"\0", b"\xff" * 9, None, b"abc", bytes(33), b"y" * 24]),
    "date": pa.array([0, 1, -1, 18262, None, 2932896, -719162], pa.int32()).cast(pa.date32()),
    "time": pa.array([0, 1, 1000, 43_200_000, None, 86_399_999, 5], pa.time32("ms")),
    "timestamp": pa.array([0, 1, -1, 10**12, None, -(10**12) - 1, 5], pa.timestamp("ms")),
    "timestamp microseconds": pa.array(
        [0, 1, -1, 10**15, None, -(10**15) - 1, 5], pa.timestamp("us")
    ),
    "decimal(9,0)": _decimals([0, 1, -1, None, 1234, -1234, 9], pa.decimal128(9, 0)),
    "decimal(18,0)": _decimals([0, 1, -1, None, 10**17, -(10**17), 9], pa.decimal128(18, 0)),
    "decimal(38,0)": _decimals([0, 1, -1, None, 10**17, -(10**17), 9], pa.decimal128(38, 0)),
    "array(integer)": pa.array(_LISTS, pa.list_(pa.int32())),
    "row(a integer,b varchar)": pa.array(
        [{"a": n, "b": None if n is None else str(n)} for n in _NUMBERS[:6]] + [None],
        pa.struct([("a", pa.int32()), ("b", pa.string())]),
    ),
}
_MAP = pa.array(
    [[(1, 10), (2, 20)], [(2, 20), (1, 10)], [], None, [(1, None)], [(-1, 1)], [(0, 0)]],
    pa.map_(pa.int32(), pa.int32()),
)
_WITNESSES = {"presto": presto_hash, "velox": velox_hash}


def _batch(columns: dict[str, pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        list(columns.values()), [f"c{at}" for at in range(len(columns))]
    )


def _plain(array: pa.Array) -> list[Any]:
    values = plain_values(array)
    if pa.types.is_decimal(array.type):
        return [None if v is None else int(v.scaleb(array.type.scale)) for v in values]
    return values


def _hashes(function: Function, batch: pa.RecordBatch) -> list[int]:
    rule = PartitionRule(batch.schema.names, 1, function=function)
    return [int(value) for value in hash_rows(batch, rule)]


@pytest.mark.parametrize("function", ["presto", "velox"])
@pytest.mark.parametrize("name", [*_COLUMNS, "map"])
def test_each_type_hashes_as_the_witness_says(function: Function, name: str) -> None:
    """Every type's own rule, nulls, -0, NaN, nesting and the borders of lengths among them."""
    column = _MAP if name == "map" else _COLUMNS[name]
    batch = _batch({name: column})
    want = [_WITNESSES[function]([value], [column.type]) for value in _plain(column)]
    assert _hashes(function, batch) == want


@pytest.mark.parametrize("function", ["presto", "velox"])
def test_keys_are_combined_from_left_to_right(function: Function) -> None:
    """The hash of several keys is that of the witness over whole rows."""
    batch = _batch(_COLUMNS)
    rows = zip(*(_plain(column) for column in batch.columns), strict=True)
    types = batch.schema.types
    assert _hashes(function, batch) == [_WITNESSES[function](row, types) for row in rows]


@pytest.mark.parametrize(("function", "drivers"), [("presto", 4), ("velox", 1)])
def test_rows_go_to_the_part_of_their_hash(function: Function, drivers: int) -> None:
    """Presto: the folded hash times n, shifted; the driver by XXH64. Velox: the rest by n."""
    batch = _batch({"a": pa.array(range(200), pa.int64())})
    partitioner = Partitioner(batch.schema, PartitionRule(["c0"], 5, drivers, function))
    chunks = [*partitioner.append(batch), *partitioner.flush()]
    for value, hash_ in enumerate(_hashes(function, batch)):
        if function == "velox":
            part = hash_ % 5
        else:
            turned = int(f"{hash_:064b}"[::-1], 2).to_bytes(8, "little")
            driver = xxhash.xxh64_intdigest(turned) % 4
            part = ((hash_ ^ hash_ >> 32) % 2**32 * 5 >> 32) * 4 + driver
        assert [p for p, chunk in chunks if value in chunk["c0"].to_pylist()] == [part]


@pytest.mark.parametrize(
    ("function", "drivers", "says"),
    [("velox", 2, "Velox deals rows on one level"), ("presto", 3, "to a power of two")],
)
def test_levels_that_an_engine_does_not_have_are_refused(
    function: Function, drivers: int, says: str
) -> None:
    """Velox has no second level, Presto's is a power of two."""
    with pytest.raises(RefusedError, match=says):
        Partitioner(pa.schema([("k", pa.int32())]), PartitionRule(["k"], 2, drivers, function))


def test_what_cannot_be_hashed_is_refused() -> None:
    """Presto has no nanoseconds; 64-bit hashes are not reduced by the rules for 32 bits."""
    batch = pa.record_batch({"t": pa.array([0], pa.timestamp("ns"))})
    with pytest.raises(RefusedError, match="column 't' has timestamps of Arrow format 'tsn:'"):
        _hashes("presto", batch)
    with pytest.raises(UsageError, match="no rule to reduce"):
        parts_of(np.zeros(1, np.uint32), 2, reduce="own")


@pytest.mark.jvm
def test_presto_itself_agrees() -> None:
    """Presto 0.296 in a JVM: raw hashes, parts between tasks, and parts within one."""
    with OrSkipped():
        presto = PrestoPartitioning(list(_COLUMNS))
        single = {name: PrestoPartitioning([name]) for name in _COLUMNS}
    batch = _batch(_COLUMNS)
    for name, one in single.items():
        column = _batch({name: _COLUMNS[name]})
        assert one.hashes(column) == _hashes("presto", column), name
    assert presto.hashes(batch) == _hashes("presto", batch)
    partitioner = Partitioner(batch.schema, PartitionRule(batch.schema.names, 7, 8, "presto"))
    chunks = [*partitioner.append(batch), *partitioner.flush()]
    ours = sorted(part for part, chunk in chunks for _ in range(chunk.num_rows))
    tasks, drivers = presto.parts(batch, 7), presto.local_parts(batch, 8)
    assert ours == sorted(t * 8 + d for t, d in zip(tasks, drivers, strict=True))
