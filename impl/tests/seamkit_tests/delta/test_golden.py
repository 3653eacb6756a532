"""Golden Delta tables, version by version, against what Spark itself read."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seambench.conformance.plain import canonical
from seamkit.tables.delta.table import DeltaTable
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples.delta_tables import delta_table_names, unpack_delta
from seamkit_tests.samples.variants import Leaf, decoded

#: Columns that are shown where they are named.
HIDDEN = ("_row_id", "_row_commit_version")


#: Tables of variants in pieces, which Spark puts together in other bytes.
SHREDDED = ("variant-shredded",)


@pytest.mark.parametrize("name", sorted({*delta_table_names()} - {*SHREDDED}))
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


@pytest.mark.parametrize("name", SHREDDED)
@pytest.mark.parametrize("batch_rows", [1, 3, None])
def test_variants_in_pieces_mean_what_spark_read(
    name: str, batch_rows: int | None, tmp_path: Path
) -> None:
    """Field by field; Spark gives whole numbers the smallest type, and writes metadata anew."""
    witness = json.loads((SUITES_GOLDEN / "delta" / name / "witness.json").read_text("utf-8"))[-1]
    table = DeltaTable(str(unpack_delta(name, tmp_path)))

    found = table.scan(batch_rows=batch_rows, threads=1).to_table().to_pylist()

    parts = re.compile(r"bytes:(b'.*?[^\\\\]'|b'')")
    expected = {}
    for number, text in witness["rows"]:
        told = [ast.literal_eval(one) for one in parts.findall(text)]
        expected[number] = _meaning(decoded(*told)) if told else text
    assert {canonical(row["k"]): _text(row["v"]) for row in found} == expected
    assert sum("a" in str(one) for one in expected.values()) > 2


def _text(variant: dict[str, bytes] | None) -> str:
    return canonical(None) if variant is None else _meaning(decoded(**variant))


def _meaning(value: Any) -> str:
    """What a variant is, whatever the width of its whole numbers."""
    if isinstance(value, dict):
        return str({key: _meaning(one) for key, one in value.items()})
    if isinstance(value, list):
        return str([_meaning(one) for one in value])
    is_whole = isinstance(value, Leaf) and value.kind.startswith("int")
    return str(value.value if is_whole else value)
