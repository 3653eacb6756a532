"""What edits name in Hudi tables: base files, logs, and the blocks of a log.

A position in a log is named by the blocks of Hudi's log format: `block:1` is where the first
block's magic starts, `block:1.size` its size field, and so on (`block_positions`).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from seambase.errors import UsageError
from seambase.wording import counted

MAGIC = b"#HUDI#"


def _data(table: Path) -> Iterator[Path]:
    """Files outside the table's own folder."""
    return (p for p in table.rglob("*") if ".hoodie" not in p.relative_to(table).parts)


def _bases(table: Path) -> Sequence[Path]:
    return [path for path in _data(table) if path.suffix == ".parquet"]


def _logs(table: Path) -> Sequence[Path]:
    return [path for path in _data(table) if ".log." in path.name and path.suffix != ".crc"]


#: Kinds of files that edits name.
FILES: Mapping[str, Callable[[Path], Sequence[Path]]] = {"base": _bases, "log": _logs}


def position(data: bytes, name: str) -> int:
    """Offset of `block:N` or of `block:N.PART` in a log."""
    match = re.fullmatch(r"block:(\d+)(?:\.([a-z]+))?", name)
    if not match:
        raise UsageError(f"{name!r} is no position: start, end, block:N or block:N.PART")
    blocks = block_positions(data)
    try:
        return blocks[int(match[1]) - 1][match[2] or ""]
    except (IndexError, KeyError) as error:
        raise UsageError(
            f"{name!r}: the log has {counted(len(blocks), 'block')}, no such part"
        ) from error


def name_parts(name: str) -> Mapping[str, str]:
    """File id, write token and instant of a base file's name."""
    parts = [*name.lstrip(".").split(".")[0].split("_"), "", "", ""][:3]
    return dict(zip(("file_id", "token", "instant"), parts, strict=True))


def block_positions(log: bytes) -> list[Mapping[str, int]]:
    """Where the parts of each block of an intact Hudi log lie (facts of log format version 1)."""
    blocks: list[Mapping[str, int]] = []
    start = 0
    while start < len(log):
        if log[start : start + 6] != MAGIC:
            raise UsageError(f"no block at {start}: edits are applied to intact logs")
        size = struct.unpack_from(">q", log, start + 6)[0]
        at = start + 26
        for _ in range(struct.unpack_from(">i", log, start + 22)[0]):
            at += 8 + struct.unpack_from(">i", log, at + 4)[0]
        parts = {"": 0, "size": 6, "version": 14, "type": 18, "header": 22}
        places = {part: start + offset for part, offset in parts.items()}
        places |= {"length": at, "content": at + 8, "total": start + 6 + size}
        blocks.append(places)
        start += 14 + size
    return blocks
