"""Variants that Parquet files hold in pieces, put together at every depth."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, RefusedError
from seamkit.files.columns import Place, id_and_name, places
from seamkit.files.parquet import ParquetReader
from seamkit.files.storage import Storage
from seamkit.files.variants.reader import ShreddedReader, with_whole_variants
from seamkit.tables.delta.schema import Field
from seamkit_tests.samples.variants import (
    MISSING,
    Leaf,
    decoded,
    encoded,
    metadata_of,
    pieces,
    pieces_type,
    random_life,
)

VARIANT = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
NULL = b"\0"


def _group(shape: Any) -> pa.DataType:
    return pa.struct([pa.field("metadata", pa.binary(), nullable=False), *pieces_type(shape)])


def _read(
    folder: Path, column: pa.Array, wanted: pa.DataType, path: Any, batch_rows: int
) -> list[Any]:
    """A column as a file has it and a reader puts it together, and numbers of its rows."""
    numbers = pa.array(range(len(column)), pa.int32())
    pq.write_table(pa.table({"n": numbers, "v": column}), folder / "a.parquet", row_group_size=7)
    reader = ShreddedReader(ParquetReader(Storage(str(folder)), "a.parquet"), frozenset([path]))
    schema = pa.schema({"v": wanted, "n": pa.int32()})
    batches = list(reader.batches(schema, batch_rows, use_threads=False))
    found = pa.Table.from_batches(batches, schema)
    assert found["n"].to_pylist() == list(range(len(column)))
    values: list[Any] = found["v"].to_pylist()
    return values


def _plain(variant: Any) -> Any:
    return MISSING if variant is None else decoded(variant["metadata"], variant["value"])


@pytest.mark.parametrize("seed", range(40))
def test_pieces_make_the_value_that_was_cut(seed: int, tmp_path: Path) -> None:
    """Of any shape and any value, in all batches: with every type, with nulls, with what is left.

    Names of metadata lie in any order and have characters beyond 16 bits, values take numbers that
    are wider than they need be, and some rows have no variant.
    """
    chance = random.Random(seed)
    shape, values, names = random_life(chance, 40)
    width = chance.choice([1, 1, 2, 4])
    metadata = metadata_of(names, width)
    rows = [
        None if v is MISSING else {"metadata": metadata, **pieces(v, shape, names, width)}
        for v in values
    ]
    found = _read(
        tmp_path, pa.array(rows, _group(shape)), VARIANT, ("v",), chance.choice([1, 3, 99])
    )
    assert [repr(_plain(one)) for one in found] == [repr(_plain_of(v)) for v in values]
    assert {one["metadata"] for one in found if one is not None} <= {metadata}


def _plain_of(value: Any) -> Any:
    """A value as it is decoded: fields in the order of their names."""
    if isinstance(value, dict):
        return {k: _plain_of(value[k]) for k in sorted(value, key=str.encode)}
    return [_plain_of(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("wrap", ["struct", "list", "map"])
def test_variants_lie_in_other_types(wrap: str, tmp_path: Path) -> None:
    """In a struct beside another field, in lists and as values of maps, nulls of these besides."""
    names, shape = ["a"], {"a": "int32"}
    variant = {"metadata": metadata_of(names), **pieces({"a": Leaf("int32", 7)}, shape, names)}
    group, inner = _group(shape), pa.int32()
    kinds = {
        "struct": lambda kind: pa.struct({"x": inner, "w": kind}),
        "list": pa.list_,
        "map": lambda kind: pa.map_(inner, kind),
    }
    rows: dict[str, list[Any]] = {
        "struct": [{"x": 1, "w": variant}, None, {"x": 2, "w": None}],
        "list": [[variant, None], None, [], [variant]],
        "map": [[(1, variant), (2, None)], None, [], [(3, variant)]],
    }
    path = {"struct": ("v", "w"), "list": ("v", 0), "map": ("v", 1)}[wrap]
    found = _read(tmp_path, pa.array(rows[wrap], kinds[wrap](group)), kinds[wrap](VARIANT), path, 2)
    whole = {"metadata": metadata_of(names), "value": encoded({"a": Leaf("int32", 7)}, names)}
    expected = {
        "struct": [{"x": 1, "w": whole}, None, {"x": 2, "w": None}],
        "list": [[whole, None], None, [], [whole]],
        "map": [[(1, whole), (2, None)], None, [], [(3, whole)]],
    }
    assert found == expected[wrap]


def test_a_struct_of_the_same_fields_is_none(tmp_path: Path) -> None:
    """Where the table declares no variant, a column beside the two that it knows is left out."""
    rows = [{"metadata": b"m", "value": b"v", "typed_value": 1}]
    kind = pa.struct([*VARIANT, ("typed_value", pa.int32())])
    pq.write_table(pa.table({"v": pa.array(rows, kind)}), tmp_path / "a.parquet")
    reader = ParquetReader(Storage(str(tmp_path)), "a.parquet")
    file = Place("", (), places(reader.schema, id_and_name))
    parts = [Field(one.name, one.name, None, one.type) for one in VARIANT]
    for is_variant in (True, False):
        own = Field("v", "v", None, VARIANT, parts, is_variant)
        whole = with_whole_variants(reader, [own], file)
        assert isinstance(whole, ShreddedReader) == is_variant


def test_what_is_missing_where_a_value_must_be_is_null(tmp_path: Path) -> None:
    """Of a variant that is there, and of an item of an array; a group may lack its column value."""
    kind = pa.struct([("metadata", pa.binary()), ("typed_value", pa.list_(pieces_type("int8")))])
    metadata = metadata_of([])
    rows = [
        {"metadata": metadata, "typed_value": None},
        {"metadata": metadata, "typed_value": [{"value": None, "typed_value": None}, None]},
    ]
    found = _read(tmp_path, pa.array(rows, kind), VARIANT, ("v",), 9)
    assert [_plain(one) for one in found] == [None, [None, None]]


_OBJECT = {"a": "int8"}
_A = {"value": None, "typed_value": 1}


@pytest.mark.parametrize(
    ("shape", "parts", "reason"),
    [
        ("int8", {"value": NULL, "typed_value": 1}, "both a value and a typed value"),
        (["int8"], {"value": NULL, "typed_value": []}, "both a value and a typed value"),
        (["int8"], {"typed_value": [{"value": NULL, "typed_value": 1}]}, "both a value"),
        (_OBJECT, {"typed_value": {"a": {"value": NULL, "typed_value": 1}}}, "both a value"),
        (_OBJECT, {"value": NULL, "typed_value": {"a": _A}}, "a value that is no object"),
        (
            _OBJECT,
            {"value": encoded({"a": None}, ["a"]), "typed_value": {"a": {}}},
            "its value has the field 'a', too",
        ),
        ({"c": "int8"}, {"typed_value": {"c": _A}}, "do not have the name 'c'"),
        ("int8", {"metadata": b"\x02\0\0"}, "metadata are of version 2"),
        ("int8", {"metadata": b"\x01\x01\0"}, "metadata end before"),
        ("int8", {"metadata": b"\x01\x01\0\x05a"}, "do not lie one behind the other"),
        ("int8", {"value": b""}, "ends before it is complete"),
        ("int8", {"value": b"\x05"}, "ends before it is complete"),
        ("int8", {"value": b"\0\0"}, "bytes behind a value"),
        ("int8", {"value": b"\x54"}, "unknown type 21"),
        (_OBJECT, {"value": b"\2\1\7\0\1\0", "typed_value": {"a": {}}}, "names a field by 7"),
        (_OBJECT, {"value": b"\2\2\1\1\0\1\2\0\0", "typed_value": {"a": {}}}, "'b' twice"),
        (_OBJECT, {"value": b"\2\1\1\4\1\0", "typed_value": {"a": {}}}, "ends before"),
    ],
    ids=str,
)
def test_pieces_that_contradict_each_other_are_errors(
    shape: Any, parts: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    """The file and the column are named, and what is wrong."""
    row = {"metadata": metadata_of(["a", "b"]), **parts}
    with pytest.raises(InputError, match=rf"a\.parquet: column 'v': .*{reason}"):
        _read(tmp_path, pa.array([row], _group(shape)), VARIANT, ("v",), 9)


@pytest.mark.parametrize(
    "kind", [pa.uint8(), pa.timestamp("ms"), pa.time32("ms"), pa.binary(15), pa.decimal256(40, 0)]
)
def test_types_beyond_the_specification_are_refused(kind: pa.DataType, tmp_path: Path) -> None:
    """What their values would be as a variant nobody says."""
    group = pa.struct([("metadata", pa.binary()), ("typed_value", kind)])
    rows = [{"metadata": metadata_of([]), "typed_value": None}]
    with pytest.raises(RefusedError, match="which the specification does not have"):
        _read(tmp_path, pa.array(rows, group), VARIANT, ("v",), 9)


def test_pieces_that_duckdb_cut_are_its_values(tmp_path: Path) -> None:
    """DuckDB shreds by what most values are; what it says of its rows in JSON is what comes."""
    duckdb = pytest.importorskip("duckdb")
    values = [
        {"a": 1, "b": "x", "c": [1, 2]},
        {"a": "one", "b": "y", "d": {"e": True}},
        {"a": 3, "c": [3, None]},
        {"a": None, "b": "z" * 100},
        [1, "two", {"a": 3}],
        7,
        None,
    ]
    file = tmp_path / "a.parquet"
    texts = pa.table({"j": [json.dumps(value) for value in values]})
    duckdb.from_arrow(texts).project("j::JSON::VARIANT AS v").to_parquet(str(file))
    if int(pa.__version__.split(".")[0]) < 22:
        with pytest.raises(RefusedError, match="VARIANT is known from pyarrow 22 on"):
            ParquetReader(Storage(str(tmp_path)), file.name)
        return
    own = pq.read_schema(file).field("v").type
    assert any(field.name == "typed_value" for field in own)
    reader = ShreddedReader(ParquetReader(Storage(str(tmp_path)), file.name), frozenset([("v",)]))
    schema = pa.schema({"v": VARIANT})
    found = pa.Table.from_batches(reader.batches(schema, 2, use_threads=False), schema)
    assert [_bare(_plain(one)) for one in found["v"].to_pylist()] == [
        MISSING if value is None else value for value in values
    ]


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _bare(one) for k, one in value.items()}
    if isinstance(value, list):
        return [_bare(one) for one in value]
    return value.value if isinstance(value, Leaf) else value
