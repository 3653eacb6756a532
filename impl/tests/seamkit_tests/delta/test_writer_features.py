"""Features that ask writers alone for something: a reader may read, and must not trust too much."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seamkit.tables.delta.table import DeltaTable
from seamkit_tests.samples import made_delta


def _table(
    folder: Path,
    features: Sequence[str],
    fields: Sequence[dict[str, Any]],
    files: Sequence[tuple[pa.Table, Mapping[str, Any]]],
) -> DeltaTable:
    """A table of one commit: its columns, and each file's rows and statistics."""
    told = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}
    actions = [{"protocol": told}, made_delta.metadata(*fields)]
    for number, (rows, stats) in enumerate(files):
        known = json.dumps({"numRecords": rows.num_rows, **stats})
        actions.append(made_delta.add_rows(folder / f"{number}.parquet", rows, stats=known))
    if "collations" in features:
        versions = json.dumps({"writeVersions": {"spark.UTF8_LCASE": ["75.1"]}})
        domain = {"domain": "collations", "configuration": versions, "removed": False}
        actions.append({"domainMetadata": domain})
    made_delta.commit(folder, 0, *actions)
    return DeltaTable(str(folder))


_IDENTITY = {
    "delta.identity.start": 10,
    "delta.identity.step": 5,
    "delta.identity.highWaterMark": 20,
    "delta.identity.allowExplicitInsert": True,
}


def test_identity_columns_are_what_files_hold(tmp_path: Path) -> None:
    """Start, step and high-water mark tell a writer how to go on; values inserted by hand stay."""
    rows = pa.table({"k": pa.array([10, 7, 20], pa.int64()), "v": ["a", "by hand", "c"]})
    fields = [made_delta.field("k", metadata=_IDENTITY), made_delta.field("v", "string")]
    table = _table(tmp_path, ["identityColumns"], fields, [(rows, {})])
    assert table.scan().to_table().equals(rows)


def _collated(folder: Path, stats: Sequence[Mapping[str, Any]]) -> DeltaTable:
    """Two files with a column that compares without regard to case: `B`, `a`, and `b`, `Z`."""
    fields = [made_delta.field("v", "string", {"__COLLATIONS": {"v": "spark.UTF8_LCASE"}})]
    files = [pa.table({"v": ["B", "a"]}), pa.table({"v": ["b", "Z"]})]
    features = ["collations", "domainMetadata"]
    return _table(folder, features, fields, list(zip(files, stats, strict=True)))


_OTHER_RULE = [
    {
        "statsWithCollation": {
            "spark.UTF8_LCASE.75.1": {"minValues": {"v": a}, "maxValues": {"v": b}}
        }
    }
    for a, b in (("a", "B"), ("b", "Z"))
]
_BINARY = [
    {"minValues": {"v": a}, "maxValues": {"v": b}, "nullCount": {"v": 0}}
    for a, b in (("B", "a"), ("Z", "b"))
]


@pytest.mark.parametrize("binary", [False, True])
def test_texts_with_a_collation_compare_by_their_bytes(binary: bool, tmp_path: Path) -> None:
    """Collations are a matter of writers: who does not support them compares UTF-8 by its bytes.

    Statistics that another rule of comparing made rule nothing out: by them no file has an `a` or a
    `b` between others, by bytes both have.
    """
    chosen = [{**a, **b} for a, b in zip(_BINARY, _OTHER_RULE, strict=True)]
    table = _collated(tmp_path, chosen if binary else _OTHER_RULE)
    rows = ["B", "a", "b", "Z"]
    assert table.scan().to_table()["v"].to_pylist() == rows
    for value in ("A", "B", "Z", "a", "b", "z"):
        for test in (pc.field("v") == value, pc.field("v") < value, pc.field("v") >= value):
            found = table.scan(filter=test).to_table()["v"].to_pylist()
            assert found == pa.table({"v": rows}).filter(test)["v"].to_pylist()
    pruned = "pruned" in table.scan(filter=pc.field("v") < "C").explain()
    assert pruned == binary
