"""From a listing and a timeline to file slices: rules of Hudi's file-system view (docs/hudi.md)."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.files.storage import Storage
from seamkit.scan.arguments import instant_text
from seamkit.tables.hudi.config.properties import load_config, parse_properties
from seamkit.tables.hudi.table import HudiTable
from seamkit.tables.hudi.timeline.instants import parse_instant
from seamkit.tables.hudi.timeline.window import Window
from seamkit_tests.samples.hudi_files import Table, at, base, log, names

_DONE = "completed"
_TOKENS = [log(10, 2, "10-0-1"), log(10, 2, "2-0-1"), log(10, 10)]
#: By rule: the table's version, its files, its instants, and the slice that they make.
_SLICES: dict[str, tuple[int, list[str], list[tuple[int, str, Any]], Any]] = {
    "a delta requested before a compaction and completed after it is of the new slice": (
        *(9, [base(10), log(20), base(30)]),
        [(10, "commit", 11), (20, "deltacommit", 40), (30, "commit", 50)],
        (base(30), [log(20)]),
    ),
    "a log of version 6 names the base instant it belongs to": (
        *(6, [base(10), log(10), log(10, 2), base(30), log(30)]),
        [(10, "deltacommit", _DONE), (20, "deltacommit", _DONE), (30, "commit", _DONE)],
        (base(30), [log(30)]),
    ),
    "a log that a downgrade to version 6 left bears its own write's instant, archived or not": (
        *(6, [base(10), log(20), log(30), log(30, 2)]),
        [(25, "commit", _DONE), (30, "deltacommit", _DONE)],
        (base(10), [log(20), log(30), log(30, 2)]),
    ),
    "log 2 comes before log 10, and of equal numbers the token 10-... before 2-...": (
        *(6, [base(10), *_TOKENS], [(10, "deltacommit", _DONE)], (base(10), _TOKENS)),
    ),
    "a savepointed commit stays active alone: what was archived after it counts": (
        *(6, [base(20)]),
        [(10, "commit", _DONE), (10, "savepoint", _DONE), (30, "commit", _DONE)],
        (base(20), []),
    ),
    "only writes begin the active timeline: what lies between a clean and them is archived": (
        *(6, [base(20)], [(10, "clean", _DONE), (30, "commit", _DONE)], (base(20), [])),
    ),
    "behind a write that still runs nothing is archived: a log that nobody knows there has died": (
        *(9, [base(5), log(20)]),
        [(10, "deltacommit", "inflight"), (30, "commit", 31)],
        (base(5), []),
    ),
    "of version 6 it may be": (
        *(6, [base(5), log(20)]),
        [(10, "deltacommit", "inflight"), (30, "commit", _DONE)],
        (base(5), [log(20)]),
    ),
    "files of instants that did not complete are left out": (
        *(9, [base(10), log(20), base(30)]),
        [(10, "commit", 11), (20, "deltacommit", "inflight")],
        (base(10), []),
    ),
    "logs without a base file make up one slice": (
        *(9, [log(10), log(20)], [(10, "deltacommit", 11), (20, "deltacommit", 21)]),
        (None, [log(10), log(20)]),
    ),
    "logs of changes are for change queries": (
        *(9, [base(10), log(20) + ".cdc"], [(10, "commit", 11), (20, "deltacommit", 21)]),
        (base(10), []),
    ),
}


@pytest.mark.parametrize(
    ("version", "files", "instants", "expected"), _SLICES.values(), ids=_SLICES
)
def test_a_slice_has_the_files_that_the_timeline_gives_it(
    tmp_path: Path, version: int, files: list[str], instants: list[Any], expected: Any
) -> None:
    """By the rule that each case is called by."""
    table = Table(tmp_path, version)
    table.files(*files)
    for requested, action, completed in instants:
        table.instant(
            at(requested), action, completed if isinstance(completed, str) else at(completed)
        )

    assert [names(found) for found in table.slices()] == [expected]


def test_a_log_named_by_an_instant_that_nobody_knows_is_an_error(tmp_path: Path) -> None:
    """In version 6 it says that it waits for a compaction, whose plan must then be there."""
    table = Table(tmp_path, 6)
    table.files(base(10), log(30))
    table.instant(at(10), "deltacommit", _DONE)

    with pytest.raises(InputError, match=f"compaction of {at(30)}, which the timeline does not"):
        table.slices()


@pytest.mark.parametrize("named", ["1-1-1", "2-1-1"])
def test_of_two_base_files_of_one_write_the_named_one_counts(tmp_path: Path, named: str) -> None:
    """A task that ran twice may leave two files; the commit names the one that counts."""
    table = Table(tmp_path, 9)
    files = {token: f"f-0_{token}_{at(10)}.parquet" for token in ("1-1-1", "2-1-1")}
    table.files(*files.values())
    table.instant(at(10), "commit", at(11), files[named])

    assert [names(found) for found in table.slices()] == [(files[named], [])]


@pytest.mark.parametrize("is_kept", [True, False], ids=["savepoint", "deleted savepoint"])
@pytest.mark.parametrize("version", [6, 8, 9])
def test_what_a_savepoint_keeps_may_have_been_replaced(
    tmp_path: Path, version: int, is_kept: bool
) -> None:
    """Its files stay, and so does its write, while what replaced them or came since is archived.

    Once the savepoint is deleted, the timeline begins with that write until it is archived, too.
    """
    table = Table(tmp_path, version)
    files = (base(10, "old-0"), base(10, "new-1"))
    table.files(*files, base(20, "new-0"), base(20, "new-1"), base(30))
    table.instant(at(10), "commit", at(11), *files)
    if is_kept:
        table.instant(at(10), "savepoint", at(12))
    else:
        table.files(base(25, "new-2"))  # of a write that died
    table.instant(at(30), "commit", at(31), base(30))
    replaced = {"partitionToReplaceFileIds": {"": ["old-0"]}}
    table.archived((at(20), at(21), "replacecommit", replaced))

    assert [names(found) for found in table.slices()] == [
        (base(30), []),
        (base(20, "new-0"), []),
        (base(20, "new-1"), []),
    ]


@pytest.mark.parametrize(
    ("version", "archive", "named"),
    [
        (6, "archived/.commits_.archive.1_1-0-1", ""),
        (9, "timeline/history/_version_", f"_{at(26)}"),
    ],
)
def test_an_archive_is_not_read_for_what_it_cannot_know(
    tmp_path: Path, version: int, archive: str, named: str
) -> None:
    """Files of a write that was undone, or is newer than the timeline, do not count anyway.

    A restore need not name what had been archived before it.
    """
    table = Table(tmp_path, version)
    table.files(base(10), base(20), base(40))
    for minute in (10, 30):
        table.instant(at(minute), "commit", at(minute))
    broken = tmp_path / ".hoodie" / archive
    broken.parent.mkdir()
    broken.write_bytes(b"this is none")
    undone = table.timeline / f"{at(25)}{named}.rollback"
    undone.write_text(f'{{"commitsRollback": ["{at(20)}"]}}')
    assert [names(found) for found in table.slices()] == [(base(10), [])]
    restored = undone.with_suffix(".restore")
    undone.rename(restored)
    restored.write_text("{}")
    assert [names(found) for found in table.slices()] == [(base(10), [])]

    restored.unlink()
    with pytest.raises(InputError, match=broken.parent.name):
        table.slices()


@pytest.mark.parametrize(
    ("minute", "expected"), [(20, (base(10), [log(10)])), (60, (base(30), [log(40)]))]
)
@pytest.mark.parametrize("version", [8, 9])
def test_a_log_from_before_an_upgrade_lies_over_the_base_file_in_its_name(
    tmp_path: Path, version: int, minute: int, expected: Any
) -> None:
    """An upgrade makes completion times of the dates of the timeline's files, which copies lose."""
    table = Table(tmp_path, version, hoodie__table__initial__version="6")
    table.files(base(10), log(10), base(30), log(40))
    for requested, action in ((10, "deltacommit"), (30, "commit"), (40, "deltacommit")):
        table.instant(at(requested), action, at(50))

    assert [names(one) for one in table.slices(Window(up_to=at(minute)))] == [expected]


@pytest.mark.parametrize("moved", [f"{at(20)}_{at(21)}.commit", f"{at(30)}.deltacommit.inflight"])
def test_a_table_that_is_upgraded_meanwhile_is_an_error(tmp_path: Path, moved: str) -> None:
    """Hudi moves instant by instant to where version 8 has them, and then writes the version.

    A downgrade leaves the folder, with the history or without.
    """
    table = Table(tmp_path, 6)
    table.files(base(10), base(20))
    table.instant(at(10), "commit", _DONE)
    (table.timeline / "timeline" / "history").mkdir(parents=True)
    assert [names(found) for found in table.slices()] == [(base(10), [])]

    (table.timeline / "timeline" / moved).touch()
    with pytest.raises(InputError, match=f"{moved}: an instant of a newer table version"):
        table.slices()


@pytest.mark.parametrize("version", [3, 4, 5])
def test_plans_lie_beside_the_timeline_up_to_version_5(version: int, tmp_path: Path) -> None:
    """Where the plan in the timeline is empty, it is in the auxiliary folder."""
    table = Table(tmp_path, version)
    table.files(base(10), log(10), log(30))
    table.instant(at(10), "deltacommit", "completed")
    table.compaction(at(30), "f-0")
    plan = table.timeline / f"{at(30)}.compaction.requested"
    aside = tmp_path / ".hoodie" / ".aux" / plan.name
    aside.parent.mkdir()
    plan.rename(aside)
    plan.touch()

    assert [names(found) for found in table.slices()] == [(base(10), [log(10), log(30)])]


def test_a_table_without_a_write_is_empty(tmp_path: Path) -> None:
    """Before the first commit there are no rows, and the properties may tell the columns."""
    table = Table(tmp_path, 9)

    assert table.slices() == []
    assert HudiTable(str(table.root)).scan().to_table().num_rows == 0


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (f"f-0_0-1-1_{at(20)}_1.log.parquet", "newer"),
        (f"g-0_0-1-1_{at(10)}.hfile", r"g-0_.*\.hfile: base files in hfile"),
    ],
)
def test_files_in_other_formats_are_refused(file: str, words: str, tmp_path: Path) -> None:
    """A `.log.parquet` of a newer writer is no base file; HFiles lie in metadata tables alone."""
    table = Table(tmp_path, 9)
    table.files(base(10), file)
    table.instant(at(10), "commit", at(11))

    with pytest.raises(RefusedError, match=words):
        table.slices()


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"hoodie__table__version": "99"}, "table version 99"),
        ({"hoodie__table__version": "x"}, "not a number"),
        ({"hoodie__table__version": "\u00b2"}, "not a number"),
        ({"hoodie__timeline__layout__version": "2x"}, "layout.version is '2x', not a number"),
        ({"hoodie__table__base__file__format": "HFILE"}, "HFILE"),
        ({"hoodie__record__merge__mode": "SOMETHING"}, "SOMETHING"),
    ],
)
def test_unsupported_tables_are_refused_by_name(
    tmp_path: Path, properties: dict[str, str], message: str
) -> None:
    """What would be read wrongly is refused, and the message names the property or value."""
    table = Table(tmp_path, 9, **properties)

    with pytest.raises((RefusedError, InputError), match=message):
        table.slices()


def test_a_folder_that_is_no_table_is_an_error(tmp_path: Path) -> None:
    """The message says what is missing."""
    with pytest.raises(InputError, match="not a Hudi table"):
        load_config(Storage(str(tmp_path)))


def test_properties_follow_java() -> None:
    """Escapes, separators, comments and continued lines are those of java.util.Properties."""
    text = "# c\n! c\na=1\nb : 2\nc 3\nd=\\u0041\\:\\=\ne=x\\\n   y\n\nf\n"

    assert parse_properties(text) == {
        "a": "1", "b": "2", "c": "3", "d": "A:=", "e": "xy", "f": "",
    }  # fmt: skip


def test_instants_come_as_digits_or_iso(tmp_path: Path) -> None:
    """Digits and zeros stand as they are; ISO 8601 becomes 17 digits; all else is refused.

    A second without a fraction lasts to its end, as in Hudi's SQL, and a day is its midnight.
    """
    Table(tmp_path, 9, hoodie__table__timeline__timezone="UTC")
    config = load_config(Storage(str(tmp_path)))

    assert parse_instant("20260102030405", config) == "20260102030405"
    assert parse_instant("000", config) == "000"
    assert parse_instant("2026-01-02T03:04:05.678", config) == "20260102030405678"
    assert parse_instant("2026-01-02T03:04:05.000", config) == "20260102030405000"
    for text in ("2026-01-02T03:04:05+01:00", "2026-01-02 02:04:05", "20260102T020405Z"):
        assert parse_instant(text, config) == "20260102020405999", text
    assert parse_instant("2026-01-02T03:04", config) == "20260102030400000"
    assert parse_instant("2026-01-02", config) == "20260102000000000"
    moment = dt.datetime(2026, 1, 2, 3, 4, 5)
    assert parse_instant(instant_text("as_of", moment) or "", config) == "20260102030405000"
    with pytest.raises(UsageError, match="ISO 8601"):
        parse_instant("yesterday", config)


@pytest.mark.parametrize(
    "body",
    [
        "[]",
        "5",
        '{"partitionToWriteStats": [1]}',
        '{"partitionToWriteStats": {"": {}}}',
        '{"partitionToWriteStats": {"": ["f"]}}',
        '{"partitionToWriteStats": {"": [{"fileId": 1}]}}',
        '{"partitionToWriteStats": {"": [{"fileId": "f", "path": "p", "numWrites": "1"}]}}',
        '{"partitionToWriteStats": {"": [{"fileId": "f", "path": "p", "totalWriteErrors": "1"}]}}',
        '{"partitionToReplaceFileIds": {"": [1]}}',
        '{"extraMetadata": "schema"}',
    ],
)
def test_bodies_of_another_shape_are_named(tmp_path: Path, body: str) -> None:
    """JSON that is no write is an error with the file's name, whatever it is instead."""
    table = Table(tmp_path, 6)
    (table.timeline / f"{at(10)}.commit").write_text(body)

    with pytest.raises(InputError, match=r"commit: not readable"):
        table.slices()
