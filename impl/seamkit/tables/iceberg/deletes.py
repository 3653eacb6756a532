"""Which deletes of a snapshot apply to which of its data files.

With d the data sequence number of the data file and s that of the delete (specification, "Scan
Planning"): a deletion vector is for the one file that it names; a position delete file for files of
its partition with d <= s that have no vector; an equality delete file for files with d < s of its
partition, or of every partition if its own spec is unpartitioned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from seambase.errors import InputError
from seamkit.tables.iceberg.content.open_file import FileOpener
from seamkit.tables.iceberg.content.position_deletes import PATH_ID, PositionDeletes
from seamkit.tables.iceberg.metadata.document import TableMetadata
from seamkit.tables.iceberg.metadata.manifests import EQUALITY_DELETES, Entry, is_vector

__all__ = ["DeleteIndex"]

_GLOBAL = ("every partition",)


class DeleteIndex:
    """The deletes of a snapshot, by what they may apply to.

    Args:
        entries: the delete files.
        metadata: of the table.
        opener: of its files.

    Raises:
        InputError: two vectors are there for one data file.
    """

    def __init__(
        self, entries: Iterable[Entry], metadata: TableMetadata, opener: FileOpener
    ) -> None:
        self._vectors: dict[str, Entry] = {}
        self._positions: dict[tuple[Any, ...], list[PositionDeletes]] = defaultdict(list)
        self._equality: dict[tuple[Any, ...], list[Entry]] = defaultdict(list)
        for entry in entries:
            if is_vector(entry):
                self._add_vector(entry)
            elif entry.content == EQUALITY_DELETES:
                everywhere = metadata.specs[entry.spec_id].unpartitioned
                self._equality[_GLOBAL if everywhere else entry.partition_key].append(entry)
            else:
                self._positions[entry.partition_key].append(PositionDeletes(opener, entry))

    def _add_vector(self, entry: Entry) -> None:
        if entry.referenced is None:
            raise InputError(f"{entry.where} is a deletion vector that names no data file")
        if entry.referenced in self._vectors:
            raise InputError(f"{entry.where}: a second deletion vector for {entry.referenced}")
        self._vectors[entry.referenced] = entry

    def vector(self, data: Entry) -> Entry | None:
        """The vector of a data file.

        Raises:
            InputError: it is older than the file, or of another partition.
        """
        found = self._vectors.get(data.path)
        if found is None:
            return None
        if found.sequence_number < data.sequence_number:
            raise InputError(f"{found.where}: the deletion vector is older than {data.path}")
        if found.partition_key != data.partition_key:
            raise InputError(f"{found.where}: its partition is not that of {data.path}")
        return found

    def positions(self, data: Entry) -> list[PositionDeletes]:
        """The position delete files that may name rows of a data file without a vector."""
        return [
            one
            for one in self._positions.get(data.partition_key, ())
            if data.sequence_number <= one.entry.sequence_number and _may_name(one.entry, data.path)
        ]

    def equality(self, data: Entry) -> Sequence[Entry]:
        """The equality delete files that apply to a data file."""
        return [
            one
            for key in (data.partition_key, _GLOBAL)
            for one in self._equality.get(key, ())
            if data.sequence_number < one.sequence_number
        ]


def _may_name(delete: Entry, path: str) -> bool:
    """Whether a position delete file may hold positions of a data file."""
    if delete.referenced is not None:
        return delete.referenced == path
    lower, upper, text = delete.lower.get(PATH_ID), delete.upper.get(PATH_ID), path.encode()
    # A bound may be cut: the lower one is then below, the upper one not.
    return not (
        (lower is not None and text < lower)
        or (upper is not None and text > upper and not text.startswith(upper))
    )
