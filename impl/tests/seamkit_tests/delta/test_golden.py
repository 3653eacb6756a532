"""Golden Delta tables, version by version, against what Spark itself read."""

from __future__ import annotations

import datetime as dt
import json
import math
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seamkit.tables.delta.table import DeltaTable
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples.delta_tables import delta_table_names, unpack_delta


def _text(value: Any) -> str:
    """The witness's text of a value."""
    if isinstance(value, float):
        return "float:nan" if math.isnan(value) else f"float:{value.hex()}"
    if isinstance(value, dt.datetime):
        return f"timestamp:{value.replace(tzinfo=None).isoformat()}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}={_text(v)}" for k, v in value.items()) + "}"
    return f"{type(value).__name__}:{value}"


@pytest.mark.parametrize("name", delta_table_names())
def test_every_version_is_as_spark_read_it(name: str, tmp_path: Path) -> None:
    """Columns in order and rows as a multiset; no warning about a whole table."""
    folder = SUITES_GOLDEN / "delta" / name
    versions = tomllib.loads((folder / "origin.toml").read_text(encoding="utf-8"))["instants"]
    table = DeltaTable(str(unpack_delta(name, tmp_path)))
    for version, witness in zip(
        versions, json.loads((folder / "witness.json").read_text(encoding="utf-8")), strict=True
    ):
        scan = table.scan(as_of=int(version), threads=1, strict=True)
        found = scan.to_table()
        assert found.column_names == witness["columns"]
        if "count" in witness:
            assert found.num_rows == witness["count"]
            continue
        rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
        assert Counter(tuple(map(_text, row)) for row in rows) == Counter(
            tuple(row) for row in witness["rows"]
        )
        assert scan.report().warnings == []
    assert table.version == int(versions[-1])
