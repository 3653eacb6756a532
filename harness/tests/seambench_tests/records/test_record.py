"""Records are checked, written whole, and never time a wrong answer."""

import copy
import json
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from typer.testing import CliRunner

from seambase.errors import InputError, RefusedError, UnavailableError
from seambench.cli.app import app
from seambench.records import facts
from seambench.records.facts import machine_info, new_run, versions
from seambench.records.files import load_record, validate_tree, write_record
from seambench.records.model import Record, json_schema

RIGHT = "duckdb2:3:00000000000000aa:00000000000000bb"
OTHER = "duckdb2:3:00000000000000aa:00000000000000bc"

Raw = dict[str, Any]
Change = Callable[[Raw], object]


@pytest.fixture
def sound() -> Raw:
    """A record as JSON: a right timing, a wrong one, a copy, and outcomes of conformance."""
    over = {
        "name": "mor-v9-event-avro-u20-s100",
        "scale": 0.1,
        "state": "snapshot",
        "digest": "d",
        "format": "hudi",
        "dimensions": {"update_ratio": 20, "ordering": "event"},
    }
    right: Raw = {
        "kind": "answer",
        "case": "tpch/q01",
        "over": over,
        "outcome": "pass",
        "cold": [0.5],
        "hot": [0.2, 0.3],
        "cpu": [0.4, 0.4],
        "rows": 3,
        "growth_bytes": 1 << 20,
        "query": "cdc",
        "expected": RIGHT,
        "answer": RIGHT,
        "paths": {"merge": 5},
        "warnings": [{"file": "a.log", "offset": 12, "reason": "block without footer"}],
    }
    reason = "row 1, column 'k': 1 expected, 2 found"
    wrong = {name: right[name] for name in ("kind", "over", "query", "expected")}
    wrong |= {"case": "tpch/q02", "outcome": "fail", "answer": OTHER, "reason": reason}
    floor = {name: right[name] for name in ("over", "outcome", "cold", "hot", "cpu")}
    floor |= {"kind": "floor", "case": "serde/copy/1"}
    floor["moved"] = {"unit": "bytes", "sent": 10, "arrived": 10}
    conformance = {
        "seam": "scan",
        "seconds": 0.1,
        "outcomes": {
            "pass": {"scan/a": ["one", "two"]},
            "fail": {"scan/a": ["three"], "scan/b": ["four"]},
        },
        "reasons": {"scan/a/three": "2 rows expected", "scan/b/four": "refused what it offers"},
        "refused": ["scan/b/four"],
    }
    raw = {
        "schema": 3,
        "run": msgspec.to_builtins(new_run("seambench bench", 2)),
        "machine": msgspec.to_builtins(machine_info()),
        "versions": versions(),
        "implementation": {
            "name": "merge",
            "version": "1",
            "kind": "native",
            "capabilities": {"pushdown": True},
        },
        "dataset": {
            "name": "tpch-derived",
            "scale": 0.1,
            "generator": "g 1",
            "rows": {"orders": 3},
        },
        "conformance": [conformance],
        "timings": [right, wrong, floor],
    }
    return copy.deepcopy(raw)  # parts that are one object above


def record_of(raw: Raw) -> Record:
    """Its typed form."""
    return msgspec.convert(raw, Record)


def put(results: Path, raw: Raw) -> Path:
    """Raw JSON where the record would be written, past the writer."""
    run = raw["run"]
    name = f"{raw['machine']['name']}-{run['id']}.json"
    path: Path = results / "runs" / "merge" / run["started_utc"][:10] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(raw))
    return path


def test_a_sound_record_is_written_and_read_back(sound: Raw, tmp_path: Path) -> None:
    """Its file has the documented name, nothing else is left, and it reads back unchanged."""
    path = write_record(tmp_path, record_of(sound))
    folder = tmp_path / "runs" / "merge" / sound["run"]["started_utc"][:10]
    assert path == folder / f"{sound['machine']['name']}-{sound['run']['id']}.json"
    assert [file.name for file in folder.iterdir()] == [path.name]
    assert load_record(path) == record_of(sound)
    assert json.loads(path.read_bytes()) == sound
    assert validate_tree(tmp_path) == []


def timing(at: int, **changes: Any) -> Change:
    """A change of a timing."""
    return lambda raw: raw["timings"][at].update(changes)


def cases(**changes: Any) -> Change:
    """A change of the outcomes of conformance."""
    return lambda raw: raw["conformance"][0].update(changes)


UNTRUE: list[tuple[Change, str]] = [
    (
        timing(0, answer=OTHER),
        "timings/0: tpch/q01 on mor-v9-event-avro-u20-s100: the verdict pass",
    ),
    (timing(0, answer=None), "the verdict pass does not follow"),
    (timing(0, outcome="fail"), "the verdict fail does not follow"),
    (timing(0, reason="odd"), "the verdict pass does not follow"),
    (timing(0, hot=[], cpu=[]), "passes without a time"),
    (timing(0, cpu=[1]), "2 hot samples, 1 cpu ones"),
    (timing(1, outcome="pass"), "timings/1"),
    (timing(1, outcome="unavailable"), "the verdict unavailable does not follow"),
    (timing(1, answer=RIGHT, reason=None), "the verdict fail does not follow"),
    (timing(1, reason=None), "fail with the reason None"),
    (timing(1, hot=[1.0], cpu=[1.0]), "times are kept without a right answer"),
    (timing(2, moved={"unit": "bytes", "sent": 10, "arrived": 9}), "the verdict pass"),
    (timing(2, moved=None), "does not say what arrived"),
    (cases(outcomes={"pass": {"a": ["b"]}, "fail": {"a": ["b"]}}), "a/b has two outcomes"),
    (cases(reasons={}), "scan/a/three: fail without a reason"),
    (cases(refused=["scan/a/one"]), "scan/a/one is called refused, and it is pass"),
    (cases(slow={"scan/z": 2.0}), "slow names scan/z, which was not run"),
]
MALFORMED: list[tuple[Change, str]] = [
    (timing(0, hot=[-1]), "timings[0].hot[0]"),
    (timing(0, outcome="fine"), "timings[0].outcome"),
    (timing(0, kind="guess"), "timings[0]"),
    (timing(0, mean=1), "mean"),
    (timing(0, query="some"), "timings[0].query"),
    (timing(2, answer=RIGHT), "answer"),
    (lambda raw: raw["timings"][0].pop("case"), "case"),
    (lambda raw: raw.pop("machine"), "machine"),
    (lambda raw: raw["run"].update(started_utc="yesterday"), "run.started_utc"),
    (lambda raw: raw["machine"].update(name="a/b"), "machine.name"),
    (lambda raw: raw["implementation"].update(kind="fast"), "implementation.kind"),
]


@pytest.mark.parametrize(("change", "says"), UNTRUE)
def test_a_verdict_that_does_not_follow_is_refused(
    sound: Raw, tmp_path: Path, change: Change, says: str
) -> None:
    """Verdicts are made again: the writer refuses, and a file that says so is broken."""
    change(sound)
    with pytest.raises(RefusedError, match="record not written") as refusal:
        write_record(tmp_path, record_of(sound))
    assert says in str(refusal.value)
    assert list(tmp_path.iterdir()) == []
    put(tmp_path, sound)
    [line] = validate_tree(tmp_path)
    assert says in line


@pytest.mark.parametrize(("change", "says"), MALFORMED)
def test_what_breaks_the_form_is_refused_by_model_and_schema(
    sound: Raw, tmp_path: Path, change: Change, says: str
) -> None:
    """The types name the place, and the published schema does not let it through either."""
    change(sound)
    path = tmp_path / "x.json"
    path.write_text(json.dumps(sound))
    with pytest.raises(InputError) as refusal:
        load_record(path)
    assert says in str(refusal.value)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(sound, json_schema())


def test_what_was_made_outside_the_types_is_not_written(sound: Raw, tmp_path: Path) -> None:
    """Types are not looked at when a record is made; the writer looks at them."""
    made = msgspec.structs.replace(record_of(sound), versions={"python": 3})
    with pytest.raises(RefusedError, match="versions"):
        write_record(tmp_path, made)


def test_a_tree_with_broken_files_is_told_file_by_file(sound: Raw, tmp_path: Path) -> None:
    """Each broken file is named with what is wrong; sound ones are not."""
    good = write_record(tmp_path, record_of(sound))
    folder = good.parent
    (folder / "torn.json").write_text('{"schema": 1')
    (folder / "other.json").write_text(json.dumps(sound))
    (folder / "notes.txt").write_text("")
    kept, stray = good.with_suffix(".tables") / "a.zip", folder / "gone.tables" / "a.zip"
    for archive in (kept, stray):
        archive.parent.mkdir()
        archive.write_bytes(b"")
    found = {line.split(": ")[0]: line for line in validate_tree(tmp_path)}
    assert not {str(good), str(kept)} & {*found}
    assert "not a record" in found[str(stray)]
    assert "not readable as JSON" in found[str(folder / "torn.json")]
    assert "by its content it must be called" in found[str(folder / "other.json")]
    assert "not a record" in found[str(folder / "notes.txt")]


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
    assert new_run(typed).command == kept


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ('{"schema": 99}', RefusedError, "schema version 99 is not 3"),
        ('{"schema": 2}', RefusedError, "schema version 2 is not 3"),
        ('{"schema": true}', InputError, "no record"),
        ("[]", InputError, "no record"),
        ("\x00", InputError, "not readable as JSON"),
    ],
)
def test_what_is_no_record_is_told(
    tmp_path: Path, text: str, kind: type[Exception], says: str
) -> None:
    """Other versions are refused by name; other files are broken input."""
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(kind, match=says):
        load_record(path)


def test_results_that_cannot_be_written_are_told(sound: Raw, tmp_path: Path) -> None:
    """A file where the folder should be is one sentence, not a traceback."""
    blocked = tmp_path / "results"
    blocked.write_text("")
    with pytest.raises(UnavailableError, match="--results"):
        write_record(blocked, record_of(sound))


def test_names_cannot_leave_the_folder(sound: Raw, tmp_path: Path) -> None:
    """An implementation's name becomes one folder, whatever characters it has."""
    sound["implementation"]["name"] = "../../cmd:./reader x"
    path = write_record(tmp_path, record_of(sound))
    assert path.relative_to(tmp_path / "runs").parts[0] == "-..-cmd-.-reader-x"
    assert validate_tree(tmp_path) == []


def test_machine_name_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """SEAMBENCH_MACHINE names the machine, made safe for a file's name."""
    monkeypatch.setenv("SEAMBENCH_MACHINE", "my box/1")
    assert machine_info().name == "my-box-1"


def test_the_command_prints_the_form() -> None:
    """`seambench report --schema` is the schema that records are held against."""
    done = CliRunner().invoke(app, ["report", "--schema"])
    assert json.loads(done.stdout) == json_schema()


@pytest.mark.parametrize(
    ("told", "name"),
    [
        (
            "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: Other\n",
            "Some CPU @ 2 GHz",
        ),
        ("processor\t: 0\nmodel name\t: \nmodel\t\t: 85\n", "x86"),
        (None, "x86"),
    ],
)
def test_a_machine_is_known_by_its_processor(
    told: str | None, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the first name that the kernel has for it; elsewhere by what the platform says."""
    file = tmp_path / "cpuinfo"
    if told is not None:
        file.write_text(told)
    monkeypatch.setattr(facts, "Path", lambda _: file)
    monkeypatch.setattr(platform, "processor", lambda: "")
    monkeypatch.setattr(platform, "machine", lambda: "x86")
    assert machine_info().cpu == name
