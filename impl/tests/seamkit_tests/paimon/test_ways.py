"""Paimon tables by every way to read: golden ones, cut ones, files outside, indexes, old times."""

import datetime as dt
import decimal
import io
import itertools
import json
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import seamkit
from seambase.errors import InputError, RefusedError
from seamkit.avro.data_file import read_container
from seamkit.files.footers.orc_footer import OrcFooter
from seamkit.tables.paimon import planning
from seamkit.tables.paimon.metadata.schemas import Field
from seamkit.tables.paimon.narrowed import narrowing_of
from seamkit.tables.paimon.planning import by_bucket
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests.samples.avro_schemas import container, record
from seamkit_tests.samples.mistakes import Mistake, mistaken
from seamkit_tests.samples.paimon_tables import (
    NAN_TABLES,
    edit_schema,
    need_packages,
    paimon_table_names,
    rewrite_manifests,
    rewritten,
    rows_of_table,
    scan_by,
    unpack_paimon,
    witnessed_paimon_states,
)


@pytest.mark.parametrize("name", NAN_TABLES)
@pytest.mark.parametrize("threads", [1, 4])
def test_order_by_nan_is_refused(name: str, threads: int, tmp_path: Path) -> None:
    """NaN in a key or sequence of rows that are merged is refused with its file, in every way.

    Paimon's comparators ask for `>` and `<` alone, so its rows depend on which files meet first: of
    `core-nan-keys` the witness loses a key with each snapshot. A file alone is read as it stands.
    """
    table = PaimonTable(str(unpack_paimon(name, tmp_path)))
    alone = table.scan(as_of=1, threads=threads).to_table()
    witness = next(found for state, found in witnessed_paimon_states(name) if state == 1)
    assert alone.num_rows == len(witness["rows"])

    def read(snapshot: int, columns: list[str] | None, condition: str | None, way: str) -> None:
        scan = table.scan(columns, filter=condition, as_of=snapshot, threads=threads, batch_rows=1)
        getattr(scan, way)()

    for asked in itertools.product(
        (2, 3), (None, ["v"]), (None, "v > 0"), ("to_table", "count_rows")
    ):
        with pytest.raises(RefusedError, match=rf"^{re.escape(str(tmp_path))}.* NaN"):
            read(*asked)


@pytest.mark.parametrize("name", sorted({*paimon_table_names()} - {*NAN_TABLES}))
def test_ways_to_read_agree(name: str, tmp_path: Path) -> None:
    """Batches of one row, several threads, a count and each column alone say the same rows."""
    need_packages(name)
    table = PaimonTable(str(unpack_paimon(name, tmp_path)))
    whole = table.scan(threads=1).to_table()
    rows = Counter(map(repr, whole.to_pylist()))
    assert Counter(map(repr, table.scan(batch_rows=1).to_table().to_pylist())) == rows
    assert table.scan().count_rows() == whole.num_rows
    for column in whole.column_names:
        alone = table.scan([column], threads=1, batch_rows=3).to_table()
        assert Counter(map(repr, alone.column(0).to_pylist())) == Counter(
            map(repr, whole.column(column).to_pylist())
        )


def _moved(table: Path, folder: Path) -> list[Path]:
    """Move all data files elsewhere, and have manifests say where they are."""
    files = {file.name: file.replace(folder / file.name) for file in table.glob("bucket-*/data-*")}

    def elsewhere(record: dict[str, Any]) -> None:
        name = record["_FILE"]["_FILE_NAME"]
        record["_FILE"]["_EXTERNAL_PATH"] = str(files.get(name, folder / name))

    rewrite_manifests(table, elsewhere)
    return list(files.values())


@pytest.mark.parametrize("name", ["core-life", "core-sequence-descending", "core-append"])
def test_files_are_read_where_their_manifest_says(name: str, tmp_path: Path) -> None:
    """The rows are those of the table as it was; a file that is gone there is refused."""
    table = unpack_paimon(name, tmp_path)
    before = rows_of_table(table).to_pylist()
    outside = tmp_path / "outside"
    outside.mkdir()
    files = _moved(table, outside)
    assert files
    assert not list(table.glob("bucket-*/data-*"))
    assert rows_of_table(table).to_pylist() == before
    for file in files:
        file.unlink()
    with pytest.raises(InputError, match="outside"):
        rows_of_table(table)


@pytest.mark.parametrize("name", ["append-partitions", "append-compacted", "append-vectors"])
@pytest.mark.parametrize("above", [5, 2])
def test_files_of_a_table_without_keys_may_have_levels(
    name: str, above: int, tmp_path: Path
) -> None:
    """Incremental clustering puts what it has sorted on a level (IncrementalClusterManager, 1.3).

    Such a level is in no order of keys, and no row of it hides another.
    """
    table = unpack_paimon(name, tmp_path)
    rows = rows_of_table(table).to_pylist()
    window = rows_of_table(table, query="incremental", begin=0).to_pylist()
    levels: dict[str, int] = {}

    def clustered(entry: dict[str, Any]) -> None:
        file = entry["_FILE"]
        file["_LEVEL"] = levels.setdefault(file["_FILE_NAME"], (len(levels) + 1) % above)

    rewrite_manifests(table, clustered)
    assert max(levels.values()) > 0
    assert rows_of_table(table).to_pylist() == rows
    assert rows_of_table(table, query="read-optimized").to_pylist() == rows
    assert rows_of_table(table, query="incremental", begin=0).to_pylist() == window


@pytest.mark.parametrize(
    ("option", "zone", "hours"),
    [({}, "EST", -5), ({"legacy": "TRUE"}, "GMT+08:00", 8), ({"legacy": "false"}, "EST", 0)],
    ids=str,
)
def test_instants_in_orc_are_by_the_clock_of_their_writer(
    option: dict[str, str], zone: str, hours: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where Java ran, as a stripe names it; unless the schema says that they are those of UTC."""
    table = unpack_paimon("append-types-orc", tmp_path)
    written = _instants(table)
    monkeypatch.setattr(OrcFooter, "zones", lambda _: [""])
    assert _instants(table) == written
    known = {f"orc.timestamp-ltz.{word}.type": value for word, value in option.items()}
    _with_options(table, known)
    monkeypatch.setattr(OrcFooter, "zones", lambda _: [zone])
    monkeypatch.setattr(OrcFooter, "instants", lambda _: {})  # which are by the clock of UTC
    late = dt.timedelta(hours=hours)
    assert _instants(table) == [value and value + late for value in written]
    later = {"orc.timestamp-ltz.legacy.type": "true" if hours == 0 else "false"}
    _with_options(table, later, 1)
    assert _instants(table) == [value and value + late for value in written]


@pytest.mark.parametrize(("zone", "hours"), [("", 1), ("EST", 0), ("EST", -5)])
def test_instants_in_orc_by_a_clock_nobody_knows_are_refused(
    zone: str, hours: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stripes without times name no zone; the manifest tells whether it was another one."""
    table = unpack_paimon("append-types-orc", tmp_path)
    written = _instants(table)
    stored, early = OrcFooter.instants, hours * 3_600_000

    def instants(footer: OrcFooter) -> dict[str, tuple[int, int]]:
        return {name: (least - 999, most - early) for name, (least, most) in stored(footer).items()}

    monkeypatch.setattr(OrcFooter, "zones", lambda _: [zone])
    monkeypatch.setattr(OrcFooter, "instants", instants)
    with pytest.raises(RefusedError, match="column 'ts' are by the clock of its writer"):
        _instants(table)
    _with_options(table, {"orc.timestamp-ltz.legacy.type": "false"})
    assert _instants(table) == written


def _instants(table: Path) -> list[dt.datetime | None]:
    found: list[dt.datetime | None] = seamkit.open_table(table).to_arrow(["ts"])["ts"].to_pylist()
    return sorted(found, key=str)


def _with_options(table: Path, options: dict[str, str], number: int = 0) -> None:
    """Let the schema of a number be the first one with more options."""
    edit_schema(
        table, lambda one: one.update(id=number, options=one["options"] | options), number, of=0
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of 0.6, whose files have no timestamps of their own."""
    found = unpack_paimon("core-06-types-parquet", tmp_path)
    for file in found.rglob("data-*.parquet"):
        own = pq.read_schema(file)
        assert {own.field(name).type for name in ("ts", "tm", "tz")} == {pa.int64()}
    return found


def test_a_later_schema_keeps_them(table: Path) -> None:
    """Columns that stay what they are are read as before, whatever else is changed."""
    columns = ["k", "ts", "tm", "tz"]  # no NaN, which equals nothing
    own = seamkit.open_table(table).to_arrow(columns)
    _with_types(table, {}, {})
    assert seamkit.open_table(table).to_arrow(columns).sort_by("k").equals(own.sort_by("k"))


@pytest.mark.parametrize("change", [{"ts": "TIMESTAMP(3)"}, {"tm": "TIMESTAMP(6)"}])
def test_numbers_of_a_changed_column_are_refused(table: Path, change: dict[str, str]) -> None:
    """A number need not be a time; one of other digits is in another unit."""
    _with_types(table, change, {})
    with pytest.raises(InputError, match="is int64, which does not promote"):
        seamkit.open_table(table).to_arrow()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"tz": "TIMESTAMP(6)"}, "'tz' have a zone now .* depends on where Java runs"),
        ({"ts": "BIGINT"}, "'ts', or a type within it, was changed from BIGINT to TIMESTAMP"),
    ],
)
def test_casts_that_are_not_known_are_refused(
    change: dict[str, str], says: str, table: Path
) -> None:
    """Paimon takes older times for such of the zone in which Java runs, and numbers for times."""
    _with_types(table, change, {})
    with pytest.raises(RefusedError, match=says):
        seamkit.open_table(table).to_arrow()


def _with_types(table: Path, first: dict[str, str], later: dict[str, str]) -> None:
    """Let columns have types in the first schema, by which files are, and others in the next."""
    for number, types in ((1, later), (0, first)):

        def edit(schema: dict[str, Any], number: int = number, types: Any = types) -> None:
            schema["id"] = number
            for field in schema["fields"]:
                field["type"] = types.get(field["name"], field["type"])

        edit_schema(table, edit, number, of=0)


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("later", ["VARCHAR(2)", "CHAR(4)", "STRING"])
def test_bytes_that_became_texts_stay_as_long_as_they_are(
    later: str, kind: str, tmp_path: Path
) -> None:
    """`BinaryToStringCastRule` of Paimon's core 1.4.2 has no look at the length of the type."""
    table = unpack_paimon(f"append-types-{kind}", tmp_path)
    _with_types(table, {"c": "BYTES"}, {"c": later})
    for scan in (scan_by(table, "auto", ["c"]), scan_by(table, "connector", ["c"])):
        assert Counter(scan.to_table()["c"].to_pylist()) == Counter(["text", None, ""])
    scan = scan_by(table, "auto", ["c"], filter=pc.field("c") == "text")
    assert scan.to_table()["c"].to_pylist() == ["text"]


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_what_is_true_becomes_1_and_numbers_but_0_true(kind: str, tmp_path: Path) -> None:
    """As Paimon's core 1.4.2 casts the values of older files (`BooleanToNumericCastRule`)."""
    table = unpack_paimon(f"append-types-{kind}", tmp_path)
    later = {"b": "FLOAT", "t": "BOOLEAN", "i": "BOOLEAN", "l": "BOOLEAN"}
    _with_types(table, {}, later)

    def rows(condition: pc.Expression | None = None, *, is_connector: bool = False) -> list[Any]:
        names = ["b", "t", "i", "l", "s"]
        scan = PaimonTable(str(table)).scan(names, filter=condition)
        if is_connector:
            scan = scan_by(table, "connector", names)
        found = scan.to_table().to_pylist()
        return sorted((list(row.values()) for row in found), key=lambda row: row[-1] or 0)

    low, none, high = [0.0, True, True, True, -32768], [None] * 5, [1.0, True, True, True, 2]
    assert rows() == rows(is_connector=True) == [low, none, high]
    assert rows(pc.field("b") < 1) == [low]
    assert rows(pc.field("i")) == [low, high]
    assert rows(~pc.field("l")) == []
    assert rows(pc.field("t").is_null()) == [none]


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_decimals_become_whole_numbers_and_those_decimals(kind: str, tmp_path: Path) -> None:
    """As Paimon's core 1.4.2 casts older values: the lowest bits; null where no digits are left."""
    table = unpack_paimon(f"append-types-{kind}", tmp_path)
    types = {"m": "TINYINT", "n": "INT", "o": "BIGINT", "i": "DECIMAL(5, 2)", "l": "DECIMAL(20, 2)"}
    _with_types(table, {}, types)
    high = [12, -2045911175, 7888470988696384334, Decimal("3.00"), Decimal("4.00")]
    low, none = [-127, 1530494977, -4477988020393345023, None, None], [None] * 5
    for scan in (scan_by(table, "auto", [*types]), scan_by(table, "connector", [*types])):
        rows = [list(row.values()) for row in scan.to_table().to_pylist()]
        assert sorted(rows, key=lambda row: row[0] or 0) == [low, none, high]
    for condition in (pc.field("n") < 0, pc.field("l") == Decimal(4), pc.field("o") > 2**60):
        assert PaimonTable(str(table)).scan(["m"], filter=condition).to_table()[
            "m"
        ].to_pylist() == [12]


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_decimals_become_floats_and_booleans_decimals(kind: str, tmp_path: Path) -> None:
    """As Paimon's core 1.4.2 casts older values: of 18 digits not the nearest double to `n`."""
    table = unpack_paimon(f"append-types-{kind}", tmp_path)
    types = {"m": "FLOAT", "n": "DOUBLE", "o": "DOUBLE", "b": "DECIMAL(5, 2)"}
    _with_types(table, {}, types)
    high = [12.34000015258789, 123456789012345.69, 1.2345678901234569e27, Decimal("1.00")]
    low, none = [-1e7, -1e15, -1e28, Decimal("0.00")], [None] * 4
    for scan in (scan_by(table, "auto", [*types]), scan_by(table, "connector", [*types])):
        rows = [list(row.values()) for row in scan.to_table().to_pylist()]
        assert sorted(rows, key=lambda row: row[0] or 0) == [low, none, high]
    for condition in (pc.field("n") == high[1], pc.field("m") > 12.3, pc.field("b") == Decimal(1)):
        scan = scan_by(table, "auto", ["o"], filter=condition)
        assert scan.to_table()["o"].to_pylist() == high[2:3]
    _with_types(table, {}, {"b": "DECIMAL(2, 2)", "m": "STRING"})
    rows = PaimonTable(str(table)).scan(["b", "m"]).to_table()
    assert Counter(rows["b"].to_pylist()) == Counter([None, None, Decimal(0)])
    assert Counter(rows["m"].to_pylist()) == Counter([None, "12.34", "-9999999.99"])


@pytest.mark.parametrize(("digits", "double"), [(18, 123456789012345.69), (19, 123456789012345.67)])
def test_decimals_become_floats_by_way_of_doubles(digits: int, double: float) -> None:
    """So one just above the middle of two floats is the even one, as the core shows.

    Digits that a long has room for are a double before their point counts.
    """

    def cast(value: Decimal, scale: int, spelling: str, want: pa.DataType) -> object:
        values = pa.array([value, None], pa.decimal128(digits, scale))
        before = Field(1, "n", f"DECIMAL({digits}, {scale})", values.type, nullable=True)
        narrowing = narrowing_of(Field(1, "n", spelling, want, nullable=True), before)
        assert narrowing is not None
        with decimal.localcontext(prec=3):  # a program's own, which nothing may rest on
            return narrowing[1](values).to_pylist()

    assert cast(Decimal(2**54 + 2**30 + 1), 0, "FLOAT", pa.float32()) == [2.0**54, None]
    assert cast(Decimal("123456789012345.678"), 3, "DOUBLE", pa.float64()) == [double, None]


def test_types_that_became_narrower_within_others_are_refused(tmp_path: Path) -> None:
    """A column of their own is cut, which a golden table shows; others are read."""
    table = unpack_paimon("core-append", tmp_path)

    def narrow(schema: dict[str, Any]) -> None:
        [text] = [one for one in schema["fields"][1]["type"]["fields"] if one["name"] == "y"]
        text["type"], schema["id"] = "VARCHAR(5)", 1

    edit_schema(table, narrow, 1, of=0)
    with pytest.raises(RefusedError, match="'s', or a type within it, was changed from ROW to ROW"):
        rows_of_table(table)
    assert rows_of_table(table, columns=["k"])["k"].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(
    "within", [{"_ROW_RANGE_START": 0, "_ROW_RANGE_END": 2, "_INDEX_FIELD_ID": 1}, None]
)
def test_indexes_of_searches_say_nothing_of_which_rows_there_are(
    within: dict[str, int] | None, tmp_path: Path
) -> None:
    """An index file of a column's values (`_GLOBAL_INDEX`) may be left unread, of any type.

    Paimon reads such tables whole without it; an unknown type that says of no column may be
    anything, as vectors were once.
    """
    table = unpack_paimon("pk-dynamic", tmp_path)
    rows = rows_of_table(table)
    kind = record("record_global", **dict.fromkeys(within or ("_INDEX_FIELD_ID",), "long"))
    for file in table.glob("manifest/index-manifest-*"):
        content = file.read_bytes()
        schema: Any = fastavro.reader(io.BytesIO(content)).writer_schema
        named = [one for one in schema["fields"] if one["name"] != "_GLOBAL_INDEX"]
        schema["fields"] = [*named, {"name": "_GLOBAL_INDEX", "type": ["null", kind]}]
        changed = {"_INDEX_TYPE": "ivf-pq", "_GLOBAL_INDEX": within}
        listed = [one | changed for one in read_container(content, str(file))]
        file.write_bytes(container(schema, listed))
    if within:
        assert rows_of_table(table) == rows
    else:
        with pytest.raises(RefusedError, match="indexes of the type 'ivf-pq'"):
            rows_of_table(table)


@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
def test_vectors_of_files_that_are_gone_give_a_warning(tmp_path: Path) -> None:
    """A full compaction of Paimon 1.3 or 1.4 that rewrites files for their vectors leaves these."""
    table = unpack_paimon("vectors", tmp_path)
    rows = PaimonTable(str(table)).scan()
    assert not rows.report().warnings

    def with_another(entry: dict[str, Any]) -> None:
        found = entry["_DELETIONS_VECTORS_RANGES"] or []
        entry["_DELETIONS_VECTORS_RANGES"] = found + [one | {"f0": "data-gone"} for one in found]

    for file in table.glob("manifest/index-manifest-*"):
        rewritten(file, with_another)
    reader = PaimonTable(str(table))
    windows = [reader.scan(), reader.scan(query="incremental", begin=1, mode="diff")]
    for scan in windows:
        [warning] = scan.report().warnings
        assert re.match(
            "1 deletion vector of files that are not live, .* data-gone", warning.reason
        )
    assert windows[0].to_table() == rows.to_table()
    with pytest.raises(InputError, match="data-gone"):
        reader.scan(strict=True)


def test_statistics_of_columns_that_a_schema_lacks_say_nothing(tmp_path: Path) -> None:
    """Names of columns are there where not all have statistics."""
    table = unpack_paimon("core-append", tmp_path)
    rows = rows_of_table(table)

    def with_ids(record: dict[str, Any]) -> None:
        counts = record["_FILE"]["_VALUE_STATS"]["_NULL_COUNTS"]
        assert "_VALUE_STATS_COLS" in record["_FILE"]
        record["_FILE"]["_VALUE_STATS_COLS"] = ["_ROW_ID"] * len(counts)

    rewrite_manifests(table, with_ids)
    assert rows_of_table(table) == rows
    named = rows.schema.names[0]
    assert rows_of_table(table, filter=pc.field(named).is_valid()) == rows


@pytest.mark.parametrize("name", ["pk-life", "core-changes", "append-overwrite"])
def test_a_file_may_be_deleted_before_it_is_added(name: str, tmp_path: Path) -> None:
    """Manifests have no order to Paimon's core; later versions sort them by partition."""
    table = unpack_paimon(name, tmp_path)
    files = sorted(table.glob("snapshot/snapshot-*"), key=lambda file: int(file.name[9:]))

    def answers() -> list[Counter[str]]:
        scans = (PaimonTable(str(table)).scan(as_of=int(file.name[9:])) for file in files)
        return [Counter(map(repr, scan.to_table().to_pylist())) for scan in scans]

    before = answers()
    known = [json.loads(file.read_text("utf-8")) for file in files]
    for file, snapshot in zip(files, known, strict=True):
        file.write_text(json.dumps(_with_lists(snapshot, snapshot, snapshot)), "utf-8")
    assert answers() == before
    lost = next(one for one in known if one["commitKind"] in ("COMPACT", "OVERWRITE"))
    file = files[known.index(lost)]
    file.write_text(json.dumps(_with_lists(lost, lost, known[0])), "utf-8")
    with pytest.raises(InputError, match=r"it deletes the file .*, which was not added"):
        PaimonTable(str(table)).scan(as_of=lost["id"])


def _with_lists(
    snapshot: dict[str, Any], first: dict[str, Any], second: dict[str, Any]
) -> dict[str, Any]:
    """A snapshot whose first list is the delta of one, and whose second is the base of another."""
    found = dict(snapshot)
    for end in ("", "Size"):
        found[f"baseManifestList{end}"] = first.get(f"deltaManifestList{end}")
        found[f"deltaManifestList{end}"] = second.get(f"baseManifestList{end}")
    return found


def _file_a_level(patch: pytest.MonkeyPatch) -> None:
    """Takes the last file of a level for all of it."""

    def last(files: Any) -> dict[Any, Any]:
        return {
            bucket: list({file.level: file for file in own}.values())
            for bucket, own in by_bucket(files).items()
        }

    patch.setattr(f"{planning.__name__}.by_bucket", last)


@pytest.mark.parametrize(
    ("mistake", "case"),
    [
        (_file_a_level, "scan/paimon/core/append/newest"),
        (_file_a_level, "scan/paimon/deduplicate/life/newest"),
    ],
)
def test_cut_files_show_a_reader_its_mistake(
    mistake: Mistake, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table as it stands does not show it; of the cut files some rows lack."""
    mistaken(monkeypatch, mistake, case, "files-split")


def test_maps_that_are_laid_out_in_columns_are_refused_by_name(tmp_path: Path) -> None:
    """Such a file is not broken (MapSharedShreddingUtils)."""
    table = unpack_paimon("append-nested-parquet", tmp_path)
    name = next(f.name for f in PaimonTable(str(table)).schema if pa.types.is_map(f.type))
    sizes = {}
    for file in table.glob("bucket-*/data-*.parquet"):
        rows = pq.ParquetFile(file).read()
        cell = {"__field_mapping": [0], "__col_0": 1}
        column = pa.array([cell] * rows.num_rows)
        pq.write_table(rows.set_column(rows.schema.get_field_index(name), name, column), file)
        sizes[file.name] = file.stat().st_size

    def resized(entry: dict[str, Any]) -> None:
        entry["_FILE"]["_FILE_SIZE"] = sizes[entry["_FILE"]["_FILE_NAME"]]

    rewrite_manifests(table, resized)
    with pytest.raises(RefusedError, match=f"the map '{name}' .*shared-shredding"):
        rows_of_table(table)


@pytest.mark.parametrize(
    ("before", "now", "first"), [("false", "true", 8), ("true", "false", 7), ("true", "true", 7)]
)
def test_rows_were_looked_up_if_their_own_schema_says_so(
    before: str, now: str, first: int, tmp_path: Path
) -> None:
    """Whatever the newest one says: a file without look-ups has its own values alone."""
    table = unpack_paimon("core-lookup-sum", tmp_path)
    for number, value in enumerate((before, now)):
        told = {"force-lookup": value}
        edit_schema(table, lambda one: one["options"].update(told), number)  # noqa: B023
    for scan in (PaimonTable(str(table)).scan(), PaimonTable(str(table)).scan(threads=1)):
        rows = scan.to_table().sort_by("k").to_pydict()
        assert rows == {"k": [1, 2, 3, 4], "n": [first, 30, 5, 7]}
