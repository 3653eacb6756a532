"""One list of formats for all readers; one of data files alone fails in just the right cases."""

import fnmatch
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import RefusedError, SeambenchError
from seambench.conformance.load import load_cases
from seambench.conformance.plain import canonical, rows_of
from seambench.conformance.run import Run
from seambench.contracts.scan import ScanRequest
from seambench.seams.scan.cases import ScanCase
from seambench.seams.scan.check import unpacked
from seambench_impl.scan import (
    AutoReader,
    ConnectorReader,
    MergeReader,
    MetadataReader,
    NativeConnectorReader,
    NativeReader,
    PositionsReader,
)
from seamkit.tables.opening import table_formats
from seamkit_tests.samples.base_files_only import planned
from seamkit_tests.samples.golden_tables import unpack

_NAME = "seamkit_tests.samples.base_files_only:BaseFilesOnly"
#: Of each format a few cases, with and without changes.
_FEW = (
    *("scan/hudi/event-v9/*update*", "scan/delta/vectors/[p-z]*"),
    *("scan/iceberg/positions/p*", "scan/paimon/deduplicate/[c-l]*"),
)


def _snapshots(pattern: str) -> list[ScanCase]:
    """Cases that ask for rows of a state, which is where merging is needed."""
    cases = [case for case in load_cases("scan") if isinstance(case, ScanCase)]
    states = [case for case in cases if case.request.query == "snapshot" and not case.refused]
    return [case for case in states if fnmatch.fnmatchcase(case.id, pattern)]


def _needs_merging(case: ScanCase) -> bool | None:
    """Whether the right rows differ from those of the data files; None where that is not plain.

    Plain are files of Parquet that have all columns of the case.
    """
    names = case.names
    with unpacked(case) as request:
        try:
            units = planned(request).plan.units
        except SeambenchError:
            return None
        if all(unit.changes is None for unit in units):
            return False
        # Messages may name a file as the table's metadata does, by where it was written.
        there = {file.name: file for file in Path(request.table).rglob("*")}
        names_of_files = [Path(one.name).name for unit in units for one in unit.files]
        try:
            tables = [pq.ParquetFile(there[name]).read() for name in names_of_files]
        except (pa.ArrowException, OSError, KeyError):
            return None
    if case.request.where is not None or any(set(names) - set(t.schema.names) for t in tables):
        return None
    found = [row for table in tables for row in rows_of(table.to_batches(), names)]
    for name, values in case.focus.items():
        found = [row for row in found if row[names.index(name)] in values]
    answers = [sorted(map(_text, answer)) for answer in case.expected_answers()]
    return sorted(map(_text, found)) not in answers


def _text(row: Sequence[object]) -> tuple[str, ...]:
    return tuple(map(canonical, row))


def _judge(cases: Sequence[ScanCase]) -> tuple[Counter[str], Counter[str]]:
    """Check, and compare with what pyarrow finds in the data files; right and wrong, by format."""
    needs = {case.id: _needs_merging(case) for case in cases}
    run = Run("scan", [_NAME], patterns=list(needs), jobs=1 if len(needs) < 100 else 2)
    found = {one.case: one for one in list(run.check())}
    plain = {case: need for case, need in needs.items() if need is not None}
    wrong = {case for case in plain if found[case].outcome != "pass"}

    assert {case: found[case].reason for case in wrong if not plain[case]} == {}
    assert {case for case, need in plain.items() if need} - wrong == set()
    assert all(found[case].outcome == "fail" for case in wrong)
    assert all(found[case].difference is not None for case in wrong)
    groups = {case.id: case.group for case in cases}
    return Counter(groups[case] for case in {*plain} - wrong), Counter(
        groups[case] for case in wrong
    )


def test_it_fails_where_merging_is_needed() -> None:
    """Each failure is a case whose right rows the data files do not hold, and there is no other."""
    right, wrong = _judge([case for pattern in _FEW for case in _snapshots(pattern)])
    assert set(right) == set(wrong) == {"hudi", "delta", "iceberg", "paimon"}


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["hudi", "delta", "iceberg", "paimon"])
def test_it_fails_where_merging_is_needed_in_all_cases(format_: str) -> None:
    """The same over every case of a format; how long a check of all takes is printed."""
    begin = time.monotonic()
    right, wrong = _judge(_snapshots(f"scan/{format_}/*"))
    print(f"{format_}: {right} right, {wrong} wrong, {time.monotonic() - begin:.0f} s")  # noqa: T201
    assert right[format_] > wrong[format_] / 10
    assert wrong[format_]


_GOLDEN = {
    "hudi": "mor-v9-event",
    "delta": "vectors-several",
    "iceberg": "positions",
    "paimon": "pk-levels",
    "hive": "text-rows",
}
READERS = [
    AutoReader,
    ConnectorReader,
    MergeReader,
    MetadataReader,
    NativeConnectorReader,
    NativeReader,
    PositionsReader,
]


@pytest.mark.parametrize("name", [one.name for one in table_formats()])
@pytest.mark.parametrize("kind", READERS)
def test_a_reader_refuses_by_name_the_formats_that_it_does_not_state(
    tmp_path: Path, kind: type[AutoReader], name: str
) -> None:
    """A table is never taken for one of another format."""
    table = unpack(f"{name}/{_GOLDEN[name]}", tmp_path)
    reader = kind()
    if not reader.capabilities.get(f"formats.{name}"):
        with pytest.raises(
            RefusedError, match=re.escape(f"{reader.name} does not read {name.title()} ")
        ):
            reader.open(ScanRequest(str(table)))
