"""Log blocks in HFiles (`hoodie.logfile.data.block.format`): records by their keys, each a value.

Hudi writes the same record into a block of Avro (HoodieHFileDataBlock), so that tables say the same
with their blocks in the other form.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from seambase.errors import InputError, RefusedError
from seamkit.tables.hudi.log.log import _HEADERS, LogBlock, avro_records, read_blocks
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.hudi.test_log_merges import ALL, PATHS, Log, Row, merged, whole
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hfile_bytes import build_hfile
from seamkit_tests.samples.hudi_log_bytes import block
from seamkit_tests.samples.hudi_scans import scan_on

_BASE = [("a", "x", 1, 5), ("b", "y", 1, 5), ("c", "z", 1, 5)]


def _in_hfile(one: LogBlock, *, codec: int = 2) -> bytes:
    """A block of Avro in the other form; any other as it is."""
    header = {_HEADERS.index(name): text for name, text in one.header.items()}
    if one.kind != "avro":
        return block(one.kind, header, bytes(one.content))
    cells = []
    for number, record in enumerate(avro_records(one)):
        key = record.row.get("_hoodie_record_key") or f"{number:9}"
        begin = record.offset + 4
        cells.append((key.encode(), bytes(one.content[begin : begin + record.size_bytes])))
    return block("hfile", header, build_hfile([sorted(cells)], codec=codec))


def _with_hfiles(log: Log, **how: Any) -> Log:
    log.data = b"".join(_in_hfile(one, **how) for one in read_blocks(log.data, file="log"))
    return log


def _logs_in_hfiles(table: Path) -> int:
    """Writes the logs of a table in the other form; how many blocks of data they have."""
    count = 0
    for file in table.rglob(".*.log.*"):
        if ".hoodie" not in file.relative_to(table).parts:
            blocks = list(read_blocks(file.read_bytes(), file=str(file)))
            count += sum(one.kind == "avro" for one in blocks)
            file.write_bytes(b"".join(map(_in_hfile, blocks)))
    return count


def _rows(table: Path, path: str, **options: Any) -> Sequence[str]:
    return sorted(map(repr, scan_on(HudiTable(str(table)), path, **options).to_table().to_pylist()))


_TABLES = (
    "mor-v6-types",
    "mor-v9-composite-key",
    "mor-v9-event",
    "mor-v9-types",
    "delete-marker/v9",
    "virtual-keys/v6",
)


@PATHS
@pytest.mark.parametrize("name", _TABLES)
def test_a_table_says_the_same_with_blocks_of_hfiles(name: str, path: str, tmp_path: Path) -> None:
    """Whatever its keys, columns, deletes and order."""
    table = unpack_table(name, tmp_path)
    whole_table = _rows(table, path)
    assert _logs_in_hfiles(table)
    assert _rows(table, path) == whole_table
    assert _rows(table, path, strict=True) == whole_table


@PATHS
@pytest.mark.parametrize("codec", [1, 2])
def test_blocks_of_all_kinds_lie_in_one_log(tmp_path: Path, path: str, codec: int) -> None:
    """Updates, partial ones and deletes, some of them in blocks of Avro."""
    log = Log().rows(ALL, whole("c", "new", 2, 6), whole("a", "old", 2, 4))
    log = _with_hfiles(log.rows(["k", "n", "o"], ("b", "b", 9, 7), partial=True), codec=codec)
    log = log.deletes(("c", ("LongWrapper", {"value": 6}))).rows(ALL, whole("d", "more", 1, 1))
    expected: list[Row] = [("a", "x", 1, 5), ("b", "y", 9, 7), ("d", "more", 1, 1)]
    assert merged(tmp_path, _BASE, log, path=path) == expected


def test_records_by_their_keys_have_no_positions(tmp_path: Path) -> None:
    """Positions count records as they came, and an HFile has them in the order of their keys."""
    rows = whole("c", "new", 2, 6), whole("a", "newer", 2, 7)
    base = [_BASE[2], _BASE[1], _BASE[0]]
    expected = [("a", "newer", 2, 7), ("b", "y", 1, 5), ("c", "new", 2, 6)]
    for form, change in (("avro", lambda log: log), ("hfile", _with_hfiles)):
        log = change(Log().rows(ALL, *rows, at=[0, 2]))
        assert merged(tmp_path / form, base, log, path="positions") == expected


@PATHS
def test_a_column_that_hudi_empties_is_refused(tmp_path: Path, path: str) -> None:
    """`key` is the field of a metadata table's keys, which an HFile has beside its values."""
    (one,) = read_blocks(Log().rows(ALL, whole("a", "new", 2, 6)).data, file="log")
    schema = json.loads(one.schema or "")
    schema["fields"].append({"name": "key", "type": ["null", "string"], "default": None})
    header = {0: one.instant, 2: json.dumps(schema)}
    log = Log(data=block("hfile", header, build_hfile([[(b"a", b"")]])))
    with pytest.raises(RefusedError, match="the column 'key' is emptied"):
        merged(tmp_path, _BASE, log, path=path)


@PATHS
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no HFile"),
        (build_hfile([[(b"a", b"\2")]]), "block at byte 0"),
        (build_hfile([[(b"a", b"\2")]], entries=2), "its trailer says 2"),
    ],
)
def test_a_broken_file_is_an_error(tmp_path: Path, path: str, content: bytes, words: str) -> None:
    """Named by its place in the log."""
    (one,) = read_blocks(Log().rows(ALL, whole("a", "new", 2, 6)).data, file="log")
    log = Log(data=block("hfile", {0: one.instant, 2: one.schema or ""}, content))
    with pytest.raises(InputError, match=words):
        merged(tmp_path, _BASE, log, path=path)
