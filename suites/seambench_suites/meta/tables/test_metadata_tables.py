"""Metadata tables that the suites make list what lies in the folders."""

import json
from pathlib import Path
from typing import Any

from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest, Written
from seambench_suites.bench.metadata_tables import add_metadata_table
from seambench_suites.history.plan_kernels import write_table


def test_a_table_has_the_same_slices_by_its_metadata_table(tmp_path: Path) -> None:
    """Of more partitions than one block of its HFile holds."""
    write_table(tmp_path, groups=1500, partitions=300)
    add_metadata_table(tmp_path)
    folders, listed = (_units(reader, tmp_path) for reader in ("auto", "metadata"))
    assert len(folders) == 1500
    assert listed == folders


def _units(reader: str, table: Path) -> list[dict[str, Any]]:
    """The plan of each file group, but for the line that says where names came from."""
    scan = registry.resolve("scan", reader).open(ScanRequest(str(table)))
    assert isinstance(scan, Written)
    plans, _ = scan.plans([[number] for number in range(scan.n_parts)])
    return [{**json.loads(plan), "heading": ""} for plan in plans]
