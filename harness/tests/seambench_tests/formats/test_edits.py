"""Recorded edits change what they name, and refuse what is not there."""

import struct
from pathlib import Path

import pytest

from seambase.errors import UsageError
from seambench.contracts.tables import Edit, Origin
from seambench.formats.edits import apply_edits
from seambench.formats.hudi import damage
from seambench.formats.hudi.damage import block_positions

INSTANTS = ["20200101000000000", "20200102000000000"]
ORIGIN = Origin("a test", "2020-01-01", INSTANTS, "", ["20200101000000009", "20200102000000009"])


def _block(content: bytes) -> bytes:
    """A data block with one header entry, laid out by the log format's own identities."""
    header = struct.pack(">iii", 1, 0, 17) + INSTANTS[0].encode()
    body = struct.pack(">ii", 1, 3) + header + struct.pack(">q", len(content)) + content
    body += struct.pack(">i", 0)
    size = len(body) + 8
    return b"#HUDI#" + struct.pack(">q", size) + body + struct.pack(">q", size + 6)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A folder with files named as Hudi names them."""
    (tmp_path / ".hoodie").mkdir()
    (tmp_path / ".hoodie" / f"{INSTANTS[1]}.deltacommit").write_text("log.2_0-1-2")
    (tmp_path / "f1_0-1-1_20200101000000000.parquet").write_bytes(b"PAR1....PAR1")
    for number in (2, 10):
        log = tmp_path / f".f1_20200101000000000.log.{number}_0-1-2"
        log.write_bytes(_block(b"one") + _block(bytes([number])))
    return tmp_path


def _log(table: Path, number: int) -> bytes:
    return (table / f".f1_20200101000000000.log.{number}_0-1-2").read_bytes()


def test_blocks_are_located() -> None:
    """Size, content and total of each block lie where the format's identities say."""
    log = _block(b"one") + _block(b"second")
    first, second = block_positions(log)
    assert log[first["content"] : first["content"] + 3] == b"one"
    assert log[second["content"] : second["content"] + 6] == b"second"
    assert struct.unpack_from(">q", log, second["total"])[0] == len(_block(b"second")) - 8


@pytest.mark.parametrize(
    ("edit", "before", "after"),
    [
        (Edit("log:1", "truncate", count=3), -3, None),
        (Edit("log:1", "insert", at="block:2", hex="aabb"), "block:2", b"\xaa\xbb#HUDI#"),
        (Edit("log:1", "overwrite", at="block:2.content", hex="ee"), "block:2.content", b"\xee"),
        (Edit("log:1", "overwrite", at="start+2", hex="ee"), 2, b"\xee"),
        (Edit("log:1", "insert", at="end", hex="ee"), None, b"\xee"),
    ],
)
def test_bytes_change_where_told(
    table: Path, edit: Edit, before: int | str | None, after: bytes | None
) -> None:
    """An edit changes its own place and nothing before it; logs count by number, 2 before 10."""
    old = _log(table, 2)
    apply_edits(table, [edit], ORIGIN, damage)
    new = _log(table, 2)
    if isinstance(before, str):
        number, _, part = before.removeprefix("block:").partition(".")
        before = block_positions(old)[int(number) - 1][part]
    at = len(old) if before is None else before % len(old)
    assert new[:at] == old[:at]
    assert new[at:] == b"" if after is None else new[at:].startswith(after)


def test_size_field_grows(table: Path) -> None:
    """`add` counts on in the 64-bit integer that it names."""
    old = block_positions(_log(table, 2))[0]["size"]
    apply_edits(table, [Edit("log:1", "add", at="block:1.size", count=1)], ORIGIN, damage)
    size = struct.unpack_from(">q", _log(table, 2), old)[0]
    assert size == len(_block(b"one")) - 14 + 1


def test_files_move(table: Path) -> None:
    """Logs join, commits are found by the number of their write, copies keep parts of the name."""
    old = _log(table, 2) + _log(table, 10)
    commit = "path:.hoodie/{2}.deltacommit"
    edits = [
        Edit("log:2", "append-to", to="log:1"),
        Edit(commit, "replace", find="log.2_", text="log.3_"),
        Edit("base:1", "copy", to="{file_id}_{token}_{instant}_1.log.parquet"),
        Edit("log:1", "rename", find=".log.2_", text=".log.3_"),
    ]
    apply_edits(table, edits, ORIGIN, damage)
    assert _log(table, 3) == old
    assert "log.3_" in (table / ".hoodie" / f"{INSTANTS[1]}.deltacommit").read_text()
    assert (table / "f1_0-1-1_20200101000000000_1.log.parquet").exists()


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (Edit("log:3", "empty"), "2 such files"),
        (Edit("page:1", "empty"), "names no file"),
        (Edit("path:nothing", "delete"), "0 files"),
        (Edit("log:1", "truncate"), "cannot cut"),
        (Edit("log:1", "insert", at="middle", hex="00"), "no position"),
        (Edit("log:1", "insert", at="block:9", hex="00"), "2 blocks"),
        (Edit("base:1", "replace", find="gone"), "to replace"),
    ],
)
def test_what_is_not_there_is_refused(table: Path, edit: Edit, says: str) -> None:
    """An edit that would change nothing, or another thing than meant, is an error."""
    with pytest.raises(UsageError, match=says):
        apply_edits(table, [edit], ORIGIN, damage)
