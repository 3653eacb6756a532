"""Plans of Iceberg tables, as JSON from elsewhere, that say too little."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seamkit
from seambase.errors import InputError
from seamkit.tables.iceberg.table import IcebergTable
from seamkit_tests.samples.iceberg_tables import unpack_iceberg


def _objects(plan: Any) -> Iterator[dict[str, Any]]:
    if isinstance(plan, dict):
        yield plan
    for one in plan.values() if isinstance(plan, dict) else plan if isinstance(plan, list) else ():
        yield from _objects(one)


def _without_parts(plan: Any) -> None:
    """No field has fields within it."""
    for one in _objects(plan):
        if one.get("$") == "iceberg.Field":
            one["children"] = {"$tuple": []}


def _without_fields(plan: Any) -> None:
    """Columns are named, and the way to them is empty."""
    for one in _objects(plan):
        if one.get("$") == "iceberg.PartitionFiles":
            one["columns"] = {name: [] for name in one["columns"]}


def _without_columns(plan: Any) -> None:
    """No column is named."""
    for one in _objects(plan):
        if one.get("$") == "iceberg.PartitionFiles":
            one["columns"].clear()


@pytest.mark.parametrize("table", ["defaults-nested", "equality"])
@pytest.mark.parametrize("damage", [_without_parts, _without_fields, _without_columns])
def test_a_plan_that_says_too_little_is_refused(tmp_path: Path, table: str, damage: Any) -> None:
    """By name, not by an error of the reader's own."""
    plan = json.loads(
        seamkit.scan_to_json(IcebergTable(str(unpack_iceberg(table, tmp_path))).scan())
    )
    whole = seamkit.scan_from_json(json.dumps(plan)).to_table()
    damage(plan)
    if damage is _without_parts and table == "equality":  # its fields have none
        assert seamkit.scan_from_json(json.dumps(plan)).to_table().equals(whole)
        return
    with pytest.raises(InputError, match=r"the plan does not tell|of type .* lacks"):
        seamkit.scan_from_json(json.dumps(plan)).to_table()
