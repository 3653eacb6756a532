"""Defaults of the table's Avro schema, where blocks of logs lack a column, and where they are gaps.

Tables of version 6 are made byte by byte: writers with schemas of Avro's own, as Hudi Streamer's
are, have such defaults; those of Spark have none but null. Spark 3.5.9 with Hudi 1.2.0 has shown
b and c of the table that `_table` makes, as what the first log changed; it ends in an error over a,
whose file lacks columns that are never null, and where a column with such a default may be null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import RefusedError
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.hudi.test_log_merges import ALL, BY_CLASS, KEY, PATHS, X5, Log, merged, whole
from seamkit_tests.samples.avro_schemas import logical, optional, record
from seamkit_tests.samples.hudi_files import Table, at, base, log
from seamkit_tests.samples.hudi_log_bytes import INSTANT, SCHEMA, avro_content, block
from seamkit_tests.samples.hudi_scans import scan_on

_PACKAGE = "org.apache.hudi.common.model."
_META = ("_hoodie_commit_time", "_hoodie_commit_seqno", KEY, "_hoodie_partition_path")
_META_TYPES = {name: optional("string") for name in (*_META, "_hoodie_file_name")}
#: Columns that came later, with their defaults, and the values that these are.
_LATER: dict[str, tuple[Any, Any, Any]] = {
    "i": ("int", 5, 5),
    "l": ("long", -(2**40), -(2**40)),
    "d": ("double", 0.5, 0.5),
    "b": ("boolean", False, False),
    "s": ("string", "none", "none"),
    "u": (["null", "string"], None, None),
}


def _with_defaults(schema: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    """A record's schema with defaults of some of its fields."""
    fields = [
        {**one, "default": defaults[one["name"]]} if one["name"] in defaults else one
        for one in schema["fields"]
    ]
    return {**schema, "fields": fields}


def _table(folder: Path, later: Mapping[str, tuple[Any, Any, Any]] = _LATER) -> HudiTable:
    """Rows a and b of a base file, and over them b and c of a log; then columns came, and row d."""
    own = {
        "hoodie.compaction.payload.class": f"{_PACKAGE}OverwriteWithLatestAvroPayload",
        "hoodie.table.recordkey.fields": "k",
        "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    }
    table = Table(folder, 6, **own)
    (folder / ".hoodie_partition_metadata").write_text(f"commitTime={at(1)}\npartitionDepth=0\n")
    first = record("r", k="string", v=optional("string"))
    kinds = {name: kind for name, (kind, _, _) in later.items()}
    then = record("r", k="string", v=optional("string"), **kinds)
    then = _with_defaults(then, v=None, **{name: stated for name, (_, stated, _) in later.items()})
    names = [base(1), log(1), log(1, 2)]
    for minute, name, schema in zip((1, 2, 3), names, (first, first, then), strict=True):
        table.instant(at(minute), "deltacommit", "", name, schema=json.dumps(schema))
    rows = [_row(1, key, v=f"{key}1") for key in ("a", "b")]
    texts = pa.schema({name: pa.string() for name in (*_META_TYPES, "k", "v")})
    pq.write_table(pa.Table.from_pylist(rows, texts), folder / names[0])
    values = {name: value for name, (_, _, value) in later.items()}
    values |= {"i": 9} if "i" in later else {}
    written = record("r", **_META_TYPES, k="string", v=optional("string"))
    _write(folder / names[1], 2, written, [_row(2, key, v=f"{key}2") for key in ("b", "c")])
    written = {**then, "fields": [*record("r", **_META_TYPES)["fields"], *then["fields"]]}
    _write(folder / names[2], 3, written, [_row(3, "d", v="d3", **values)])
    return HudiTable(str(folder))


def _row(minute: int, key: str, **columns: Any) -> dict[str, Any]:
    meta = dict(zip(_META_TYPES, (at(minute), f"{at(minute)}_0_0", key, "", "f-0"), strict=True))
    return {**meta, "k": key, **columns}


def _write(path: Path, minute: int, schema: Any, rows: Sequence[dict[str, Any]]) -> None:
    header = {INSTANT: at(minute), SCHEMA: json.dumps(schema)}
    path.write_bytes(block("avro", header, avro_content(schema, rows)))


def _expected() -> dict[str, dict[str, Any]]:
    """The rows by their keys: of the log those of the first writer have the defaults."""
    later = {name: value for name, (_, _, value) in _LATER.items()}
    return {
        "a": {"v": "a1", **dict.fromkeys(later)},
        "b": {"v": "b2", **later},
        "c": {"v": "c2", **later},
        "d": {"v": "d3", **later, "i": 9},
    }


def _by_key(rows: pa.Table) -> dict[str, dict[str, Any]]:
    return {row.pop("k"): row for row in rows.to_pylist()}


@PATHS
def test_a_block_that_lacks_a_column_has_the_default_of_the_table(
    tmp_path: Path, path: str
) -> None:
    """Hudi reads blocks of Avro by the table's schema, which fills its defaults in.

    Rows of base files have nulls there.
    """
    table = _table(tmp_path)
    assert _by_key(scan_on(table, path).to_table()) == _expected()
    bounded = scan_on(table, path, memory_limit_bytes=1 << 24)
    assert _by_key(bounded.to_table()) == _expected()
    few = scan_on(table, path, ["i", "k"], batch_rows=1)
    assert _by_key(few.to_table()) == {key: {"i": row["i"]} for key, row in _expected().items()}


@PATHS
def test_states_before_the_column_came(tmp_path: Path, path: str) -> None:
    """As of an instant the schema of then counts; changes have the latest one."""
    table = _table(tmp_path)
    before = scan_on(table, path, as_of=at(2)).to_table()
    assert _by_key(before) == {"a": {"v": "a1"}, "b": {"v": "b2"}, "c": {"v": "c2"}}
    changed = scan_on(table, path, query="incremental", begin=at(1), end=at(2)).to_table()
    assert _by_key(changed) == {key: _expected()[key] for key in ("b", "c")}


def _schema(**fields: tuple[Any, Any]) -> dict[str, str]:
    """The property with a table's schema: types and defaults by name."""
    schema = record("r", k="string", **{name: kind for name, (kind, _) in fields.items()})
    defaults = {name: default for name, (_, default) in fields.items()}
    return {"hoodie.table.create.schema": json.dumps(_with_defaults(schema, **defaults))}


_STATED = _schema(v=("string", "d"), n=("int", 7), o=("long", 6))


@PATHS
@pytest.mark.parametrize(("order", "left"), [(6, ("a", "new", 7, 6)), (7, ("a", "x", 1, 7))])
def test_a_default_may_order(tmp_path: Path, path: str, order: int, left: Any) -> None:
    """An ordering column that a block lacks orders its rows by the default."""
    log = Log().rows(("k", "v"), ("a", "a", "new"))
    rows = merged(tmp_path, [("a", "x", 1, order)], log, path=path, properties=_STATED)
    assert rows == [left]


@PATHS
@pytest.mark.parametrize(
    "later",
    [
        (logical("bytes", "decimal", precision=4, scale=2), "\u0005", Decimal("0.07")),
        (record("inner", x="int"), {"x": 1}, {"x": 2}),
        ("bytes", "\u00ff", b"1"),
    ],
    ids=["decimal", "record", "bytes"],
)
def test_defaults_that_are_not_known_are_refused(
    tmp_path: Path, path: str, later: tuple[Any, Any, Any]
) -> None:
    """A default without a plain value is refused by the name of its column, where that is read."""
    table = _table(tmp_path, {"x": later})
    with pytest.raises(RefusedError, match=r"\.f-0_.*lacks the field 'x', whose default"):
        scan_on(table, path).to_table()
    assert _by_key(scan_on(table, path, ["k", "v"]).to_table()) == {
        key: {"v": row["v"]} for key, row in _expected().items()
    }


@PATHS
def test_a_default_of_another_type_is_refused(tmp_path: Path, path: str) -> None:
    """A schema is damaged whose default is no value of its column."""
    log, own = Log().rows(("k", "v", "o"), ("a", "a", "x", 6)), _schema(n=("int", "seven"))
    with pytest.raises(RefusedError, match="lacks the field 'n', whose default 'seven'"):
        merged(tmp_path, [X5], log, path=path, properties=own)


def test_fields_within_columns_are_looked_for() -> None:
    """A field that a struct, list or map of a block lacks counts by its dotted name."""
    from seamkit.avro.schema import parse_schema
    from seamkit.tables.hudi.listing.log_blocks import _lacking

    inner = record("inner", x="int", y="int")
    stated = _with_defaults(inner, y=3)
    less = record("inner", x="int")
    for wrap in (lambda kind: kind, optional, lambda kind: {"type": "array", "items": kind}):
        table, there = (record("r", m=wrap(kind)) for kind in (stated, less))
        assert [*_lacking(parse_schema(table), parse_schema(there))] == [("m.y", 3)]
        assert [*_lacking(parse_schema(table), parse_schema(table))] == []


_IGNORED = {"hoodie.table.partial.update.mode": "IGNORE_DEFAULTS"}


@PATHS
@pytest.mark.parametrize("how", [{"properties": _IGNORED}, {**BY_CLASS, "version": 8}], ids=repr)
def test_gaps_that_are_defaults_other_than_null_are_refused(
    tmp_path: Path, path: str, how: dict[str, Any]
) -> None:
    """Where a column's default leaves the older value, one that is no null is refused by name."""
    log = Log().rows(ALL, whole("a", "new", None, 6))

    def read(folder: str, **stated: tuple[Any, Any]) -> list[Any]:
        own = {**how, "properties": {**how["properties"], **_schema(**stated)}}
        further = pa.field("_hoodie_is_deleted", pa.bool_())
        return merged(tmp_path / folder, [X5], log, path=path, further=further, **own)

    for kind, default in (("int", 0), (["int", "null"], 1)):
        with pytest.raises(RefusedError, match=r"that of 'n' is [01]; others than null"):
            read(str(default), n=(kind, default))
    known = {"n": (["null", "int"], None), "_hoodie_is_deleted": ("boolean", False)}
    assert read("null", **known) == [("a", "new", 1, 6)]


@PATHS
@pytest.mark.parametrize("how", [{"properties": _IGNORED}, {**BY_CLASS, "version": 8}], ids=repr)
def test_defaults_of_columns_that_are_not_read_are_no_matter(
    tmp_path: Path, path: str, how: dict[str, Any]
) -> None:
    """A default other than null is refused where its column is read, and nowhere else."""
    own = {**how, "properties": {**how["properties"], **_schema(g=("int", 7))}}
    log, further = Log().rows(ALL, whole("a", "new", None, 6)), pa.field("g", pa.int32())
    rows = merged(tmp_path, [X5], log, path=path, further=further, **own)
    assert rows == [("a", "new", 1, 6)]


@PATHS
def test_deletes_and_partial_updates_have_no_defaults(tmp_path: Path, path: str) -> None:
    """Where no value of a block can be a default that counts, nothing is refused."""
    own = {**_IGNORED, **_schema(n=("int", 0))}
    gone = Log().deletes(("a", None))
    assert merged(tmp_path / "gone", [X5], gone, path=path, properties=own) == []
    filled = Log().rows(("v", "o"), ("a", "new", 6), partial=True)
    rows = merged(tmp_path / "filled", [X5], filled, path=path, properties=own)
    assert rows == [("a", "new", 1, 6)]
    filled = Log().rows(ALL, whole("a", "x", 0, 6)).rows(("v", "o"), ("a", "new", 7), partial=True)
    with pytest.raises(RefusedError, match="that of 'n' is 0"):
        merged(tmp_path / "over", [], filled, path=path, properties=own)


@PATHS
def test_gaps_that_are_marked_have_no_defaults(tmp_path: Path, path: str) -> None:
    """Where a text marks gaps, defaults are values like others."""
    own = {"hoodie.table.partial.update.mode": "FILL_UNAVAILABLE", **_schema(n=("int", 2))}
    log = Log().rows(ALL, whole("a", "new", 2, 6))
    assert merged(tmp_path, [X5], log, path=path, properties=own) == [("a", "new", 2, 6)]


@PATHS
def test_blocks_of_parquet_have_nulls(tmp_path: Path, path: str) -> None:
    """What a block of Parquet lacks is null, as in a base file: Spark's reader has no defaults."""
    row = {KEY: "a", "k": "a", "v": "new", "o": 6}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([row]), sink)
    schema = record("r", **{KEY: "string"}, k="string", v="string", o="long")
    header = {SCHEMA: json.dumps(schema)}
    log = Log()._add("parquet", sink.getvalue().to_pybytes(), header)
    rows = merged(tmp_path, [X5], log, path=path, properties=_STATED)
    assert rows == [("a", "new", None, 6)]
