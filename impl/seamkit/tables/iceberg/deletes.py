"""Which deletes of a snapshot apply to which of its data files.

With d the data sequence number of the data file and s that of the delete (specification, "Scan
Planning"): a deletion vector is for the one file that it names; a position delete file for files of
its partition with d <= s that have no vector; an equality delete file for files with d < s of its
partition, or of every partition if its own spec is unpartitioned.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from seambase.errors import InputError
from seamkit.tables.iceberg.content.equality_deletes import DeletedKeys, key_columns
from seamkit.tables.iceberg.content.open_file import FileOpener
from seamkit.tables.iceberg.content.position_deletes import PATH_ID, PositionDeletes
from seamkit.tables.iceberg.content.reader import Column
from seamkit.tables.iceberg.metadata.document import TableMetadata
from seamkit.tables.iceberg.metadata.manifests import EQUALITY_DELETES, Entry, is_vector
from seamkit.tables.iceberg.metadata.schema import Field
from seamkit.tables.iceberg.metadata.values import bound_value, in_order

__all__ = ["DeleteIndex", "kind_of"]

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
        self._metadata, self._opener = metadata, opener
        self._keys: dict[tuple[Any, ...], DeletedKeys] = {}
        self._columns: dict[tuple[int, ...], dict[str, Column]] = {}
        self._latest: tuple[Entry, list[tuple[tuple[Any, ...], list[Entry]]]] | None = None
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

    @property
    def with_vectors(self) -> Collection[str]:
        """The data files that vectors are for."""
        return self._vectors.keys()

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
        if not self._positions:
            return []
        return [
            one
            for one in self._positions.get(data.partition_key, ())
            if data.sequence_number <= one.entry.sequence_number and _may_name(one.entry, data.path)
        ]

    def equality(self, data: Entry) -> Sequence[tuple[DeletedKeys, int]]:
        """Sets of deleted keys that may be in a data file, and how many files name them.

        Raises:
            RefusedError: keys that are not supported.
        """
        if not self._equality:
            return []
        found = []
        for scope, deletes in self._equal(data):
            apply = Counter(tuple(sorted(one.equality_ids)) for one in deletes)
            found += [(self._of(scope, ids), count) for ids, count in apply.items()]
        return found

    def entries(self, data: Entry) -> Sequence[Entry]:
        """All delete files that may take rows out of a data file."""
        vector = self.vector(data)
        by_position = [one.entry for one in self.positions(data)] if vector is None else [vector]
        if not self._equality:
            return by_position
        return [*by_position, *(one for _, deletes in self._equal(data) for one in deletes)]

    def _equal(self, data: Entry) -> Sequence[tuple[tuple[Any, ...], list[Entry]]]:
        """The equality delete files that may meet a data file: of its partition, and of all.

        They are asked for several times, of one file after the other.
        """
        latest = self._latest
        if latest is None or latest[0] is not data:
            found = []
            for scope in (data.partition_key, _GLOBAL):
                own = self._equality.get(scope, ())
                newer = [one for one in own if data.sequence_number < one.sequence_number]
                found.append((scope, [one for one in newer if self._may_meet(one, data)]))
            self._latest = latest = data, found
        return latest[1]

    def _of(self, scope: tuple[Any, ...], ids: tuple[int, ...]) -> DeletedKeys:
        """All keys of some columns that are deleted in a partition, or everywhere."""
        if (scope, ids) not in self._keys:
            entries = [e for e in self._equality[scope] if tuple(sorted(e.equality_ids)) == ids]
            columns = self._columns_of(entries[0])
            self._keys[scope, ids] = DeletedKeys(self._opener, entries, columns)
        return self._keys[scope, ids]

    def _may_meet(self, delete: Entry, data: Entry) -> bool:
        """Whether the bounds of the keys leave room for one that both files have."""
        columns = self._columns_of(delete).values()
        return not any(_apart(delete, data, path[-1]) for path in columns)

    def _columns_of(self, delete: Entry) -> dict[str, Column]:
        ids = tuple(sorted(delete.equality_ids))
        if ids not in self._columns:
            self._columns[ids] = key_columns(self._metadata, ids, delete.where)
        return self._columns[ids]


def kind_of(delete: Entry) -> str:
    """What a delete file is, in the format's words."""
    if is_vector(delete):
        return "deletion vector"
    return "equality deletes" if delete.content == EQUALITY_DELETES else "position deletes"


def _apart(delete: Entry, data: Entry, field: Field) -> bool:
    """Whether no value of a key column is in both files, as far as their bounds tell."""
    if field.stated or delete.null_counts.get(field.id) != 0:
        return False  # null equals null, and is in no bounds
    ends = [
        None if end is None else bound_value(end, field.type)
        for end in (
            delete.lower.get(field.id),
            delete.upper.get(field.id),
            data.lower.get(field.id),
            data.upper.get(field.id),
        )
    ]
    if any(end is None for end in ends):
        return False
    [least, most, first, last] = ends
    if not (in_order(least, most) and in_order(first, last)):
        return False  # bounds that contradict each other say nothing
    return not (in_order(first, most) and in_order(least, last))


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
