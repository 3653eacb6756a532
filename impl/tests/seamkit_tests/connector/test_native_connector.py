"""The reader `native+connector`: slices with logs through the connector seam, others natively."""

import json
from pathlib import Path
from typing import Any

import pytest

import seamkit
from seambench.contracts.scan import ScanRequest
from seambench_impl.scan import ConnectorReader, MergeReader, NativeConnectorReader
from seamkit_tests.samples.golden_tables import unpack_table


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A golden table with three slices without logs, and one with some."""
    return unpack_table("mor-v9-mixed", tmp_path)


def test_only_slices_with_logs_go_through_the_seam(table: Path) -> None:
    """One slice has logs; `connector` takes all four a row at a time."""
    request = ScanRequest(str(table))
    mixed = NativeConnectorReader().open(request)
    assert dict(mixed.report().paths) == {"native": 3, "connector": 1}
    assert dict(ConnectorReader().open(request).report().paths) == {"connector": 4}
    document = json.loads(seamkit.scan_to_json(mixed))  # type: ignore[arg-type]
    assert sorted(u["path"] for u in document["units"]) == [
        "connector",
        "native",
        "native",
        "native",
    ]


def test_changes_go_through_the_seam(table: Path) -> None:
    """Those between instants are those of the merge path; as of all formats none is native."""
    request: Any = ScanRequest(str(table), query="cdc", begin="000")
    mixed = NativeConnectorReader().open(request)
    rows = mixed.to_reader().read_all().to_pylist()
    assert rows == MergeReader().open(request).to_reader().read_all().to_pylist()
    assert rows
    assert set(mixed.report().paths) == {"connector"}
