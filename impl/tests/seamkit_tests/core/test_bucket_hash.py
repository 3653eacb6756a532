"""Iceberg's bucket transform: the hashes that its specification works out."""

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import RefusedError, UsageError
from seamkit.tables.iceberg.pruning import iceberg_buckets
from seamkit_tests import GOLDEN


@pytest.mark.parametrize(
    ("value", "data_type", "hashed"),
    [
        (34, pa.int32(), 2017239379),
        (34, pa.int64(), 2017239379),
        (Decimal("14.20"), pa.decimal128(9, 2), -500754589),
        (date(2017, 11, 16), pa.date32(), -653330422),
        (datetime(2017, 11, 16, 22, 31, 8), pa.timestamp("us"), -2047944441),
        ("iceberg", pa.string(), 1210000089),
        (b"\x00\x01\x02\x03", pa.binary(), -188683207),
        (datetime(2017, 11, 16, 22, 31, 8), pa.timestamp("us", "UTC"), -2047944441),
    ],
    ids=str,
)
def test_hashes_of_icebergs_specification(value: Any, data_type: Any, hashed: int) -> None:
    """The values that appendix B of Iceberg's table specification works out."""
    found = iceberg_buckets(pa.array([value, None], data_type), 1000)
    assert found.to_pylist() == [(hashed & 0x7FFFFFFF) % 1000, None]


def _column(kind: str, value: Any) -> pa.Array:
    kinds = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string()}
    if kind in kinds:
        return pa.array([value], kinds[kind])
    if kind == "date":
        return pa.array([date.fromisoformat(value)])
    if kind == "timestamp":
        moment = datetime.strptime(value, "%Y-%m-%d %H:%M:%S.%f")
        return pa.array([moment], pa.timestamp("us"))
    if kind == "binary":
        return pa.array([bytes.fromhex(value)])
    precision, scale = map(int, kind[8:-1].split(","))
    return pa.array([Decimal(value)], pa.decimal128(precision, scale))


@pytest.mark.parametrize(
    "case",
    json.loads((GOLDEN / "iceberg-buckets.json").read_text())["values"],
    ids=lambda case: f"{case['type']}-{case['value']}",
)
def test_buckets_of_icebergs_own_classes(case: dict[str, Any]) -> None:
    """Of as many buckets as there can be, which is nearly the hash itself, and of 16."""
    column = _column(case["type"], case["value"])
    for buckets in (2147483647, 16):
        assert iceberg_buckets(column, buckets).to_pylist() == [case[f"bucket_of_{buckets}"]]


def test_icebergs_transform_refuses_what_it_does_not_define() -> None:
    """Booleans and floating-point numbers have no bucket."""
    with pytest.raises(RefusedError, match="does not take"):
        iceberg_buckets(pa.array([1.5]), 4)


def test_a_table_has_a_bucket() -> None:
    """Rows cannot be spread over none."""
    with pytest.raises(UsageError, match="at least one bucket"):
        iceberg_buckets(pa.array([1]), 0)
