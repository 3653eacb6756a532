"""What tables say of themselves is what lies there: listings, copies, recorded answers."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import fastavro
import pytest

from seambench.conformance.load import load_cases
from seambench.conformance.plain import canonical, in_key_order
from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest, Written
from seambench.formats.iceberg.relocate import relocate
from seambench.seams.scan.cases import ScanCase
from seambench_suites.bench.metadata_tables import add_metadata_table
from seambench_suites.cases import ROOT
from seambench_suites.history.plan_kernels import write_table


def test_a_table_has_the_same_slices_by_its_metadata_table(tmp_path: Path) -> None:
    """Of more partitions than one block of its HFile holds."""
    write_table(tmp_path, groups=400, partitions=300)
    add_metadata_table(tmp_path)
    folders, listed = (_units(reader, tmp_path) for reader in ("auto", "metadata"))
    assert len(folders) == 400
    assert listed == folders


def _units(reader: str, table: Path) -> list[dict[str, Any]]:
    """The plan of each file group, but for the line that says where names came from."""
    scan = registry.resolve("scan", reader).open(ScanRequest(str(table)))
    assert isinstance(scan, Written)
    plans, _ = scan.plans([[number] for number in range(scan.n_parts)])
    return [{**json.loads(plan), "heading": ""} for plan in plans]


def test_every_path_is_that_of_the_copy(tmp_path: Path) -> None:
    """In metadata, lists and manifests; lengths of manifests stay right."""
    table = tmp_path / "t"
    with zipfile.ZipFile(Path(ROOT) / "golden" / "iceberg" / "v1" / "table.zip") as archive:
        archive.extractall(table)
    relocate(table)
    for file in table.glob("metadata/*.metadata.json"):
        assert json.loads(file.read_text())["location"] == str(table)
    for listed in table.glob("metadata/snap-*.avro"):
        with listed.open("rb") as stream:
            rows = list(fastavro.reader(stream))
        for row in rows:
            manifest = Path(row["manifest_path"])
            assert manifest.parent == table / "metadata"
            assert manifest.stat().st_size == row["manifest_length"]
            with manifest.open("rb") as stream:
                assert all(
                    Path(entry["data_file"]["file_path"]).is_relative_to(table / "data")
                    for entry in fastavro.reader(stream)
                )
    before = {file: file.read_bytes() for file in table.rglob("*") if file.is_file()}
    relocate(table)
    assert all(file.read_bytes() == content for file, content in before.items())
    shutil.rmtree(table)


#: Spark pads chars with blanks that Paimon's own core, and the case, leave away; Paimon 0.9 has no
#: null structs; and fields have the letters that Spark knows, and not Hive's small ones.
_OTHERWISE = (
    "scan/paimon/files/append-types-orc/",
    "scan/paimon/files/edges-within",
    "scan/hive/parquet/edges-within",
)
_RECORDED = [
    case
    for case in load_cases("scan")
    if isinstance(case, ScanCase)
    and case.recorded is not None
    and not case.id.startswith(_OTHERWISE)
]


def test_the_engine_read_what_the_case_declares() -> None:
    """Its answer, recorded when the table was made, is the declared one, or one of several."""
    wrong = []
    for case in _RECORDED:
        answers = [
            sorted([canonical(in_key_order(value)) for value in row] for row in declared)
            for declared in case.expected_answers()
        ]
        wrong += [] if case.recorded in answers else [case.id]
    assert wrong == []


@pytest.mark.parametrize(
    ("format_name", "least"), [("delta", 35), ("hive", 20), ("iceberg", 40), ("paimon", 50)]
)
def test_most_tables_have_such_a_case(format_name: str, least: int) -> None:
    """The comparison is not empty."""
    folders = {c.table.folder for c in _RECORDED if c.table.format.name == format_name}
    assert len(folders) > least
