"""Types of a Parquet file are Parquet's own, whatever Arrow schema its writer put beside them."""

import base64
import datetime as dt
import io
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import seamkit
from seambase.encodings import made_anew, spark_type
from seambase.errors import RefusedError
from seambench.formats.forms.footer import Footer, Struct
from seamkit.files.parquet import open_parquet
from seamkit_tests.samples import made_delta

_DAY = dt.date(2020, 2, 29)
_NOON = dt.datetime(2020, 2, 29, 12, tzinfo=dt.UTC)
_NAMES = {"int": "integer", "bigint": "long"}
_TEXTS: dict[str, Any] = {"type": "array", "elementType": "string", "containsNull": True}
_FIELD = {"name": "a", "type": "string", "nullable": True, "metadata": {}}
#: The writer's type, the table's in Hive, in Delta where the word is another, and a value.
_COLUMNS: list[tuple[pa.DataType, str, Any, Any]] = [
    (pa.string_view(), "string", None, "a"),
    (pa.large_string(), "string", None, "a"),
    (pa.dictionary(pa.int8(), pa.string()), "string", None, "a"),
    (pa.dictionary(pa.int32(), pa.large_string()), "string", None, "a"),
    (pa.binary_view(), "binary", None, b"a"),
    (pa.large_binary(), "binary", None, b"a"),
    (pa.binary(2), "binary", None, b"ab"),
    (pa.json_(), "string", None, "{}"),
    (pa.large_list(pa.string_view()), "array<string>", _TEXTS, ["x", None]),
    (pa.list_(pa.large_string(), 2), "array<string>", _TEXTS, ["x", "y"]),
    (pa.struct([("a", pa.large_string())]), "struct<a:string>",
     {"type": "struct", "fields": [_FIELD]}, {"a": "x"}),
    (
        pa.map_(pa.large_string(), pa.int32()),
        "map<string,int>",
        {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": True},
        [("a", 1)],
    ),
    (pa.timestamp("us", "Asia/Tokyo"), "timestamp", None, _NOON),
    (pa.date64(), "date", None, _DAY),
    (pa.duration("us"), "bigint", None, dt.timedelta(microseconds=7)),
    (pa.decimal32(9, 2), "decimal(9,2)", None, Decimal("1.50")),
    (pa.decimal64(18, 2), "decimal(18,2)", None, Decimal("1.50")),
    (pa.decimal256(38, 2), "decimal(38,2)", None, Decimal("1.50")),
    (pa.null(), "int", None, None),
]  # fmt: skip
#: As what columns lie in a file whose types not every Arrow writes.
_STORED = {
    pa.string_view(): pa.string(),
    pa.binary_view(): pa.binary(),
    pa.large_list(pa.string_view()): pa.list_(pa.string()),
    pa.list_(pa.large_string(), 2): pa.list_(pa.string()),
    pa.decimal32(9, 2): pa.decimal128(9, 2),
    pa.decimal64(18, 2): pa.decimal128(18, 2),
}


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values of one kind, of which a dictionary has one."""
    if not pa.types.is_dictionary(kind):
        return pa.array(values, kind)
    [value] = {one for one in values if one is not None}
    named = pa.array([None if one is None else 0 for one in values], kind.index_type)
    return pa.DictionaryArray.from_arrays(named, pa.array([value], kind.value_type))


def _write(rows: pa.Table, file: Path) -> None:
    """A file that has a page index; the writer's types stand in it, whether Arrow writes them."""
    how: dict[str, Any] = {"row_group_size": 1000, "data_page_size": 500, "write_page_index": True}
    try:
        pq.write_table(rows, file, **how)
    except pa.ArrowNotImplementedError:
        stored = pa.array(rows["v"].to_pylist(), _STORED[rows["v"].type])
        pq.write_table(rows.set_column(1, "v", stored), file, **how)
        footer = Footer(file.read_bytes())
        footer.put_text("ARROW:schema", base64.b64encode(rows.schema.serialize()).decode())
        file.write_bytes(footer.file())


def _table(folder: Path, table_format: str, values: pa.Array, hive: str, delta: Any) -> Path:
    """A table of two columns, and of one file."""
    rows = pa.table({"k": pa.array(range(len(values)), pa.int64()), "v": values})
    file = folder / "part-0.parquet"
    _write(rows, file)
    if table_format == "hive":
        columns = [{"name": "k", "type": "bigint"}, {"name": "v", "type": hive}]
        told = {"format": "parquet", "columns": columns}
        (folder / "_hive_table.json").write_text(json.dumps(told), encoding="utf-8")
        return folder
    kinds = {"k": "long", "v": delta or _NAMES.get(hive, hive)}
    fields = [made_delta.field(*one) for one in kinds.items()]
    return made_delta.make(folder, fields, made_delta.add_file(file))


def _shown(value: Any, hive: str) -> Any:
    """What a table of Hive's or Delta's types has in place of a value."""
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1)
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None) if hive == "hive" else value
    return value


@pytest.mark.parametrize("table_format", ["hive", "delta"])
@pytest.mark.parametrize("column", _COLUMNS, ids=lambda column: str(column[0]))
def test_a_file_reads_as_its_parquet_types_say(
    column: tuple[pa.DataType, str, Any, Any], table_format: Any, tmp_path: Path
) -> None:
    """Views, dictionaries, long offsets, other zones and widths are nothing that Parquet knows."""
    kind, hive, delta, value = column
    values = [value, None, value] * 1000
    path = _table(tmp_path, table_format, _array(values, kind), hive, delta)
    table = seamkit.open_table(str(path), format=table_format)
    expected = [_shown(one, table_format) for one in values]
    assert table.scan(threads=1, batch_rows=100).to_table()["v"].to_pylist() == expected
    found = table.scan().dataset().to_table().sort_by("k")
    assert found["v"].to_pylist() == expected
    known = pc.field("v").is_valid()
    kept = [one for one in expected if one is not None]
    assert table.scan(["v"], filter=known).to_table()["v"].to_pylist() == kept
    assert table.scan(filter=known).count_rows() == len(kept)
    few = (pc.field("k") >= 1500) & (pc.field("k") < 1503)
    assert table.scan(["v"], filter=few).to_table()["v"].to_pylist() == expected[1500:1503]
    if not pa.types.is_nested(kind) and value is not None:
        wanted = pa.scalar(_shown(value, table_format), table.schema.field("v").type)
        assert table.scan(filter=pc.field("v") == wanted).count_rows() == len(kept)
        assert table.scan(filter=pc.field("v") > wanted).count_rows() == 0


@pytest.mark.parametrize("column", _COLUMNS, ids=lambda column: str(column[0]))
def test_the_engines_own_readers_agree(
    column: tuple[pa.DataType, str, Any, Any], tmp_path: Path
) -> None:
    """Polars and DuckDB read such a file by themselves where they can, and give the same values."""
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("polars")
    kind, hive, delta, value = column
    values = [value, None, value]
    path = _table(tmp_path, "delta", _array(values, kind), hive, delta)
    table = seamkit.open_table(str(path))
    expected = table.scan().to_table()
    assert table.scan().lazy().collect().to_arrow().cast(expected.schema).equals(expected)
    relation = table.scan().relation(duckdb.connect())
    assert relation.to_arrow_table().cast(expected.schema).equals(expected)


@pytest.mark.parametrize(
    ("kind", "hive", "value"),
    [(pa.uint8(), "int", 200), (pa.uint64(), "bigint", 2**64 - 1), (pa.time64("us"), "bigint", 1)],
    ids=str,
)
def test_types_that_delta_lacks_are_refused_by_name(
    kind: pa.DataType, hive: str, value: int, tmp_path: Path
) -> None:
    """The file is sound: it is legal Parquet that no column of Delta has."""
    path = _table(tmp_path, "delta", pa.array([value], kind), hive, None)
    with pytest.raises(RefusedError, match=rf"column 'v' is {kind}".replace("[", r"\[")):
        seamkit.open_table(str(path)).scan().to_table()


def test_a_logical_type_that_this_arrow_does_not_know_is_refused_by_name() -> None:
    """Variants (16) before Arrow 22, and what the format may get (99): no file is called broken."""
    out = io.BytesIO()
    pq.write_table(pa.table({"a": [{"metadata": b"", "value": b""}]}), out, store_schema=False)
    footer = Footer(out.getvalue())
    for kind, known_from in ((16, 22), (99, None)):
        footer.schema.items[1][10] = Struct({kind: Struct()})
        content = pa.BufferReader(footer.file())
        if known_from is not None and int(pa.__version__.split(".")[0]) >= known_from:
            assert open_parquet(content, "f").read().num_rows == 1
            continue
        with pytest.raises(RefusedError, match=r"f: a column has a logical type that pyarrow \d"):
            open_parquet(content, "f")


def test_the_writers_word_is_found_behind_statistics_that_hold_it(tmp_path: Path) -> None:
    """A greatest value that reads as the name of the entry is left as it is."""
    texts = pa.array(["ARROW:schema", "A"], pa.string_view())
    table = seamkit.open_table(str(_table(tmp_path, "delta", texts, "string", None)))
    assert table.scan().to_table()["v"].to_pylist() == ["ARROW:schema", "A"]
    for text in ("ARROW:schema", "arrow:schema"):
        count = table.scan(filter=pc.field("v") == text).count_rows()
        assert count == (text == "ARROW:schema")


@pytest.mark.parametrize("how", ["delete", "update", "merge", "polars"])
def test_tables_of_deltalake_and_polars_read(how: str, tmp_path: Path) -> None:
    """Both write texts as views: deltalake when it changes rows, Polars always."""
    deltalake = pytest.importorskip("deltalake")
    rows = pa.table({"k": [1, 2], "s": ["a", "b"], "l": [["x"], None], "t": [{"a": "x"}] * 2})
    path = str(tmp_path / "table")
    if how == "polars":
        polars = pytest.importorskip("polars")
        polars.from_arrow(rows).write_delta(path)
        expected = ["a", "b"]
    else:
        deltalake.write_deltalake(path, rows)
        changed = deltalake.DeltaTable(path)
        if how == "delete":
            changed.delete("k = 1")
            expected = ["b"]
        elif how == "update":
            changed.update(updates={"s": "'c'"}, predicate="k = 1")
            expected = ["b", "c"]
        else:
            new = pa.table({"k": [1], "s": ["c"]})
            merge = changed.merge(new, "t.k = u.k", source_alias="u", target_alias="t")
            merge.when_matched_update(updates={"s": "u.s"}).execute()
            expected = ["b", "c"]
    found = seamkit.open_table(path).scan().to_table()
    assert sorted(found["s"].to_pylist()) == expected
    assert found["t"].to_pylist() == [{"a": "x"}] * len(expected)


def _marked(kind: pa.DataType) -> pa.Field:
    return pa.field("n", kind, nullable=False, metadata={"a": "b"})


@pytest.mark.parametrize(
    "make",
    [
        lambda field: pa.struct([field]),
        lambda field: pa.map_(field, field, keys_sorted=True),
        lambda field: pa.list_(field, 3),
        *(lambda field, make=make: make(field)
          for make in (pa.list_, pa.large_list, pa.list_view, pa.large_list_view)),
    ],
)  # fmt: skip
def test_types_made_anew_say_all_else_again(make: Any) -> None:
    """At two depths at once: names, nulls, metadata, order of keys, width and size stay."""
    found = made_anew(
        make(_marked(make(_marked(pa.int8())))), lambda k: pa.int64() if k == pa.int8() else k
    )
    assert found.equals(make(_marked(make(_marked(pa.int64())))), check_metadata=True)


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda kind: kind, "u"),
        (pa.list_, "u.element"),
        (lambda kind: pa.struct([pa.field("s", kind)]), "u.s"),
        (lambda kind: pa.map_(pa.string(), pa.list_(kind)), "u.value.element"),
        (lambda kind: pa.map_(kind, pa.int32()), "u.key"),
    ],
)
@pytest.mark.parametrize("kind", [pa.uuid(), pa.timestamp("ns"), pa.time64("ns")], ids=str)
def test_types_that_spark_lacks_are_refused(make: Any, path: str, kind: pa.DataType) -> None:
    """At any depth, by the way to them: Spark's own words for it name no column."""
    with pytest.raises(RefusedError, match=f"column '{path}' is .*{re.escape(str(kind))}.*Spark"):
        spark_type(make(kind), "u")
