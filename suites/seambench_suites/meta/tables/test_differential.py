"""The differential over random tables finds readers that answer otherwise than the writer."""

import json
import sys
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import seambench_suites
from seambench.conformance.plain import canonical, rows_of
from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
from seambench.contracts.tables import Written
from seambench_suites.differential import FORMATS, Answer, compare, write_tables
from seambench_suites.differential.__main__ import main

_GOLDEN = Path(seambench_suites.__file__).parent / "golden" / "delta" / "evolution"


def _store(folder: Path) -> list[dict[str, Any]]:
    """A golden table as `write` leaves one; what was noted after each step."""
    with zipfile.ZipFile(_GOLDEN / "table.zip") as archive:
        archive.extractall(folder / "1" / "table")
    (folder / "1" / "spec.json").write_text("{}", encoding="utf-8")
    noted = json.loads((_GOLDEN / "witness.json").read_text(encoding="utf-8"))
    return [{"instant": str(number), **step} for number, step in enumerate(noted)]


@pytest.mark.parametrize("wrong", [False, True])
def test_every_step_is_compared(tmp_path: Path, wrong: bool) -> None:
    """A row that the writer has not noted is told, with the step."""
    steps = _store(tmp_path)
    if wrong:
        steps[-1]["rows"] = steps[-1]["rows"][1:]
    (tmp_path / "1" / "witness.json").write_text(json.dumps(steps), encoding="utf-8")
    counts: Counter[str] = Counter()
    told = list(compare(tmp_path, FORMATS["delta"], registry.resolve("scan", "auto"), counts))
    assert counts["tables"] == 1
    assert counts["answers"] == len(steps) > 1
    assert counts["differences"] == len(told) == wrong
    assert all(f"step {len(steps)}" in line and "unexpected" in line for line in told)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_seed_means_one_table(name: str) -> None:
    """Always the same one, and another seed another one; of every kind."""
    own = FORMATS[name]
    by = own.package().rpartition(":")[2]
    for draw in own.tables.values():
        assert draw(7, by) == draw(7, by)
        assert replace(draw(7, by), name="") != replace(draw(8, by), name="")


def _hudi_table(folder: Path, **answers: Sequence[Answer]) -> None:
    """A golden table of Hudi as `write` and `ask` leave one: answers by version, 1.0.2 wrote."""
    golden = Path(seambench_suites.__file__).parent / "golden" / "hudi" / "archived" / "v8"
    with zipfile.ZipFile(golden / "table.zip") as archive:
        archive.extractall(folder / "1" / "table")
    files: dict[str, Any] = {"origin": {"writer": "org.apache.hudi:hudi:1.0.2"}, "spec": {}}
    for version, given in answers.items():
        name = version.removeprefix("of_").replace("_", ".")
        files["witness" if name == "1.0.2" else f"witness-{name}"] = given
    for name, content in files.items():
        (folder / "1" / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")


def _read(folder: Path, **request: Any) -> Answer:
    """What our reader answers about that table."""
    _hudi_table(folder)
    table = str(folder / "1" / "table")
    scan = registry.resolve("scan", "auto").open(ScanRequest(table, **request))
    names = scan.schema.names
    rows = sorted([canonical(v) for v in row] for row in rows_of(scan.to_reader(), names))
    assert rows
    return {"columns": names, "rows": rows}


def _rule(version: str, _target: Path, _number: int, answer: Answer, _rows: Any) -> str | None:
    """Version 1.0.2 answers otherwise what changed."""
    is_own = version == "1.0.2" and answer["query"] == "incremental"
    return "a rule of its own" if is_own else None


@dataclass(frozen=True)
class _Case:
    """Answers of versions (right, wrong, or an error) and what is counted."""

    query: str
    old: str
    new: str
    counted: str
    told: str = ""


@pytest.mark.parametrize(
    "case",
    [
        _Case("snapshot", "wrong", "right", "answers"),
        _Case("snapshot", "right", "wrong", "differences", "(as 1.0.2)"),
        _Case("snapshot", "wrong", "error", "differences"),
        _Case("snapshot", "error", "error", "unanswered"),
        _Case("incremental", "wrong", "error", "listed", "(listed: a rule of its own)"),
        _Case("incremental", "wrong", "right", "answers"),
        _Case("incremental", "right", "error", "answers"),
    ],
    ids=lambda case: f"{case.query}-{case.old}-{case.new}",
)
def test_the_newest_version_counts(tmp_path: Path, case: _Case) -> None:
    """An older one does if it alone has rows; a rule of its own makes no difference."""
    asked: dict[str, Any] = {"query": case.query}
    if case.query == "incremental":
        asked["begin"] = "20000101000000000"
    right = _read(tmp_path, changes_alone=case.query == "incremental", **asked)
    answers = {
        "right": {**asked, **right},
        "wrong": {**asked, **right, "rows": right["rows"][1:]},
        "error": {**asked, "error": "no"},
    }
    _hudi_table(tmp_path, of_1_0_2=[answers[case.old]], of_1_2_0=[answers[case.new]])
    counts: Counter[str] = Counter()
    own = replace(FORMATS["hudi"], why_otherwise=_rule)
    told = list(compare(tmp_path, own, registry.resolve("scan", "auto"), counts))
    expected = {"tables": 1, case.counted: 1}
    if case.counted in ("differences", "listed"):
        expected["answers"] = 1
    assert dict(counts) == expected
    assert len(told) == (case.counted in ("differences", "listed"))
    assert all(case.told in line for line in told)


class _Offering:
    """A reader that offers no query."""

    capabilities: Mapping[str, bool] = {}


def test_queries_that_a_reader_does_not_offer_are_counted(tmp_path: Path) -> None:
    """They are no answers."""
    _hudi_table(tmp_path, of_1_0_2=[{"query": "snapshot", "columns": [], "rows": []}])
    counts: Counter[str] = Counter()
    reader: Any = _Offering()
    assert list(compare(tmp_path, FORMATS["hudi"], reader, counts)) == []
    assert dict(counts) == {"tables": 1, "unasked": 1}


class _Session:
    """A session that answers, or has died."""

    def __init__(self, *, is_dead: bool = False) -> None:
        self.conf: dict[str, str] = {}
        self.is_dead = is_dead

    def sql(self, _text: str) -> Any:
        """Any statement."""
        if self.is_dead:
            raise ConnectionRefusedError
        return self

    def collect(self) -> None:
        """No rows."""


def _failing(monkeypatch: pytest.MonkeyPatch, *, is_dead: bool, writes: bool = False) -> Any:
    """A format of which nothing can be written, or nothing read; the session may have died."""

    @contextmanager
    def opened(*_: Any, **__: Any) -> Any:
        yield _Session(is_dead=is_dead)

    def fails(*_: Any, **__: Any) -> Any:
        if writes:
            return Written(["1"], ["1"])
        raise ValueError("no such table\nCaused by: one\n\tat Java\nCaused by: two")

    monkeypatch.setattr("seambench_suites.differential.writing.small_session", opened)
    return replace(
        FORMATS["hudi"], write=fails, settings={}, ask=lambda *_: {"query": "any", "error": "no"}
    )


def test_tables_that_cannot_be_written_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are told by those who write and by those who compare, and kept in the record."""
    own = _failing(monkeypatch, is_dead=False)
    write_tables(tmp_path / "tables", own, range(1, 3), "v6", "0.15.0")
    assert "1-v6-0.15.0: not written: no such table" in capsys.readouterr().err
    record = tmp_path / "hudi.json"
    given = ["compare", str(tmp_path / "tables"), "--format", "hudi", "--record", str(record)]
    monkeypatch.setattr(sys, "argv", ["differential", *given])
    main()
    assert "2-v6-0.15.0: not written: no such table; Caused by: two\n" in capsys.readouterr().out
    kept = json.loads(record.read_text(encoding="utf-8"))
    assert kept["writer"].endswith(":0.15.0")
    assert (kept["tables"], kept["unwritten"], kept["differences"]) == (0, 2, 0)


@pytest.mark.parametrize("writes", [False, True])
def test_a_session_that_died_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: bool
) -> None:
    """What nobody tried is neither a table that cannot be written nor a question without answer."""
    own = _failing(monkeypatch, is_dead=True, writes=writes)
    with pytest.raises(ConnectionRefusedError):
        write_tables(tmp_path, own, range(1, 3), None, None)
    assert not [*tmp_path.glob("*/unwritten.json"), *tmp_path.glob("*/witness.json")]
