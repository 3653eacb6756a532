"""Renamed columns: the history that Hudi keeps, and files under the names that columns have now."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, RefusedError
from seamkit.files.storage import Storage
from seamkit.tables.hudi.base_files import open_slice_base
from seamkit.tables.hudi.listing.files import BaseFile
from seamkit.tables.hudi.timeline.timeline import FileNames, SchemaHistory, load_history
from seamkit_tests import GOLDEN

# Written by Spark 3.5.9 and Hudi 1.2.0: columns a and b; ALTER TABLE renamed a to a2, then b to a.
HISTORY = GOLDEN / "hudi-schema-history.json"
BEFORE, FIRST, SECOND = "20261121185435062", "20261121185435063", "20261121185443738"


def history_in(folder: Path, *files: tuple[str, bytes]) -> SchemaHistory | None:
    """The history of a table with these files in `.hoodie/.schema`."""
    place = folder / ".hoodie" / ".schema"
    place.mkdir(parents=True)
    for name, content in files:
        (place / name).write_bytes(content)
    return load_history(Storage(str(folder)), lambda instant: instant != "20990101000000000")


def version(number: int, *fields: dict[str, Any]) -> dict[str, Any]:
    """One version of a schema, as Hudi writes it."""
    return {"version_id": number, "max_column_id": 99, "type": "record", "fields": list(fields)}


def column(number: int, name: str, kind: Any = "int") -> dict[str, Any]:
    """One of its fields."""
    return {"id": number, "name": name, "optional": True, "type": kind}


def pair_of(first: str, second: str) -> dict[str, Any]:
    """The type of a record of two fields."""
    return {"type": "record", "fields": [column(20, first), column(21, second)]}


def names_of(old: list[dict[str, Any]], new: list[dict[str, Any]], folder: Path) -> FileNames:
    """How a file of the old version differs from the new one."""
    content = json.dumps({"schemas": [version(20250101000000000, *new), version(0, *old)]})
    found = history_in(
        folder, ("20250101000000000_20250101000000001.schemacommit", content.encode())
    )
    assert found is not None
    return FileNames(found.at(None)[1], found.at("20240101000000000")[1])


@pytest.mark.parametrize(
    ("written", "shown", "columns"),
    [
        (BEFORE, None, ["a", "b"]),
        (FIRST, None, ["a2", "b"]),
        (SECOND, None, ["a2", "a"]),
        (BEFORE, FIRST, ["a", "b"]),
    ],
)
def test_a_file_has_the_names_of_the_latest_version_before_it(
    tmp_path: Path, written: str, shown: str | None, columns: list[str]
) -> None:
    """What a read shows as (a2, a), or as (a2, b) between the changes, has other names in files."""
    place = tmp_path / ".hoodie" / ".schema"
    place.mkdir(parents=True)
    shutil.copy(HISTORY, place / "20261121185451312_20261121185504180.schemacommit")
    (place / "20261121185451312.schemacommit.inflight").touch()
    history = load_history(Storage(str(tmp_path)), bool)
    assert history is not None
    names = FileNames(history.at(shown)[1], history.at(written)[1])
    table = ["a2", "b" if shown == FIRST else "a"]
    asked = names.finder("a file").file_schema(
        pa.schema([(name, pa.int32()) for name in ["k", *table, "unknown"]])
    )
    assert asked.names == ["k", *columns, "unknown"]


def test_the_newest_completed_history_counts(tmp_path: Path) -> None:
    """Pending changes, and those whose instant never completed, are left out."""
    good = json.dumps(
        {"schemas": [version(20250101000000, column(0, "x")), version(0, column(0, "y"))]}
    ).encode()
    history = history_in(
        tmp_path,
        ("20250101000000000.schemacommit", good),
        ("20260101000000000.schemacommit.inflight", b"{"),
        ("20990101000000000_20990101000000001.schemacommit", b"{"),
    )
    assert history is not None
    assert [number for number, _ in history.versions] == [0, 20250101000000]


def test_most_tables_have_none(tmp_path: Path) -> None:
    """An empty folder is no history."""
    assert history_in(tmp_path) is None


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b"{}", b'{"schemas": []}', b'{"schemas": [{"version_id": "x"}]}']
)
def test_broken_histories_are_named(tmp_path: Path, content: bytes) -> None:
    """Without its history a table's older files would be misread: a broken one is an error."""
    with pytest.raises(InputError, match=r"20250101000000000\.schemacommit: .*history"):
        history_in(tmp_path, ("20250101000000000.schemacommit", content))


@pytest.mark.parametrize("number", [1, 7, 9999999999999])
def test_a_version_without_an_instant_is_refused(tmp_path: Path, number: int) -> None:
    """Hudi before 0.14.1 gives the greatest id of a column where one was dropped (HUDI-6865).

    Taken for an instant it would come before all others: of files that are older than a renaming
    the renamed column was null, as it is in Hudi.
    """
    schemas = [version(number, column(1, "b2")), version(20250101000000000, column(1, "b2"))]
    content = json.dumps({"schemas": [*schemas, version(0, column(1, "b"), column(2, "c"))]})
    with pytest.raises(RefusedError, match=f"schemacommit: .*the number {number} and no instant"):
        history_in(tmp_path, ("20250102000000000.schemacommit", content.encode()))


def test_files_are_read_under_the_names_of_now(tmp_path: Path) -> None:
    """Renamed, also below structs, lists and maps; swapped; dropped and added again: null."""
    old = [
        column(1, "x"),
        column(2, "y", "string"),
        column(3, "gone"),
        column(4, "s", pair_of("p", "q")),
        column(5, "l", {"type": "array", "element_id": 9, "element": pair_of("p", "q")}),
        column(6, "m", {"type": "map", "key": "string", "value": pair_of("p", "q")}),
    ]
    new = [
        column(2, "x", "string"),
        column(1, "y"),
        column(8, "gone"),
        column(4, "s2", pair_of("q", "r")),
        column(5, "l", {"type": "array", "element_id": 9, "element": pair_of("q", "r")}),
        column(6, "m", {"type": "map", "key": "string", "value": pair_of("q", "r")}),
    ]
    names = names_of(old, new, tmp_path)
    pair = {"p": 1, "q": 2}
    rows = [
        {"k": 0, "x": 7, "y": "t", "gone": 1, "s": pair, "l": [pair, None], "m": [("a", pair)]},
        {"k": 1, "x": None, "y": None, "gone": 2, "s": None, "l": None, "m": None},
    ]
    struct = pa.struct([("p", pa.int32()), ("q", pa.int32())])
    kinds = [("k", pa.int64()), ("x", pa.int32()), ("y", pa.string()), ("gone", pa.int32())]
    nested = [("s", struct), ("l", pa.list_(struct)), ("m", pa.map_(pa.string(), struct))]
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(kinds + nested)), tmp_path / "a.parquet")
    wide = pa.struct([("r", pa.int64()), ("q", pa.int32())])
    schema = pa.schema(
        [
            ("y", pa.int64()),
            ("x", pa.string()),
            ("gone", pa.int32()),
            ("s2", wide),
            ("l", pa.list_(wide)),
            ("m", pa.map_(pa.string(), wide)),
            ("k", pa.int64()),
        ]
    )
    base = BaseFile("a.parquet", "", "a", "0", "20240101000000000", 1, names=names)
    reader = open_slice_base(Storage(str(tmp_path)), base)
    (batch,) = reader.batches(schema, 100, use_threads=False)
    batch.validate(full=True)
    now = {"r": 2, "q": 1}
    assert batch.to_pylist() == [
        {"y": 7, "x": "t", "gone": None, "s2": now, "l": [now, None], "m": [("a", now)], "k": 0},
        dict.fromkeys(schema.names) | {"k": 1},
    ]
    assert reader.rows_in(None) == 2
    assert reader.greatest("k", pa.int64()) == 1
