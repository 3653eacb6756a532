"""Who wrote and who reads are told apart: a pair is judged by what its reader reads alone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seambase.errors import InputError, UnavailableError
from seambench.conformance import isolate
from seambench.conformance.run import Run
from seambench.contracts.outcomes import Difference, Outcome
from seambench.contracts.registry import PAIR, resolve
from seambench.contracts.scan import Scan, ScanRequest
from seambench.seams.table_writer import others
from seambench.seams.table_writer.others import _known
from seambench_suites.meta.writers.wrong_writers import WrongWriter

_DELETE = "table-writer/delta/rows/delete"


_HERE = "seambench_suites.meta.writers.test_pairs"


class ForgetsDeletes(WrongWriter):
    """A writer whose tables are wrong in the end."""

    def __init__(self) -> None:
        super().__init__("forgets-deletes")


class ReadsTheLast:
    """A reader that refuses each state but that of three changes."""

    name, version, kind = "last", "1", "peer"

    def __init__(self) -> None:
        self._right = resolve("scan", "deltalake")
        self.capabilities = self._right.capabilities

    def open(self, request: ScanRequest) -> Scan:
        """Look which state it is."""
        if not Path(request.table, "_delta_log", f"{3:020}.json").exists():
            raise InputError("this is not the last state")
        opened: Scan = self._right.open(request)
        return opened


@pytest.mark.parametrize(
    ("writer", "reader", "word", "reason"),
    [
        (
            f"{_HERE}:ForgetsDeletes",
            "deltalake",
            "fail",
            "read by deltalake: 1 row expected, 4 read",
        ),
        ("deltalake", f"{_HERE}:ReadsTheLast", "pass", ""),
        ("deltalake", "pyiceberg", "not-offered", "no formats.delta"),
    ],
    ids=["writer-errs", "last-state", "other-format"],
)
def test_a_pair_is_checked_as_in_the_pass(
    writer: str, reader: str, word: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell's command says what the cell does: of the last state, by the reader's own process."""
    monkeypatch.setattr(others, "_readers", lambda: {reader: resolve("scan", reader)})
    monkeypatch.setattr(others, "_reads", lambda *_: True)
    pair = f"{writer}{PAIR}{reader}"
    [checked] = Run("table-writer", [pair], patterns=[_DELETE]).check()
    [passed] = Run("table-writer", [writer], patterns=[_DELETE]).extra_pass("readers")
    assert (checked.implementation, checked.outcome) == (pair, word)
    assert checked.reason.startswith(reason)
    assert replace(checked, seconds=0, version="") == replace(passed, seconds=0, version="")


def test_a_table_is_written_once_for_all_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass has an outcome for each reader of the format, under the name of the pair.

    Among them are peers that are not installed here: each in an environment of its newest version.
    """

    def python_of(peer: object, version: str) -> Path:
        raise UnavailableError(f"no network for {peer} {version}")

    monkeypatch.setattr(isolate, "python_of", python_of)
    outcomes = list(Run("table-writer", ["deltalake"], patterns=[_DELETE]).extra_pass("readers"))
    words = {one.implementation.removeprefix("deltalake -> "): one.outcome for one in outcomes}

    here = ("auto", "connector", "deltalake", "polars-delta")
    elsewhere = ("chdb-delta@4.4.0", "daft-delta@0.7.26", "datafusion-delta@55.0.0")
    assert words == dict.fromkeys(here, "pass") | dict.fromkeys(elsewhere, "unavailable")


_WORD_NULL = "table-writer/delta/partitions/word-null"


class Reader:
    """A reader with a file of known failures."""

    name, version, kind = "some", "1", "peer"

    def __init__(self, xfails: Path) -> None:
        xfails.write_text(
            'implementation = "some"\n[[xfail]]\nid = "table-writer/delta/rows/delete"\n'
            'reason = "it has no nulls"\ndigests = ["theirs"]\n'
        )
        self.xfails = xfails


@pytest.mark.parametrize(
    ("case", "digest", "ours", "word", "known"),
    [
        (_WORD_NULL, "same", "same", "xfail", "a text partition __HIVE_DEFAULT"),
        (_WORD_NULL, "other", "same", "fail", ""),
        (_WORD_NULL, "same", "", "fail", ""),
        (_DELETE, "same", "same", "fail", ""),
        (_DELETE, "theirs", "same", "xfail", "it has no nulls"),
        (_DELETE, "other", "", "fail", "it is known to fail (it has no nulls), but in another"),
    ],
    ids=["written", "read", "read-alone", "new", "known-reader", "another-way"],
)
def test_what_all_are_given_wrong_is_the_writers(
    case: str, digest: str, ours: str, word: str, known: str, tmp_path: Path
) -> None:
    """A known failure of a writer excuses the rows alone that our readers see, too."""
    rows = Difference(["id"], [], [], 0, 0, digest)
    found = Outcome("table-writer", "deltalake -> some", case, "fail", difference=rows)
    reader: Any = Reader(tmp_path / "some.toml")
    outcome = _known(found, resolve("table-writer", "deltalake"), reader, ours)
    assert (outcome.outcome, outcome.known[: len(known) or None]) == (word, known)
    assert outcome.implementation == "deltalake -> some"
    assert _known(replace(found, outcome="pass"), reader, reader, "") == replace(
        found, outcome="pass"
    )
