"""What is wrong with an Iceberg table by its specification, versions 1 to 3, whoever reads it.

Nothing here is shared with readers: JSON and Avro are read as they are, Parquet and ORC by Arrow,
and each rule of `rules.RULES` says in which section of the specification it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from seambench.contracts.lint import Fault
from seambench.formats.iceberg.lint.files import file_faults
from seambench.formats.iceberg.lint.manifests import Tree
from seambench.formats.iceberg.lint.metadata import metadata_faults, refused
from seambench.formats.iceberg.lint.rules import fault
from seambench.formats.iceberg.lint.table import Table, newest_metadata, read_metadata

__all__ = ["lint"]


def lint(folder: Path) -> Iterator[Fault]:
    """What is wrong with the newest state of a table: all that its valid snapshots reach."""
    try:
        yield from _faults(folder)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        says = (
            f"something is not spelled as the specification has it, the rest is unread: {error!r}"
        )
        yield fault(("metadata.readable", "metadata", says))


def _faults(folder: Path) -> Iterator[Fault]:
    try:
        file = newest_metadata(folder)
        said = read_metadata(file)
    except (OSError, ValueError, EOFError) as error:
        says = f"the newest metadata cannot be read: {error}"
        yield fault(("metadata.readable", "metadata", says))
        return
    table = Table(folder, file, said if isinstance(said, dict) else {})
    place = table.place(file)
    if found := list(refused(table.said)):
        yield from (fault(one, place) for one in found)
        return
    yield from (fault(one, place) for one in metadata_faults(table))
    tree = Tree(table)
    yield from (fault(one) for one in tree.faults())
    yield from file_faults(tree)
