"""Records are checked, written whole, and never time a wrong answer."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seambase.errors import InputError, RefusedError, UnavailableError
from seambench.records import record as records

RIGHT = "duckdb2:3:00000000000000aa:00000000000000bb"
OTHER = "duckdb2:3:00000000000000aa:00000000000000bc"

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def sound() -> dict[str, Any]:
    """A record with one right timing and one failure."""
    right = {
        "case": "tpch/q01",
        "unit": "s",
        "dataset": {
            "name": "mor-v9-event-avro-u20-s100",
            "scale": 0.1,
            "digest": "d",
            "state": "snapshot",
            "update_ratio": 20,
            "slice_share": 100,
            "table_version": 9,
            "ordering": "event",
            "log_format": "avro",
            "slices": 5,
        },
        "query": "snapshot",
        "outcome": "pass",
        "cold": [0.5],
        "hot": [0.2, 0.3],
        "cpu": [0.4, 0.4],
        "rows": 3,
        "bytes": None,
        "peak_bytes": None,
        "growth_bytes": 1 << 20,
        "answer": RIGHT,
        "expected": RIGHT,
        "paths": {"merge": 5},
        "warnings": [{"file": "a.log", "offset": 12, "reason": "block without footer"}],
        "error": None,
    }
    failed = copy.deepcopy(right) | {
        "case": "tpch/q02",
        "outcome": "fail",
        "cold": [],
        "hot": [],
        "cpu": [],
        "growth_bytes": None,
        "answer": OTHER,
        "error": "row 1, column 'k': 1 expected, 2 found",
    }
    return {
        "schema": 1,
        "run": records.new_run("seambench bench", 2),
        "machine": records.machine_info(),
        "versions": records.versions(),
        "implementation": {
            "name": "merge",
            "version": "1",
            "kind": "native",
            "tuned": False,
            "capabilities": {"pushdown": True},
        },
        "dataset": {
            "name": "tpch-derived",
            "scale": 0.1,
            "generator": "g 1",
            "rows": {"orders": 3},
        },
        "outcomes": [
            {"case": "scan/a", "outcome": "pass", "seconds": 0.1, "reason": "", "link": None}
        ],
        "timings": [right, failed],
    }


def test_a_sound_record_is_written_and_read_back(sound: dict[str, Any], tmp_path: Path) -> None:
    """Its file has the documented name, nothing else is left, and it reads back unchanged."""
    path = records.write_record(tmp_path, sound)

    folder = tmp_path / "runs" / "merge" / sound["run"]["started_utc"][:10]
    assert path == folder / f"{sound['machine']['name']}-{sound['run']['id']}.json"
    assert [file.name for file in folder.iterdir()] == [path.name]
    assert records.load_record(path) == sound
    assert records.validate_tree(tmp_path) == []


def first(change: Change) -> Change:
    """A change of the first timing."""
    return lambda record: change(record["timings"][0])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (first(lambda t: t.update(answer=OTHER)), "differs from the oracle's"),
        (first(lambda t: t.update(answer=None)), "timings/0/answer"),
        (first(lambda t: t.update(hot=[])), "timings/0/hot"),
        (first(lambda t: t.update(hot=[-1])), "timings/0/hot/0"),
        (first(lambda t: t.update(cpu=[1])), "2 hot samples, 1 cpu ones"),
        (first(lambda t: t.update(outcome="fail")), "timings/0"),
        (first(lambda t: t.update(outcome="fine")), "timings/0"),
        (first(lambda t: t.update(unit="ms")), "timings/0/unit"),
        (first(lambda t: t.update(mean=1)), "'mean' was unexpected"),
        (first(lambda t: t.pop("paths")), "'paths' is a required property"),
        (lambda r: r.update(schema=2), "schema"),
        (lambda r: r.pop("machine"), "'machine' is a required property"),
        (lambda r: r["versions"].pop("duckdb"), "'duckdb' is a required property"),
        (lambda r: r["run"].update(started_utc="yesterday"), "run/started_utc"),
        (lambda r: r["machine"].update(name="a/b"), "machine/name"),
        (lambda r: r["implementation"].update(kind="fast"), "implementation/kind"),
    ],
)
def test_a_broken_record_is_refused(
    sound: dict[str, Any], tmp_path: Path, change: Change, says: str
) -> None:
    """The writer refuses it, in a sentence that names the place, and writes nothing."""
    change(sound)
    with pytest.raises(RefusedError, match="record not written") as refusal:
        records.write_record(tmp_path, sound)

    assert says in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


def test_a_tree_with_broken_files_is_told_file_by_file(
    sound: dict[str, Any], tmp_path: Path
) -> None:
    """Each broken file is named with what is wrong; sound ones are not."""
    good = records.write_record(tmp_path, sound)
    folder = good.parent
    (folder / "torn.json").write_text('{"schema": 1')
    (folder / "other.json").write_text(json.dumps(sound))
    (folder / "notes.txt").write_text("")
    wrong = copy.deepcopy(sound)
    wrong["timings"][0]["answer"] = OTHER
    (folder / "wrong.json").write_text(json.dumps(wrong))
    found = {line.split(": ")[0]: line for line in records.validate_tree(tmp_path)}

    assert str(good) not in found
    assert "not readable as JSON" in found[str(folder / "torn.json")]
    assert "by its content it must be called" in found[str(folder / "other.json")]
    assert "not a record" in found[str(folder / "notes.txt")]
    assert "differs from the oracle's" in found[str(folder / "wrong.json")]


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("seambench bench --data /home/me/data --scale 1", "seambench bench --data data --scale 1"),
        ("seambench bench --results=/home/me/results", "seambench bench --results=results"),
        ("x --reader 'cmd:./my reader' '/a/b c'", "x --reader 'cmd:./my reader' 'b c'"),
        ("x --data s3://bucket/tables/t", "x --data s3://bucket/tables/t"),
    ],
)
def test_commands_name_no_folders_of_a_machine(typed: str, kept: str) -> None:
    """Of absolute paths in a recorded command only the last name is kept."""
    assert records.new_run(typed)["command"] == kept


def test_no_results_are_no_problem(tmp_path: Path) -> None:
    """An empty folder holds no broken record."""
    assert records.validate_tree(tmp_path) == []


def test_old_versions_are_read(
    sound: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record of an older version goes through its upgrades and is then checked as new."""
    old = copy.deepcopy(sound) | {"schema": 0}
    old["host"] = old.pop("machine")

    def upgrade(record: dict[str, Any]) -> dict[str, Any]:
        rest = {key: value for key, value in record.items() if key != "host"}
        return {**rest, "schema": 1, "machine": record["host"]}

    monkeypatch.setitem(records._UPGRADES, 0, upgrade)
    path = tmp_path / "old.json"
    path.write_text(json.dumps(old))

    assert records.load_record(path) == sound


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ('{"schema": 99}', RefusedError, "newer"),
        ('{"schema": 0}', InputError, "never a schema version 0"),
        ('{"schema": true}', InputError, "no record"),
        ("[]", InputError, "no record"),
        ("\x00", InputError, "not readable as JSON"),
    ],
)
def test_what_is_no_record_is_told(
    tmp_path: Path, text: str, kind: type[Exception], says: str
) -> None:
    """Newer versions are refused by name; other files are broken input."""
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(kind, match=says):
        records.load_record(path)


def test_results_that_cannot_be_written_are_told(sound: dict[str, Any], tmp_path: Path) -> None:
    """A file where the folder should be is one sentence, not a traceback."""
    blocked = tmp_path / "results"
    blocked.write_text("")
    with pytest.raises(UnavailableError, match="--results"):
        records.write_record(blocked, sound)


def test_names_cannot_leave_the_folder(sound: dict[str, Any], tmp_path: Path) -> None:
    """An implementation's name becomes one folder, whatever characters it has."""
    sound["implementation"]["name"] = "../../cmd:./reader x"
    path = records.write_record(tmp_path, sound)

    assert path.relative_to(tmp_path / "runs").parts[0] == "-..-cmd-.-reader-x"
    assert records.validate_tree(tmp_path) == []


def test_machine_name_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """SEAMBENCH_MACHINE names the machine, made safe for a file's name."""
    monkeypatch.setenv("SEAMBENCH_MACHINE", "my box/1")

    assert records.machine_info()["name"] == "my-box-1"
