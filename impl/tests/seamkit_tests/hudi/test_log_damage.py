"""Whatever happened to a log: named errors alone, nothing missed in silence, no memory kept."""

import json
import re
from pathlib import Path
from random import Random

import duckdb
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seambase.errors import InputError
from seambase.wording import counted
from seambench.formats.hudi.forms import forms
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.damaged_logs import check_scan, damage
from seamkit_tests.samples.golden_tables import golden_table_names, unpack_table

_NAMES = ("mor-v9-event", "mor-v9-typed-delete", "mor-v9-types", "mor-v9-parquet-blocks")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Logs that Hudi wrote: data and deletes, in Avro and in Parquet."""
    folder = tmp_path_factory.mktemp("logs")
    assert set(_NAMES) <= set(golden_table_names())
    tables = [unpack_table(name, folder / name) for name in _NAMES]
    found = [path for table in tables for path in sorted(table.glob(".*.log.*"))]
    return [path.read_bytes() for path in found if path.suffix != ".crc"]


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_damage_is_refused_or_reported(logs: list[bytes], seed: int) -> None:
    """Bytes changed, lost, added; magics in the wrong place; logs cut short."""
    check_scan(damage(logs, Random(seed)))


@pytest.mark.parametrize("name", ["mor-v9-event", "mor-v6-event", "cow-v9"])
def test_a_file_that_is_shorter_than_its_commit_states_is_refused(
    name: str, tmp_path: Path
) -> None:
    """By every outlet, with the file and both lengths, wherever it was cut; one as long is read."""
    folder = unpack_table(name, tmp_path)
    (slice_,) = HudiTable(str(folder)).slices()[:1]
    assert slice_.base is not None
    for path in [slice_.base.path, *(log.path for log in slice_.logs[-1:])]:
        whole = (folder / path).read_bytes()
        for length in (0, 1, len(whole) // 2, len(whole) - 1):
            (folder / path).write_bytes(whole[:length])
            size = counted(length, "byte")
            said = rf"{re.escape(path)}: {size}, but its commit states {len(whole)};"
            for read in (_rows, _relation, _counted):
                with pytest.raises(InputError, match=said):
                    read(folder)
        (folder / path).write_bytes(whole)
        assert _rows(folder)


def _rows(folder: Path) -> int:
    return len(HudiTable(str(folder)).scan().to_table())


def _counted(folder: Path) -> int:
    return HudiTable(str(folder)).scan().count_rows()


def _relation(folder: Path) -> int:
    return len(HudiTable(str(folder)).scan().relation(duckdb.connect()).fetchall())


@pytest.mark.parametrize("name", ["mor-v9-event", "mor-v6-event", "cow-v9"])
def test_a_base_file_with_fewer_rows_than_its_commit_states_is_refused(
    name: str, tmp_path: Path
) -> None:
    """Its length fits: the commit states how many rows it wrote, and its footer has fewer."""
    folder = unpack_table(name, tmp_path)
    path = next(s.base.path for s in HudiTable(str(folder)).slices() if s.base is not None)
    rows = pq.read_table(folder / path)
    pq.write_table(rows.slice(1), folder / path, store_schema=False)
    [form] = [one for one in forms() if one.name == "codec-gzip"]
    form.change(folder)  # the commit states the new length
    said = f"{len(rows) - 1} rows, but its commit states {len(rows)}"
    with pytest.raises(InputError, match=said):
        _rows(folder)
    with pytest.raises(InputError, match=said):
        _relation(folder)


@pytest.mark.parametrize("gone", [1, 2])
def test_rows_that_a_commit_could_not_write_are_none(tmp_path: Path, gone: int) -> None:
    """Hudi 0.15.0 counts them among its writes, and completes the commit."""
    folder = unpack_table("mor-v6-event", tmp_path)
    base = next(s.base for s in HudiTable(str(folder)).slices() if s.base is not None)
    rows = pq.read_table(folder / base.path)
    pq.write_table(rows.slice(gone), folder / base.path, store_schema=False)
    (commit,) = (folder / ".hoodie").glob(f"{base.instant}.*commit")
    body = json.loads(commit.read_text())
    for stat in (one for listed in body["partitionToWriteStats"].values() for one in listed):
        stat["fileSizeInBytes"] = (folder / stat["path"]).stat().st_size
        stat["totalWriteErrors"] = int(stat["path"] == base.path)
    commit.write_text(json.dumps(body))
    if gone == 1:
        assert _rows(folder) == _counted(folder) == _relation(folder)
        return
    said = f"{len(rows) - 2} rows, but its commit states {len(rows) - 1}"
    with pytest.raises(InputError, match=said):
        _rows(folder)


@pytest.mark.parametrize("name", ["mor-v9-simple-index", "partial-parquet/v9", "duplicates/v8"])
def test_a_log_over_a_base_file_whose_completion_is_gone_is_refused(
    name: str, tmp_path: Path
) -> None:
    """Its blocks name the base file's instant, which had been completed when they were written."""
    folder = unpack_table(name, tmp_path)
    (slice_,) = (s for s in HudiTable(str(folder)).slices() if s.base is not None and s.logs)
    for file in (folder / ".hoodie" / "timeline").glob(f"{slice_.instant}_*"):
        file.unlink()
    for read in (_rows, _relation, _counted):
        said = f"rows of the base file of {slice_.instant}, which"
        with pytest.raises((InputError, duckdb.InvalidInputException), match=said):
            read(folder)
