"""Who wrote and who reads are told apart: a pair is judged by what its reader reads alone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seambase.errors import UnavailableError
from seambench.conformance import isolate
from seambench.conformance.judge import verdict
from seambench.conformance.load import find_case
from seambench.conformance.run import Run
from seambench.contracts.outcomes import Difference, Outcome
from seambench.contracts.registry import resolve
from seambench.seams.table_writer.others import WrittenAndRead, _known
from seambench_suites.meta.writers.wrong_writers import WrongWriter

_DELETE = "table-writer/delta/rows/delete"


def test_a_reader_sees_what_was_written() -> None:
    """A pair whose writer forgets a delete fails by its reader's rows; of right sides it passes."""
    case = find_case(_DELETE)
    reader = resolve("scan", "deltalake")
    right = verdict(case, resolve("table-writer", "deltalake -> deltalake"))
    wrong = verdict(case, WrittenAndRead(WrongWriter("forgets-deletes"), reader))
    assert right.word == "pass"
    assert wrong.word == "fail"
    assert wrong.reason.startswith("after step 3 (delete), read by deltalake: ")


def test_a_reader_of_other_formats_is_not_asked() -> None:
    """A reader that reads no Delta tables is not offered, rather than wrong."""
    found = verdict(find_case(_DELETE), resolve("table-writer", "deltalake -> pyiceberg"))
    assert (found.word, found.reason) == ("not-offered", "no formats.delta")


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
