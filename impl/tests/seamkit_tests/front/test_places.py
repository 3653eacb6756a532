"""Where a table lies, by what name and for which process: its rows are the same by every outlet."""

import copy
import os
import pickle
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import seamkit
from seamkit_tests.samples.golden_tables import unpack
from seamkit_tests.samples.outlets import bag

_TABLES = (
    "delta/deltalake-types",
    "delta/types",
    "hudi/mor-v9-types",
    "iceberg/types",
    "paimon/pk-orc",
    "hive/text-reals",
)
tables = pytest.mark.parametrize("name", _TABLES)


_OUTLETS: Sequence[Callable[[seamkit.Scan], pa.Table]] = (
    lambda scan: scan.to_table(),
    lambda scan: scan.dataset().to_table(),
    lambda scan: scan.relation(duckdb.connect()).to_arrow_table().cast(scan.schema),
    lambda scan: scan.lazy().collect().to_arrow().cast(scan.schema),
    lambda scan: pickle.loads(pickle.dumps(scan)).to_table(),  # noqa: S301
    lambda scan: seamkit.scan_from_json(seamkit.scan_to_json(scan)).to_table(),
)


@tables
def test_a_relative_path_stays_the_folder_that_it_was(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the process goes, a table is the one that was opened, not another of its path."""
    here, there = tmp_path / "here", tmp_path / "there"
    expected = bag(seamkit.open_table(unpack(name, here / "t")).to_arrow())
    shutil.copytree(unpack("hive/text-rows", tmp_path / "other"), there / "t")
    monkeypatch.chdir(here)
    opened = [seamkit.open_table(path) for path in ("t", "./t/", "../here/t")]
    scans = [table.scan() for table in opened]
    monkeypatch.chdir(there)
    scans += [table.scan() for table in opened]
    for scan, outlet in zip(scans, _OUTLETS, strict=True):
        assert bag(outlet(scan)) == expected


def test_no_folder_is_left_in_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the process is may be gone."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for opened in (seamkit.open_table, seamkit.DeltaTable):
        with pytest.raises(seamkit.InputError, match="no such folder"):
            opened("t")


@pytest.mark.skipif(sys.platform != "linux", reason="such names are none elsewhere")
@tables
def test_a_name_that_is_no_text_is_a_name(name: str, tmp_path: Path) -> None:
    """Linux takes any bytes for one; engines that do not are handed our rows."""
    folder = unpack(name, tmp_path / "t")
    expected = bag(seamkit.open_table(folder).to_arrow())
    odd = Path(os.fsdecode(os.fsencode(tmp_path / "x") + b"\xff"))
    folder.rename(odd)
    for path in (odd, f"file://{odd}"):
        scan = seamkit.open_table(path).scan()
        assert all(bag(outlet(scan)) == expected for outlet in _OUTLETS[:-1])
        with pytest.raises(seamkit.RefusedError, match=r"x\\udcff': names that are no UTF-8"):
            seamkit.scan_to_json(scan)
    folder = odd.rename(tmp_path / "\U0001f600")
    plan = seamkit.scan_to_json(seamkit.open_table(folder).scan())
    assert bag(seamkit.scan_from_json(plan).to_table()) == expected


@tables
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy], ids=["copy", "deepcopy"])
def test_a_copy_reads_what_it_is_a_copy_of(
    name: str, copied: Callable[[Any], Any], tmp_path: Path
) -> None:
    """Of a table, of a scan before and after it was read, with a condition, a limit, and in SQL."""
    table = seamkit.open_table(unpack(name, tmp_path / "t"))
    whole, first = table.scan(), table.schema.names[0]
    expected = bag(whole.to_table())
    scans = [table, whole, table.scan(), table.scan().limit(9999)]
    scans += [
        table.scan(filter=f'"{first}" IS NULL OR true'),
        whole.filter(~pc.is_null(pc.scalar(1))),
    ]
    for scan in scans:
        assert bag(copied(scan).to_arrow()) == expected
