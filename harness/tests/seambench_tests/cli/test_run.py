"""`seambench run` and `seambench.toml`: plans, options, the quick run, resuming, how runs end."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seambase.errors import InputError, UsageError
from seambench.bench.unfinished import Unfinished
from seambench.cli.app import app
from seambench.cli.exchange import who_wins
from seambench.cli.stages import running
from seambench.cli.stages.running import ReaderResult, show_closing
from seambench.records.files import load_record, record_paths, validate_tree
from seambench_tests.samples.report_records import exchange_record, write_record

_BASE_FILES = "seambench_suites.demo.base_files:BaseFilesAlone"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def seambench(*arguments: str) -> tuple[int, str]:
    """Exit code and output of a command of this process."""
    result = CliRunner().invoke(app, list(arguments))
    if isinstance(result.exception, UsageError | InputError):
        return result.exception.exit_code, str(result.exception)
    return result.exit_code, result.output


def test_a_plan_says_where_options_come_from_and_does_nothing(folder: Path) -> None:
    """What is typed wins over the file, the file over the default; no file is written."""
    (folder / "seambench.toml").write_text(
        "[run]\nscale = 0.1\nsamples = 4\nupdate-ratio = [0, 20]\nmemory = false\n"
    )
    code, out = seambench("run", "--dry-run", "--samples", "7", "--format", "hudi")
    options = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.strip()}
    assert code == 0, out
    assert options["scale"] == ["0.1", "seambench.toml"]
    assert options["samples"] == ["7", "command", "line"]
    assert options["update-ratio"] == ["0.0,", "20.0", "seambench.toml"]
    assert options["memory"] == ["False", "seambench.toml"]
    assert options["site"] == ["site", "default"]
    assert "data sets: 3 to make, 0 there" in out
    assert "25 cases over 2 data sets, 8 runs of each by each of 5 readers" in out
    assert "estimate: about" in out
    assert [path.name for path in folder.iterdir()] == ["seambench.toml"]


def test_a_named_file_replaces_the_one_in_the_folder(folder: Path) -> None:
    """With --config the file in the current folder is not looked at."""
    (folder / "seambench.toml").write_text("[nothing]\n")
    (folder / "other.toml").write_text("[run]\nsamples = 2\n")
    code, out = seambench("--config", "other.toml", "run", "--dry-run", "--format", "hudi")
    assert code == 0, out
    assert "other.toml" in out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[runn]\n", "[runn]: no command 'runn'; did you mean 'run'"),
        ("[run]\nupdate_ratio = 1\n", "no option 'update_ratio'; did you mean 'update-ratio'"),
        ("[run]\nsamples = 1.5\n", "[run] samples = 1.5"),
        ("[run]\nsamples = 0\n", "[run] samples = 0"),
        ("[run]\nsamples = [1, 2]\n", "a text or a number is meant"),
        ("[run]\nmemory = 1\n", "[run] memory: true or false is meant, not 1"),
        ("[run]\nreader = [[]]\n", "a text or a number is meant"),
        ("[run.deeper]\nx = 1\n", "no option 'deeper'"),
        ("[peers.lost]\n", "[peers.lost]: no command 'lost'"),
        ("run = 1\n", "options stand in the section of a command"),
        ("[run\n", "no TOML"),
        ("[run]\nconfig = 'x'\n", "no option 'config'"),
    ],
)
def test_a_file_with_a_mistake_is_refused(folder: Path, text: str, says: str) -> None:
    """The file, the section and the name are told, and nothing is done."""
    (folder / "seambench.toml").write_text(text)
    code, out = seambench("list", "data")
    assert code == 2
    assert out.startswith("seambench.toml")
    assert says in out


def test_a_named_file_must_be_there() -> None:
    """A file that is named and is not there is no empty one."""
    assert seambench("--config", "absent.toml", "list") == (
        2,
        "absent.toml: No such file or directory",
    )


def test_a_quick_run_gives_answers_and_a_page(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without data a right reader is found right, a broken one wrong, and the next step is told."""
    monkeypatch.setattr(running, "_OF_EACH", 3)
    code, out = seambench("run", "--quick", "--reader", "auto", "--reader", _BASE_FILES)
    right, wrong = (load_record(path) for path in record_paths(folder / "results"))
    (part,) = right.conformance
    assert code == 1, out
    assert right.implementation.name == "auto"
    assert set(part.outcomes) == {"pass"}
    assert {case.split("/")[1] for case, _ in part.cases()} == {
        *("delta", "hive", "hudi", "iceberg", "paimon")
    }
    assert wrong.implementation.name == _BASE_FILES
    assert "fail" in wrong.conformance[0].outcomes
    assert validate_tree(folder / "results") == []
    assert (folder / "site" / "index.html").is_file()
    assert f"next: seambench check --seam scan --impl {_BASE_FILES} --case scan/hudi/" in out


def test_a_quick_run_takes_no_options_of_others() -> None:
    """An option that would mean nothing is refused."""
    code, out = seambench("run", "--quick", "--scale", "1")
    assert (code, "--scale means nothing with --quick" in out) == (2, True)


PLAN = {"samples": 3, "readers": {"auto": "1"}}


def test_a_journal_gives_back_what_was_finished(folder: Path) -> None:
    """What was noted is there after an interruption, a line that was cut off is not."""
    journal = Unfinished(folder, PLAN, resume=False)
    journal.put("a", [1, 2])
    journal.put("b", None)
    with journal.file.open("a") as file:
        file.write('{"done": "c", "val')
    again = Unfinished(folder, PLAN, resume=True)
    assert (again.resumed, again.get("a"), again.get("c")) == (2, [1, 2], None)
    again.put("c", 3)
    assert Unfinished(folder, PLAN, resume=True).get("c") == 3
    for _ in range(2):  # whoever else has removed it
        again.finish()
    assert Unfinished(folder, PLAN, resume=True).resumed == 0


def test_a_run_without_resume_begins_anew(folder: Path) -> None:
    """What an interrupted run left is dropped unless it is asked for."""
    Unfinished(folder, PLAN, resume=False).put("a", 1)
    assert Unfinished(folder, PLAN, resume=False).get("a") is None
    assert Unfinished(folder, PLAN, resume=True).resumed == 0


def test_another_plan_is_not_resumed(folder: Path) -> None:
    """Results of two plans must not mix: what differs is named."""
    Unfinished(folder, PLAN, resume=False).put("a", 1)
    with pytest.raises(UsageError, match="had samples 3, this one has 5"):
        Unfinished(folder, PLAN | {"samples": 5}, resume=True)
    with pytest.raises(UsageError, match="had queries null"):
        Unfinished(folder, PLAN | {"queries": "all"}, resume=True)


@pytest.mark.parametrize(
    "text", ["", "{}\n", "nonsense\n", json.dumps({"unfinished": 9, "plan": PLAN}) + "\n"]
)
def test_a_broken_journal_is_refused(folder: Path, text: str) -> None:
    """What cannot be read is not taken for nothing."""
    (folder / ".unfinished.jsonl").write_text(text)
    with pytest.raises(InputError, match="without --resume"):
        Unfinished(folder, PLAN, resume=True)


def test_what_a_reader_does_not_offer_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Answers that were not asked for stand beside those that were right, not among them."""
    monkeypatch.setenv("COLUMNS", "200")
    some = ReaderResult({"pass": 4}, 0, [], {"pass": 3, "not-offered": 2})
    wrong = ReaderResult({"pass": 4}, 0, [], {"pass": 3, "fail": 1})
    show_closing({"some": some, "wrong": wrong}, tmp_path)
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert lines["some"].endswith("3 of 3 right, 2 not offered")
    assert lines["wrong"].endswith("3 of 4 right")


def test_who_is_ahead_is_said_by_rows_a_chunk(tmp_path: Path) -> None:
    """Of ways that compete, the least median, and whoever's samples reach it."""
    made = exchange_record()
    [sentence] = who_wins([load_record(write_record(tmp_path, made))])
    assert sentence == (
        "shuffle, 2 workers, ahead by rows a chunk: "
        "from 64 on pass-through, before sockets presto by 2.00 x (2.00 to 2.00); "
        "from 512 on sockets presto, before pass-through by 2.00 x (2.00 to 2.00)."
    )
    # A way that is a hundred times as slow is ahead nowhere.
    for timing in made["timings"]:
        if "pass-through" in timing["case"]:
            timing["hot"] = [100 * one for one in timing["hot"]]
    [sentence] = who_wins([load_record(write_record(tmp_path, made))])
    assert sentence == (
        "shuffle, 2 workers, ahead by rows a chunk: "
        "from 64 on sockets presto, before pass-through by 50.00 x (50.00 to 50.00)."
    )
    # Samples that overlap are no difference.
    for timing in made["timings"]:
        timing["hot"] = [1e-3] * 3 + [5e-3] + [9e-3] * 3
    [sentence] = who_wins([load_record(write_record(tmp_path, made))])
    assert sentence.endswith("from 64 on pass-through or sockets presto.")


def test_one_way_alone_is_ahead_of_nobody(tmp_path: Path) -> None:
    """Nothing is concluded where nothing competes, and that is said; without times, nothing is."""
    made = exchange_record()
    made["timings"] = [one for one in made["timings"] if "pass-through" in one["case"]]
    assert list(who_wins([load_record(write_record(tmp_path, made))])) == [
        "shuffle, 2 workers: pass-through alone has times, so none is ahead."
    ]
    made["timings"] = [one for one in made["timings"] if "hot" not in one]
    assert list(who_wins([load_record(write_record(tmp_path, made))])) == []
