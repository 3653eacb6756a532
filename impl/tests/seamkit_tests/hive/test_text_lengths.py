"""Texts of a length in files of columns; what they are comes from Hive 2.3.9's own classes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from seambase.errors import RefusedError
from seamkit.tables.hive.table import HiveTable
from seamkit_tests.samples.avro_schemas import array, container, optional, record

_TEXTS = ["abcdef", "ab", "äöüß", "a  ", None, "", "😀😀😀😀", "   x"]
#: The same as Hive shows them, as `varchar(3)` and as `char(4)`.
_VARCHAR = ["abc", "ab", "äöü", "a  ", None, "", "😀😀😀", "   "]
_CHAR = ["abcd", "ab  ", "äöüß", "a   ", None, "    ", "😀😀😀😀", "   x"]


def _structs(varchars: list[Any], chars: list[Any]) -> list[Any]:
    """A struct of both, null where they are."""
    pairs = zip(varchars, chars, strict=True)
    return [None if v is None else {"n": 1, "v": v, "c": c} for v, c in pairs]


_STRUCT = pa.struct([("n", pa.int32()), ("v", pa.string()), ("c", pa.string())])
_FILE = pa.table(
    {
        "v": _TEXTS,
        "c": _TEXTS,
        "l": [[text, None] for text in _TEXTS],
        "s": pa.array(_structs(_TEXTS, _TEXTS), _STRUCT),
        "w": _TEXTS,
    }
)
_COLUMNS = {
    "v": "varchar(3)",
    "c": "char(4)",
    "l": "array<varchar(3)>",
    "s": "struct<n:int,v:varchar(3),c:char(4)>",
    "w": "string",
}


def _duckdb(path: Path) -> None:
    with duckdb.connect() as connection:
        connection.register("rows", _FILE)
        connection.execute(f"COPY rows TO '{path}' (FORMAT parquet)")


def _avro(path: Path) -> None:
    inner = record("inner", n=optional("int"), v=optional("string"), c=optional("string"))
    kinds = {**dict.fromkeys("vcw", "string"), "l": array(optional("string")), "s": inner}
    schema = record("rows", **{name: optional(kind) for name, kind in kinds.items()})
    path.write_bytes(container(schema, _FILE.to_pylist()))


_WRITERS: dict[str, Callable[[Path], None]] = {
    "parquet": lambda path: pq.write_table(_FILE, path, row_group_size=1),
    "parquet of DuckDB": _duckdb,
    "orc": lambda path: orc.write_table(_FILE, path),
    "avro": _avro,
}


@pytest.mark.parametrize("writer", _WRITERS)
def test_texts_have_the_length_of_their_type(tmp_path: Path, writer: str) -> None:
    """A `varchar` is cut and a `char` filled up, at every depth, whatever files have, at each door.

    No range of a file's column rules rows out, and no engine reads such a column by itself.
    """
    _WRITERS[writer](tmp_path / "f")
    table = HiveTable(str(tmp_path), columns=_COLUMNS, file_format=writer.split()[0])
    rows = table.to_arrow()
    assert rows["v"].to_pylist() == _VARCHAR
    assert rows["c"].to_pylist() == _CHAR
    assert rows["l"].to_pylist() == [[text, None] for text in _VARCHAR]
    assert rows["s"].to_pylist() == _structs(_VARCHAR, _CHAR)
    assert rows["w"].to_pylist() == _TEXTS
    scan = table.scan(["v", "c"])
    shown = sorted(zip(_VARCHAR, _CHAR, strict=True), key=str)
    with duckdb.connect() as connection:
        assert sorted(scan.relation(connection).fetchall(), key=str) == shown
        found = scan.relation(connection).filter("v = 'abc' AND c = 'abcd'")
        assert found.fetchall() == [("abc", "abcd")]
    assert sorted(scan.lazy().collect().rows(), key=str) == shown
    for name, text in (("v", "äöü"), ("c", "ab  ")):
        found = table.to_arrow(["w"], filter=pc.field(name) == text)["w"].to_pylist()
        assert found == [_TEXTS[(_VARCHAR if name == "v" else _CHAR).index(text)]]
        assert scan.dataset().count_rows(filter=pc.field(name) == text) == 1


_MAPS = pa.map_(pa.string(), pa.int32())


@pytest.mark.parametrize("kind", ["varchar(3)", "char(3)", "array", "struct"])
@pytest.mark.parametrize("write", [pq.write_table, orc.write_table])
def test_keys_that_a_length_makes_one_are_refused(
    tmp_path: Path, kind: str, write: Callable[..., None]
) -> None:
    """Hive 2.3.9 keeps both of a Parquet file, the last of an ORC file: no answer is right."""
    word = kind if "(" in kind else "varchar(3)"
    inner = {"array": f"array<map<{word},int>>", "struct": f"struct<a:map<{word},int>>"}
    own = {"array": pa.list_(_MAPS), "struct": pa.struct([("a", _MAPS)])}
    maps = [[("ab", 0), ("abc", 1)], None, [("abd", 2)], [("abcd", 3), ("abce", 4)]]
    shaped = {"array": lambda one: [one], "struct": lambda one: {"a": one}}.get(kind, lambda m: m)
    rows = pa.table({"m": pa.array([*map(shaped, maps)], own.get(kind, _MAPS))})
    columns = {"m": inner.get(kind, f"map<{word},int>")}
    for name, part in (("alone", rows.slice(0, 3)), ("both", rows)):
        (tmp_path / name).mkdir()
        write(part, tmp_path / name / "f")
    form = "parquet" if write is pq.write_table else "orc"
    apart = HiveTable(str(tmp_path / "alone"), columns=columns, file_format=form)
    assert len(apart.to_arrow()) == 3
    with pytest.raises(RefusedError, match=r"both/f: column 'm': two keys of a map are one as "):
        HiveTable(str(tmp_path / "both"), columns=columns, file_format=form).to_arrow()


@pytest.mark.parametrize(
    ("kind", "text", "pairs"),
    [
        ("varchar(3)", '{"abcd": 1, "z": 2, "abce": 3}', [("abc", 3), ("z", 2)]),
        ("char(2)", '{"a": 1, "a ": null}', [("a ", None)]),
        ("int", '{"1": 1, "2": 2, "01": 3}', [(1, 3), (2, 2)]),
        ("int", '{"1": 1, "01": 2, "1": 3}', [(1, 3)]),
        ("string", '{"a": 1, "b": 2, "a": 3}', [("a", 3), ("b", 2)]),
    ],
)
def test_of_keys_that_are_one_in_json_the_last_counts(
    tmp_path: Path, kind: str, text: str, pairs: list[Any]
) -> None:
    """Hive's JsonSerDe puts each into a Java map, under the key in its type."""
    (tmp_path / "f").write_text(f'{{"m": {text}}}\n')
    table = HiveTable(str(tmp_path), columns={"m": f"map<{kind},int>"}, file_format="json")
    assert table.to_arrow()["m"].to_pylist() == [pairs]
