"""Who writes Parquet files is judged as who writes a Hive table: by its rows and its footers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import RefusedError, UsageError
from seambench.conformance.judge import verdict
from seambench.conformance.load import find_case, load_cases
from seambench.conformance.run import Run
from seambench.contracts.formats import resolve_format
from seambench.contracts.registry import resolve
from seambench.contracts.table_writer import WriterStep

_CASES = [case for case in load_cases("table-writer") if case.group == "hive"]
#: By writer, the cases that it has no way to do.
_CANNOT: Mapping[str, set[str]] = {
    "arro3": set(),
    "duckdb": {"parquet/dictionary", "parquet/no-dictionary"},
    "polars": {"parquet/dictionary", "parquet/no-dictionary", "types/map"},
    "pyarrow": set(),
}


@pytest.mark.parametrize("name", sorted(_CANNOT))
def test_files_of_each_writer(name: str) -> None:
    """Every case is right, or refused by name with nothing left behind."""
    writer = resolve("table-writer", name)
    found = {case.id: verdict(case, writer) for case in _CASES}
    cannot = {f"table-writer/hive/{one}" for one in _CANNOT[name]}
    assert {id_: one for id_, one in found.items() if one.word == "fail"} == {}
    assert {id_ for id_, one in found.items() if one.word == "not-offered"} == cannot
    assert len(found) > 25


@pytest.mark.parametrize("reader", ["pyarrow-hive", "duckdb-hive"])
def test_readers_of_files(reader: str) -> None:
    """What one library writes the other reads, row groups and codecs of all kinds."""
    run = Run("table-writer", [f"arro3 -> {reader}"], patterns=["table-writer/hive/parquet/*"])
    assert {outcome.outcome for outcome in run.check()} == {"pass"}


class Wrong:
    """A right writer of files, and a mistake."""

    kind = "peer"

    def __init__(self, mistake: str) -> None:
        right = resolve("table-writer", "pyarrow")
        self.name, self.version, self.capabilities = mistake, right.version, right.capabilities
        self._mistake, self._do, self._write = mistake, right.step, right.write
        right.write = self.write

    def step(self, step: WriterStep) -> None:
        """Do it, with the mistake."""
        self._do(step)

    def write(self, rows: pa.Table, file: Path, given: Mapping[str, Any]) -> None:
        """Write a file."""
        if self._mistake == "claims-order":
            pq.write_table(rows, file, sorting_columns=[pq.SortingColumn(4)], **given)
            return
        if self._mistake == "rounds":
            column = rows["u"].cast(pa.timestamp("ms", "UTC"), safe=False).cast(rows["u"].type)
            rows = rows.set_column(8, rows.schema.field(8), column)
        elif self._mistake == "forgets-a-null" and rows.num_rows:
            rows = rows.filter(rows["b"].is_valid())
        self._write(rows, file, given)
        if self._mistake == "dies" and rows.num_rows:
            raise RefusedError("no more room")


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        ("claims-order", "metadata after step 2 (append): parquet.sorting"),
        ("rounds", "state after step 2 (append), read by auto: 9 rows expected, 9 read"),
        ("forgets-a-null", "state after step 2 (append), read by auto: 9 rows expected, 7 read"),
    ],
)
def test_mistakes_are_found(mistake: str, says: str) -> None:
    """By the rows, or by what the footer claims."""
    found = verdict(find_case("table-writer/hive/parquet/plain"), Wrong(mistake))
    assert (found.word, found.reason[: len(says)]) == ("fail", says)


def test_a_file_that_is_not_finished_goes() -> None:
    """What was refused leaves the table as it was, so that there is no verdict on it."""
    found = verdict(find_case("table-writer/hive/parquet/plain"), Wrong("dies"))
    assert (found.word, found.reason) == ("not-offered", "step 2 (append): no more room")


def test_other_files_have_no_linter(tmp_path: Path) -> None:
    """Only Parquet's rules are known: a table of text is no table without faults."""
    (tmp_path / "_hive_table.json").write_text('{"format": "text"}')
    with pytest.raises(UsageError, match="no linter of files of text"):
        list(resolve_format("hive").faults(tmp_path))
