"""Formats' own Java behind JNI gives the rows that ours give, by chains of values and of texts."""

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from seambench.contracts.scan import ScanRequest
from seambench_impl.jni.hive import hive_loader
from seambench_impl.jni.hudi import java_loader
from seambench_impl.jni.paimon import VERSIONS, paimon_loader
from seambench_impl.scan import AutoReader
from seambench_impl.scan_jni import JniReader, NativeJniReader, Paimon09JniReader, TextJniReader
from seamkit.offheap.jni.scanner import JniScanner
from seamkit_tests.samples.golden_tables import unpack, unpack_table
from seamkit_tests.samples.lacking import OrSkipped
from seamkit_tests.samples.paimon_tables import unpack_paimon

pytestmark = pytest.mark.jvm

_LOADED: dict[str, Callable[[], Any]] = {
    "hudi": java_loader,
    "paimon": lambda: [paimon_loader(version) for version in VERSIONS],
    "hive": hive_loader,
}
_READERS: dict[str, list[type[JniReader]]] = {
    "hudi": [JniReader, NativeJniReader, TextJniReader],
    "paimon": [JniReader, NativeJniReader, Paimon09JniReader, TextJniReader],
    "hive": [JniReader, TextJniReader],
}
_TABLES = {
    "hudi": ["mor-v6-types", "mor-v9-types-parquet-blocks", "mor-v9-log-only"],
    "paimon": ["append-types-avro", "append-nested-avro", "pk-levels", "vectors-later"],
    "hive": [
        *("orc-written", "avro-written", "parquet-partitions", "sequence-block"),
        *("text-nested", "text-timestamps", "csv-default"),
    ],
}


def _request(format_: str, name: str, folder: Path) -> ScanRequest:
    with OrSkipped():
        _LOADED[format_]()
    if format_ == "hive":
        return ScanRequest(str(unpack(f"hive/{name}", folder)))
    return ScanRequest(str((unpack_paimon if format_ == "paimon" else unpack_table)(name, folder)))


def _rows(scan: Any) -> list[str]:
    return sorted(map(repr, scan.to_reader().read_all().to_pylist()))


@pytest.mark.parametrize(
    ("format_", "name", "reader"),
    [
        (format_, name, reader)
        for format_, names in _TABLES.items()
        for number, name in enumerate(names)
        for reader in _READERS[format_][: 1 if number else None]
    ],
)
def test_rows_are_those_of_our_own_readers(
    format_: str, name: str, reader: type[JniReader], tmp_path: Path
) -> None:
    """Every row and value, also of a scan that was pickled; a report says who read each unit."""
    request = _request(format_, name, tmp_path)
    scan = reader().open(request)
    expected = _rows(AutoReader().open(request))
    assert _rows(scan) == expected
    assert set(scan.report().paths) <= {"jni", "native"}
    if format_ != "hive":  # whose files are read by a loader of this process
        assert _rows(pickle.loads(pickle.dumps(scan))) == expected  # noqa: S301
    if format_ == "hudi":
        assert "jni" in scan.report().paths
        assert all(scan.report().seconds[word] > 0 for word in ("open", "read", "convert", "fill"))


@pytest.mark.parametrize("format_", _TABLES)
@pytest.mark.parametrize("reader", [JniReader, TextJniReader])
def test_texts_do_cross(
    format_: str, reader: type[JniReader], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each chain is in the form that the reader is named for."""
    seen: list[bool] = []
    read = JniScanner.batches

    def watched(scanner: JniScanner, expected: Any) -> Iterator[Any]:
        seen.append(scanner.next_chain().as_text)
        return read(scanner, expected)

    monkeypatch.setattr(JniScanner, "batches", watched)
    reader().open(_request(format_, _TABLES[format_][0], tmp_path)).to_reader().read_all()
    assert seen
    assert set(seen) == {reader is TextJniReader}
