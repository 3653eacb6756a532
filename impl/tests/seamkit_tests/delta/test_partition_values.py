"""Texts of partition values, by type."""

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError
from seamkit.tables.delta.partition_values import partition_value
from seamkit.tables.delta.table import DeltaTable
from seamkit_tests.samples.delta_tables import edit_actions, unpack_delta

INSTANT = pa.timestamp("us", "UTC")
LOCAL = pa.timestamp("us")


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("-128", pa.int8(), -128),
        ("9223372036854775807", pa.int64(), 2**63 - 1),
        ("1.0E300", pa.float64(), 1e300),
        ("-Infinity", pa.float32(), float("-inf")),
        ("-inf", pa.float64(), float("-inf")),
        ("100.00000", pa.decimal128(10, 5), Decimal("100.00000")),
        ("1E2", pa.decimal128(10, 2), Decimal("100.00")),
        ("true", pa.bool_(), True),
        ("2024-02-29", pa.date32(), dt.date(2024, 2, 29)),
        ("TRUE", pa.bool_(), True),
        ("0", pa.bool_(), False),
        ("2024-2-9", pa.date32(), dt.date(2024, 2, 9)),
        ("2024-02-29", INSTANT, dt.datetime(2024, 2, 29, tzinfo=dt.UTC)),
        ("2024-2-9 1:02", INSTANT, dt.datetime(2024, 2, 9, 1, 2, tzinfo=dt.UTC)),
        ("2024-2-9T1:2:3.4", LOCAL, dt.datetime(2024, 2, 9, 1, 2, 3, 400000)),
        ("2024-02-29 01:02:03", LOCAL, dt.datetime(2024, 2, 29, 1, 2, 3)),
        ("2024-02-29 01:02:03.5", INSTANT, dt.datetime(2024, 2, 29, 1, 2, 3, 500000, dt.UTC)),
        ("2024-02-29T01:02:03.5Z", INSTANT, dt.datetime(2024, 2, 29, 1, 2, 3, 500000, dt.UTC)),
        ("2024-02-29T01:00:00+05:30", INSTANT, dt.datetime(2024, 2, 28, 19, 30, 0, 0, dt.UTC)),
        ("ü", pa.binary(), "ü".encode()),
        ("\\u0061b", pa.binary(), b"\\u0061b"),
        ("\\u0061", pa.string(), "\\u0061"),
        ("", pa.string(), ""),
        ("", pa.int32(), None),
        ("", pa.binary(), b""),
        (None, pa.string(), None),
        ("__HIVE_DEFAULT_PARTITION__", pa.string(), "__HIVE_DEFAULT_PARTITION__"),
    ],
)
def test_a_value(text: str | None, kind: pa.DataType, value: Any) -> None:
    """As the type says; an empty text is null but for texts and bytes."""
    assert partition_value(text, kind, "here").as_py() == value


@pytest.mark.parametrize(
    ("text", "kind", "number"),
    [
        # Days by DuckDB's `date_diff`; delta-rs writes such times, and Spark reads them.
        ("+148108-07-06", pa.date32(), 53375995),
        ("-0044-03-15", pa.date32(), -735525),
        ("0000-02-29", pa.date32(), -719469),
        ("+5000000-01-01", pa.date32(), 1825492972),
        ("+148108-07-06 14:00:27.387904", INSTANT, 2**62),
        ("+148108-07-06T14:00:27.387904Z", INSTANT, 2**62),
        ("-100000-12-31 00:00:01", LOCAL, -37243413 * 86_400_000_000 + 1_000_000),
    ],
)
def test_days_that_python_has_not(text: str, kind: pa.DataType, number: int) -> None:
    """Years are counted as those 400 years apart, with a sign beyond four digits."""
    assert partition_value(text, kind, "here").value == number


def test_the_last_millisecond_of_all_rules_nothing_out(tmp_path: Path) -> None:
    """A maximum of statistics is cut to milliseconds; a thousand microseconds more are too many."""
    deltalake = pytest.importorskip("deltalake")
    last = pa.array([2**63 - 1, 0], pa.int64()).cast(INSTANT)
    deltalake.write_deltalake(tmp_path, pa.table({"t": last, "k": [1, 2]}))
    most = {"t": "+294247-01-10T04:00:54.775Z"}

    def state(action: dict[str, Any]) -> None:
        if "add" in action:
            stats = json.loads(action["add"]["stats"])
            action["add"]["stats"] = json.dumps(stats | {"maxValues": most})

    edit_actions(tmp_path, 0, state)
    rows = DeltaTable(tmp_path).scan(filter="t >= TIMESTAMPTZ '1970-01-01 00:00:00+00'")
    assert sorted(rows.to_table()["k"].to_pylist()) == [1, 2]


@pytest.mark.parametrize("value", [b"a", b"\x00\xff", b"\\u0061"])
def test_escaped_bytes_are_refused(value: bytes, tmp_path: Path) -> None:
    """delta-rs escapes every byte, as the protocol says; Spark writes and reads characters."""
    deltalake = pytest.importorskip("deltalake")
    rows = pa.table({"p": pa.array([value], pa.binary()), "k": [1]})
    deltalake.write_deltalake(tmp_path, rows, partition_by=["p"])
    with pytest.raises(RefusedError, match=r"partition value '.*' is bytes, of which each is"):
        DeltaTable(tmp_path).to_arrow()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("128", pa.int8()),
        ("1.0", pa.int32()),
        (" 1", pa.int32()),
        ("1_000", pa.int32()),
        ("٣", pa.int32()),
        ("infinit", pa.float64()),
        ("0x1p3", pa.float64()),
        ("1.005", pa.decimal128(10, 2)),
        ("100", pa.decimal128(4, 2)),
        ("NaN", pa.decimal128(4, 2)),
        ("on", pa.bool_()),
        ("2024-02-30", pa.date32()),
        ("+9999999-01-01", pa.date32()),
        ("+294248-01-01 00:00:00", LOCAL),
        ("20240229", pa.date32()),
        ("2024-02-29 24:00:00", LOCAL),
        ("2024-02-29T01:02:03Z", LOCAL),
    ],
)
def test_no_value(text: str, kind: pa.DataType) -> None:
    """A text that is none of its type is an error of the table."""
    with pytest.raises(InputError, match="here: the partition value"):
        partition_value(text, kind, "here")


@pytest.mark.parametrize(
    "name",
    ["deltalake-partitioned", "polars-partitioned", "partitions-texts", "mapping-partitions"],
)
def test_a_table_without_its_partition_columns_is_refused(name: str, tmp_path: Path) -> None:
    """Files that have values of a column which the table is said not to be partitioned by."""
    table = unpack_delta(name, tmp_path)

    def forget(action: dict[str, Any]) -> None:
        if "metaData" in action:
            del action["metaData"]["partitionColumns"]

    for commit in (table / "_delta_log").glob("*.json"):
        edit_actions(table, int(commit.stem), forget)
    with pytest.raises(InputError, match="none of metaData's partitionColumns"):
        DeltaTable(str(table)).scan().to_table()
