"""Golden Hive tables against what Hive's own classes read, within Spark."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seamkit.tables.hive.table import HiveTable
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples.hive_tables import hive_table_names, unpack_hive

#: Texts of the default partition: Hive shows the folder's name, most readers null.
_NULL = "str:__HIVE_DEFAULT_PARTITION__"


def _text(value: Any) -> str:
    """The witness's text of a value."""
    if isinstance(value, float):
        return "float:nan" if math.isnan(value) else f"float:{value.hex()}"
    if isinstance(value, dt.datetime):
        return f"timestamp:{value.isoformat()}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}={_text(v)}" for k, v in value.items()) + "}"
    return f"{type(value).__name__}:{value}"


def _in_order(value: Any) -> Any:
    """A value with the entries of its maps, which have none, in the order of their keys."""
    if isinstance(value, dict):
        return {name: _in_order(inner) for name, inner in value.items()}
    if isinstance(value, list):
        items = [_in_order(item) for item in value]
        is_map = bool(items) and isinstance(items[0], tuple)
        return sorted(items, key=lambda pair: _text(pair[0])) if is_map else items
    return (value[0], _in_order(value[1])) if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", hive_table_names())
def test_rows_are_as_hive_reads_them(name: str, tmp_path: Path) -> None:
    """Columns in order and rows as a multiset; no warning about a whole table."""
    witness_file = SUITES_GOLDEN / "hive" / name / "witness.json"
    table = HiveTable(str(unpack_hive(name, tmp_path)))
    scan = table.scan(threads=1, strict=True)
    found = scan.to_table()
    assert found.schema == table.schema
    if not witness_file.exists():
        return
    [witness] = json.loads(witness_file.read_text(encoding="utf-8"))
    assert found.column_names == witness["columns"]
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    assert Counter(tuple(_text(_in_order(value)) for value in row) for row in rows) == Counter(
        tuple("NoneType:None" if text == _NULL else text for text in row) for row in witness["rows"]
    )
    assert scan.report().warnings == []
