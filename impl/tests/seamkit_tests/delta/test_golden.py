"""Golden Delta tables, version by version, against what Spark itself read."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from seambench.conformance.plain import canonical
from seamkit.tables.delta.table import DeltaTable
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples.delta_tables import delta_table_names, unpack_delta

#: Columns that are shown where they are named.
HIDDEN = ("_row_id", "_row_commit_version")


@pytest.mark.parametrize("name", delta_table_names())
def test_every_version_is_as_spark_read_it(name: str, tmp_path: Path) -> None:
    """Columns in order and rows as a multiset; no warning about a whole table."""
    folder = SUITES_GOLDEN / "delta" / name
    versions = tomllib.loads((folder / "origin.toml").read_text(encoding="utf-8"))["instants"]
    table = DeltaTable(str(unpack_delta(name, tmp_path)))
    for version, witness in zip(
        versions, json.loads((folder / "witness.json").read_text(encoding="utf-8")), strict=True
    ):
        names = witness["columns"]
        scan = table.scan(names, as_of=int(version), threads=1, strict=True)
        found = scan.to_table()
        shown = table.scan(as_of=int(version)).schema.names
        assert shown == [name for name in names if name not in HIDDEN]
        if "count" in witness:
            assert found.num_rows == witness["count"]
            continue
        rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
        assert Counter(tuple(map(canonical, row)) for row in rows) == Counter(
            tuple(row) for row in witness["rows"]
        )
        assert scan.report().warnings == []
    assert table.version == int(versions[-1])
