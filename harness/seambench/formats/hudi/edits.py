"""Recorded edits: byte-level defects made from real tables, each a line or two in a case file.

A file of the table is named by what it is: `base:1`, `log:2` (the n-th by name, numbers by value)
or `path:.hoodie/...`, where `*` stands for anything and `**` for any folders. In every text `{2}`
stands for the instant of the second step and `{2c}` for the time at which it completed.
A position in a log is named by the blocks of Hudi's log format: `block:1` is where the first
block's magic starts, `block:1.size` its size field, and so on (`block_positions`); `start` and
`end` are the file's own; `+N` or `-N` behind it moves by N bytes.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from seambase.errors import UsageError
from seambench.formats.hudi.golden import Origin

__all__ = ["Edit", "apply_edits", "block_positions"]

MAGIC = b"#HUDI#"


@dataclass(frozen=True)
class Edit:
    """One change to one file.

    Attributes:
        file: which file.
        op: `truncate` cuts `count` bytes off the tail; `empty` leaves none; `delete` removes the
            file or folder; `insert` puts `hex` in at `at`; `overwrite` writes `hex` over what is
            there; `add` adds `count` to the big-endian 64-bit integer there; `replace` changes the
            text `find` to `text` (it must be there); `rename` moves to `to`; `copy` copies to `to`;
            `append-to` moves the file's bytes to the end of the file `to`.
        to: a file as in `file`, or for `rename` and `copy` a path, in which `{name}` is the name.
    """

    file: str
    op: Literal[
        "truncate",
        "empty",
        "delete",
        "insert",
        "overwrite",
        "add",
        "replace",
        "rename",
        "copy",
        "append-to",
    ]
    at: str = "end"
    count: int = 0
    hex: str = ""
    find: str = ""
    text: str = ""
    to: str = ""


def apply_edits(table: Path, edits: Sequence[Edit], origin: Origin) -> None:
    """Change an unpacked table as told. Files are named as they are before the first edit.

    Raises:
        UsageError: an edit names a file, position or text that is not there.
    """
    filled = [_filled(edit, origin) for edit in edits]
    files = {name: _find(table, name) for e in filled for name in _names_of(e)}
    for edit in filled:
        _OPERATIONS[edit.op](table, edit, files)


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
        found = {part: start + offset for part, offset in parts.items()}
        found |= {"length": at, "content": at + 8, "total": start + 6 + size}
        blocks.append(found)
        start += 14 + size
    return blocks


def _filled(edit: Edit, origin: Origin) -> Edit:
    """An edit with the times that its texts mean."""
    times = {str(number): instant for number, instant in enumerate(origin.instants, 1)}
    times |= {f"{number}c": time for number, time in enumerate(origin.completions, 1)}

    def fill(text: str) -> str:
        for name, time in times.items():
            text = text.replace(f"{{{name}}}", time)
        return text

    return replace(
        edit,
        file=fill(edit.file),
        to=fill(edit.to),
        find=fill(edit.find),
        text=fill(edit.text),
    )


def _names_of(edit: Edit) -> list[str]:
    """The files that an edit names."""
    return [edit.file, edit.to] if edit.op == "append-to" else [edit.file]


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sort key of a name: digits by value."""
    return [(int(p), "") if p.isdigit() else (-1, p) for p in re.split(r"(\d+)", path.name)]


def _find(table: Path, name: str) -> Path:
    """The one file of the table that a name means."""
    kind, _, rest = name.partition(":")
    if kind == "path":
        matches = sorted(table.glob(rest))
        if len(matches) != 1:
            raise UsageError(f"{name!r} means {len(matches)} files of {table.name}, not one")
        return matches[0]
    outside = [p for p in table.rglob("*") if ".hoodie" not in p.relative_to(table).parts]
    if kind == "base":
        found = sorted((p for p in outside if p.suffix == ".parquet"), key=_natural)
    elif kind == "log":
        logs = (p for p in outside if ".log." in p.name and p.suffix != ".crc")
        found = sorted(logs, key=_natural)
    else:
        raise UsageError(f"{name!r} names no file: base:N, log:N or path:GLOB")
    if not rest.isdigit() or not 1 <= int(rest) <= len(found):
        raise UsageError(f"{name!r}: there are {len(found)} such files")
    return found[int(rest) - 1]


def _position(data: bytes, at: str) -> int:
    """Offset that a position means; `+N` or `-N` at its end moves by N bytes."""
    match = re.fullmatch(r"(?:start|end|block:(\d+)(?:\.([a-z]+))?)([+-]\d+)?", at)
    if not match:
        raise UsageError(f"{at!r} is no position: start, end, block:N or block:N.PART")
    extra = int(match[3] or 0)
    if match[1] is None:
        return (0 if at.startswith("start") else len(data)) + extra
    blocks = block_positions(data)
    try:
        return blocks[int(match[1]) - 1][match[2] or ""] + extra
    except (IndexError, KeyError) as error:
        raise UsageError(f"{at!r}: the log has {len(blocks)} blocks, no such part") from error


Files = Mapping[str, Path]


def _truncate(_table: Path, edit: Edit, files: Files) -> None:
    data = files[edit.file].read_bytes()
    if not 0 < edit.count <= len(data):
        raise UsageError(f"cannot cut {edit.count} of {len(data)} bytes off {edit.file}")
    files[edit.file].write_bytes(data[: len(data) - edit.count])


def _empty(_table: Path, edit: Edit, files: Files) -> None:
    files[edit.file].write_bytes(b"")


def _delete(_table: Path, edit: Edit, files: Files) -> None:
    file = files[edit.file]
    if file.is_dir():
        shutil.rmtree(file)
    else:
        file.unlink()


def _insert(_table: Path, edit: Edit, files: Files) -> None:
    data = files[edit.file].read_bytes()
    at = _position(data, edit.at)
    files[edit.file].write_bytes(data[:at] + bytes.fromhex(edit.hex) + data[at:])


def _overwrite(_table: Path, edit: Edit, files: Files) -> None:
    data, new = files[edit.file].read_bytes(), bytes.fromhex(edit.hex)
    at = _position(data, edit.at)
    files[edit.file].write_bytes(data[:at] + new + data[at + len(new) :])


def _add(_table: Path, edit: Edit, files: Files) -> None:
    data = bytearray(files[edit.file].read_bytes())
    at = _position(bytes(data), edit.at)
    struct.pack_into(">q", data, at, struct.unpack_from(">q", data, at)[0] + edit.count)
    files[edit.file].write_bytes(data)


def _replace(_table: Path, edit: Edit, files: Files) -> None:
    data = files[edit.file].read_bytes()
    if edit.find.encode() not in data:
        raise UsageError(f"{edit.file} has no {edit.find!r} to replace")
    files[edit.file].write_bytes(data.replace(edit.find.encode(), edit.text.encode()))


def _target(table: Path, edit: Edit, file: Path) -> Path:
    """Where `rename` and `copy` go: `to` below the table, with parts of the old name filled in."""
    name = file.name
    file_id, token, instant = [*name.lstrip(".").split(".")[0].split("_"), "", "", ""][:3]
    to = edit.to.format(name=name, file_id=file_id, token=token, instant=instant)
    return table / to


def _rename(table: Path, edit: Edit, files: Files) -> None:
    file = files[edit.file]
    if edit.find:
        file.rename(file.with_name(file.name.replace(edit.find, edit.text)))
    else:
        file.rename(_target(table, edit, file))


def _copy(table: Path, edit: Edit, files: Files) -> None:
    shutil.copyfile(files[edit.file], _target(table, edit, files[edit.file]))


def _append_to(_table: Path, edit: Edit, files: Files) -> None:
    with files[edit.to].open("ab") as out:
        out.write(files[edit.file].read_bytes())
    files[edit.file].unlink()


_OPERATIONS: Mapping[str, Callable[[Path, Edit, Files], None]] = {
    "truncate": _truncate,
    "empty": _empty,
    "delete": _delete,
    "insert": _insert,
    "overwrite": _overwrite,
    "add": _add,
    "replace": _replace,
    "rename": _rename,
    "copy": _copy,
    "append-to": _append_to,
}
