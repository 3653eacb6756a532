"""What tasks of Spark are handed, plans in JSON or numbers, and what their filters become."""

import datetime as dt
import json
import pickle
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from seamkit.engines.spark_source import _tasks, condition_of
from seamkit.ranges.plan_file import scan_from_json, scan_to_json
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import unpack_table

_CONTEXT: Any = SimpleNamespace(
    defaultParallelism=2, broadcast=lambda value: SimpleNamespace(value=value)
)


def _scan(folder: Path) -> Any:
    return HudiTable(str(unpack_table("mor-v9-partitioned", folder))).scan()


def _keys(batches: Any) -> list[Any]:
    return sorted(row["k"] for row in pa.Table.from_batches(batches).to_pylist())


def _read(scan: Any, numbers: Any) -> list[pa.RecordBatch]:
    return [batch for number in numbers for batch in scan.part(number, ["k"], None).to_reader()]


def test_a_task_is_handed_the_documented_plan_of_its_group(tmp_path: Path) -> None:
    """What docs/plans.md describes, with the units of one task and no others."""
    scan = _scan(tmp_path)
    tasks, open_task = _tasks(scan, _CONTEXT)
    units = [[unit["name"] for unit in json.loads(task)["units"]] for task in tasks]
    assert len(tasks) == 2
    assert {json.loads(task)["format"] for task in tasks} == {"seambench.plan"}
    assert tasks == [scan_to_json(scan, units=group) for group in scan.groups(2)]
    assert sorted(name for names in units for name in names) == sorted(
        unit.name for unit in scan.plan.units
    )
    # What the task does, and any other process that is given the text.
    reads = pickle.loads(pickle.dumps(scan.plans([[0]])[1]))  # noqa: S301 - our own bytes
    assert reads(tasks[0]).count_rows() == scan_from_json(tasks[0]).count_rows()
    batches = [batch for task in tasks for batch in _read(*open_task(task))]
    assert _keys(batches) == _keys(scan.to_table().select(["k"]).to_batches())


def test_a_scan_without_a_plan_in_json_is_broadcast(tmp_path: Path) -> None:
    """A limit holds for all parts together, so a task is handed the number of the only one."""
    scan = _scan(tmp_path).limit(2)
    tasks, open_task = _tasks(scan, _CONTEXT)
    assert tasks == ["[0]"]
    assert sum(batch.num_rows for batch in _read(*open_task(tasks[0]))) == 2


TABLE = pa.table(
    {
        "i": pa.array([1, 2, 3, None], pa.int32()),
        "s": pa.array(["a", "b\u00e9", None, "d"]),
        "d": pa.array([Decimal("1.50"), Decimal("2.00"), None, Decimal("-1.00")]),
        "day": pa.array([dt.date(2020, 1, 1), None, dt.date(1969, 1, 1), dt.date(2021, 5, 5)]),
        "f": pa.array([1.0, float("nan"), None, 2.0]),
        "s.i": pa.array([5, 6, 7, 8]),
        "a`b": pa.array([5, 6, 7, 8]),
    }
)


@pytest.mark.parametrize(
    ("filters", "rows"),
    [
        ([["EqualTo", "i", "2"]], [1]),
        ([["In", "i", "1", "3"]], [0, 2]),
        ([["GreaterThan", "i", "1"], ["IsNotNull", "s"]], [1]),
        ([["Or", ["LessThan", "i", "2"], ["EqualTo", "s", "d"]]], [0, 3]),
        ([["And", ["LessThanOrEqual", "i", "2"], None]], [0, 1]),
        ([["EqualTo", "s", "b\u00e9"]], [1]),
        ([["GreaterThanOrEqual", "d", "1.5"]], [0, 1]),
        ([["LessThan", "day", "1970-01-01"]], [2]),
        ([["EqualTo", "`s.i`", "6"]], [1]),
        ([["EqualTo", "`a``b`", "7"]], [2]),
    ],
)
def test_what_is_taken_over_keeps_the_rows_that_pass(filters: list[Any], rows: list[int]) -> None:
    """The rows are those that SQL's meaning of the filters lets through."""
    condition = condition_of(json.dumps(filters), TABLE.schema)
    assert condition is not None
    shown = TABLE.drop_columns("f")  # NaN equals nothing
    assert TABLE.filter(condition).drop_columns("f").to_pylist() == shown.take(rows).to_pylist()


@pytest.mark.parametrize(
    "filters",
    [
        [],
        [None],
        [["EqualTo", "f", "NaN"]],
        [["EqualTo", "i", None]],
        [["In", "i", "1", None]],
        [["Or", ["EqualTo", "i", "1"], None]],
        [["EqualTo", "elsewhere", "1"]],
        [["EqualTo", "day", "+12020-01-01"]],
        [["EqualTo", "d", "1.505"]],
        [["EqualTo", "s.i", "5"]],
        [["EqualTo", "`s`.i", "5"]],
        [["EqualTo", "`s`.`i`", "5"]],
    ],
)
def test_what_may_compare_otherwise_stays_with_spark(filters: list[Any]) -> None:
    """NaN, nulls, unknown columns, fields of structs, other kinds: nothing is left out below."""
    assert condition_of(json.dumps(filters), TABLE.schema) is None
