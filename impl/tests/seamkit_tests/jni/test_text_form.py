"""By the reader `jni-text` dates and decimals cross from formats' own Java as texts."""

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
from seambench_impl.jni.hive import hive_loader
from seambench_impl.jni.hudi import java_loader
from seambench_impl.jni.paimon import VERSIONS, paimon_loader
from seambench_impl.scan_jni import JniReader, TextJniReader
from seamkit.offheap.jni.scanner import JniScanner
from seamkit_tests.samples.golden_tables import unpack, unpack_table
from seamkit_tests.samples.lacking import OrSkipped
from seamkit_tests.samples.paimon_tables import unpack_paimon

pytestmark = pytest.mark.jvm

_LOADED: dict[str, Callable[[], Any]] = {
    "hudi": java_loader,
    "paimon": lambda: paimon_loader(VERSIONS[0]),
    "hive": hive_loader,
}
_TABLES: list[tuple[str, str]] = [
    ("hudi", "mor-v6-types"),
    ("hudi", "mor-v9-types-parquet-blocks"),
    ("hudi", "mor-v9-log-only"),
    ("paimon", "append-types-avro"),
    ("paimon", "append-nested-avro"),
    ("paimon", "pk-levels"),
    ("hive", "orc-written"),
    ("hive", "text-nested"),
    ("hive", "text-timestamps"),
]


def _request(format_: str, name: str, folder: Path) -> ScanRequest:
    with OrSkipped():
        _LOADED[format_]()
    if format_ == "hive":
        return ScanRequest(str(unpack(f"hive/{name}", folder)))
    return ScanRequest(str((unpack_paimon if format_ == "paimon" else unpack_table)(name, folder)))


def _rows(scan: Any) -> list[str]:
    return sorted(map(repr, scan.to_reader().read_all().to_pylist()))


@pytest.mark.parametrize(("format_", "name"), _TABLES)
def test_rows_are_those_of_our_own_readers(format_: str, name: str, tmp_path: Path) -> None:
    """Every row and value, in tables of all three formats; also of a scan that was pickled."""
    request = _request(format_, name, tmp_path)
    scan = registry.resolve("scan", "jni-text").open(request)
    expected = _rows(registry.resolve("scan", "auto").open(request))
    assert _rows(scan) == expected
    if format_ != "hive":  # whose files are read by a loader of this process
        assert _rows(pickle.loads(pickle.dumps(scan))) == expected  # noqa: S301


@pytest.mark.parametrize(("format_", "name"), [_TABLES[0], _TABLES[3], _TABLES[6]])
@pytest.mark.parametrize("reader", [JniReader, TextJniReader])
def test_texts_do_cross(
    format_: str,
    name: str,
    reader: type[JniReader],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each chain is in the form that the reader is named for."""
    seen: list[bool] = []
    read = JniScanner.batches

    def watched(scanner: JniScanner, expected: Any) -> Iterator[Any]:
        seen.append(scanner.next_chain().as_text)
        return read(scanner, expected)

    monkeypatch.setattr(JniScanner, "batches", watched)
    reader().open(_request(format_, name, tmp_path)).to_reader().read_all()
    assert seen
    assert set(seen) == {reader is TextJniReader}
