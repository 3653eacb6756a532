"""Iceberg's bucket transform: the hashes that its specification works out."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import RefusedError, UsageError
from seamkit.core.bucket_hash import iceberg_buckets


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


def test_icebergs_transform_refuses_what_it_does_not_define() -> None:
    """Booleans and floating-point numbers have no bucket."""
    with pytest.raises(RefusedError, match="does not take"):
        iceberg_buckets(pa.array([1.5]), 4)


def test_a_table_has_a_bucket() -> None:
    """Rows cannot be spread over none."""
    with pytest.raises(UsageError, match="at least one bucket"):
        iceberg_buckets(pa.array([1]), 0)
