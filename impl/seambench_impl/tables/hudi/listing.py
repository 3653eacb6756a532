"""Which files lie in which partition.

A partition is a folder that carries Hudi's marker, at any depth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from seambench_impl.tables.storage import FileStatus, Storage

__all__ = ["Listing", "list_files"]

_PARTITION_MARKER = ".hoodie_partition_metadata"


@dataclass(frozen=True)
class Listing:
    """The files of a table, by partition.

    Attributes:
        partitions: files of each partition, by the partition's path below the table ("" for the
            table's own folder).
    """

    partitions: Mapping[str, Sequence[FileStatus]] = field(repr=False)

    def has(self, path: str) -> bool:
        """Whether a file of that path below the table is in a listed partition."""
        partition, _, name = path.rpartition("/")
        return name in self._names.get(partition, ())

    @cached_property
    def _names(self) -> dict[str, set[str]]:
        return {
            partition: {status.name for status in files}
            for partition, files in self.partitions.items()
        }


def list_files(storage: Storage) -> Listing:
    """List a table folder by folder."""
    return Listing(dict(_partitions(storage)))


def _partitions(storage: Storage, folder: str = "") -> Iterable[tuple[str, list[FileStatus]]]:
    entries = storage.list(folder)
    if any(entry.name.startswith(_PARTITION_MARKER) for entry in entries):
        yield folder, [entry for entry in entries if entry.size_bytes is not None]
    for entry in entries:
        if entry.size_bytes is None and entry.name != ".hoodie":
            yield from _partitions(storage, entry.path)
