"""Variants in Paimon's tables: structs of metadata and value, as Parquet files hold them.

Files have the value in front (ParquetSchemaConverter), and from 1.4 on may have what lies in it in
columns of their own, by the rules of Parquet's specification.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests.samples.outlets import OUTLETS, Filter
from seamkit_tests.samples.paimon_tables import (
    edit_schema,
    rewrite_manifests,
    scan_by,
    unpack_paimon,
)
from seamkit_tests.samples.variants import MISSING, Leaf, encoded, metadata_of, pieces, pieces_type

_NAMES, _SHAPE = ["a", "b"], {"a": "int32"}
_METADATA = metadata_of(_NAMES)
_VALUES = (
    {"a": Leaf("int32", 7), "b": Leaf("string", "x")},
    Leaf("string", "no object"),
    MISSING,
    {"a": Leaf("int32", -1)},
)


def _of(key: int) -> Any:
    return _VALUES[key % len(_VALUES)]


def _whole(value: Any) -> Any:
    if value is MISSING:
        return None
    return {"metadata": _METADATA, "value": encoded(value, _NAMES)}


def _cut(value: Any) -> Any:
    if value is MISSING:
        return None
    return {"metadata": _METADATA, **pieces(value, _SHAPE, _NAMES)}


def _table(name: str, folder: Path, *, cut: bool, nested: bool = False) -> Path:
    """A table with a variant by each key, in a column `x`, or in a row there."""
    table = unpack_paimon(name, folder)
    metadata = pa.field("metadata", pa.binary(), nullable=False)
    parts = list(pieces_type(_SHAPE)) if cut else [pa.field("value", pa.binary(), nullable=False)]
    kind: pa.DataType = pa.struct([*parts, metadata])
    sizes = {}
    for file in table.glob("bucket-*/data-*.parquet"):
        rows = pq.ParquetFile(file).read()
        cells = [(_cut if cut else _whole)(_of(key)) for key in rows["k"].to_pylist()]
        column = pa.array(cells, kind)
        if nested:
            column = pa.StructArray.from_arrays([column], ["w"])
        pq.write_table(rows.append_column("x", column), file)
        sizes[file.name] = file.stat().st_size

    def resized(entry: dict[str, Any]) -> None:
        file = entry["_FILE"]
        file["_FILE_SIZE"] = sizes.get(file["_FILE_NAME"], file["_FILE_SIZE"])

    rewrite_manifests(table, resized)

    def declare(schema: dict[str, Any]) -> None:
        number = schema["highestFieldId"] + 1
        own = {"id": number + 1, "name": "w", "type": "VARIANT"}
        declared: Any = {"type": "ROW", "fields": [own]} if nested else "VARIANT"
        schema["fields"].append({"id": number, "name": "x", "type": declared})
        schema["highestFieldId"] = number + nested

    edit_schema(table, declare)
    return table


def _renamed(schema: dict[str, Any]) -> None:
    schema["id"], schema["fields"][-1]["name"] = 1, "y"


def _rows(table: Path, path: str, column: str = "x") -> dict[int, Any]:
    rows = scan_by(table, path, ["k", column]).to_table().to_pylist()
    return {row["k"]: row[column] for row in rows}


_FORMS = pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut"])
_PATHS = pytest.mark.parametrize("path", ["auto", "connector"])


@_FORMS
@_PATHS
@pytest.mark.parametrize(
    ("name", "keys"), [("core-append", (1, 2, 3)), ("core-life", (1, 2, 4)), ("pk-levels", None)]
)
def test_variants_are_structs_of_their_parts(
    name: str, keys: tuple[int, ...] | None, path: str, cut: bool, tmp_path: Path
) -> None:
    """Of rows as they stand, and of rows that are merged; also where the column is renamed."""
    table = _table(name, tmp_path, cut=cut)
    parts = pa.struct({"metadata": pa.binary(), "value": pa.binary()})
    assert PaimonTable(str(table)).schema.field("x").type == parts
    found = _rows(table, path)
    assert keys is None or sorted(found) == list(keys)
    expected = {key: _whole(_of(key)) for key in found}
    assert found == expected
    edit_schema(table, _renamed, 1, of=0)
    assert _rows(table, path, "y") == expected


@_FORMS
@_PATHS
def test_variants_lie_in_rows(path: str, cut: bool, tmp_path: Path) -> None:
    """At any depth."""
    table = _table("core-append", tmp_path, cut=cut, nested=True)
    assert _rows(table, path) == {key: {"w": _whole(_of(key))} for key in (1, 2, 3)}


@_FORMS
@pytest.mark.parametrize("outlet", OUTLETS)
def test_all_doors_have_them(outlet: str, cut: bool, tmp_path: Path) -> None:
    """Engines do not read such a file in our place."""
    table = PaimonTable(str(_table("core-append", tmp_path, cut=cut)))
    test = Filter("k = 1", pc.field("k") == 1)
    rows = OUTLETS[outlet](table, test, {"columns": ["k", "x"]})
    assert rows.to_pydict() == {"k": [1], "x": [_whole(_of(1))]}
