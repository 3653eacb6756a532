"""Who wrote and who reads are told apart: a pair is judged by what its reader reads alone."""

from __future__ import annotations

from seambench.conformance.judge import verdict
from seambench.conformance.load import find_case
from seambench.conformance.run import Run
from seambench.contracts.registry import resolve
from seambench.seams.table_writer.others import WrittenAndRead
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


def test_a_table_is_written_once_for_all_readers() -> None:
    """The pass has an outcome for each reader of the format, under the name of the pair."""
    outcomes = list(Run("table-writer", ["deltalake"], patterns=[_DELETE]).extra_pass("readers"))
    words = {one.implementation: one.outcome for one in outcomes}

    assert words == dict.fromkeys(
        ("deltalake -> auto", "deltalake -> deltalake", "deltalake -> polars-delta"), "pass"
    )
