"""What tasks of Spark are handed: plans in JSON, or numbers where a scan has no such plan."""

import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from seamkit.engines.spark_source import _tasks
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
