"""Paimon's own core as a peer, alone and in Spark: what a request becomes, what is refused."""

from pathlib import Path

import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.paimon_java import PaimonCoreReader, paimon_options
from seambench_impl.peers.spark.paimon import SparkPaimonReader
from seamkit_tests.samples.lacking import OrSkipped
from seamkit_tests.samples.paimon_tables import unpack_paimon


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        ({}, {}),
        ({"as_of": "7"}, {"scan.snapshot-id": "7"}),
        ({"as_of": "monday"}, {"scan.tag-name": "monday"}),
        ({"as_of": "1970-01-01T00:00:01.250Z"}, {"scan.timestamp-millis": "1250"}),
        ({"query": "incremental"}, {"incremental-between": "0,9"}),
        ({"query": "incremental", "begin": "2", "end": "4"}, {"incremental-between": "2,4"}),
        (
            {"query": "incremental", "begin": "1970-01-01T00:00:01+00:00"},
            {"incremental-between-timestamp": "1000,253402300799000"},
        ),
    ],
)
def test_a_request_becomes_options_of_paimon(
    asked: dict[str, str], options: dict[str, str], tmp_path: Path
) -> None:
    """Snapshots, tags, times and windows are told apart as Paimon's documents name them."""
    for name in ("snapshot-8", "snapshot-9", "LATEST"):
        (tmp_path / "snapshot").mkdir(exist_ok=True)
        (tmp_path / "snapshot" / name).touch()
    request = ScanRequest(str(tmp_path), **asked)  # type: ignore[arg-type]
    assert paimon_options(request) == options


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"query": "incremental", "as_of": "1"}, "not as_of"),
        ({"begin": "1"}, "neither begin nor end"),
        ({"query": "incremental", "begin": "2", "end": "1970-01-02"}, "two times or none"),
    ],
)
def test_bounds_that_do_not_fit_are_refused(asked: dict[str, str], says: str) -> None:
    """What Paimon has no option for is not asked of it in another way."""
    with pytest.raises((UsageError, RefusedError), match=says):
        paimon_options(ScanRequest("t", **asked))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (ScanRequest("t", query="cdc"), "cdc queries are not offered"),
        (ScanRequest("t", strict=True), "nor strict"),
        (ScanRequest("t", where="k > 1"), "neither a filter"),
        (ScanRequest("t", query="incremental", changes_alone=True), "neither changes alone"),
        (ScanRequest("t", query="incremental", row_kinds=True), "nor their kinds"),
        (ScanRequest("t"), "t is no Paimon table"),
    ],
)
def test_spark_is_not_started_for_what_it_cannot_do(request_: ScanRequest, says: str) -> None:
    """What Spark has no word for, and what is no table, is told by name before it starts."""
    with pytest.raises((RefusedError, InputError), match=says):
        SparkPaimonReader().open(request_)


@pytest.mark.jvm
def test_the_core_plans_and_reads(tmp_path: Path) -> None:
    """Columns come in the order asked for; what is no table, query or column is told by name."""
    with OrSkipped():
        reader = PaimonCoreReader()
    table = str(unpack_paimon("pk-levels", tmp_path))
    scan = reader.open(ScanRequest(table))
    backwards = scan.schema.names[::-1]
    found = reader.open(ScanRequest(table, columns=backwards)).to_reader().read_all()
    assert found.column_names == backwards
    assert found.num_rows == sum(
        batch.num_rows for batch in reader.open(ScanRequest(table, columns=[])).to_reader()
    )
    with pytest.raises(UsageError, match="'absent'"):
        reader.open(ScanRequest(table, columns=["absent"]))
    with pytest.raises(InputError, match=r"paimon-java: .*nowhere"):
        reader.open(ScanRequest(str(tmp_path / "nowhere")))
    with pytest.raises(RefusedError, match="cdc queries are not offered"):
        reader.open(ScanRequest(table, query="cdc"))
