"""Variants that base files have in pieces (RFC 99), where the table's schema has them whole."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seambase.errors import RefusedError
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.avro_schemas import optional, record
from seamkit_tests.samples.hudi_files import Table, at, base, log
from seamkit_tests.samples.hudi_log_bytes import INSTANT, SCHEMA, avro_content, block
from seamkit_tests.samples.hudi_scans import scan_on
from seamkit_tests.samples.outlets import OUTLETS, Filter
from seamkit_tests.samples.variants import MISSING, Leaf, encoded, metadata_of, pieces, pieces_type

_META = ("_hoodie_commit_time", "_hoodie_record_key")
_NAMES, _SHAPE = ["a", "b"], {"a": "int32"}
_METADATA = metadata_of(_NAMES)
_BOTH, _OTHER = {"a": Leaf("int32", 7), "b": Leaf("string", "x")}, Leaf("string", "no object")
_VARIANT = {**record("variant", metadata="bytes", value="bytes"), "logicalType": "variant"}
_WHOLE = record("r", k="string", v=optional(_VARIANT))
_NESTED = record("r", k="string", v=optional(record("s", w=optional(_VARIANT))))


def _cut(value: Any) -> dict[str, Any]:
    return {"metadata": _METADATA, **pieces(value, _SHAPE, _NAMES)}


def _whole(value: Any) -> dict[str, Any]:
    return {"metadata": _METADATA, "value": encoded(value, _NAMES)}


def _parquet(
    minute: int, rows: dict[str, Any], *, nested: bool = False, spare: bool = False
) -> bytes:
    """Rows by key, as a writer cuts them; `spare` leaves the column `value` out."""
    parts = [one for one in pieces_type(_SHAPE) if not (spare and one.name == "value")]
    kind = pa.struct([pa.field("metadata", pa.binary(), nullable=False), *parts])
    cut = [None if value is MISSING else _cut(value) for value in rows.values()]
    if nested:
        kind, cut = pa.struct({"w": kind}), [{"w": one} for one in cut]
    meta = [pa.array([at(minute)] * len(rows)), pa.array(list(rows))]
    columns = [*meta, pa.array(list(rows)), pa.array(cut, kind)]
    out = io.BytesIO()
    pq.write_table(pa.table(columns, names=[*_META, "k", "v"]), out)
    return out.getvalue()


def _table(folder: Path, content: bytes, schema: dict[str, Any] = _WHOLE) -> HudiTable:
    made = Table(folder, 9, **{"hoodie.table.recordkey.fields": "k"})
    (folder / base(10)).write_bytes(content)
    made.instant(at(10), "commit", at(11), base(10), schema=json.dumps(schema))
    return HudiTable(str(folder))


def _rows(table: HudiTable, path: str) -> dict[str, Any]:
    found = scan_on(table, path, ["k", "v"]).to_table()
    return dict(zip(*found.to_pydict().values(), strict=True))


@pytest.mark.parametrize("path", ["native", "merge", "connector"])
def test_pieces_are_put_together(tmp_path: Path, path: str) -> None:
    """Not shown without what lies in typed columns, as the plain fields of a struct would be."""
    table = _table(tmp_path, _parquet(10, {"a": _BOTH, "b": _OTHER, "c": MISSING}))
    assert _rows(table, path) == {"a": _whole(_BOTH), "b": _whole(_OTHER), "c": None}


@pytest.mark.parametrize("outlet", OUTLETS)
def test_all_doors_put_them_together(tmp_path: Path, outlet: str) -> None:
    """Engines do not read such a file in our place."""
    table = _table(tmp_path, _parquet(10, {"a": _BOTH, "b": _OTHER}))
    test = Filter("k = 'a'", pc.field("k") == "a")
    rows = OUTLETS[outlet](table, test, {"columns": ["k", "v"]})
    assert rows.to_pydict() == {"k": ["a"], "v": [_whole(_BOTH)]}


@pytest.mark.parametrize("path", ["native", "connector"])
def test_the_fields_of_the_table_s_schema_have_an_order(tmp_path: Path, path: str) -> None:
    """Of a variant it may be the value that comes first."""
    other = {**record("variant", value="bytes", metadata="bytes"), "logicalType": "variant"}
    schema = record("r", k="string", v=optional(other))
    found = _rows(_table(tmp_path, _parquet(10, {"a": _BOTH}), schema), path)
    assert found == {"a": _whole(_BOTH)}


@pytest.mark.parametrize("path", ["native", "connector"])
def test_a_struct_of_the_same_fields_is_none(tmp_path: Path, path: str) -> None:
    """Where the table's schema has all three, as it is no variant then."""
    own = record("s", metadata="bytes", value=optional("bytes"), typed_value=optional("long"))
    rows = [{"metadata": b"m", "value": b"v", "typed_value": 1}]
    kind = pa.struct({"metadata": pa.binary(), "value": pa.binary(), "typed_value": pa.int32()})
    meta = [pa.array([at(10)]), pa.array(["a"])]
    out = io.BytesIO()
    columns = [*meta, pa.array(["a"]), pa.array(rows, kind)]
    pq.write_table(pa.table(columns, names=[*_META, "k", "v"]), out)
    table = _table(tmp_path, out.getvalue(), record("r", k="string", v=optional(own)))
    assert _rows(table, path) == {"a": rows[0]}


@pytest.mark.parametrize("path", ["native", "connector"])
def test_pieces_lie_in_structs(tmp_path: Path, path: str) -> None:
    """At any depth."""
    table = _table(tmp_path, _parquet(10, {"a": _BOTH}, nested=True), _NESTED)
    assert _rows(table, path) == {"a": {"w": _whole(_BOTH)}}


@pytest.mark.parametrize("path", ["native", "connector"])
def test_all_may_be_typed(tmp_path: Path, path: str) -> None:
    """Then a group has no column for the rest, and the commit's schema knows none of its pieces."""
    value = {"a": Leaf("int32", 7)}
    table = _table(tmp_path, _parquet(10, {"a": value}, spare=True))
    assert _rows(table, path) == {"a": _whole(value)}


@pytest.mark.parametrize("path", ["merge", "connector"])
def test_logs_lie_over_them(tmp_path: Path, path: str) -> None:
    """Avro has variants whole."""
    table = Table(tmp_path, 9, **{"hoodie.table.recordkey.fields": "k"})
    (tmp_path / base(10)).write_bytes(_parquet(10, {"a": _BOTH, "b": _OTHER}))
    meta = record("r", **dict.fromkeys(_META, optional("string")))
    schema = {**meta, "fields": [*meta["fields"], *_WHOLE["fields"]]}
    row = {_META[0]: at(20), _META[1]: "b", "k": "b", "v": _whole(_BOTH)}
    header = {INSTANT: at(20), SCHEMA: json.dumps(schema)}
    (tmp_path / log(20)).write_bytes(block("avro", header, avro_content(schema, [row])))
    for minute, kind, name in ((10, "commit", base(10)), (20, "deltacommit", log(20))):
        table.instant(at(minute), kind, at(minute + 1), name, schema=json.dumps(_WHOLE))
    expected = {"a": _whole(_BOTH), "b": _whole(_BOTH)}
    assert _rows(HudiTable(str(tmp_path)), path) == expected


@pytest.mark.parametrize("path", ["merge", "connector"])
def test_pieces_in_logs_are_refused(tmp_path: Path, path: str) -> None:
    """Of blocks in Parquet, where the column is asked for."""
    table = Table(tmp_path, 9, **{"hoodie.table.recordkey.fields": "k"})
    header = {INSTANT: at(20), SCHEMA: json.dumps(_WHOLE)}
    content = block("parquet", header, _parquet(20, {"a": _BOTH}))
    (tmp_path / log(20)).write_bytes(content)
    table.instant(at(20), "deltacommit", at(21), log(20), schema=json.dumps(_WHOLE))
    with pytest.raises(RefusedError, match=r"parquet block at byte 0: columns \['v'\]"):
        _rows(HudiTable(str(tmp_path)), path)
    others = scan_on(HudiTable(str(tmp_path)), path, ["k"]).to_table()
    assert others.column("k").to_pylist() == ["a"]
