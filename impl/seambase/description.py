"""What is known of a table before a row of it is read: its state, its files, what changes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seambase.scan import ScanWarning
from seambase.values import value_class


@value_class
class StoredFile:
    """A file of a table, or the part of one that holds what is meant.

    Attributes:
        kind: in the format's words: `data file`, `log`, `sorted run`, `position deletes`,
            `equality deletes`, `deletion vector`, ...
        path: whole, or an address; of a vector that stands in Delta's log that folder.
        size_bytes: of the file, or of the part.
        rows: that it holds (of deletes: rows that they take out), as the metadata tells; None where
            it does not.
        offset: where the part begins; None for a whole file.
        part: what tells it from others at its path where no offset does: of a vector that stands in
            Delta's log the data file.
    """

    kind: str
    path: str
    size_bytes: int
    rows: int | None = None
    offset: int | None = None
    part: str = ""

    @property
    def identity(self) -> tuple[str, int | None, str]:
        """What is alike wherever the same file, or the same part of one, is named."""
        return self.path, self.offset, self.part


@dataclass(frozen=True)
class UnitDescription:
    """Rows that are read together: a file slice, a section of a bucket, a file with its deletes.

    Attributes:
        name: a path, or a file group.
        group: what the writer lays out as one: the partition, with the bucket where there are
            buckets; empty in a table without either.
        files: where its rows lie.
        changes: files that replace rows, add some or take them out; one file may change several
            units. Without any the unit's files are read as they stand.
        reason: why it is read the way it is; may be empty.
    """

    name: str
    group: str
    files: Sequence[StoredFile]
    changes: Sequence[StoredFile] = ()
    reason: str = ""

    @property
    def data_bytes(self) -> int:
        """Bytes of its data files."""
        return sum(file.size_bytes for file in self.files)

    @property
    def change_bytes(self) -> int:
        """Bytes of what changes them."""
        return sum(file.size_bytes for file in self.changes)


@dataclass(frozen=True)
class TableDescription:
    """A table as its newest state is read.

    Attributes:
        table: its folder or address.
        format: name of the format, as in `formats.NAME`.
        version: of the format, in its words.
        state: which state of the table this is: a version, a snapshot, an instant.
        key: columns by which its rows are told apart; none where the table declares none.
        units: in the order of a snapshot scan's parts.
        unit_word: what units are called, in the singular.
        properties: further facts for people, by name.
        warnings: damage that planning came across, and was not needed.
        broken: why nothing more is known, in a sentence, where the metadata is broken; else empty.
    """

    table: str
    format: str
    version: str
    state: str
    key: Sequence[str]
    units: Sequence[UnitDescription]
    unit_word: str = "file"
    properties: Mapping[str, str] = field(default_factory=dict)
    warnings: Sequence[ScanWarning] = ()
    broken: str = ""
