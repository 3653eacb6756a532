"""Options of a table that contradict each other or its columns."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import orc

from seambase.errors import InputError, RefusedError
from seamkit.files.orc import OrcReader
from seamkit.files.promotion import resolve_column
from seamkit.files.statistics import ColumnRange, FileStatistics
from seamkit.files.storage import Storage
from seamkit.tables.paimon.data_files import OrcTypes, PaimonTypes, _check_clock, bucket_folder
from seamkit.tables.paimon.merge_engines.engines import merge_rule
from seamkit.tables.paimon.metadata.schemas import TableSchema, parse_fields, read_options
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests.samples.paimon_tables import edit_schema, scan_by, unpack_paimon


def _stating(table: Path, options: Mapping[str, str]) -> str:
    """A table whose schemas state options."""
    for file in table.glob("schema/schema-*"):
        edit_schema(table, lambda one: one["options"].update(options), int(file.name[7:]))
    return str(table)


LISTED = "partial-update.remove-record-on-sequence-group"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({LISTED: "h,x"}, "names 'x', by which no sequence group goes"),
        ({LISTED: "h,y"}, "no column 'y'"),
        ({"ignore-delete": "true"}, "and ignores deletes"),
        ({"partial-update.remove-record-on-delete": "true"}, "and remove-record-on-delete"),
        ({"partial-update.remove-record-on-sequence-groun": "h"}, "one letter away"),
    ],
    ids=str,
)
def test_removing_groups_that_paimon_would_not_create_are_errors(
    options: dict[str, str], reason: str, tmp_path: Path
) -> None:
    """Fields by which no group goes, and deletes that are to be ignored or to remove, too."""
    table = _stating(unpack_paimon("core-group-removed", tmp_path), options)
    with pytest.raises(InputError, match=reason):
        PaimonTable(table).scan().to_table()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("scan.mode", "compacted-full"),
        ("scan.mode", "from-timestamp"),
        ("scan.timestamp-millis", "1"),
        ("scan.file-creation-time-millis", "4000000000000"),
        ("scan.creation-time-millis", "4000000000000"),
        ("incremental-between", "1,2"),
        ("incremental-between-timestamp", "1,2"),
        ("scan.primary-branch", "other"),
        ("scan.fallback-snapshot-branch", "other"),
        ("chain-table.enabled", "true"),
        ("pk-clustering-override", "true"),
        ("sequence.snapshot-ordering", "true"),
        ("postpone.merge-on-read", "true"),
        ("batch-scan-mode", "compact"),
        ("log.scan", "from-timestamp"),
        ("log.scan.timestamp-millis", "1"),
        ("type", "object-table"),
    ],
)
def test_options_by_which_paimon_shows_other_rows_are_refused(
    option: str, value: str, tmp_path: Path
) -> None:
    """A table whose own options choose what is read, or in what order files are, is not guessed."""
    table = _stating(unpack_paimon("core-life", tmp_path), {option: value})
    with pytest.raises(RefusedError, match=f"the option {option}"):
        PaimonTable(table).scan()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("scan.mode", "latest"),
        ("log.scan", "full"),
        ("type", "materialized-table"),
        ("deletion-vectors.merge-on-read", "true"),
    ],
)
def test_other_options_leave_a_table_as_it_is(option: str, value: str, tmp_path: Path) -> None:
    """To a batch read the modes `latest` and `full` are the newest snapshot, as the default is.

    A materialized table is a table beside the query that fills it. Without deletion vectors there
    are none to merge.
    """
    table = unpack_paimon("core-life", tmp_path)
    expected = PaimonTable(str(table)).scan().to_table()
    stated = _stating(table, {option: value})
    assert PaimonTable(stated).scan().to_table() == expected


@pytest.mark.parametrize("path", ["auto", "connector"])
@pytest.mark.parametrize(
    ("options", "ignores"),
    [
        ({"first-row.ignore-delete": "true"}, True),
        ({"deduplicate.ignore-delete": "true"}, True),
        ({"partial-update.ignore-delete": "true"}, True),
        ({"ignore-delete": "true", "deduplicate.ignore-delete": "false"}, True),
        ({"ignore-delete": "false", "deduplicate.ignore-delete": "true"}, False),
        ({"first-row.ignore-delete": "false", "deduplicate.ignore-delete": "true"}, False),
        ({"deduplicate.ignore-delete": "true", "partial-update.ignore-delete": "false"}, True),
        ({"aggregation.ignore-delete": "true"}, False),
    ],
    ids=repr,
)
def test_deletes_are_ignored_by_the_first_name_that_is_set(
    options: dict[str, str], ignores: bool, path: str, tmp_path: Path
) -> None:
    """The option has three older names, which hold for all engines (CoreOptions, IGNORE_DELETE)."""

    def rows(folder: str, options: dict[str, str]) -> list[str]:
        table = _stating(unpack_paimon("pk-life", tmp_path / folder), options)
        return sorted(map(repr, scan_by(Path(table), path, as_of=3).to_table().to_pylist()))

    known = {told: rows(told, {"ignore-delete": told}) for told in ("true", "false")}
    assert known["true"] != known["false"]
    assert rows("own", options) == known[str(ignores).lower()]


@pytest.mark.parametrize("path", ["auto", "connector"])
@pytest.mark.parametrize(
    ("name", "snapshot", "expected"),
    [
        ("vectors-write-only", 1, {1: "a", 2: "b"}),
        ("vectors-write-only", None, {1: "unseen", 2: "bb", 9: "unseen"}),
        ("core-vectors-64", 3, {**{k: f"a{k}" for k in range(10) if k != 4}, 3: "b3"}),
        ("core-vectors-64", 6, {**{k: f"a{k}" for k in range(10) if k != 4}, 3: "c3", 11: "c11"}),
        (
            "core-vectors-64",
            None,
            {**{k: f"a{k}" for k in range(10) if k != 4}, 3: "c3", 11: "c11"},
        ),
    ],
)
def test_rows_that_await_their_vectors_are_merged_if_the_table_says_so(
    name: str, snapshot: int | None, expected: dict[int, str], path: str, tmp_path: Path
) -> None:
    """With `deletion-vectors.merge-on-read` batches see level 0 (CoreOptions, batchScanSkipLevel0).

    Rows that vectors take out are gone before keys meet.
    """
    option = {"deletion-vectors.merge-on-read": "TRUE"}
    table = _stating(unpack_paimon(name, tmp_path), option)
    scan = scan_by(Path(table), path, as_of=snapshot)
    rows = {row["k"]: row["v"] for row in scan.to_table().to_pylist()}
    assert (rows, scan.count_rows()) == (expected, len(expected))
    gone = PaimonTable(str(table)).scan(filter="v = 'a3'", as_of=snapshot)
    assert gone.count_rows() == 0


@pytest.mark.parametrize(
    ("kind", "number", "plain", "legacy"),
    [
        ("TIMESTAMP(9)", 0, "1970-01-01 00%3A00%3A00.000000000", "1970-01-01T00%3A00"),
        ("TIMESTAMP(9)", -1, "1969-12-31 23%3A59%3A59.999999999", None),
        (
            "TIMESTAMP(7)",
            100,
            "1970-01-01 00%3A00%3A00.0000001",
            "1970-01-01T00%3A00%3A00.000000100",
        ),
        ("TIMESTAMP(6)", 61_000_001, "1970-01-01 00%3A01%3A01.000001", None),
        ("TIMESTAMP(4)", 100, "1970-01-01 00%3A00%3A00.0001", "1970-01-01T00%3A00%3A00.000100"),
        ("TIMESTAMP(0)", 1000, "1970-01-01 00%3A00%3A01", "1970-01-01T00%3A00%3A01"),
        ("TIME(3)", 3_600_000, "01%3A00%3A00.0", "3600000"),
        ("TIME(3)", 7, "00%3A00%3A00.007", "7"),
        ("TIME(3)", 120, "00%3A00%3A00.12", "120"),
        ("TIME(0)", 86_399_000, "23%3A59%3A59", "86399000"),
        ("TIME", 1000, "00%3A00%3A01", "1000"),
    ],
)
def test_a_folder_has_the_digits_of_a_time(
    kind: str, number: int, plain: str, legacy: str | None
) -> None:
    """As Java prints times, or as they are cast to texts; the core's own folders have the same."""
    fields = parse_fields([{"id": 0, "name": "p", "type": kind}], "t")
    whole = pa.int32() if fields[0].type.bit_width == 32 else pa.int64()
    known = {"p": pa.scalar(number, whole).cast(fields[0].type)}
    for told, text in (("false", plain), ("true", legacy or plain.replace(" ", "T"))):
        schema = TableSchema(0, fields, ["p"], [], {"partition.legacy-name": told}, "t")
        assert bucket_folder(known, 0, schema) == f"p={text}/bucket-0"


def test_times_of_day_are_numbers_in_orc(tmp_path: Path) -> None:
    """ORC has no such type: Paimon writes milliseconds. In Parquet and Avro a number is no time."""
    written = pa.table({"t": pa.array([0, None, 86_399_999], pa.int32())})
    orc.write_table(written, tmp_path / "x.orc")
    want = pa.schema([("t", pa.time32("ms"))])
    reader = OrcReader(Storage(str(tmp_path), None), "x.orc", OrcTypes())
    [batch] = reader.batches(want, 10, use_threads=False)
    assert batch.column("t") == written.column("t").combine_chunks().cast(pa.time32("ms"))
    with pytest.raises(InputError, match="does not promote"):
        resolve_column(batch.column("t").cast(pa.int32()), want.field("t"), PaimonTypes(), "file")


def test_clocks_are_held_against_both_ends_of_a_range(tmp_path: Path) -> None:
    """Ends that the manifest does not know say nothing."""
    kind = pa.timestamp("ms", "UTC")
    low, high, none = (pa.scalar(number, kind) for number in (0, 5000, None))
    orc.write_table(pa.table({"t": [low, high]}), tmp_path / "x.orc")
    reader = OrcReader(Storage(str(tmp_path), None), "x.orc", OrcTypes(), by_clock=True)
    for least, most in ((low, high), (None, high), (low, None), (none, none)):
        _check_clock(reader, FileStatistics(2, {"t": ColumnRange(0, least, most)}))
    for least, most in ((low, low), (high, high), (None, low), (high, None)):
        with pytest.raises(RefusedError, match="by the clock of its writer"):
            _check_clock(reader, FileStatistics(2, {"t": ColumnRange(0, least, most)}))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (pa.float32(), "depends on the version of Java"),
        (pa.float64(), "depends on the version of Java"),
        (pa.timestamp("us"), "depends on where Java runs"),
        (pa.timestamp("ms", "UTC"), "depends on where Java runs"),
    ],
    ids=str,
)
def test_texts_that_java_makes_in_several_ways_are_refused(kind: pa.DataType, said: str) -> None:
    """A column may become one of texts; Spark on Java 17 has 1.50000005E10, on 19 1.5E10."""
    column, field = pa.array([1], pa.int64()).cast(kind), pa.field("c", pa.string())
    with pytest.raises(RefusedError, match=f"^file: column 'c' is .* is string: .*{said}"):
        resolve_column(column, field, PaimonTypes(), "file")


@pytest.mark.parametrize(
    "word",
    ["nested-sequence-field", "nested-key-null-strategy", "nested-sequence-overwrite-on-equal"],
)
@pytest.mark.parametrize("engine", ["aggregation", "partial-update"])
def test_options_of_fields_that_are_not_known_are_refused(word: str, engine: str) -> None:
    """Later versions of Paimon let a field's rows replace each other by a sequence of their own.

    Of an engine without functions such options say nothing, nor of a field those of another whose
    name begins with its own and a point.
    """
    fields = parse_fields(
        [{"id": i, "name": name, "type": "INT"} for i, name in enumerate(("k", "v", "g"))], "t"
    )
    options = {
        "merge-engine": engine,
        "fields.v.aggregate-function": "sum",
        "fields.g.sequence-group": "v",
        "fields.v.stats-mode": "none",
        f"fields.v.x.{word}": "s",
    }

    def rule(more: dict[str, str]) -> object:
        schema = TableSchema(0, fields, [], ["k"], options | more, "t")
        return merge_rule(schema, read_options(schema))

    assert rule({}) == rule({f"fields.x.{word}": "s"})
    with pytest.raises(RefusedError, match=f"^t: the option fields.v.{word} is not supported$"):
        rule({f"fields.v.{word}": "s"})
