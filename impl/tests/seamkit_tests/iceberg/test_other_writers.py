"""Tables as their own readers read them: hints, addresses, old lists, types of version 3."""

import datetime as dt
import gzip
import shutil
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import fsspec
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyiceberg.utils.datetime import timestamp_to_nanos

import seamkit
from seambase.errors import InputError, RefusedError, UsageError
from seambase.scan import TableWarning
from seamkit.tables.iceberg.pruning import iceberg_buckets
from seamkit.tables.iceberg.table import IcebergTable
from seamkit_tests.samples.hive_tables import unpack_hive
from seamkit_tests.samples.iceberg_tables import (
    KEY,
    MadeCommit,
    MadeFile,
    MadeTable,
    edit_metadata,
    field_of,
    numbered_table,
    stats_of,
)


def _keys(table: IcebergTable) -> list[Any]:
    return sorted(table.scan().to_table()["k"].to_pylist())


@pytest.mark.parametrize("ending", ["", ".metadata.json"])
@pytest.mark.parametrize("name", ["00001-43fda1f4-1c96-4376-ad16-91beb71d0759", "1749025517"])
def test_a_hint_may_hold_the_name_of_a_file(ending: str, name: str, tmp_path: Path) -> None:
    """`version-hint.text` as pyiceberg writes and reads it, and BigQuery: a name, not a number."""
    folder = numbered_table(tmp_path / "t", commits=2).folder / "metadata"
    (folder / "v1.metadata.json").rename(folder / "00000-aaaa.metadata.json")
    (folder / "v2.metadata.json").rename(folder / f"{name}.metadata.json")
    (folder / "version-hint.text").write_text(name + ending + "\n")
    assert _keys(IcebergTable(str(tmp_path / "t"))) == [0, 1]


def test_a_hint_that_names_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    """No other file is taken in its place."""
    folder = numbered_table(tmp_path / "t").folder / "metadata"
    (folder / "v1.metadata.json").rename(folder / "00000-aaaa.metadata.json")
    (folder / "version-hint.text").write_text("00001-bbbb")
    with pytest.raises(UsageError, match="give the path of the file"):
        IcebergTable(str(tmp_path / "t"))


def test_a_hint_of_a_number_is_walked_on(tmp_path: Path) -> None:
    """Hadoop's catalog may have died before it wrote the hint."""
    folder = numbered_table(tmp_path / "t", commits=3).folder
    (folder / "metadata" / "version-hint.text").write_text("1")
    assert _keys(IcebergTable(str(folder))) == [0, 1, 2]


@pytest.mark.parametrize("ending", [".gzip.metadata.json", ".gz.metadata.json"])
@pytest.mark.parametrize("has_hint", [True, False])
def test_a_later_version_may_be_compressed(ending: str, *, has_hint: bool, tmp_path: Path) -> None:
    """ClickHouse called such a file `gzip`: an older one must not pass for the newest (#109801)."""
    folder = numbered_table(tmp_path / "t", commits=2).folder / "metadata"
    plain = folder / "v2.metadata.json"
    (folder / f"v2{ending}").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    (folder / "version-hint.text").unlink(missing_ok=True)
    if has_hint:
        (folder / "version-hint.text").write_text("2")
    assert _keys(IcebergTable(str(tmp_path / "t"))) == [0, 1]


def test_a_later_version_in_another_codec_is_refused(tmp_path: Path) -> None:
    """The specification has gzip alone; ClickHouse writes whatever it knows."""
    folder = numbered_table(tmp_path / "t", commits=2).folder / "metadata"
    plain = folder / "v2.metadata.json"
    packed = pa.compress(plain.read_bytes(), "zstd", asbytes=True)
    (folder / "v2.zstd.metadata.json").write_bytes(packed)
    plain.unlink()
    (folder / "version-hint.text").unlink(missing_ok=True)
    with pytest.raises(InputError, match=r"v2\.zstd\.metadata\.json"):
        IcebergTable(str(tmp_path / "t"))


@pytest.mark.parametrize("has_hint", [True, False])
def test_a_version_may_be_nanoseconds_since_1970(*, has_hint: bool, tmp_path: Path) -> None:
    """As Snowflake names metadata, and writes them into the hint (xtable#287)."""
    folder = numbered_table(tmp_path / "t", commits=2).folder / "metadata"
    names = ("1701803553322000000", "1701803560000000000")
    for old, name in zip(("v1", "v2"), names, strict=True):
        (folder / f"{old}.metadata.json").rename(folder / f"v{name}.metadata.json")
    (folder / "version-hint.text").unlink(missing_ok=True)
    if has_hint:
        (folder / "version-hint.text").write_text(names[0])
    assert _keys(IcebergTable(str(tmp_path / "t"))) == ([0] if has_hint else [0, 1])


@pytest.mark.parametrize("has_hint", [True, False])
def test_files_named_by_two_rules_are_told(*, has_hint: bool, tmp_path: Path) -> None:
    """As after a catalog took over a table of Hadoop's.

    By the folder Iceberg's library takes Hadoop's file, and so do we with a warning: ClickHouse
    takes the higher number, and only the catalog knows.
    """
    folder = numbered_table(tmp_path / "t", commits=3).folder / "metadata"
    (folder / "v3.metadata.json").rename(folder / "00003-aaaa.metadata.json")
    (folder / "version-hint.text").unlink(missing_ok=True)
    if has_hint:
        (folder / "version-hint.text").write_text("1")
    table = IcebergTable(str(tmp_path / "t"))
    told = r"v2\.metadata\.json: beside it lies 00003-aaaa\.metadata\.json, which a catalog named"
    with pytest.warns(TableWarning, match=told):
        assert _keys(table) == [0, 1]
    with pytest.raises(InputError, match=told):
        table.scan(strict=True)
    for name, wanted in (("v2", [0, 1]), ("00003-aaaa", [0, 1, 2])):
        named = IcebergTable(str(folder / f"{name}.metadata.json"))
        assert sorted(named.scan(strict=True).to_table()["k"].to_pylist()) == wanted
    (folder / "version-hint.text").write_text("00003-aaaa")
    found = IcebergTable(str(tmp_path / "t")).scan(strict=True).to_table()
    assert sorted(found["k"].to_pylist()) == [0, 1, 2]


@pytest.mark.parametrize("content", ["of v2", "of v1", "{", '{"format-version": 9}'])
def test_a_catalogs_file_that_is_not_later_is_no_doubt(content: str, tmp_path: Path) -> None:
    """As where somebody puts a catalog's newest file into the folder as a version of Hadoop's."""
    folder = numbered_table(tmp_path / "t", commits=2).folder / "metadata"
    own = folder / f"{content[3:]}.metadata.json"
    text = own.read_text() if content.startswith("of") else content
    (folder / "00007-aaaa.metadata.json").write_text(text)
    found = IcebergTable(str(tmp_path / "t")).scan(strict=True).to_table()
    assert sorted(found["k"].to_pylist()) == [0, 1]


@pytest.mark.parametrize("below", [".", "metadata"])
def test_a_metadata_file_is_found_from_within_its_folders(
    below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path may be relative."""
    folder = numbered_table(tmp_path / "t").folder
    monkeypatch.chdir(folder / below)
    path = "v1.metadata.json" if below == "metadata" else "metadata/v1.metadata.json"
    assert _keys(IcebergTable(path)) == [0]
    assert seamkit.open_table(path).scan().count_rows() == 1


@pytest.mark.parametrize("location", ["./here/t", "here/t", "./here/t/"])
def test_a_location_may_begin_with_a_dot(location: str, tmp_path: Path) -> None:
    """Hadoop writes `./t` as the location, and `t/...` as the paths below it."""
    folder = numbered_table(tmp_path / "t").folder
    whole = f"file://{folder}"

    def rename(file: Path) -> None:
        # Avro has lengths in front of texts, so the other text is as long.
        other = "here/t".ljust(len(whole), "_")
        file.write_bytes(file.read_bytes().replace(whole.encode(), other.encode()))

    for file in (folder / "metadata").glob("*"):
        rename(file)
    padded = "here/t".ljust(len(whole), "_")

    def relocate(parsed: dict[str, Any]) -> None:
        parsed["location"] = location.replace("here/t", padded)

    edit_metadata(folder / "metadata/v1.metadata.json", relocate)

    assert _keys(IcebergTable(str(folder))) == [0]


@pytest.mark.parametrize("version", [1, 2])
def test_snapshots_may_name_their_manifests_themselves(version: int, tmp_path: Path) -> None:
    """Version 1 allows `manifests` in the place of a list; tables that grew out of it keep them."""
    folder = numbered_table(tmp_path / "t", commits=2).folder

    def embed(parsed: dict[str, Any]) -> None:
        parsed["format-version"] = version
        for number, snapshot in enumerate(parsed["snapshots"], 1):
            del snapshot["manifest-list"], snapshot["sequence-number"]
            names = [f"m{one}-0.avro" for one in range(1, number + 1)]
            snapshot["manifests"] = [f"file://{folder}/metadata/{name}" for name in names]

    edit_metadata(folder / "metadata/v2.metadata.json", embed)
    table = IcebergTable(str(folder))

    assert _keys(table) == [0, 1]
    assert table.scan(as_of=1).to_table()["k"].to_pylist() == [0]
    appended = table.scan(query="incremental", begin=1).to_table()
    assert appended["k"].to_pylist() == [1]
    edit_metadata(
        folder / "metadata/v2.metadata.json", lambda parsed: parsed["snapshots"][1].pop("manifests")
    )
    with pytest.raises(InputError, match="neither a manifest list nor manifests"):
        IcebergTable(str(folder))


_POINT = bytes.fromhex("0101000000000000000000f03f0000000000000040")
_TYPES: dict[str, tuple[Any, pa.Table, list[Any]]] = {
    kind: (kind, pa.table({"x": pa.array([_POINT, None], pa.binary())}), [_POINT, None])
    for kind in ("geometry", "geometry(srid:3857)", "geography", "geography(srid:4269, karney)")
}
_VALUE = {"metadata": b"\x01\x00\x00", "value": b"\x0c\x2a"}
_VARIANT = pa.struct([pa.field("metadata", pa.binary()), pa.field("value", pa.binary())])
_TYPES["variant"] = ("variant", pa.table({"x": pa.array([_VALUE, None], _VARIANT)}), [_VALUE, None])
_TYPES["unknown"] = ("unknown", pa.table({"k": pa.array([1, 2], pa.int64())}), [None, None])


@pytest.mark.parametrize("kind", _TYPES)
def test_types_of_version_3_are_read(kind: str, tmp_path: Path) -> None:
    """Variants by their two parts, shapes as well-known binary, unknown columns as nulls."""
    declared, rows, values = _TYPES[kind]
    column = field_of("x", declared, 2)
    table = MadeTable(tmp_path / "t", [KEY, column], version=3)
    table.commit(MadeCommit([MadeFile("a.parquet", rows)]))
    opened = IcebergTable(str(table.folder))
    assert opened.scan(["x"]).to_table()["x"].to_pylist() == values
    in_sql = duckdb.from_arrow(opened.scan().dataset())
    assert [row[0] for row in in_sql.select("x").fetchall()] == values
    with duckdb.connect() as connection:
        seamkit.register(connection, "t", opened.scan())
        assert [row[0] for row in connection.sql("SELECT x FROM t").fetchall()] == values
    assert opened.scan().lazy().select(pl.col("x")).collect().height == 2
    assert opened.scan(filter="x IS NULL").count_rows() == values.count(None)
    if kind.startswith("geo"):
        told = opened.schema.field("x").metadata
        assert told == {b"iceberg.type": kind.encode()}
        assert opened.scan().to_table().schema.field("x").metadata == told
    table.commit(MadeCommit([table.deletes("d.parquet", "a.parquet", [0])], operation="delete"))
    left = IcebergTable(str(table.folder)).scan()
    assert left.to_table()["x"].to_pylist() == values[1:]
    with duckdb.connect() as connection:
        seamkit.register(connection, "t", left)
        assert connection.sql("SELECT x FROM t").fetchall() == [(value,) for value in values[1:]]


def _numbered(name: str, kind: pa.DataType, id_: int) -> pa.Field:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(id_)})


_OF_UNKNOWN = {
    "numbers": pa.array([7, 8], pa.int32()),
    "nulls": pa.array([None, None], pa.int32()),
    "texts": pa.array(["7", None]),
    "structs": pa.array([{"y": 1}, {"y": 2}], pa.struct([_numbered("y", pa.int32(), 9)])),
}


@pytest.mark.parametrize("stored", _OF_UNKNOWN)
def test_what_files_have_of_unknown_columns_is_no_value(stored: str, tmp_path: Path) -> None:
    """The specification: "any corresponding column must be ignored and replaced with `null`".

    At every depth, and whatever the manifest counts.
    """
    values = _OF_UNKNOWN[stored]
    number, unknown = {"required": False, "type": "int"}, {"required": False, "type": "unknown"}
    within = [{"id": 4, "name": "y", **number}, {"id": 5, "name": "x", **unknown}]
    columns = [
        {"id": 2, "name": "x", **unknown},
        field_of("s", {"type": "struct", "fields": within}, 3),
    ]
    parts = [pa.array([1, 2], pa.int32()), values]
    kinds = [_numbered("y", pa.int32(), 4), _numbered("x", values.type, 5)]
    structs = pa.StructArray.from_arrays(parts, fields=kinds)
    rows = pa.table({"k": pa.array([1, 2], pa.int64()), "x": values, "s": structs})
    seven = b"\7\0\0\0"
    counts = stats_of(2, seven, seven, 2, 5)
    table = MadeTable(tmp_path / "t", [KEY, *columns], version=3)
    table.commit(MadeCommit([MadeFile("a.parquet", rows, changed=counts)]))

    scan = IcebergTable(str(table.folder)).scan()
    assert scan.to_table()["x"].to_pylist() == [None, None]
    assert scan.to_table()["s"].to_pylist() == [{"y": 1, "x": None}, {"y": 2, "x": None}]
    assert scan.select(["x"]).to_table()["x"].null_count == 2
    told = scan.statistics().columns["x"].nulls
    assert told is None or told.value == 2
    found = IcebergTable(str(table.folder)).scan(filter="x IS NULL AND s.x IS NULL")
    assert found.to_table()["k"].to_pylist() == [1, 2]
    assert IcebergTable(str(table.folder)).scan(filter="x IS NOT NULL").count_rows() == 0
    with duckdb.connect() as connection:
        seamkit.register(connection, "t", scan)
        assert connection.sql("SELECT k FROM t WHERE x IS NULL").fetchall() == [(1,), (2,)]


def test_the_greatest_field_id_is_read(tmp_path: Path) -> None:
    """Those above 2147483447 are for columns that the specification defines."""
    column = field_of("k", "long", 2147483447)
    table = IcebergTable(str(numbered_table(tmp_path / "t", 2, (column,)).folder))
    assert _keys(table) == [0, 1]


_MOMENTS = ["2017-11-16T22:31:08.123456789", "1969-12-31T23:59:59.0000001", "1970-01-01T00:00:00"]


@pytest.mark.parametrize("text", _MOMENTS)
def test_defaults_of_nanoseconds_have_all_their_digits(text: str, tmp_path: Path) -> None:
    """As pyiceberg reads the same text; filters find them by the nanosecond."""
    kinds = {"timestamp_ns": text, "timestamptz_ns": f"{text}+00:00"}
    columns = [
        field_of(kind, kind, id_, initial_default=default)
        for id_, (kind, default) in enumerate(kinds.items(), 2)
    ]
    table = IcebergTable(str(numbered_table(tmp_path / "t", 1, (KEY, *columns), version=3).folder))
    nanos = timestamp_to_nanos(text)
    rows = table.scan().to_table()
    assert [rows[kind].cast(pa.int64()).to_pylist() for kind in kinds] == [[nanos], [nanos]]
    for number, found in ((nanos, 1), (nanos // 1000 * 1000 + 999, int(nanos % 1000 == 999))):
        moment = pa.scalar(number, pa.timestamp("ns"))
        assert table.scan(filter=pc.field("timestamp_ns") == moment).count_rows() == found


class _InOrc(MadeTable):
    """A table whose files are in ORC, with field ids as Iceberg's writers give them."""

    def _write_rows(self, one: MadeFile) -> None:
        ids = {own["name"]: {"iceberg.id": str(own["id"])} for own in self._columns}
        fields = [own.with_metadata(ids[own.name]) for own in one.rows.schema]
        rows = one.rows.cast(pa.schema(fields))
        orc.write_table(rows, self.folder / "data" / one.name)


@pytest.mark.parametrize("made", [MadeTable, _InOrc])
def test_a_struct_may_have_lost_all_of_its_fields(made: type[MadeTable], tmp_path: Path) -> None:
    """As pyiceberg lets it; what was null is null, in batches of any size."""
    column = field_of("s", {"type": "struct", "fields": []}, 2)
    table = made(tmp_path / "t", [KEY, column])
    rows = pa.table({"k": [1, 2, 3], "s": pa.array([{"a": 1}, None, {"a": None}])})
    changed = {"file_format": "ORC" if made is _InOrc else "PARQUET"}
    table.commit(MadeCommit([MadeFile("a", rows, changed=changed)]))
    for batch_rows in (1, 10):
        found = IcebergTable(str(table.folder)).scan(batch_rows=batch_rows).to_table()
        assert found["s"].to_pylist() == [{}, None, {}]


def test_times_of_day_in_orc_are_numbers(tmp_path: Path) -> None:
    """ORC has no word for them: writers give the microseconds; so in lists."""
    inner = {"type": "list", "element-id": 4, "element": "time", "element-required": False}
    columns = [
        KEY,
        field_of("x", "time", 2),
        field_of("xs", inner, 3),
    ]
    table = _InOrc(tmp_path / "t", columns)
    numbers = [0, None, 86_399_999_999]
    listed = pa.array([[1], None, numbers], pa.list_(pa.int64()))
    rows = pa.table({"x": pa.array(numbers, pa.int64()), "xs": listed})
    table.commit(MadeCommit([MadeFile("a.orc", rows, changed={"file_format": "ORC"})]))
    opened = IcebergTable(str(table.folder))
    last = dt.time(23, 59, 59, 999999)
    found = opened.scan(["x", "xs"]).to_table().to_pylist()
    assert [row["x"] for row in found] == [dt.time(0), None, last]
    assert [row["xs"] for row in found] == [[dt.time(0, 0, 0, 1)], None, [dt.time(0), None, last]]
    for condition, count in (("x < TIME '12:00:00'", 1), ("x >= TIME '12:00:00'", 1)):
        assert opened.scan(filter=condition).count_rows() == count


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz"])
def test_nanoseconds_of_imported_orc_are_cut_off_before_1970_too(kind: str, tmp_path: Path) -> None:
    """Iceberg's reader of ORC floors them: what lies before 1970 stays there."""
    table = _InOrc(tmp_path / "t", [field_of("x", kind, 1)])
    zone = "UTC" if kind == "timestamptz" else None
    rows = pa.table({"x": pa.array([-1, -1001, 1999], pa.int64()).cast(pa.timestamp("ns", zone))})
    table.commit(MadeCommit([MadeFile("a.orc", rows, changed={"file_format": "ORC"})]))
    opened = IcebergTable(str(table.folder))
    assert opened.scan().to_table()["x"].cast(pa.int64()).to_pylist() == [-1, -2, 1]
    epoch = pa.scalar(0, pa.timestamp("us", zone))
    assert opened.scan(filter=pc.field("x") < epoch).count_rows() == 2


@pytest.mark.parametrize(
    ("text", "other"), [("ab", "a\tb"), ("", "x"), ("a", "a\x1f"), ("a b", "a b c"), ("b\t", "c")]
)
def test_chars_of_imported_orc_may_have_bounds_with_their_blanks(
    text: str, other: str, tmp_path: Path
) -> None:
    """ORC of Hive fills them up, and so its statistics, which `add_files` takes; readers do not."""
    table = _InOrc(tmp_path / "t", [field_of("x", "string", 1)])
    filled = [one.ljust(8) for one in (text, other)]
    own = {"file_format": "ORC", **stats_of(2, min(filled).encode(), max(filled).encode())}
    table.commit(MadeCommit([MadeFile("a.orc", pa.table({"x": filled}), changed=own)]))
    file = table.folder / "data/a.orc"
    string, char = (b"\x08" + kind for kind in (b"\x07", b"\x11"))  # the kind of a type
    content = file.read_bytes()
    assert content.count(string) == 1
    file.write_bytes(content.replace(string, char))
    opened = IcebergTable(str(table.folder))
    for one in (text, other):
        shown = one.rstrip(" ")
        for condition in (pc.field("x") == shown, pc.field("x") <= shown):
            found = opened.scan(filter=condition).to_table()["x"].to_pylist()
            assert shown in found, condition
    assert opened.scan(filter=pc.field("x") > max(filled)).count_rows() == 0
    key = stats_of(1, text.encode(), text.encode())
    changed = {"file_format": "ORC", "equality_ids": [1], **key}
    gone = MadeFile("d.orc", pa.table({"x": [text]}), content=2, changed=changed)
    table.commit(MadeCommit([gone], operation="delete"))
    rows = IcebergTable(str(table.folder)).scan().to_table()["x"].to_pylist()
    assert rows == [other]


@pytest.mark.parametrize(
    ("transform", "value"),
    # The bucket is another one than that of these times, as of those of 1969.
    [*((word, -1) for word in ("year", "month", "day", "hour")), ("bucket[1000000]", 5)],
)
@pytest.mark.parametrize("zone", ["", "tz"])
def test_times_of_the_second_before_1970_in_orc_are_found_in_the_second_after(
    transform: str, value: int, zone: str, tmp_path: Path
) -> None:
    """Java's library cuts their seconds towards 1970, so they are read: partitions tell others."""
    column = field_of("x", f"timestamp{zone}", 1)
    by = {"source-id": 1, "field-id": 1000, "name": "p", "transform": transform}
    table = _InOrc(tmp_path / "t", [column], [by])
    numbers, kind = [1, 999_999], pa.timestamp("us", "UTC" if zone else None)
    rows = pa.table({"x": pa.array(numbers, kind)})
    made = MadeFile("a.orc", rows, partition={"p": value}, changed={"file_format": "ORC"})
    table.commit(MadeCommit([made]))
    opened = IcebergTable(str(table.folder))
    for number in numbers:
        moment = pa.scalar(number, kind)
        for condition in (pc.field("x") == moment, pc.field("x") >= moment):
            found = opened.scan(filter=condition).to_table()["x"].cast(pa.int64()).to_pylist()
            assert number in found, condition
    if value < 0:
        later = pc.field("x") >= pa.scalar(1_000_000, kind)
        assert "pruned" in opened.scan(filter=later).explain()


def test_bounds_of_shapes_rule_nothing_out(tmp_path: Path) -> None:
    """They are corners of a box, not the least and the greatest bytes."""
    column = field_of("x", "geometry", 2)
    table = MadeTable(tmp_path / "t", [KEY, column], version=3)
    corner = bytes(16)
    rows = pa.table({"x": pa.array([_POINT], pa.binary())})
    changed = stats_of(1, corner, corner, 2)
    table.commit(MadeCommit([MadeFile("a.parquet", rows, changed=changed)]))
    text = "".join(f"\\x{byte:02X}" for byte in _POINT)
    found = IcebergTable(str(table.folder)).scan(filter=f"x = '{text}'::BLOB")
    assert found.count_rows() == 1


def test_a_variant_in_pieces_is_put_together(tmp_path: Path) -> None:
    """A column, and one in a list: what is typed, what is left over, and none."""
    column = field_of("x", "variant", 2)
    inner = {"type": "list", "element-id": 4, "element": "variant", "element-required": False}
    listed = field_of("xs", inner, 3)
    kind = pa.struct([*_VARIANT, pa.field("typed_value", pa.int8())])
    table = MadeTable(tmp_path / "t", [KEY, column, listed], version=3)
    typed = {"metadata": _VALUE["metadata"], "value": None, "typed_value": 5}
    rows = pa.table(
        {
            "x": pa.array([typed, _VALUE, None], kind),
            "xs": pa.array([[typed, _VALUE], None, [None]], pa.list_(kind)),
        }
    )
    table.commit(MadeCommit([MadeFile("a.parquet", rows)]))
    found = IcebergTable(str(table.folder)).scan(["x", "xs"], batch_rows=2).to_table().to_pylist()
    whole = {"metadata": _VALUE["metadata"], "value": bytes([3 << 2, 5])}
    assert found == [
        {"x": whole, "xs": [whole, _VALUE]},
        {"x": _VALUE, "xs": None},
        {"x": None, "xs": [None]},
    ]


def test_an_encrypted_table_is_refused_with_one_sentence(tmp_path: Path) -> None:
    """Version 3 names its keys in the metadata."""
    table = numbered_table(tmp_path / "t", version=3)
    key = {"key-id": "a", "encrypted-key-metadata": "eA=="}
    table.edit(lambda parsed: parsed.update({"encryption-keys": [key]}))
    with pytest.raises(RefusedError, match=r"encrypted tables \(encryption-keys\)"):
        IcebergTable(str(table.folder))


class _Unmapped(MadeTable):
    """Files without field ids."""

    def _write_rows(self, one: MadeFile) -> None:
        pq.write_table(one.rows, self.folder / "data" / one.name)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("column", ["v", "day"])
def test_a_column_without_a_name_is_null_whatever_its_manifest_says(
    column: str, named: bool, tmp_path: Path
) -> None:
    """DuckDB's column_mapping_delete.test: a column taken out of the name mapping is null.

    The counts, bounds and partitions of manifests are still those of the file's own column, and a
    filter goes by what comes.
    """
    kinds = {"k": "long", "v": "long", "day": "date"}
    columns = [field_of(name, kind, number) for number, (name, kind) in enumerate(kinds.items(), 1)]
    parted = [{"source-id": 3, "field-id": 1000, "name": "m", "transform": "month"}]
    table = _Unmapped(tmp_path / "t", columns, parted)
    seven = (7).to_bytes(8, "little")
    told = stats_of(2, seven, seven, 2)
    days = pa.array([1, 2], pa.int32()).cast(pa.date32())
    rows = pa.table({"k": [1, 2], "v": [7, 7], "day": days})
    table.commit(MadeCommit([MadeFile("a.parquet", rows, {"m": 0}, changed=told)]))
    names = [
        {"field-id": number, "names": [name]}
        for number, name in enumerate(kinds, 1)
        if named or name != column
    ]
    table.map_names(names)
    opened = IcebergTable(str(table.folder))
    for test, keeps in ((f"{column} is null", not named), (f"{column} is not null", named)):
        wanted = [1, 2] if keeps else []
        assert sorted(opened.scan(filter=test).to_table()["k"].to_pylist()) == wanted
        with duckdb.connect() as connection:
            found = opened.scan().relation(connection).filter(test).select("k").fetchall()
        assert sorted(found) == [(one,) for one in wanted]


@pytest.mark.parametrize(
    ("mapping", "reason"),
    [
        # DuckDB's name_mapping/v1.metadata.json holds an object, which its own later versions mend.
        ('{"type": "struct", "fields": [{"field-id": 1, "names": ["k"]}]}', "are no list"),
        ('[{"field-id": 1}]', "without a list of names"),
        ('[{"field-id": 1, "names": "k"}]', "without a list of names"),
        ('[{"field-id": 1, "names": ["k"], "fields": [7]}]', "without a list of names"),
        ('[{"field-id": "1", "names": ["k"]}]', "an id that is no number"),
        ("[", "Expecting value"),
    ],
)
def test_a_name_mapping_of_another_shape_is_refused_with_what_is_wrong(
    mapping: str, reason: str, tmp_path: Path
) -> None:
    """The sentence says which part is not as the specification wants it, in no Python's words."""
    table = numbered_table(tmp_path / "t")
    given = {"schema.name-mapping.default": mapping}
    table.edit(lambda one: one.update(properties=given))
    with pytest.raises(InputError, match=f"the name mapping is not readable: .*{reason}"):
        IcebergTable(str(table.folder)).scan().to_table()


class _Doubled(MadeTable):
    """A table whose location ends in a slash, behind which a writer put one more."""

    def path(self, name: str) -> str:
        return f"file://{self.folder}//data/{name}"

    def _write_metadata(self, number: int) -> None:
        super()._write_metadata(number)

        def end(parsed: dict[str, Any]) -> None:
            parsed["location"] += "/"
            for one in parsed["snapshots"]:
                one["manifest-list"] = one["manifest-list"].replace("/metadata/", "//metadata/")

        edit_metadata(self.folder / f"metadata/v{number}.metadata.json", end)


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_slash_may_stand_twice_behind_the_location(is_moved: bool, tmp_path: Path) -> None:
    """As Iceberg up to 0.13 and Glue write paths (iceberg#4582); the table may be moved, too."""
    table = _Doubled(tmp_path / "t", [KEY])
    table.commit(MadeCommit([MadeFile("a.parquet", pa.table({"k": [1, 2]}))]))
    table.commit(MadeCommit([table.deletes("d.parquet", "a.parquet", [0])], operation="delete"))
    folder = table.folder.rename(tmp_path / "other") if is_moved else table.folder
    scan = IcebergTable(str(folder)).scan()
    assert scan.to_table().to_pydict() == {"k": [2]}
    with duckdb.connect() as connection:
        assert scan.relation(connection).fetchall() == [(2,)]
    files = IcebergTable(str(folder))._files
    assert files.shown("file:/other/place//a") == "/other/place//a"
    with pytest.raises(InputError, match="leads out of its folder"):
        files.locate(f"file://{table.folder}//../a")


@pytest.mark.storage
def test_a_slash_that_stands_twice_is_part_of_a_stores_names(
    tmp_path: Path, object_store: dict[str, Any]
) -> None:
    """On S3 `t//data/a` is no `t/data/a`."""
    table = _Doubled(tmp_path / "t", [KEY])
    table.commit(MadeCommit([MadeFile("a.parquet", pa.table({"k": [1, 2]}))]))
    store = fsspec.filesystem("s3", **object_store)
    for file in table.folder.rglob("*"):
        if file.is_file():
            path = str(file.relative_to(table.folder))
            is_named = path.startswith("data/") or path.endswith("snap-1.avro")
            store.pipe_file(f"lake/t/{'/' * is_named}{path}", file.read_bytes())
    opened = IcebergTable("s3://lake/t", object_store)
    assert opened.scan().to_table().to_pydict() == {"k": [1, 2]}


def test_a_first_snapshot_may_have_the_parent_minus_one(tmp_path: Path) -> None:
    """As ClickHouse writes it, which also puts a metadata file into its own log of former ones."""
    folder = numbered_table(tmp_path / "t", commits=2).folder
    file = folder / "metadata/v2.metadata.json"

    def edit(parsed: dict[str, Any]) -> None:
        parsed["snapshots"][0]["parent-snapshot-id"] = -1
        names = [f"file://{folder}/metadata/v{number}.metadata.json" for number in (1, 2)]
        parsed["metadata-log"] = [
            {"timestamp-ms": number, "metadata-file": name} for number, name in enumerate(names)
        ]

    edit_metadata(file, edit)
    table = IcebergTable(str(folder))
    assert not table.scan(strict=True).report().warnings
    for query in ("incremental", "cdc"):
        assert sorted(table.scan(query=query).to_table()["k"].to_pylist()) == [0, 1]


_BOTH = [pa.timestamp("us"), pa.timestamp("us", "UTC")]


class _InAvro(MadeTable):
    """A table of one column of times, whose files are Avro's, in milliseconds."""

    def _write_rows(self, one: MadeFile) -> None:
        time = {"type": "long", "logicalType": "timestamp-millis"}
        column = {"name": "t", "type": ["null", time], "field-id": 1}
        schema = fastavro.parse_schema({"type": "record", "name": "table", "fields": [column]})
        rows = [{"t": number} for number in one.rows["t"].cast(pa.int64()).to_pylist()]
        with (self.folder / "data" / one.name).open("wb") as out:
            fastavro.writer(out, schema, rows)


@pytest.mark.parametrize(("made", "unit"), [(MadeTable, "us"), (MadeTable, "ms"), (_InAvro, "ms")])
@pytest.mark.parametrize("own", [0, 1])
@pytest.mark.parametrize("told", [0, 1])
def test_times_are_instants_or_none_whatever_their_file_says(
    told: int, own: int, made: type[MadeTable], unit: str, tmp_path: Path
) -> None:
    """ClickHouse writes instants in columns of times without a zone; the numbers are the same.

    Iceberg's readers multiply milliseconds: Parquet's old word for them, and Avro's, does so of
    all, also of those that Hive has without a zone (SparkParquetReaders, SparkPlannedAvroReader).
    """
    table = made(tmp_path / "t", [field_of("t", ("timestamp", "timestamptz")[own])])
    numbers = pa.array([-1, 0, None, 1_700_000_000_123], pa.int64())
    rows = pa.table({"t": numbers.cast(pa.timestamp(unit, "UTC" if told else None))})
    changed = {"file_format": "AVRO" if made is _InAvro else "PARQUET"}
    table.commit(MadeCommit([MadeFile("a", rows, changed=changed)]))
    opened = IcebergTable(str(table.folder))
    found, times = opened.scan().to_table()["t"], 1000 if unit == "ms" else 1
    assert found.type == _BOTH[own]
    assert found.cast(pa.int64()).to_pylist() == [
        one and one * times for one in numbers.to_pylist()
    ]
    for number, count in ((-times, 1), (0, 1), (1, 0)):
        moment = pa.scalar(number, pa.int64()).cast(_BOTH[own])
        assert opened.scan(filter=pc.field("t") == moment).count_rows() == count
        with duckdb.connect() as connection:
            text = f"epoch_us(t) = {number}"
            assert len(opened.scan().relation(connection).filter(text).fetchall()) == count


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz"])
def test_times_of_int96_that_arrow_22_wrote_are_read(kind: str, tmp_path: Path) -> None:
    """As imported by `add_files`; before 1970 they count back from midnight."""
    folder = unpack_hive("arrow-22-times", tmp_path)
    inner = field_of("t", kind, 4)
    columns = [
        KEY,
        field_of("ts", kind, 2),
        field_of("st", {"type": "struct", "fields": [inner]}, 3),
    ]

    class Imported(MadeTable):
        def _write_rows(self, one: MadeFile) -> None:
            shutil.copy(folder / one.name, self.folder / "data" / one.name)

    table = Imported(tmp_path / "t", columns)
    names = ["1.parquet", "2.parquet"]
    table.commit(MadeCommit([MadeFile(name, pq.read_table(folder / name)) for name in names]))
    below = [{"field-id": 4, "names": ["t"]}]
    named = [{"field-id": 1, "names": ["k"]}, {"field-id": 2, "names": ["ts"]}]
    named += [{"field-id": 3, "names": ["st"], "fields": below}]
    table.map_names(named)
    rows = IcebergTable(str(table.folder)).scan().to_table().to_pylist()
    zone = "Z" if kind == "timestamptz" else ""
    texts = ("1969-12-31T23:59:59.999999", "1969-12-31T00:00:00", "1970-01-01T00:00:00.000001")
    times = [dt.datetime.fromisoformat(text + zone) for text in texts]
    assert [one["ts"] for one in rows if one["k"] < 3] == times * 2
    assert [one["st"] for one in rows] == [one["ts"] and {"t": one["ts"]} for one in rows]


@pytest.mark.parametrize(("zone", "is_read"), [(b"GMT", True), (b"EST", False)])
def test_times_of_orc_are_no_instants(zone: bytes, *, is_read: bool, tmp_path: Path) -> None:
    """Iceberg's library and Trino refuse TIMESTAMP for timestamptz; in UTC both are one number."""
    column = field_of("x", "timestamptz", 1)
    table = _InOrc(tmp_path / "t", [column])
    noon = dt.datetime(2020, 7, 1, 12)
    rows = pa.table({"x": pa.array([noon], pa.timestamp("ns"))})
    table.commit(MadeCommit([MadeFile("a.orc", rows, changed={"file_format": "ORC"})]))
    file = tmp_path / "t/data/a.orc"
    file.write_bytes(file.read_bytes().replace(b"GMT", zone))
    opened = IcebergTable(str(table.folder))
    if is_read:
        assert opened.scan().to_table()["x"].to_pylist() == [noon.replace(tzinfo=dt.UTC)]
        return
    with pytest.raises(InputError, match=r"'x' is timestamp\[ns\], which does not promote"):
        opened.scan().to_table()


_MILLIS = [0, None, 3_723_004, 86_399_999]
_CLOCKS = [dt.time(), None, dt.time(1, 2, 3, 4000), dt.time(23, 59, 59, 999_000)]


def test_times_of_day_in_milliseconds_are_read(tmp_path: Path) -> None:
    """The specification has microseconds; Iceberg's reader takes what else Parquet has."""
    columns = [KEY, field_of("x", "time", 2)]
    table = MadeTable(tmp_path / "t", columns)
    rows = pa.table({"k": range(4), "x": pa.array(_MILLIS, pa.time32("ms"))})
    table.commit(MadeCommit([MadeFile("a.parquet", rows)]))
    opened = IcebergTable(str(table.folder))
    assert opened.scan(["x"]).to_table()["x"].to_pylist() == _CLOCKS
    assert opened.scan(filter="x > TIME '01:02:03.003'").count_rows() == 2
    assert opened.scan(filter="x = TIME '01:02:03.004'").to_table()["k"].to_pylist() == [2]
    with duckdb.connect() as connection:
        seamkit.register(connection, "t", opened.scan())
        assert connection.sql("SELECT x FROM t ORDER BY k").fetchall() == [(x,) for x in _CLOCKS]
    assert opened.scan().lazy().collect()["x"].to_list() == _CLOCKS
    gone = pa.table({"x": pa.array([3_723_004], pa.time32("ms"))})
    table.commit(MadeCommit([MadeFile("d.parquet", gone, content=2)], operation="delete"))
    assert IcebergTable(str(table.folder)).scan().to_table()["k"].to_pylist() == [0, 1, 3]


def test_nanoseconds_of_a_day_are_refused(tmp_path: Path) -> None:
    """Iceberg's reader refuses them, as digits would be lost."""
    table = MadeTable(tmp_path / "t", [field_of("x", "time", 1)])
    rows = pa.table({"x": pa.array([1], pa.time64("ns"))})
    table.commit(MadeCommit([MadeFile("a.parquet", rows)]))
    with pytest.raises(RefusedError, match="does not promote"):
        IcebergTable(str(table.folder)).scan().to_table()


@pytest.mark.parametrize("default", [True, False])
def test_a_default_may_be_false(*, default: bool, tmp_path: Path) -> None:
    """Rows that are older than a column have it, through every outlet."""
    column = {"id": 2, "name": "b", "required": True, "type": "boolean", "initial-default": default}
    table = IcebergTable(str(numbered_table(tmp_path / "t", 1, (KEY, column), version=3).folder))
    assert table.scan().to_table()["b"].to_pylist() == [default]
    assert table.scan(filter=pc.field("b") == default).count_rows() == 1
    assert table.scan(filter=pc.field("b") != default).count_rows() == 0
    with duckdb.connect() as connection:
        seamkit.register(connection, "t", table.scan())
        assert connection.sql("SELECT b FROM t").fetchall() == [(default,)]
    assert table.scan().lazy().collect()["b"].to_list() == [default]


@pytest.mark.parametrize("value", [True, False, None])
def test_a_partition_may_be_false(value: Any, tmp_path: Path) -> None:
    """Rows of a file that lacks the column have the value of their partition."""
    column = field_of("b", "boolean", 2)
    spec = [{"name": "p", "transform": "identity", "source-id": 2, "field-id": 1000}]
    made = MadeTable(tmp_path / "t", [KEY, column], spec)
    file = MadeFile("a.parquet", pa.table({"k": pa.array([1])}), {"p": value})
    made.commit(MadeCommit([file], {"p": "boolean"}))
    table = IcebergTable(str(made.folder))
    assert table.scan().to_table()["b"].to_pylist() == [value]
    assert table.scan(filter=pc.field("b") == True).count_rows() == (value is True)  # noqa: E712
    assert table.scan(filter=pc.field("b").is_null()).count_rows() == (value is None)


def _struct(default: Any, *fields: dict[str, Any]) -> dict[str, Any]:
    kind = {"type": "struct", "fields": list(fields)}
    return field_of("s", kind, 2, initial_default=default)


def _number(id_: int, name: str, default: Any = None) -> dict[str, Any]:
    return field_of(name, "int", id_, initial_default=default)


def test_an_empty_struct_as_a_default_has_the_defaults_of_its_fields(tmp_path: Path) -> None:
    """A struct's default is null or has no values; its fields have theirs (specification)."""
    inner = _struct({}, _number(5, "z", 9)) | {"id": 4, "name": "i"}
    columns = [KEY, _struct({}, _number(3, "x", 7), inner, _number(6, "n"))]
    table = IcebergTable(str(numbered_table(tmp_path / "t", 1, columns, version=3).folder))
    whole = {"x": 7, "i": {"z": 9}, "n": None}
    assert table.scan().to_table()["s"].to_pylist() == [whole]
    with duckdb.connect() as connection:
        seamkit.register(connection, "t", table.scan())
        assert connection.sql("SELECT s.x, s.i.z, s.n FROM t").fetchall() == [(7, 9, None)]
        assert connection.sql("SELECT k FROM t WHERE s.x = 7 AND s.i.z = 9").fetchall() == [(0,)]
    found = table.scan().lazy().select(pl.col("s").struct.field("x")).collect()
    assert found["x"].to_list() == [7]
    assert table.scan(filter="s.x = 7").count_rows() == 1
    assert table.scan(filter="s IS NULL").count_rows() == 0


def test_equality_deletes_see_the_default_of_a_field_in_a_struct_that_files_lack(
    tmp_path: Path,
) -> None:
    """The key of a row that is older than its column is the default."""
    columns = [KEY, _struct({}, _number(3, "x", 7))]
    made = numbered_table(tmp_path / "t", 1, columns, version=3)
    struct = pa.StructArray.from_arrays([pa.array([7], pa.int32())], fields=[_with_id("x", 3)])
    gone = MadeFile("d.orc", pa.table({"s": struct}), content=2, changed={"equality_ids": [3]})
    made.commit(MadeCommit([gone], operation="delete"))
    assert IcebergTable(str(made.folder)).scan().count_rows() == 0


def _with_id(name: str, id_: int) -> pa.Field:
    return pa.field(name, pa.int32()).with_metadata({"PARQUET:field_id": str(id_)})


@pytest.mark.parametrize("default", [None, {"3": 7}, {"x": 7}])
def test_other_defaults_of_structs_are_null_or_refused(default: Any, tmp_path: Path) -> None:
    """Values of fields must not stand in the default of their struct (specification)."""
    columns = [KEY, _struct(default, _number(3, "x", 7))]
    table = IcebergTable(str(numbered_table(tmp_path / "t", 1, columns, version=3).folder))
    if default is None:
        assert table.scan().to_table()["s"].to_pylist() == [None]
        return
    with pytest.raises(RefusedError, match="defaults of nested types"):
        table.scan().to_table()


@pytest.mark.parametrize("is_clickhouse", [True, False])
@pytest.mark.parametrize(
    ("transform", "value"), [("year", 54), ("month", 648), ("day", 19_723), ("hour", 473_353)]
)
def test_partitions_of_clickhouse_may_go_by_another_clock(
    transform: str, value: int, *, is_clickhouse: bool, tmp_path: Path
) -> None:
    """Its server's, as of India, and from 1970 on (ClickHouse#118583): they rule nothing out."""
    column = field_of("k", "timestamp", 1)
    spec = [{"name": "p", "transform": transform, "source-id": 1, "field-id": 1000}]
    made = MadeTable(tmp_path / "t", [column], spec)
    moment = dt.datetime(2023, 12, 31, 20)
    rows = pa.table({"k": pa.array([moment], pa.timestamp("us"))})
    made.commit(MadeCommit([MadeFile("a.parquet", rows, {"p": value})], {"p": "int"}))
    if is_clickhouse:
        first = {"parent-snapshot-id": -1}
        made.edit(lambda parsed: parsed["snapshots"][0].update(first))
    opened = IcebergTable(str(made.folder))
    if not is_clickhouse:
        assert opened.scan(filter=pc.field("k") == moment).count_rows() == 0
        with pytest.raises(InputError, match="its manifest says"):
            opened.scan().to_table()
        return
    assert opened.scan(strict=True).to_table()["k"].to_pylist() == [moment]
    for test in (pc.field("k") == moment, pc.field("k") < dt.datetime(2024, 1, 1)):
        assert opened.scan(filter=test).count_rows() == 1


@pytest.mark.parametrize("kind", ["int", "long"])
def test_numbers_below_zero_may_be_truncated_upwards(kind: str, tmp_path: Path) -> None:
    """As by iceberg-go up to 0.4 (#608): no row is ruled out, and no file refused."""
    spec = [{"name": "p", "transform": "truncate[10]", "source-id": 1, "field-id": 1000}]
    made = MadeTable(tmp_path / "t", [{**KEY, "type": kind}], spec)
    stored = pa.int32() if kind == "int" else pa.int64()
    files = {0: [-9, -1, 5], -10: [-19, -10], 10: [10, 19]}
    for value, keys in files.items():
        rows = pa.table({"k": pa.array(keys, stored)})
        made.commit(MadeCommit([MadeFile(f"{value}.parquet", rows, {"p": value})], {"p": kind}))
    table = IcebergTable(str(made.folder))
    assert len(table.scan(strict=True).to_table()) == 7
    for key in chain.from_iterable(files.values()):
        assert table.scan(filter=pc.field("k") == key).count_rows() == 1
    for key, left in ((-21, 0), (9, 1), (20, 0)):
        assert table.scan(filter=pc.field("k") == key).explain().count("  pruned ") == 3 - left


@pytest.mark.parametrize(("begin", "is_read"), [("éé", True), ("é", False)])
def test_texts_may_be_truncated_by_their_bytes(
    begin: str, *, is_read: bool, tmp_path: Path
) -> None:
    """As by iceberg-go up to 0.6 (#1223)."""
    spec = [{"name": "p", "transform": "truncate[4]", "source-id": 1, "field-id": 1000}]
    made = MadeTable(tmp_path / "t", [{**KEY, "type": "string"}], spec)
    rows = pa.table({"k": ["ééé", "éééz"]})
    made.commit(MadeCommit([MadeFile("a.parquet", rows, {"p": begin})], {"p": "string"}))
    table = IcebergTable(str(made.folder))
    if not is_read:
        with pytest.raises(InputError, match="its manifest says"):
            table.scan().to_table()
        return
    assert _keys(table) == ["ééé", "éééz"]
    assert table.scan(filter=pc.field("k") == "ééé").count_rows() == 1


@pytest.mark.parametrize("number", [128, 40_000])
def test_decimals_may_be_in_the_buckets_of_iceberg_rust(number: int, tmp_path: Path) -> None:
    """Up to 0.8 it left out the byte that tells their sign (#1998)."""
    kind, count = pa.decimal128(9, 2), 1000
    values = pa.array([Decimal(number).scaleb(-2)], kind)
    its = number.to_bytes(16, "big", signed=True).lstrip(b"\0")
    [right] = iceberg_buckets(values, count).to_pylist()
    [wrong] = iceberg_buckets(pa.array([its]), count).to_pylist()
    assert right != wrong
    spec = [{"name": "p", "transform": f"bucket[{count}]", "source-id": 1, "field-id": 1000}]
    other = next(bucket for bucket in range(3) if bucket not in (right, wrong))
    for bucket in (right, wrong, other):
        folder = tmp_path / f"{bucket}"
        made = MadeTable(folder, [{**KEY, "type": "decimal(9, 2)"}], spec)
        file = MadeFile("a.parquet", pa.table({"k": values}), {"p": bucket})
        made.commit(MadeCommit([file], {"p": "int"}))
        table = IcebergTable(str(folder))
        if bucket != other:
            assert len(table.scan(strict=True).to_table()) == 1
            for test in (pc.field("k") == values[0], pc.field("k").isin(values)):
                assert table.scan(filter=test).count_rows() == 1
            continue
        with pytest.raises(InputError, match="its manifest says"):
            table.scan().to_table()


@pytest.mark.parametrize(
    ("value", "is_read"),
    [("a\U0001f600", True), ("a\uffff", False), (Decimal("-0.01"), True), (Decimal("0.01"), False)],
)
def test_values_may_be_in_any_bucket_that_writers_hashed_otherwise(
    value: Any, *, is_read: bool, tmp_path: Path
) -> None:
    """Iceberg up to 0.11 (iceberg#2849), iceberg-go up to 0.4 (#745), iceberg-rust up to 0.8."""
    count = 1000
    kind, name = pa.string(), "string"
    if isinstance(value, Decimal):
        kind, name = pa.decimal128(9, 2), "decimal(9, 2)"
    values = pa.array([value], kind)
    [right] = iceberg_buckets(values, count).to_pylist()
    spec = [{"name": "p", "transform": f"bucket[{count}]", "source-id": 1, "field-id": 1000}]
    made = MadeTable(tmp_path / "t", [{**KEY, "type": name}], spec)
    file = MadeFile("a.parquet", pa.table({"k": values}), {"p": (right + 1) % count})
    made.commit(MadeCommit([file], {"p": "int"}))
    table = IcebergTable(str(made.folder))
    assert table.scan(filter=pc.field("k") == values[0]).count_rows() == is_read
    if is_read:
        assert _keys(table) == [value]
        assert len(table.scan(strict=True).to_table()) == 1
        return
    with pytest.raises(InputError, match="its manifest says"):
        table.scan().to_table()
