"""Logs whose headers, blocks or files are not what other names say: told, never lost in silence."""

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, SeambenchError
from seamkit.core.border import NativeMemoryError
from seamkit.tables.hudi.log.log import LogBlock, read_blocks
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_log_bytes import INSTANT, SCHEMA, block
from seamkit_tests.samples.hudi_scans import scan_on

_VERSIONS = ("mor-v6-event", "rollback/v6", "mor-v9-event", "rollback/v8")


def _logs(table: Path) -> list[Path]:
    return [path for path in sorted(table.glob(".*.log.*")) if path.suffix != ".crc"]


def _answer(table: Path) -> tuple[list[str], int]:
    scan = HudiTable(str(table)).scan(threads=1)
    rows = sorted(map(repr, scan.to_table().to_pylist()))
    return rows, len(scan.report().warnings)


def _outside_content(content: bytes) -> Iterator[int]:
    """Offsets of a log's bytes that are headers: what checksums cover in no file."""
    within: set[int] = set()
    for found in read_blocks(content, file="log"):
        begin = found.content_offset
        within.update(range(begin, begin + len(found.content)))
    return (i for i in range(len(content)) if i not in within)


@pytest.mark.parametrize("step", [101, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", _VERSIONS)
@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
def test_a_flipped_bit_of_a_header_changes_no_row_in_silence(
    name: str, step: int, tmp_path: Path
) -> None:
    """Instants, schemas, kinds and lengths of blocks: every byte of every log, or some."""
    table = unpack_table(name, tmp_path)
    whole = _answer(table)
    for path in _logs(table):
        content = path.read_bytes()
        for offset in list(_outside_content(content))[::step]:
            changed = bytearray(content)
            changed[offset] ^= 1
            path.write_bytes(bytes(changed))
            try:
                rows, warnings = _answer(table)
            except SeambenchError as error:
                assert str(error)  # noqa: PT017 - either outcome is right
            else:
                assert rows == whole[0] or warnings > whole[1], (path.name, offset)
        path.write_bytes(content)


def _last_block(table: Path) -> tuple[Path, LogBlock]:
    path = _logs(table)[0]
    return path, next(read_blocks(path.read_bytes(), file="log"))


@pytest.mark.parametrize("name", ["mor-v6-event", "mor-v9-event"])
@pytest.mark.parametrize("digit", [0, 3, 12])
@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
def test_an_instant_that_nobody_knows_is_told(name: str, digit: int, tmp_path: Path) -> None:
    """By a warning that names file and offset, and by a refusal of a strict read."""
    table = unpack_table(name, tmp_path)
    path, found = _last_block(table)
    content = bytearray(path.read_bytes())
    content[content.index(found.instant.encode()) + digit] ^= 1
    path.write_bytes(bytes(content))
    scan = HudiTable(str(table)).scan()
    scan.to_table()
    (warning,) = scan.report().warnings
    assert warning.file.endswith(path.name)
    assert "instant" in warning.reason
    with pytest.raises(InputError, match="instant"):
        HudiTable(str(table)).scan(strict=True).to_table()


def _with_block(table: Path, change: Callable[[pa.Table], pa.Table], **options: Any) -> None:
    """Write the rows of the first log anew, as one Parquet block."""
    path, found = _last_block(table)
    rows = change(pq.read_table(pa.BufferReader(pa.py_buffer(found.content))))
    out = io.BytesIO()
    pq.write_table(rows, out, **options)
    header = {INSTANT: found.instant, SCHEMA: found.schema or ""}
    path.write_bytes(block("parquet", header, out.getvalue()))


def _numbered(rows: pa.Table, count: int) -> pa.Table:
    """Many rows like the first one, with keys of their own."""
    first = rows.slice(0, 1)
    columns = {name: pa.repeat(first[name][0], count) for name in rows.schema.names}
    keys = pa.array([f"many{i}" for i in range(count)])
    return pa.table({**columns, "k": keys, "_hoodie_record_key": keys}, schema=rows.schema)


@pytest.mark.parametrize("path", ["auto", "connector"])
def test_a_block_of_several_row_groups_loses_no_row(path: str, tmp_path: Path) -> None:
    """Dictionaries that differ from group to group come in batches of their own."""
    table = unpack_table("mor-v9-parquet-blocks", tmp_path)
    _with_block(table, lambda rows: _numbered(rows, 2200), row_group_size=100)
    limit = None if path == "connector" else 8 << 20  # small batches come then
    found = scan_on(HudiTable(str(table)), path, ["k"], memory_limit_bytes=limit).to_table()
    many = [key for key in found["k"].to_pylist() if key.startswith("many")]
    assert sorted(many) == sorted(f"many{i}" for i in range(2200))


def test_a_parquet_block_counts_against_the_limit(tmp_path: Path) -> None:
    """A few bytes of one value a million times take no more than was allowed."""
    table = unpack_table("mor-v9-parquet-blocks", tmp_path)
    _with_block(table, lambda rows: _numbered(rows, 1_000_000))
    with pytest.raises(NativeMemoryError, match="memory limit"):
        HudiTable(str(table)).scan(memory_limit_bytes=4 << 20, threads=1).to_table()


@pytest.mark.parametrize("path", ["auto", "merge", "connector"])
@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
def test_two_columns_of_one_name_are_refused(path: str, tmp_path: Path) -> None:
    """Nobody knows which of them is meant."""
    table = unpack_table("mor-v9-base-only", tmp_path)
    base = min(table.glob("*.parquet"))
    rows = pq.read_table(base)
    pq.write_table(rows.append_column("v", pa.array(range(rows.num_rows))), base)
    with pytest.raises(InputError, match="two columns have the name 'v'"):
        scan_on(HudiTable(str(table)), path).to_table()


def test_a_write_that_tells_of_the_files_of_another_is_refused(tmp_path: Path) -> None:
    """Two commits in each other's place: names of files say whose they are."""
    table = unpack_table("mor-v9-event", tmp_path)
    first, second = sorted(table.glob(".hoodie/timeline/*_*.deltacommit"))[:2]
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    with pytest.raises(InputError, match="tells of the file"):
        HudiTable(str(table)).scan()


def test_an_emptied_commit_is_told(tmp_path: Path) -> None:
    """Which files it wrote nobody knows then, so that one may be missing."""
    table = unpack_table("mor-v9-event", tmp_path)
    min(table.glob(".hoodie/timeline/*_*.deltacommit")).write_bytes(b"")
    scan = HudiTable(str(table)).scan()
    assert any("is empty" in warning.reason for warning in scan.report().warnings)
    with pytest.raises(InputError, match="is empty"):
        HudiTable(str(table)).scan(strict=True)


@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
@pytest.mark.parametrize("name", ["commit/v8", "delete-marker/v9", "rollback/v6"])
def test_a_flipped_name_in_the_schema_of_a_write_is_told(name: str, tmp_path: Path) -> None:
    """As of a write with logs its blocks, those of deletes too, tell the schema that it had."""
    table = unpack_table(name, tmp_path)
    writes = {next(read_blocks(path.read_bytes(), file="log")).instant for path in _logs(table)}
    told = 0
    for path in sorted((table / ".hoodie").rglob("*.deltacommit")):
        instant, content = path.name.partition("_")[0].partition(".")[0], path.read_bytes()
        found = re.search(rb'name\\*":\\*"(ts)\\*"', content)
        if instant not in writes or found is None:
            continue
        path.write_bytes(content[: found.start(1)] + b"us" + content[found.end(1) :])
        try:
            scan = HudiTable(str(table)).scan(as_of=instant)
            scan.to_table()
            assert scan.report().warnings, path.name
        except SeambenchError as error:
            assert "ts" in str(error)  # noqa: PT017 - either outcome is right
        path.write_bytes(content)
        told += 1
    assert told
