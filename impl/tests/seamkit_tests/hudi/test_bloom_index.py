"""Bloom filters of record keys in the metadata table."""

import pickle
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

import seamkit
from seambench.bench.delayed_storage import requests
from seamkit.scan.unit_scan import UnitScan
from seamkit.tables.hudi.base_files import KeyedParquetReader
from seamkit.tables.hudi.listing.metadata_table import MetadataTable
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.calls import calls_of
from seamkit_tests.samples.damage import replace_in
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_scans import doubted_index, filtered
from seamkit_tests.samples.outlets import bag


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Base files with two keys each; x, y and z have a log, of y with the new key e, w has none.

    Nothing but the Bloom filters is left to say anything of values.
    """
    folder = unpack_table("bloom-index/v9", tmp_path)
    replace_in(folder / ".hoodie/hoodie.properties", "column_stats,", "")
    return folder


def _opened(
    monkeypatch: pytest.MonkeyPatch, scan: UnitScan, condition: pc.Expression, folder: Path
) -> str:
    """Partitions whose base files a read opens; its rows must be those of a whole read."""
    names = [*scan.schema.names, "_hoodie_record_key"]
    whole = HudiTable(str(folder), listing="files").scan(names).to_table()
    with monkeypatch.context() as patch:
        opened = calls_of(patch, KeyedParquetReader, "__init__")
        assert bag(scan.to_table()) == bag(whole.filter(condition).select(scan.schema.names))
    return "".join(sorted({call.args[2][2] for call in opened}))


@pytest.mark.parametrize(
    ("condition", "opened", "told"),
    [
        (pc.field("k") == "a", "x", 3),
        (pc.field("k") == "e", "", 4),  # it came by a log, which is read
        (pc.field("k") == "o", "z", 3),  # deleted by a log
        (pc.field("k").isin(["m", "d", "q"]), "wx", 2),
        ((pc.field("k") == "d") & (pc.field("p") == "w"), "w", 0),
        (pc.field("_hoodie_record_key") == "k:b", "y", 3),
        (pc.field("k") == "zz", "", 4),
        (pc.field("k") > "m", "wxyz", 0),
        ((pc.field("k") == "a") | (pc.field("n") == 3), "wxyz", 0),
    ],
)
def test_base_files_are_not_opened_that_lack_all_keys(
    folder: Path, monkeypatch: pytest.MonkeyPatch, condition: pc.Expression, opened: str, told: int
) -> None:
    """Their logs are read all the same, and a plan tells how many are left out."""
    scan = filtered(folder, condition)
    line = scan.explain().splitlines()[-1]
    assert f"files: {told} by what is known of its keys" in line if told else "files:" not in line
    assert _opened(monkeypatch, scan, condition, folder) == opened
    again = pickle.loads(pickle.dumps(scan))  # noqa: S301 - ours
    assert _opened(monkeypatch, again, condition, folder) == opened
    stated = seamkit.scan_from_json(seamkit.scan_to_json(scan))
    assert isinstance(stated, UnitScan)
    assert _opened(monkeypatch, stated, condition, folder) == opened


@pytest.mark.parametrize("defect", ["cut", "gone", "not built", "behind"])
def test_an_index_that_cannot_be_read_rules_nothing_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch, defect: str
) -> None:
    """Nor does one that is behind the table, or that its properties do not name."""
    condition = pc.field("k") == "zz"
    logs = sorted((folder / ".hoodie/metadata/bloom_filters").glob(".bloom-filters-*.log.*"))
    if defect == "not built":
        replace_in(folder / ".hoodie/hoodie.properties", "bloom_filters,", "")
    index = None if defect == "not built" else "bloom_filters"
    opened = partial(_opened, monkeypatch, condition=condition, folder=folder)
    with doubted_index(folder, condition, index, opened) as scan:
        for log in logs if defect == "cut" else ():
            log.write_bytes(log.read_bytes()[:-7])
        for log in logs if defect == "gone" else ():
            log.unlink()
        if defect == "behind":
            instants = (folder / ".hoodie/metadata/.hoodie/timeline").glob("2*_*.deltacommit")
            max(instants, key=lambda path: path.name).unlink()
        assert "keys" not in scan.explain().splitlines()[-1]
        # Footers say it in its place.
        assert opened(scan) == "wxyz"


_Records = list[tuple[str, dict[str, Any] | None]]


def _deleted(records: _Records) -> _Records:
    return [
        (key, told and {"BloomFilterMetadata": {**told["BloomFilterMetadata"], "isDeleted": True}})
        for key, told in records
    ]


def _doubled(records: _Records) -> _Records:
    return [*records, *((f"another partit{key[-24:]}", told) for key, told in records)]


def _cut(records: _Records) -> _Records:
    return [
        (
            key,
            told and {"BloomFilterMetadata": {**told["BloomFilterMetadata"], "bloomFilter": b"/"}},
        )
        for key, told in records
    ]


@pytest.mark.parametrize(
    "change",
    [
        _deleted,
        _doubled,
        _cut,
        lambda records: [*records, *((key, None) for key, _ in records)],
        lambda records: [(key, {}) for key, _ in records],
    ],
)
def test_records_that_tell_nothing_sure_rule_nothing_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch, change: Any
) -> None:
    """Deleted ones, two of one file, filters that break their format, records without one."""
    original = MetadataTable.records

    def changed(self: MetadataTable, slice_: Any, *further: Any) -> Any:
        found = list(original(self, slice_, *further))
        return change(found) if "bloom" in slice_.file_id else found

    monkeypatch.setattr(MetadataTable, "records", changed)
    condition = pc.field("k") == "zz"
    assert "keys" not in filtered(folder, condition).explain().splitlines()[-1]


def test_an_index_that_is_too_large_rules_nothing_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading it would take longer than what it spares."""
    condition = pc.field("k") == "zz"
    assert "keys" in filtered(folder, condition).explain().splitlines()[-1]
    held = (folder / ".hoodie/metadata/bloom_filters").glob(".bloom-filters-*.log.*")
    size_bytes = sum(path.stat().st_size for path in held)
    monkeypatch.setattr(
        "seamkit.tables.hudi.indexes.metadata.BloomIndex.most_bytes", size_bytes - 1
    )
    assert "keys" not in filtered(folder, condition).explain().splitlines()[-1]


def test_indexes_of_a_table_far_away_say_the_same(folder: Path) -> None:
    """Listed by its metadata table without being asked to; no base file is opened."""
    for key in ("a", "e", "zz"):
        condition = pc.field("k") == key
        requests()
        far = HudiTable(f"delayed://{folder}").scan(filter=condition)
        here = HudiTable(str(folder), listing="files").scan(filter=condition)
        assert bag(far.to_table()) == bag(here.to_table())
        opened = {one.path for one in requests() if "/p=" in one.path and ".parquet" in one.path}
        assert len(opened) == (key == "a")
