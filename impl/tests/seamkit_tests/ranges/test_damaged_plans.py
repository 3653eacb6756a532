"""Plans that are damaged: each is refused in one sentence that names the place."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import seamkit
from seambase.errors import InputError
from seambench.conformance.load import load_cases
from seambench.seams.scan.check import unpacked
from seambench_impl.scan import AutoReader
from seamkit.ranges.plan_file import scan_from_json, scan_to_json
from seamkit.tables.iceberg.table import IcebergTable
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.iceberg_tables import unpack_iceberg


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The plan of a snapshot, as JSON says it."""
    table = unpack_table("mor-v9-mixed", tmp_path_factory.mktemp("plans"))
    document: dict[str, Any] = json.loads(scan_to_json(seamkit.open_table(table).scan()))
    return document


@pytest.fixture(scope="module")
def cases() -> dict[str, Any]:
    """The cases of the scan seam."""
    return {case.id: case for case in load_cases("scan")}


def _stated(document: Any, name: str) -> list[dict[str, Any]]:
    """All objects of a document that have a key."""
    found = [document] if isinstance(document, dict) and name in document else []
    values = document.values() if isinstance(document, dict) else document
    for one in values if isinstance(document, dict | list) else ():
        found += _stated(one, name)
    return found


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30, "\ud800", "a\udfffb"])
@pytest.mark.parametrize("name", ["batch_rows", "memory_limit_bytes", "sql", "name", "path"])
def test_what_no_engine_holds_is_refused_with_its_place(
    plan: dict[str, Any], name: str, value: Any
) -> None:
    """Half of a pair of surrogates, and whole numbers beyond 64 bits, wherever they stand."""
    broken = json.loads(json.dumps(plan))
    _stated(broken, name)[-1][name] = value
    with pytest.raises(InputError, match=rf"\b{name} (has \d+ bits|is '.+', no text)"):
        scan_from_json(json.dumps(broken))


def test_a_key_that_is_no_text_is_refused(plan: dict[str, Any]) -> None:
    """The message can be written in any encoding."""
    with pytest.raises(InputError, match=r"options has the key '\\udc80'"):
        scan_from_json(json.dumps({**plan, "options": {"\udc80": 1}}))


@pytest.mark.parametrize(
    ("table", "name", "values", "says"),
    [
        ("scan/delta/mapping/partitions/newest", "size_bytes", (-(2**63), 1 << 40), "bytes"),
        ("scan/delta/mapping/partitions/newest", "offset", (-1, 1 << 62), "file ends|says"),
        ("scan/delta/mapping/partitions/newest", "name", ("",), "has no field"),
        ("scan/paimon/vectors/append-vectors/step-3", "length", (-1, 1 << 40), "bytes"),
        ("scan/paimon/vectors/append-vectors/step-3", "offset", (-1, 1 << 62), "bytes|ends"),
        ("scan/iceberg/travel/changes/deleted", "records", (-1, 1 << 31, 1 << 62), "rows|pos"),
        ("scan/paimon/core/partial-remove/step-4", "kinds", ("absent",), "no column"),
        ("scan/paimon/core/partial-remove/step-4", "descending", (-1, 9), "descending"),
        ("scan/paimon/core/partial-remove/step-4", "keys", ([], ["absent"]), "keys|no column"),
        ("scan/hive/text/booleans", "length", (-1, 1 << 40), "HiveType"),
        ("scan/hive/text/booleans", "word", ("", "int"), "HiveType"),
        ("scan/hive/text/booleans", "quote", (-1, 256), "quote is"),
        ("scan/hive/text/booleans", "header_lines", (-1, 1 << 40), "header_lines is"),
        ("scan/hive/text/booleans", "encoding", ("\0", "rot13", "utf-16"), "encoding"),
        ("scan/hive/text/booleans", "separators", ({"$bytes": ""},), "0 separators"),
    ],
)
def test_plans_that_state_what_cannot_be_are_refused(
    cases: dict[str, Any], table: str, name: str, values: Sequence[Any], says: str
) -> None:
    """Sizes beyond the file, columns that are none, types that are stored otherwise."""
    with unpacked(cases[table]) as request:
        planned: Any = AutoReader().open(replace(request, where=None))
        text = scan_to_json(planned)
        for value in values:
            broken = json.loads(text)
            for stated in _stated(broken, name):
                stated[name] = value
            with pytest.raises(InputError, match=says):
                scan_from_json(json.dumps(broken)).to_table()


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
