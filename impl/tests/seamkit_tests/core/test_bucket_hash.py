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
