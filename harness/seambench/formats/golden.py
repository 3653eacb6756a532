"""Golden tables: small tables that real engines wrote, kept as archives beside what was written.

A folder `golden/<format>/<table>` of a suite holds `table.toml` (the steps, declared), `table.zip`
(the engine's bytes; an archive, so that names with leading dots survive packaging) and
`origin.toml` (writer, commits, digest). Where `table.toml` names `variants`, archive and origin lie
in a folder for each: the same steps as other versions of the engine carried them out. What the
steps are called and what a variant's name means is the format's.
"""

from __future__ import annotations

import hashlib
import tomllib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from seambase.errors import InputError, UsageError
from seambench.contracts.data_files import build
from seambench.contracts.formats import TableFormat
from seambench.contracts.tables import CommitRequest, Edit, Origin, TableSpec
from seambench.formats.edits import apply_edits


@dataclass(frozen=True)
class GoldenTable:
    """A golden table, or a variant of one.

    Attributes:
        format: what its bytes are.
        folder: folder of its archive.
    """

    format: TableFormat
    folder: Path
    spec: TableSpec

    @cached_property
    def origin(self) -> Origin:
        """Who wrote it."""
        return load_origin(self.folder)

    def needs(self, request: CommitRequest) -> tuple[str, ...]:
        """Capabilities that a reader must state to be asked something of it."""
        special = self.format.golden.needs(self.spec, request)
        needs = [f"formats.{self.format.name}", f"query.{request.query}", *special]
        if request.as_of is not None:
            needs.append("as-of")
        if request.strict:
            needs.append("strict")
        if request.row_kinds:
            needs.append("row-kinds")
        return tuple(dict.fromkeys(needs))

    def unpack(self, target: Path, edits: Sequence[Edit] = ()) -> Path | None:
        """Unpack it into a folder, after checking its digest, and edit it.

        Where its own bytes say that it lies is told, if they name a place.
        """
        archive = self.folder / "table.zip"
        if hashlib.sha256(archive.read_bytes()).hexdigest() != self.origin.sha256:
            raise InputError(
                f"{archive} is not the archive that origin.toml describes; make it again"
            )
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(target)
        self.format.golden.settle(target)
        home = None if self.format.home is None else self.format.home(target)
        apply_edits(target, edits, self.origin, self.format.damage)
        return home


@cache
def golden_table(format_: TableFormat, folder: Path) -> GoldenTable:
    """The golden table of a folder."""
    return GoldenTable(format_, folder, format_.golden.load_table(folder))


def table_folders(root: Path, format_name: str) -> list[Path]:
    """Folders of all golden tables of a format below a suite's root, one per variant."""
    folders = []
    for file in sorted(root.glob(f"golden/{format_name}/*/table.toml")):
        variants = _read(file).get("variants")
        folders += [file.parent / v for v in variants] if variants else [file.parent]
    return folders


def declaration(folder: Path) -> Path:
    """The `table.toml` of a table or variant."""
    own = folder / "table.toml"
    return own if own.exists() else folder.parent / "table.toml"


def read_declaration(
    folder: Path, file: Path | None, variant: Callable[[str, Path], Mapping[str, Any]]
) -> tuple[Path, dict[str, Any]]:
    """Content of a declaration, with `name`, and for a variant with what its name means.

    It is the folder's own `table.toml` or, for a variant, that of the folder above.
    """
    file = file or declaration(folder)
    data = _read(file)
    data["name"] = folder.name
    if variants := data.pop("variants", None):
        if folder.name not in variants:
            raise UsageError(f"{file} has no variant {folder.name!r}; it has {variants}")
        data |= variant(folder.name, file)
        data["name"] = f"{file.parent.name}/{folder.name}"
    return file, data


def load_origin(folder: Path) -> Origin:
    """Read `origin.toml` of a golden table."""
    file = folder / "origin.toml"
    data = _read(file)
    data["made"] = str(data.get("made"))
    return build(Origin, data, file)


def _read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))
