"""Data evolution: later files have some columns of rows that are there, by the ids of these.

The tables are laid out here as Paimon 1.4 writes them: what a file has is told by its manifest.
"""

import io
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, RefusedError
from seamkit.avro.data_file import read_container
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests.samples.outlets import OUTLETS, Filter
from seamkit_tests.samples.paimon_tables import (
    edit_schema,
    files_as,
    rewrite_manifests,
    rewritten,
    rows_of_table,
    scan_by,
    unpack_paimon,
)

_KINDS = {"k": pa.int32(), "a": pa.string(), "b": pa.int64(), "a2": pa.string(), "c": pa.int64()}
_WORDS = {pa.int32(): "INT", pa.string(): "STRING", pa.int64(): "BIGINT"}


@dataclass(frozen=True)
class _File:
    """A file: its columns in their order, the id of its first row, and its sequence number."""

    columns: Mapping[str, Sequence[Any]]
    first: int | None = 0
    age: int = 1
    schema: int = 0

    @property
    def rows(self) -> pa.Table:
        return pa.table({name: pa.array(v, _KINDS.get(name)) for name, v in self.columns.items()})


_WHOLE = _File({"k": [1, 2, 3], "a": ["x", "y", None], "b": [10, 20, 30]})
_FURTHER = _File({"k": [4, 5], "a": ["u", "v"], "b": [40, None]}, first=3, age=2)
_LATER_A = _File({"a": ["X", None, "Z"]}, age=3)
#: Columns in another order than the schema's, with ids of rows besides, as compactions write them.
_LATER_BK = _File({"b": [11, None, 31], "k": [101, 102, 103]}, age=4)
_FILES = (_LATER_BK, _WHOLE, _FURTHER, _LATER_A)
_ROWS: list[dict[str, Any]] = [
    {"k": 4, "a": "u", "b": 40},
    {"k": 5, "a": "v", "b": None},
    {"k": 101, "a": "X", "b": 11},
    {"k": 102, "a": None, "b": None},
    {"k": 103, "a": "Z", "b": 31},
]


def _packed(values: Sequence[Any]) -> bytes:
    """A row of Paimon's, texts left out, of numbers from 0 on."""
    nulls = sum(1 << (8 + at) for at, value in enumerate(values) if not isinstance(value, int))
    slots = (struct.pack("<q", value if isinstance(value, int) else 0) for value in values)
    return struct.pack(">i", len(values)) + nulls.to_bytes(8, "little") + b"".join(slots)


def _stated(one: _File) -> dict[str, Any]:
    found = [[v for v in own if v is not None] for own in one.columns.values()]
    return {
        "_MIN_VALUES": _packed([min(own, default=None) for own in found]),
        "_MAX_VALUES": _packed([max(own, default=None) for own in found]),
        "_NULL_COUNTS": [own.count(None) for own in map(list, one.columns.values())],
    }


def _table(
    folder: Path, *files: _File, fields: Sequence[Mapping[str, int]] = ({"k": 0, "a": 1, "b": 2},)
) -> Path:
    """A table of some files; its schemas name columns with their ids."""
    table = unpack_paimon("core-append", folder)
    for number, own in enumerate(fields):
        schema = json.loads((table / "schema/schema-0").read_text("utf-8"))
        schema["options"] |= {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
        schema["fields"] = [
            {"id": id_, "name": name, "type": _WORDS[_KINDS[name]]} for name, id_ in own.items()
        ]
        schema |= {"id": number, "highestFieldId": max(own.values())}
        (table / f"schema/schema-{number}").write_text(json.dumps(schema), "utf-8")
    [manifest] = set(table.glob("manifest/manifest-*")) - set(table.glob("manifest/*-list-*"))
    content = manifest.read_bytes()
    [entry] = read_container(content, str(manifest))
    (table / "bucket-0" / entry["_FILE"]["_FILE_NAME"]).unlink()
    entries = []
    for number, one in enumerate(files):
        path = table / f"bucket-0/data-{number}.parquet"
        pq.write_table(one.rows, path, row_group_size=number % 3 + 1)
        whole = list(one.columns) == list(fields[one.schema])
        own_meta = {
            "_FILE_NAME": path.name,
            "_FILE_SIZE": path.stat().st_size,
            "_ROW_COUNT": one.rows.num_rows,
            "_MIN_SEQUENCE_NUMBER": one.age,
            "_MAX_SEQUENCE_NUMBER": one.age,
            "_SCHEMA_ID": one.schema,
            "_FIRST_ROW_ID": one.first,
            "_WRITE_COLS": None if whole else list(one.columns),
            "_VALUE_STATS": _stated(one),
            "_VALUE_STATS_COLS": None,
        }
        assert own_meta.keys() <= entry["_FILE"].keys()
        entries.append(entry | {"_FILE": entry["_FILE"] | own_meta})
    out = io.BytesIO()
    written_by: Any = fastavro.reader(io.BytesIO(content)).writer_schema
    fastavro.writer(out, written_by, entries[::-1])  # names tell no order
    manifest.write_bytes(out.getvalue())

    def recounted(listed: dict[str, Any]) -> None:
        listed["_NUM_ADDED_FILES"] = len(files)

    for manifest_list in table.glob("manifest/manifest-list-*"):
        rewritten(manifest_list, recounted)
    rewrite_manifests(table, lambda _: None)
    path = table / "snapshot/snapshot-1"
    snapshot = json.loads(path.read_text("utf-8"))
    snapshot["totalRecordCount"] = sum(one.rows.num_rows for one in files)
    path.write_text(json.dumps(snapshot | {"schemaId": len(fields) - 1}), "utf-8")
    return table


def _rows(table: Path, path: str = "auto", **how: Any) -> list[dict[str, Any]]:
    found = scan_by(table, path, **how).to_table().to_pylist()
    return sorted(found, key=lambda row: str(row.get("k")))


_PATHS = pytest.mark.parametrize("path", ["auto", "connector"])


@_PATHS
@pytest.mark.parametrize("ending", ["parquet", "orc", "avro"])
def test_the_newest_file_with_a_column_counts(path: str, ending: str, tmp_path: Path) -> None:
    """Of each column that of the highest sequence number, in whatever order manifests have them."""
    table = _table(tmp_path, *_FILES)
    if ending != "parquet":
        files_as(table, ending)
    assert _rows(table, path) == sorted(_ROWS, key=lambda row: str(row["k"]))
    assert _rows(table, path, batch_rows=2) == _rows(table)
    assert PaimonTable(str(table)).scan().count_rows() == len(_ROWS)
    for name in ("k", "a", "b"):
        found = [row[name] for row in _rows(table, path, columns=[name])]
        assert sorted(map(str, found)) == sorted(str(row[name]) for row in _ROWS)


@_PATHS
@pytest.mark.parametrize(
    ("test", "keys"),
    [
        (pc.field("k") > 100, [101, 102, 103]),
        (pc.field("k") < 4, []),
        (pc.field("b") > 30, [103, 4]),
        (pc.field("b") == 10, []),
        (pc.field("b").is_null(), [102, 5]),
        (pc.field("a") == "X", [101]),
        (pc.field("a") == "x", []),
        ((pc.field("a") == "Z") & (pc.field("b") == 31), [103]),
    ],
    ids=str,
)
def test_filters_are_held_against_the_newest_values(
    path: str, test: pc.Expression, keys: list[int], tmp_path: Path
) -> None:
    """What a manifest says of values holds for the columns alone that its file gives."""
    table = _table(tmp_path, *_FILES)
    assert [row["k"] for row in _rows(table, path, filter=test)] == keys


def test_bounds_of_values_that_are_older_say_nothing(tmp_path: Path) -> None:
    """An older file that still gives a column has bounds of the others, too."""
    table = _table(tmp_path, _WHOLE, _File({"k": [101, 102, 103]}, age=2))
    rows = _rows(table, filter=pc.field("k") > 100)
    assert [(row["k"], row["b"]) for row in rows] == [(101, 10), (102, 20), (103, 30)]


def test_files_are_left_out_by_what_is_said_of_them(tmp_path: Path) -> None:
    """The older file's keys say nothing; bounds are in the order in which columns were written."""
    table = PaimonTable(str(_table(tmp_path, *_FILES)))
    shown = table.scan(filter=pc.field("k") > 103).explain()
    assert "0 of 2" in shown or shown.count("pruned") == 2
    shown = table.scan(filter=pc.field("b") > 31).explain()
    assert shown.count("pruned") == 1


@pytest.mark.parametrize("outlet", OUTLETS)
def test_all_doors_have_them(outlet: str, tmp_path: Path) -> None:
    """Engines read no such file in our place."""
    table = PaimonTable(str(_table(tmp_path, *_FILES)))
    test = Filter("k > 101", pc.field("k") > 101)
    rows = OUTLETS[outlet](table, test, {"columns": ["a", "k"]})
    assert sorted(map(repr, rows.to_pylist())) == ["{'a': 'Z', 'k': 103}", "{'a': None, 'k': 102}"]


@_PATHS
def test_columns_are_found_by_their_ids(path: str, tmp_path: Path) -> None:
    """One that was renamed is in older files by its name there; one added later is in none."""
    fields = ({"k": 0, "a": 1, "b": 2}, {"k": 0, "a2": 1, "c": 3, "b": 4})
    later = (
        _File({"c": [7, 8, 9]}, age=5, schema=1),
        _File({"a2": ["p", "q"]}, first=3, age=6, schema=1),
    )
    table = _table(tmp_path, *_FILES, *later, fields=fields)
    assert _rows(table, path) == [
        {"k": 101, "a2": "X", "c": 7, "b": None},
        {"k": 102, "a2": None, "c": 8, "b": None},
        {"k": 103, "a2": "Z", "c": 9, "b": None},
        {"k": 4, "a2": "p", "c": None, "b": None},
        {"k": 5, "a2": "q", "c": None, "b": None},
    ]
    assert [row["k"] for row in _rows(table, path, filter=pc.field("b").is_null())] == [
        *(101, 102, 103, 4, 5)
    ]
    assert _rows(table, path, columns=["b"]) == [{"b": None}] * 5


def test_a_file_may_have_its_rows_ids(tmp_path: Path) -> None:
    """As those of compactions, beside the columns of the table."""
    ids = _File({**_LATER_A.columns, "_ROW_ID": [0, 1, 2]}, age=3)
    table = _table(tmp_path, _WHOLE, ids)
    assert [row["a"] for row in _rows(table)] == ["X", None, "Z"]


@pytest.mark.parametrize(
    ("files", "error", "words"),
    [
        (
            (_WHOLE, _File({"a": ["X"]}, age=2)),
            InputError,
            "data-0.parquet has the rows from 0 to 3, and",
        ),
        ((_WHOLE, _File({"a": ["X"] * 3}, first=2)), InputError, "those from 0 to 3"),
        ((_WHOLE, _File({"a": ["X"] * 3})), InputError, "'a' of the same rows"),
        ((_WHOLE, _File({"a": ["X"] * 3}, first=None)), RefusedError, "data-evolution"),
        ((_WHOLE, _File({"a.x": ["X"] * 3}, age=2)), RefusedError, "'a.x'.* parts of a column"),
        ((_File({"a.x": ["X"] * 3}),), RefusedError, "'a.x'.* parts of a column"),
    ],
    ids=["shorter", "overlapping", "of one age", "without ids", "a part", "a part alone"],
)
def test_rows_that_nobody_knows_are_refused(
    files: Sequence[_File], error: type[Exception], words: str, tmp_path: Path
) -> None:
    """With the file's name: rows that overlap, no ids, no order, parts of columns."""
    table = _table(tmp_path, *files)
    with pytest.raises(error, match=words):
        _rows(table)


def test_windows_are_refused(tmp_path: Path) -> None:
    """A commit may have some columns alone of rows that are there."""
    table = _table(tmp_path, *_FILES)
    with pytest.raises(RefusedError, match=r"data-evolution.* windows"):
        rows_of_table(table, query="incremental", begin=0)


def _with_vector(table: Path, file: str, rows: Sequence[int]) -> Path:
    """The table with a vector that takes rows of one of its files."""
    values = b"".join(row.to_bytes(2, "little") for row in rows)
    bitmap = struct.pack("<IIHHI", 12346, 1, 0, len(rows) - 1, 16) + values
    body = struct.pack(">i", 1581511376) + bitmap
    frame = struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))
    golden = unpack_paimon("append-vectors", table.parent)
    manifest = max(golden.glob("manifest/index-manifest-*"))
    [entry, *_] = read_container(manifest.read_bytes(), str(manifest))
    told = {"f0": file, "f1": 1, "f2": len(body), "_CARDINALITY": len(rows)}
    own = {
        "_FILE_NAME": "vectors",
        "_PARTITION": bytes(12),
        "_BUCKET": 0,
        "_DELETIONS_VECTORS_RANGES": [told],
    }
    (table / "index").mkdir(exist_ok=True)
    (table / "index/vectors").write_bytes(b"\x01" + frame)
    out = io.BytesIO()
    written_by: Any = fastavro.reader(io.BytesIO(manifest.read_bytes())).writer_schema
    fastavro.writer(out, written_by, [entry | own])
    (table / "manifest/index-manifest-own").write_bytes(out.getvalue())
    path = table / "snapshot/snapshot-1"
    snapshot = json.loads(path.read_text("utf-8")) | {"indexManifest": "index-manifest-own"}
    path.write_text(json.dumps(snapshot), "utf-8")
    return table


#: As that of the newest row above, in two files of one age.
_OF_ONE_AGE = (
    _File({"b": [11, None, 31], "k": [101, 102, 103]}),
    _File({"a": ["X", None, "Z"]}),
    _FURTHER,
)


@_PATHS
@pytest.mark.parametrize(
    ("files", "file"),
    [(_FILES, "data-1.parquet"), (_OF_ONE_AGE, "data-0.parquet")],
    ids=["the oldest", "the first by name"],
)
def test_a_vector_is_of_the_oldest_file(
    path: str, files: Sequence[_File], file: str, tmp_path: Path
) -> None:
    """Of the files with the same rows, by sequence number and then by name, in all columns."""
    table = _with_vector(_table(tmp_path, *files), file, [0, 2])
    left = [row for row in _ROWS if row["k"] not in (101, 103)]
    left.sort(key=lambda row: str(row["k"]))
    assert _rows(table, path) == left
    assert _rows(table, path, batch_rows=1) == left
    assert _rows(table, path, strict=True) == left
    assert sorted(_rows(table, path, columns=["a"]), key=str) == sorted(
        ({"a": row["a"]} for row in left), key=str
    )
    assert _rows(table, path, filter=pc.field("b").is_null(), columns=["k"]) == [
        *({"k": 102}, {"k": 5})
    ]
    assert PaimonTable(str(table)).scan().count_rows() == len(left)


@pytest.mark.parametrize(
    ("files", "file"),
    [(_FILES, "data-0.parquet"), (_FILES, "data-3.parquet"), (_OF_ONE_AGE, "data-1.parquet")],
    ids=["the newest", "another", "the second by name"],
)
def test_a_vector_of_a_later_file_is_refused(
    files: Sequence[_File], file: str, tmp_path: Path
) -> None:
    """Paimon looks for none there: what it deletes is not specified."""
    table = _with_vector(_table(tmp_path, *files), file, [0])
    with pytest.raises(RefusedError, match=f"{file} has a deletion vector, and data-"):
        _rows(table)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("BLOB", "BLOB"),
        ("BLOB NOT NULL", "BLOB"),
        ({"type": "VECTOR", "element": "FLOAT", "length": 3}, "VECTOR"),
        ({"type": "ARRAY", "element": "BLOB"}, "BLOB"),
    ],
    ids=str,
)
def test_types_whose_values_lie_in_files_of_their_own_are_refused(
    kind: Any, name: str, tmp_path: Path
) -> None:
    """By the column's name, whichever columns are asked for."""
    table = _table(tmp_path, _WHOLE)

    def declare(schema: dict[str, Any]) -> None:
        schema["fields"].append({"id": 9, "name": "z", "type": kind})
        schema["highestFieldId"] = 9

    edit_schema(table, declare)
    with pytest.raises(RefusedError, match=f"field 'z'.*: the type '{name}' is not supported"):
        _rows(table, columns=["k"])
