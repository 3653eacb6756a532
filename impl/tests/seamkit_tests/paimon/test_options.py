"""Options of a table that contradict each other or its columns."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError
from seamkit.tables.paimon.data_files import bucket_folder
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests.samples.paimon_tables import unpack_paimon

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
    table = unpack_paimon("core-group-removed", tmp_path)
    file = table / "schema/schema-0"
    schema = json.loads(file.read_text(encoding="utf-8"))
    schema["options"] |= options
    file.write_text(json.dumps(schema), encoding="utf-8")

    with pytest.raises(InputError, match=reason):
        PaimonTable(str(table)).scan().to_table()


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
    ],
)
def test_options_by_which_paimon_shows_other_rows_are_refused(
    option: str, value: str, tmp_path: Path
) -> None:
    """A table whose own options choose what is read, or in what order files are, is not guessed."""
    table = unpack_paimon("core-life", tmp_path)
    file = max(table.glob("schema/schema-*"), key=lambda one: int(one.name[7:]))
    schema = json.loads(file.read_text(encoding="utf-8"))
    schema["options"] |= {option: value}
    file.write_text(json.dumps(schema), encoding="utf-8")

    with pytest.raises(RefusedError, match=f"the option {option}"):
        PaimonTable(str(table)).scan()


def test_a_table_that_streams_begin_at_its_end_is_read_whole(tmp_path: Path) -> None:
    """To a batch read the mode `latest` is the newest snapshot, as the default is."""
    table = unpack_paimon("core-life", tmp_path)
    expected = PaimonTable(str(table)).scan().to_table()
    file = max(table.glob("schema/schema-*"), key=lambda one: int(one.name[7:]))
    schema = json.loads(file.read_text(encoding="utf-8"))
    schema["options"] |= {"scan.mode": "latest"}
    file.write_text(json.dumps(schema), encoding="utf-8")
    assert PaimonTable(str(table)).scan().to_table() == expected


@pytest.mark.parametrize(
    ("nanos", "plain", "legacy"),
    [
        (0, "1970-01-01 00%3A00%3A00.000000000", "1970-01-01T00%3A00"),
        (1, "1970-01-01 00%3A00%3A00.000000001", "1970-01-01T00%3A00%3A00.000000001"),
        (-1, "1969-12-31 23%3A59%3A59.999999999", "1969-12-31T23%3A59%3A59.999999999"),
        (61_000_001_000, "1970-01-01 00%3A01%3A01.000001000", "1970-01-01T00%3A01%3A01.000001"),
        (10**18 + 5 * 10**6, "2001-09-09 01%3A46%3A40.005000000", "2001-09-09T01%3A46%3A40.005"),
    ],
)
def test_a_folder_has_the_nanoseconds_of_its_partition(nanos: int, plain: str, legacy: str) -> None:
    """As Java prints times, in threes of digits, or as they are cast to texts, with all of them."""
    known = {"p": pa.scalar(nanos, pa.timestamp("ns"))}
    for told, text in (("false", plain), ("true", legacy)):
        found = bucket_folder(known, 0, {"partition.legacy-name": told})
        assert found == f"p={text}/bucket-0"
