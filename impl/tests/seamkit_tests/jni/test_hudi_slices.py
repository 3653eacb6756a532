"""Slices that Hudi's own reader merges in a JVM give the rows that our merge path gives."""

from pathlib import Path

import pytest

from seambench.contracts.scan import ScanRequest
from seambench_impl.scan import AutoReader
from seambench_impl.scan_jni import JniReader, NativeJniReader
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.lacking import OrSkipped

pytestmark = pytest.mark.jvm


def rows(reader: AutoReader | JniReader, request: ScanRequest) -> list[str]:
    """All rows, in an order of their own."""
    return sorted(map(str, reader.open(request).to_reader().read_all().to_pylist()))


@pytest.mark.parametrize("kind", [JniReader, NativeJniReader])
@pytest.mark.parametrize("name", ["mor-v6-types", "mor-v9-types-parquet-blocks", "mor-v9-log-only"])
def test_rows_are_those_of_the_merge_path(name: str, kind: type[JniReader], tmp_path: Path) -> None:
    """Every row and value is that of our own merge; the report says which path each slice took."""
    with OrSkipped():
        reader = kind()
    request = ScanRequest(str(unpack_table(name, tmp_path)))
    assert rows(reader, request) == rows(AutoReader(), request)
    scan = reader.open(request)
    scan.to_reader().read_all()
    assert set(scan.report().paths) <= {"jni", "native"}
    assert "jni" in scan.report().paths
    assert all(scan.report().seconds[word] > 0 for word in ("open", "read", "convert", "fill"))
