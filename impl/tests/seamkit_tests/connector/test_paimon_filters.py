"""What of a filter goes down to a reader that may rule rows out; slices with logs."""

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import seamkit
from seambench.contracts.scan import ScanRequest
from seambench_impl.jni.paimon import ruling_out
from seambench_impl.scan import ConnectorReader, MergeReader, NativeConnectorReader
from seamkit_tests.samples.golden_tables import unpack_table

k, t, m, d, f, b = map(pc.field, "ktmdfb")
COLUMNS = pa.schema(
    {
        "k": pa.int8(),
        "t": pa.string(),
        "m": pa.decimal128(5, 2),
        "d": pa.date32(),
        "f": pa.float64(),
        "b": pa.bool_(),
    }
)


@pytest.mark.parametrize(
    ("condition", "test"),
    [
        (k == 5, ["equal", "k", "5"]),
        (k != 5, ["notEqual", "k", "5"]),
        (pc.scalar(5) < k, ["greaterThan", "k", "5"]),
        (pc.scalar(5) == k, ["equal", "k", "5"]),
        (t >= "é", ["greaterOrEqual", "t", "é"]),
        (m < Decimal("1.5"), ["lessThan", "m", "1.50"]),
        (d == dt.date(1969, 12, 31), ["equal", "d", "-1"]),
        (b == pa.scalar(True), ["equal", "b", "true"]),
        (k.isin([1, 2]), ["in", "k", "1", "2"]),
        (f.is_valid(), None),
        (k.is_null(), ["isNull", "k"]),
        ((k == 5) & (f > 1), ["equal", "k", "5"]),
        ((k == 5) & (t == "a"), ["and", ["equal", "k", "5"], ["equal", "t", "a"]]),
        ((k == 5) | (t == "a"), ["or", ["equal", "k", "5"], ["equal", "t", "a"]]),
        (pc.if_else(k.is_valid(), k == 5, pa.scalar(None, pa.bool_())), ["equal", "k", "5"]),
        # What may leave rows out that meet the condition stays with the scan.
        ((k == 5) | (pc.field("value") == 1), None),
        (~(k == 5), None),
        (pc.field("value") == 1, None),
        (f == 1.0, None),
        (k == 500, None),
        (k == 1.5, None),
        (m == Decimal("1.005"), None),
        (k.isin([1, None]), None),
        (k.isin([]), None),
        (k == t, None),
        (pc.utf8_lower(t) == "a", None),
        (k == pa.scalar(None, pa.int8()), None),
        (d == dt.datetime(2020, 1, 1), None),
        (None, None),
    ],
    ids=str,
)
def test_what_may_rule_rows_out(condition: pc.Expression | None, test: list[Any] | None) -> None:
    """Comparisons that Paimon makes as Arrow does, of columns that count."""
    found = ruling_out(condition, COLUMNS)
    assert (None if found is None else json.loads(found)) == test


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A golden table with three slices without logs, and one with some."""
    return unpack_table("mor-v9-mixed", tmp_path)


def test_only_slices_with_logs_go_through_the_seam(table: Path) -> None:
    """One slice has logs; `connector` takes all four a row at a time."""
    request = ScanRequest(str(table))
    mixed = NativeConnectorReader().open(request)
    assert dict(mixed.report().paths) == {"native": 3, "connector": 1}
    assert dict(ConnectorReader().open(request).report().paths) == {"connector": 4}
    document = json.loads(seamkit.scan_to_json(mixed))  # type: ignore[arg-type]
    assert sorted(u["path"] for u in document["units"]) == [
        "connector",
        "native",
        "native",
        "native",
    ]


def test_changes_go_through_the_seam(table: Path) -> None:
    """Those between instants are those of the merge path; as of all formats none is native."""
    request: Any = ScanRequest(str(table), query="cdc", begin="000")
    mixed = NativeConnectorReader().open(request)
    rows = mixed.to_reader().read_all().to_pylist()
    assert rows == MergeReader().open(request).to_reader().read_all().to_pylist()
    assert rows
    assert set(mixed.report().paths) == {"connector"}
