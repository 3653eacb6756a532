"""Table formats by name: what the harness must know of one to write, damage, judge and show it.

A format is an object `TableFormat`, announced by a package as an entry point of the group
`seambench.format`. Data generation, golden tables, cases, the command line and the page ask it;
none of them names one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from seambench.contracts import registry
from seambench.contracts.tables import CommitRequest, SparkBundle, TableSpec

__all__ = ["Damage", "Golden", "TableFormat", "format_names", "resolve_format"]

_FORMATS = "seambench.format"


class Golden(Protocol):
    """Golden tables of a format (a module will do): `golden/<format>/<table>/` of a suite.

    `seambench.formats.golden` has what all formats share: folders, variants, archives, origins.
    """

    def load_table(self, folder: Path, file: Path | None = None) -> TableSpec:
        """Read what a golden table is.

        Args:
            folder: folder of the table, or of one of its variants.
            file: its `table.toml`; None for the one there or, for a variant, in the folder above.

        Raises:
            UsageError: an unknown or missing key, or a variant that is none.
        """
        ...

    def needs(self, spec: Any, request: CommitRequest) -> Sequence[str]:
        """Capabilities that a reader must state to be asked this of this table."""
        ...

    def settle(self, table: Path) -> None:
        """Put right what an archive cannot hold, after a table was unpacked."""
        ...


class Damage(Protocol):
    """What edits name in tables of a format (a module will do); see `seambench.formats.edits`."""

    #: Kinds of files, and how they are found below a table's folder.
    FILES: Mapping[str, Callable[[Path], Sequence[Path]]]

    def position(self, data: bytes, name: str) -> int:
        """Offset of a place in a file's bytes that has a name in this format.

        Raises:
            UsageError: there is no such place.
        """
        ...

    def name_parts(self, name: str) -> Mapping[str, str]:
        """Parts of a file's name that the target of a `rename` or `copy` may hold in braces."""
        ...


@dataclass(frozen=True)
class TableFormat:
    """A table format.

    Attributes:
        name: as in capabilities (`formats.NAME`), case ids, folders and manifests.
        title: its name in sentences.
        meta_columns: columns that every table has besides the user's; shown only when asked for.
        is_meta: whether a column is hidden unless it is named.
        recognises: whether a folder looks like one of its tables.
        bundle: what Spark needs for its tables, by the bundle's version; None for the default one.
        golden: its golden tables.
        damage: what edits name in them.
    """

    name: str
    title: str
    meta_columns: tuple[str, ...]
    is_meta: Callable[[str], bool]
    recognises: Callable[[Path], bool]
    bundle: Callable[[str | None], SparkBundle]
    golden: Golden
    damage: Damage


def format_names() -> list[str]:
    """Names of the announced formats, in alphabetical order."""
    return sorted(registry.grouped(_FORMATS))


def resolve_format(name: str) -> TableFormat:
    """The format of a name.

    Raises:
        UsageError: unknown name.
        UnavailableError: it needs a package that is not installed.
    """
    point = registry.pick(registry.grouped(_FORMATS), name, "table format")
    found: TableFormat = registry.load(point, name)
    return found
