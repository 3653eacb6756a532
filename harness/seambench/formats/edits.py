"""Recorded edits: byte-level defects made from real tables, each a line or two in a case file.

A file of the table is named by what it is: a kind of file of its format and a number (`base:1`,
`log:2`: the n-th by name, numbers by value) or `path:.hoodie/...`, where `*` stands for anything
and `**` for any folders. In every text `{2}` stands for the commit of the second step and `{2c}`
for the time at which it completed. Positions in a file are `start`, `end` and those to which the
format gives names; `+N` or `-N` behind one moves by N bytes.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from seambase.errors import UsageError
from seambase.wording import counted
from seambench.contracts.formats import Damage
from seambench.contracts.tables import Edit, Origin


def apply_edits(table: Path, edits: Sequence[Edit], origin: Origin, damage: Damage) -> None:
    """Change an unpacked table. Files are named as they are before the first edit."""
    filled = [_filled(edit, origin) for edit in edits]
    files = {name: _find(table, name, damage) for e in filled for name in _names_of(e)}
    for edit in filled:
        _OPERATIONS[edit.op](_Target(table, files, damage), edit)


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
    return [edit.file, edit.to] if edit.op == "append-to" else [edit.file]


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sort key of a name: digits by value."""
    return [(int(p), "") if p.isdigit() else (-1, p) for p in re.split(r"(\d+)", path.name)]


def _find(table: Path, name: str, damage: Damage) -> Path:
    """The one file of the table that a name means."""
    kind, _, number = name.partition(":")
    if kind == "path":
        matches = sorted(table.glob(number))
        if len(matches) != 1:
            raise UsageError(
                f"{name!r} means {counted(len(matches), 'file')} of {table.name}, not one"
            )
        return matches[0]
    if kind not in damage.FILES:
        kinds = "".join(f"{known}:N, " for known in damage.FILES)
        raise UsageError(f"{name!r} names no file: {kinds}or path:GLOB")
    files = sorted(damage.FILES[kind](table), key=_natural)
    if not number.isdigit() or not 1 <= int(number) <= len(files):
        raise UsageError(f"{name!r}: there are {counted(len(files), 'such file')}")
    return files[int(number) - 1]


@dataclass(frozen=True)
class _Target:
    """The table that is edited, its files by the names that edits give them."""

    table: Path
    files: Mapping[str, Path]
    damage: Damage

    def position(self, data: bytes, at: str) -> int:
        """Offset that a position means; `+N` or `-N` at its end moves by N bytes."""
        match = re.fullmatch(r"(.+?)([+-]\d+)?", at)
        name, move = (match[1], int(match[2] or 0)) if match else (at, 0)
        if name in ("start", "end"):
            return (0 if name == "start" else len(data)) + move
        return self.damage.position(data, name) + move

    def target(self, edit: Edit, file: Path) -> Path:
        """Where `rename` and `copy` go: `to` below the table, with parts of the old name."""
        parts = self.damage.name_parts(file.name)
        return self.table / edit.to.format(name=file.name, **parts)


def _truncate(on: _Target, edit: Edit) -> None:
    data = on.files[edit.file].read_bytes()
    if not 0 < edit.count <= len(data):
        raise UsageError(f"cannot cut {edit.count} of {counted(len(data), 'byte')} off {edit.file}")
    on.files[edit.file].write_bytes(data[: len(data) - edit.count])


def _empty(on: _Target, edit: Edit) -> None:
    on.files[edit.file].write_bytes(b"")


def _delete(on: _Target, edit: Edit) -> None:
    file = on.files[edit.file]
    if file.is_dir():
        shutil.rmtree(file)
    else:
        file.unlink()


def _insert(on: _Target, edit: Edit) -> None:
    data = on.files[edit.file].read_bytes()
    at = on.position(data, edit.at)
    on.files[edit.file].write_bytes(data[:at] + bytes.fromhex(edit.hex) + data[at:])


def _overwrite(on: _Target, edit: Edit) -> None:
    data, new = on.files[edit.file].read_bytes(), bytes.fromhex(edit.hex)
    at = on.position(data, edit.at)
    on.files[edit.file].write_bytes(data[:at] + new + data[at + len(new) :])


def _add(on: _Target, edit: Edit) -> None:
    data = bytearray(on.files[edit.file].read_bytes())
    at = on.position(bytes(data), edit.at)
    struct.pack_into(">q", data, at, struct.unpack_from(">q", data, at)[0] + edit.count)
    on.files[edit.file].write_bytes(data)


def _replace(on: _Target, edit: Edit) -> None:
    data = on.files[edit.file].read_bytes()
    if edit.find.encode() not in data:
        raise UsageError(f"{edit.file} has no {edit.find!r} to replace")
    on.files[edit.file].write_bytes(data.replace(edit.find.encode(), edit.text.encode()))


def _rename(on: _Target, edit: Edit) -> None:
    file = on.files[edit.file]
    if edit.find:
        file.rename(file.with_name(file.name.replace(edit.find, edit.text)))
    else:
        file.rename(on.target(edit, file))


def _copy(on: _Target, edit: Edit) -> None:
    shutil.copyfile(on.files[edit.file], on.target(edit, on.files[edit.file]))


def _append_to(on: _Target, edit: Edit) -> None:
    with on.files[edit.to].open("ab") as out:
        out.write(on.files[edit.file].read_bytes())
    on.files[edit.file].unlink()


_OPERATIONS: Mapping[str, Callable[[_Target, Edit], None]] = {
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
