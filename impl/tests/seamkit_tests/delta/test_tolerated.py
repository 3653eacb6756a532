"""What engines write against the protocol's words, or read beyond them, and have for years."""

import datetime as dt
import json
import os
import random
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.tables.delta.table import DeltaTable
from seamkit_tests.delta.test_vectors import VECTOR
from seamkit_tests.files.test_base_reader import as_arrow_22
from seamkit_tests.samples.delta_tables import rows_of_table, unpack_delta, z85
from seamkit_tests.samples.hive_tables import unpack_hive
from seamkit_tests.samples.made_delta import (
    Action,
    add_file,
    add_rows,
    commit,
    field,
    make,
    metadata,
    protocol,
)

_TIMES = pa.array([1, None, 1_700_000_000_123], pa.timestamp("ms"))
_INSTANTS = [None if one is None else one.replace(tzinfo=dt.UTC) for one in _TIMES.to_pylist()]


def _folder(table: Path) -> Path:
    table.mkdir(exist_ok=True)
    return table


def test_a_first_commit_has_read_no_version(tmp_path: Path) -> None:
    """Trino says 0 of each table that it creates; another version is another commit's."""
    rows = pa.table({"id": pa.array([7], pa.int64())})
    add = add_rows(_folder(tmp_path / "t") / "a", rows)
    for read, is_read in ((0, True), (1, False)):
        info = {"commitInfo": {"operation": "CREATE TABLE", "readVersion": read}}
        commit(tmp_path / "t", 0, info, protocol(), metadata(), add)
        if is_read:
            assert rows_of_table(tmp_path / "t") == rows
            continue
        with pytest.raises(InputError, match="has read version 1, so it is none of 0"):
            rows_of_table(tmp_path / "t")


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_times_of_int96_that_arrow_22_wrote_are_read(kind: str, tmp_path: Path) -> None:
    """They count back from midnight before 1970, which Arrow reads right in nanoseconds alone.

    Its option `flavor="spark"` writes them, and Spark reads them (the case `arrow-22/times`).
    """
    folder = unpack_hive("arrow-22-times", tmp_path)
    struct = {"type": "struct", "fields": [field("t", kind)]}
    fields = [field("k"), field("ts", kind), {**field("st"), "type": struct}]
    adds = [add_file(folder / f"{number}.parquet") for number in (1, 2)]
    commit(folder, 0, protocol("timestampNtz"), metadata(*fields), *adds)
    table = DeltaTable(folder)
    zone = "Z" if kind == "timestamp" else ""
    texts = ("1969-12-31T23:59:59.999999", "1969-12-31T00:00:00", "1970-01-01T00:00:00.000001")
    times: list[Any] = [dt.datetime.fromisoformat(text + zone) for text in texts]
    rows = table.scan().to_table().to_pylist()
    assert [one["ts"] for one in rows if one["k"] < 3] == times * 2
    assert [one["st"] for one in rows] == [one["ts"] and {"t": one["ts"]} for one in rows]
    word = "TIMESTAMPTZ" if zone else "TIMESTAMP"
    before = f"ts < {word} '1970-01-01 00:00:00{zone}'"
    assert sorted(table.scan(filter=before).to_table()["k"].to_pylist()) == [0, 0, 1, 1, 3, 3]
    assert {type(one) for one in table.scan(["ts"]).to_polars()["ts"].to_list()} == {
        dt.datetime,
        type(None),
    }


def _nested(column: pa.Array, within: str) -> pa.Array:
    """The values as they are, or each in a struct or a list."""
    if within == "struct":
        return pa.StructArray.from_arrays([column], ["t"])
    if within == "list":
        return pa.ListArray.from_arrays(pa.array(range(len(column) + 1), pa.int32()), column)
    return column


def _nested_kind(kind: str, within: str) -> Any:
    if within == "struct":
        return {"type": "struct", "fields": [field("t", kind)]}
    if within == "list":
        return {"type": "array", "elementType": kind, "containsNull": True}
    return kind


@pytest.mark.parametrize("within", ["flat", "struct", "list"])
@pytest.mark.parametrize(("kind", "zone"), [("timestamp", "UTC"), ("timestamp_ntz", None)])
def test_of_nanoseconds_that_are_no_int96_no_digit_is_lost(
    kind: str, zone: str | None, within: str, tmp_path: Path
) -> None:
    """Tables have microseconds (PROTOCOL.md, "Primitive Types"); Spark refuses such a file.

    delta-kernel-rs cuts its digits off, which we did.
    """
    whole = [1_700_000_000_123_456_000, None, -1000]
    for name, numbers in (("whole", whole), ("after", [1]), ("before", [0, None, -999])):
        times = pa.array(numbers, pa.int64()).cast(pa.timestamp("ns", zone))
        add = add_rows(_folder(tmp_path / name) / "a", pa.table({"c": _nested(times, within)}))
        table = make(tmp_path / name, [field("c", _nested_kind(kind, within))], add)
        if name == "whole":
            [found] = rows_of_table(table)["c"].chunks
            micros = times.cast(pa.timestamp("us", zone))
            assert found.equals(_nested(micros, within).cast(found.type))
            continue
        with pytest.raises(InputError, match=r"column 'c.*' does not fit timestamp\[us"):
            rows_of_table(table)
        with pytest.raises(InputError, match="does not fit"):
            DeltaTable(table).scan(filter=pc.field("c").is_valid()).lazy().collect()


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_digits_below_a_microsecond_of_int96_are_cut_off(kind: str, tmp_path: Path) -> None:
    """As Spark does; Arrow writes them of nanoseconds with `flavor="spark"`."""
    times = pa.array([1_999, None, -1_001], pa.timestamp("ns"))
    file = _folder(tmp_path) / "a"
    how: Any = {"use_dictionary": False, "compression": "none"}
    pq.write_table(pa.table({"c": times}), file, use_deprecated_int96_timestamps=True, **how)
    as_arrow_22(file, times)
    make(tmp_path, [field("c", kind)], add_file(file))
    assert rows_of_table(tmp_path)["c"].cast(pa.int64()).to_pylist() == [1, None, -1]


@pytest.mark.parametrize(
    ("stats", "is_read"),
    [
        ({"nullCount": {"v": 5}, "tightBounds": True}, True),
        ({"nullCount": {"v": 5}}, True),
        ({"nullCount": {"v": 8}, "tightBounds": False}, True),
        ({"nullCount": {"v": 2}, "tightBounds": False}, True),
        ({"nullCount": {"v": 4}, "tightBounds": True}, False),
        ({"nullCount": {"v": 0}, "tightBounds": False}, False),
        ({"nullCount": {"s": {"v": 5}}}, True),
        ({"nullCount": {"s": {"v": 4}}}, False),
    ],
)
def test_nulls_that_are_counted_beside_a_vector_are_those_of_rows_that_are_left(
    stats: dict[str, Any], is_read: bool, tmp_path: Path
) -> None:
    """So tight statistics count them; wide ones tell by 0 and by all rows alone.

    PROTOCOL.md, "Per-file Statistics"; Delta's `updateStatsToWideBounds` takes either for such.
    """
    vector = {"storageType": "i", "pathOrInlineDv": z85(VECTOR), "sizeInBytes": len(VECTOR)}
    add = add_rows(
        _folder(tmp_path) / "a",
        pa.table({"id": pa.array(range(8), pa.int64())}),
        stats=json.dumps({"numRecords": 8, **stats}),
        deletionVector={**vector, "cardinality": 3},
    )
    struct = {"type": "struct", "fields": [field("v")]}
    fields = [field("id"), field("v"), {**field("s"), "type": struct}]
    commit(tmp_path, 0, protocol("deletionVectors"), metadata(*fields), add)
    if not is_read:
        with pytest.raises(InputError, match=r"it lacks the column '[vs]', of which the log says"):
            rows_of_table(tmp_path)
        return
    rows = rows_of_table(tmp_path)
    assert rows["id"].to_pylist() == [0, 1, 3, 4, 6]
    assert rows["v"].null_count == rows["s"].null_count == 5
    assert DeltaTable(tmp_path).scan(filter=pc.field("v").is_null()).count_rows() == 5


@pytest.mark.parametrize("within", ["flat", "struct", "list"])
def test_columns_are_read_in_the_types_of_trinos_files(within: str, tmp_path: Path) -> None:
    """Instants as milliseconds without a zone; bytes and shorts that do not say how wide they are.

    Trino's DeltaLakeParquetSchemas up to version 481; Spark reads them.
    """
    narrow = pa.array([-128, None, 127], pa.int32())
    columns: dict[str, Any] = {"t": _TIMES, "b": narrow, "h": narrow}
    kinds: dict[str, Any] = {"t": "timestamp", "b": "byte", "h": "short"}
    if within == "struct":
        inner = [field(name, kind) for name, kind in kinds.items()]
        columns = {"s": pa.StructArray.from_arrays([*columns.values()], [*columns])}
        kinds = {"s": {"type": "struct", "fields": inner}}
    elif within == "list":
        ends = pa.array([0, 1, 2, 3], pa.int32())
        columns = {name: pa.ListArray.from_arrays(ends, own) for name, own in columns.items()}
        array = {"type": "array", "containsNull": True}
        kinds = {name: {**array, "elementType": kind} for name, kind in kinds.items()}
    add = add_rows(_folder(tmp_path) / "a", pa.table(columns))
    found = DeltaTable(make(tmp_path, [field(*one) for one in kinds.items()], add))
    rows = [(*one, one[1]) for one in zip(_INSTANTS, narrow.to_pylist(), strict=True)]
    shown = found.scan().to_table().to_pylist()
    if within == "struct":
        shown = [one["s"] for one in shown]
    elif within == "list":
        shown = [{name: item for name, [item] in one.items()} for one in shown]
    assert [tuple(one.values()) for one in shown] == rows
    if within == "flat":
        told = "t > TIMESTAMPTZ '2023-01-01 00:00:00Z' AND b = 127 AND h > 100"
        assert found.scan(filter=told).count_rows() == 1
        assert found.scan().lazy().collect()["t"].to_list() == _INSTANTS


def test_a_number_that_is_no_byte_is_refused(tmp_path: Path) -> None:
    """It would become another one, as in Spark."""
    add = add_rows(tmp_path / "a", pa.table({"b": pa.array([128], pa.int32())}))
    make(tmp_path, [field("b", "byte")], add)
    with pytest.raises(InputError, match="column 'b' does not fit int8"):
        rows_of_table(tmp_path)


@pytest.mark.parametrize(
    ("before", "after"), [("integer", "short"), ("timestamp_ntz", "timestamp")]
)
def test_that_files_have_other_types_lets_no_column_of_a_table_become_one(
    before: str, after: str, tmp_path: Path
) -> None:
    """Changes of a column that was of another type are not shown, whatever files may have."""
    feed = {"configuration": {"delta.enableChangeDataFeed": "true"}}
    commit(tmp_path, 0, protocol(), metadata(field("v", before), **feed))
    commit(tmp_path, 1, metadata(field("v", after), **feed))
    with pytest.raises(RefusedError, match="has the column 'v', which is gone"):
        DeltaTable(tmp_path).scan(query="cdc")


def _cut_before_3_3(text: str) -> str:
    """The maximum that Delta made of a text until version 3.2, in UTF-16 as Java has it."""
    units = text.encode("utf-16-be")
    if len(units) <= 2 * 32:
        return text
    end = 2 * 32
    while units[end : end + 2] >= b"\xff\xfd":
        end += 2
    kept = units[:end].decode("utf-16-be", "surrogatepass")
    halved = [one if not 0xD800 <= ord(one) <= 0xDFFF else "?" for one in kept]
    return "".join(halved) + "\ufffd"


def _with_bounds(table: Path, texts: Sequence[str], greatest: str) -> DeltaTable:
    bounds = {"minValues": {"v": min(texts)[:32]}, "maxValues": {"v": greatest}}
    stats = json.dumps({"numRecords": len(texts), "nullCount": {"v": 0}, **bounds})
    rows = add_rows(_folder(table) / "a", pa.table({"v": list(texts)}), stats=stats)
    return DeltaTable(make(table, [field("v", "string")], rows))


def _is_left_out(table: DeltaTable, condition: pc.Expression) -> bool:
    rows = table.scan(filter=condition).statistics().rows
    return rows is not None and rows.value == 0


def test_texts_are_found_behind_maxima_that_delta_cut_too_low(tmp_path: Path) -> None:
    """Until version 3.2 Delta cut texts as UTF-16 has them, and put U+FFFD behind them."""
    chance = random.Random(7)
    signs = ["a", "?", "\ud7ff", "\ue000", "\ufffd", "\uffff", "😀", "\U0010ffff"]
    texts = ["\ufffd", "?\ufffd"]
    for _ in range(60):
        start = chance.choice(signs) * chance.choice([0, 30, 31])
        texts.append(start + "".join(chance.choices(signs, k=chance.randint(1, 8))))
    for number, text in enumerate(texts):
        found = _with_bounds(tmp_path / str(number), [text], _cut_before_3_3(text))
        assert found.scan(filter=pc.field("v") >= text).count_rows() == 1, ascii(text)


def test_texts_before_a_cut_one_still_leave_a_file_out(tmp_path: Path) -> None:
    """Most are of few signs, such as UUIDs; their bound is as near as it was."""
    found = _with_bounds(tmp_path, ["b" * 40, "a"], _cut_before_3_3("b" * 40))
    assert _is_left_out(found, pc.field("v") > "b" * 31 + "c")
    assert found.scan(filter=pc.field("v") == "b" * 40).count_rows() == 1


@pytest.mark.parametrize(
    ("kind", "micros", "told"),
    [
        ("timestamp", 1_704_067_200_999_999, "2024-01-01 00:00:00"),
        ("timestamp_ntz", 1_704_067_200_999_999, "2024-01-01 00:00:00"),
        ("timestamp", -10_000_001, "1969-12-31 23:59:50"),
        ("timestamp_ntz", -10_000_001, "1969-12-31 23:59:50"),
    ],
)
def test_times_are_found_behind_bounds_that_are_cut_to_seconds(
    kind: str, micros: int, told: str, tmp_path: Path
) -> None:
    """XTable's DeltaValueConverter cuts them to milliseconds, towards 1970, and then to seconds."""
    is_instant = kind == "timestamp"
    times = pa.array([micros], pa.timestamp("us", "UTC" if is_instant else None))
    bounds = {"minValues": {"t": told}, "maxValues": {"t": told}, "nullCount": {"t": 0}}
    stats = json.dumps({"numRecords": 1, **bounds})
    add = add_rows(tmp_path / "a", pa.table({"t": times}), stats=stats)
    found = DeltaTable(make(tmp_path, [field("t", kind)], add))
    assert found.scan(filter=pc.field("t") == times[0]).count_rows() == 1
    later = pc.add(times[0], pa.scalar(dt.timedelta(minutes=2)))
    assert _is_left_out(found, pc.field("t") > later)


_POINT = {"type": "struct", "fields": [field("x", "byte"), field("y", "double")]}


@pytest.mark.parametrize("mode", ["none", "NAME", "Id"])
def test_a_user_defined_type_is_that_of_its_files(mode: str, tmp_path: Path) -> None:
    """Delta's RFC of user-defined types: no field within is mapped, and nulls are counted once."""
    kind: Any = {"type": "udt", "class": "a.Point", "pyClass": None, "sqlType": _POINT}
    told = {"delta.columnMapping.id": 5, "delta.columnMapping.physicalName": "col-1"}
    rows = [{"x": 1, "y": 2.5}, None]
    inner = pa.struct({"x": pa.int8(), "y": pa.float64()})
    name = "p" if mode == "none" else "col-1"
    column = pa.field(name, inner, metadata={"PARQUET:field_id": "5"})
    stats = json.dumps({"numRecords": 2, "nullCount": {name: 1}})
    data = pa.table([pa.array(rows, inner)], schema=pa.schema([column]))
    versions = {"minReaderVersion": 2, "minWriterVersion": 5}
    configuration = {"delta.columnMapping.mode": mode}
    add = add_rows(tmp_path / "a", data, stats=stats)
    shown = metadata(field("p", kind, told), configuration=configuration)
    commit(tmp_path, 0, {"protocol": versions}, shown, add)
    assert rows_of_table(tmp_path)["p"].to_pylist() == rows


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("null", pa.null()),
        ("decimal", pa.decimal128(10, 0)),
        ("decimal( 5 , 2 )", pa.decimal128(5, 2)),
    ],
)
def test_types_are_called_as_spark_and_deltas_kernel_take_them(
    name: str, kind: pa.DataType, tmp_path: Path
) -> None:
    """`null` is what Spark before 3.1 called `void`."""
    assert DeltaTable(make(tmp_path, [field("v", name)])).schema == pa.schema({"v": kind})


def test_sidecars_may_be_told_with_their_folder(tmp_path: Path) -> None:
    """PROTOCOL.md, "Sidecar File Information": writers are encouraged to tell the name alone."""
    table = unpack_delta("checkpoint-v2-json", tmp_path)
    whole = rows_of_table(table).sort_by("k")
    [top] = table.glob("_delta_log/*.checkpoint.*.json")
    text = top.read_text(encoding="utf-8")
    for folder in (f"{table}/_delta_log/_sidecars/", f"file:{table}/_delta_log/_sidecars/"):
        top.write_text(text.replace('"sidecar":{"path":"', f'"sidecar":{{"path":"{folder}'))
        assert rows_of_table(table).sort_by("k") == whole
    for folder in ("../", f"{table}/", "_sidecars/"):
        top.write_text(text.replace('"sidecar":{"path":"', f'"sidecar":{{"path":"{folder}'))
        with pytest.raises(InputError, match="is no name of a sidecar"):
            rows_of_table(table)


def test_names_of_sidecars_are_percent_encoded(tmp_path: Path) -> None:
    """PROTOCOL.md, "Sidecar File Information": a URI-encoded path, as in any other action."""
    table = unpack_delta("checkpoint-v2-json", tmp_path)
    whole = rows_of_table(table).sort_by("k")
    [top] = table.glob("_delta_log/*.checkpoint.*.json")
    for file in table.glob("_delta_log/_sidecars/*.parquet"):
        file.rename(file.with_name(f"a b%20+{file.name}"))
        text = top.read_text(encoding="utf-8")
        top.write_text(text.replace(f'"{file.name}"', f'"a%20b%2520+{file.name}"'))
    (table / "_delta_log" / f"{0:020}.json").unlink()
    assert rows_of_table(table).sort_by("k") == whole


def test_what_a_catalog_says_counts_more_than_what_is_published(tmp_path: Path) -> None:
    """PROTOCOL.md, "Reading Catalog-managed Tables": its commits, and none that is newer."""
    table = _folder(tmp_path / "t")
    feature = protocol("catalogManaged")

    def adds(number: int) -> Action:
        return add_rows(table / f"f{number}", pa.table({"id": pa.array([number], pa.int64())}))

    commit(table, 0, feature, metadata(), adds(0))
    staged = commit(table, f"_staged_commits/{1:020}.{uuid.uuid4()}.json", adds(1))
    commit(table, 1, adds(11))
    commit(table, 2, adds(2))
    opened = DeltaTable(table, staged_commits=[staged.name], version=1)
    late = dt.datetime(2999, 1, 1, tzinfo=dt.UTC)
    ways: list[dict[str, Any]] = [{}, {"as_of": late}]
    for how in ways:
        assert sorted(opened.scan(**how).to_table()["id"].to_pylist()) == [0, 1]


def test_a_checkpoint_without_a_byte_is_none(tmp_path: Path) -> None:
    """As Spark and delta-kernel-rs have it; where commits before it are gone, nothing is left."""
    table = unpack_delta("checkpoint-classic", tmp_path)
    whole = rows_of_table(table).sort_by("k")
    [checkpoint] = table.glob("_delta_log/*.checkpoint.parquet")
    checkpoint.write_bytes(b"")
    assert rows_of_table(table).sort_by("k") == whole
    (table / "_delta_log" / f"{0:020}.json").unlink()
    with pytest.raises(InputError, match="the commit of version 0 is missing"):
        rows_of_table(table)


def test_nulls_that_are_counted_of_a_partition_column_ask_no_file_for_it(tmp_path: Path) -> None:
    """Files of a partition need not have the column, whatever statistics tell of it."""
    stats = json.dumps({"numRecords": 1, "nullCount": {"id": 0, "p": 0}})
    told: Action = {"stats": stats, "partitionValues": {"p": "3"}}
    add = add_rows(_folder(tmp_path) / "a", pa.table({"id": pa.array([7], pa.int64())}), **told)
    make(tmp_path, [field("id"), field("p")], add, partitionColumns=["p"])
    assert rows_of_table(tmp_path).to_pylist() == [{"id": 7, "p": 3}]


_OF_ROWS = ("Id", "CommitVersion")


@pytest.mark.parametrize("feature", [None, "rowTracking"])
def test_rows_have_no_ids_where_the_property_alone_says_so(
    feature: str | None, tmp_path: Path
) -> None:
    """They need a feature and names of columns (PROTOCOL.md, "Row Tracking"); rows do not.

    Spark reads a table that lacks the names, and refuses one without the feature.
    """
    add = add_rows(_folder(tmp_path) / "a", pa.table({"id": pa.array([7], pa.int64())}))
    told = protocol()
    if feature is not None:
        told["protocol"] |= {"minWriterVersion": 7, "writerFeatures": [feature, "domainMetadata"]}
    on = {"delta.enableRowTracking": "true"}
    if feature is None:
        on |= {f"delta.rowTracking.materializedRow{name}ColumnName": "_x" for name in _OF_ROWS}
    commit(tmp_path, 0, told, metadata(configuration=on), add)
    assert rows_of_table(tmp_path).to_pylist() == [{"id": 7}]
    with pytest.raises(UsageError, match="_row_id"):
        DeltaTable(tmp_path).scan(["_row_id"])


def test_commits_state_no_times_where_the_property_alone_says_so(tmp_path: Path) -> None:
    """That needs a feature (PROTOCOL.md, "In-Commit Timestamps"); times of files count then.

    As delta-kernel-rs has it.
    """
    add = add_rows(_folder(tmp_path) / "a", pa.table({"id": pa.array([7], pa.int64())}))
    on = {"configuration": {"delta.enableInCommitTimestamps": "true"}}
    commit(tmp_path, 0, protocol(), metadata(**on), add)
    os.utime(commit(tmp_path, 1, {"remove": {"path": "a", "dataChange": True}}), (2**32, 2**32))
    found = DeltaTable(tmp_path)
    told = [state.time for state in found.history()]
    assert dt.datetime.fromtimestamp(2**32, dt.UTC) in told
    assert rows_of_table(tmp_path, as_of=dt.datetime.now(dt.UTC)).num_rows == 1
    assert rows_of_table(tmp_path, as_of="2200-01-01").num_rows == 0


_TO_NUMBER = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}
_MAPS = {"type": "array", "elementType": _TO_NUMBER, "containsNull": True}


@pytest.mark.parametrize(("kind", "is_map"), [(_TO_NUMBER, True), (_MAPS, True), ("long", False)])
@pytest.mark.parametrize("held", [True, False])
def test_nulls_of_maps_are_none_of_columns_that_are_called_as_their_parts(
    kind: Any, is_map: bool, held: bool, tmp_path: Path
) -> None:
    """delta-rs up to 1.6.1 tells those of a map's keys and values under these names.

    Spark reads such tables; where it looks for nulls it passes over the file (Delta 3.3.2).
    """
    count = {"id": 0, "key": 0, "value": 0}
    columns: dict[str, Any] = {"id": pa.array([1, 2], pa.int64())}
    if held:
        columns |= {"key": pa.array([None, "k"]), "value": pa.array([7, None], pa.int64())}
    told = json.dumps({"numRecords": 2, "minValues": {"value": 7}, "nullCount": count})
    add = add_rows(_folder(tmp_path) / "a", pa.table(columns), stats=told)
    further = [field("key", "string"), field("value"), {**field("m"), "type": kind}]
    make(tmp_path, [field("id"), *further], add)
    if not is_map:
        with pytest.raises(InputError, match="the log says"):
            rows_of_table(tmp_path)
        return
    assert rows_of_table(tmp_path)["id"].to_pylist() == [1, 2]
    for name, ids in (("key", [1]), ("value", [2])):
        rows = rows_of_table(tmp_path, filter=pc.field(name).is_null())
        assert rows["id"].to_pylist() == (ids if held else [1, 2])
    assert DeltaTable(tmp_path).scan(filter=pc.field("id").is_null()).count_rows() == 0
