"""Golden Hive tables against what Hive's own classes read, within Spark."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from seambench.conformance.plain import canonical, in_key_order
from seamkit.tables.hive.table import HiveTable
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples.hive_tables import hive_table_names, unpack_hive

#: Texts of the default partition: Hive shows the folder's name, most readers null.
_NULL = "str:__HIVE_DEFAULT_PARTITION__"


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
    assert Counter(
        tuple(canonical(in_key_order(value)) for value in row) for row in rows
    ) == Counter(
        tuple("NoneType:None" if text == _NULL else text for text in row) for row in witness["rows"]
    )
    assert scan.report().warnings == []
