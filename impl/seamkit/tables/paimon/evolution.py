"""Rows whose columns lie in several files, as tables with data evolution have them.

Rows have ids, of which a file states its first one. A later commit may write some columns alone of
rows that are there: its file has the ids of the older ones. Of each column the newest file that has
it counts (`DataEvolutionSplitRead` of paimon-core). A vector of deleted rows is one of the oldest
file (`DataEvolutionUtils.retrieveAnchorFile`).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.core.border import batch_of
from seamkit.files.reader import FileReader, RowsWanted, rows_of_nulls
from seamkit.files.statistics import FileStatistics
from seamkit.files.storage import Storage
from seamkit.tables.paimon.data_files import (
    columns_written,
    data_identity,
    file_statistics,
    open_data_file,
)
from seamkit.tables.paimon.metadata.manifests import FileEntry
from seamkit.tables.paimon.metadata.schemas import Schemas, TableSchema

Part = tuple[FileEntry, frozenset[str]]
"""A file, and the columns of the table that it gives."""


def same_rows(files: Sequence[FileEntry], where: str) -> list[Sequence[FileEntry]]:
    """The files of a bucket by the rows that they have, of each the newest first."""
    groups: dict[tuple[int, int], list[FileEntry]] = {}
    for file in files:
        if file.first_row is None:
            raise RefusedError(
                f"{file.where}: {file.name} does not say which ids its rows have, which in "
                f"{where}, a table with data-evolution.enabled, is not supported"
            )
        groups.setdefault((file.first_row, file.first_row + file.rows), []).append(file)
    for own, other in itertools.pairwise(sorted(groups)):
        if other[0] < own[1]:
            raise InputError(
                f"{groups[other][0].where}: {groups[other][0].name} has the rows from {other[0]} "
                f"to {other[1]}, and {groups[own][0].name} those from {own[0]} to {own[1]}"
            )
    return [sorted(own, key=lambda file: -file.max_sequence) for own in groups.values()]


def parts_of(files: Sequence[FileEntry], schema: TableSchema, schemas: Schemas) -> Sequence[Part]:
    """Which columns each of some files gives that have the same rows, the newest of them first."""
    names = {own.id: own.name for own in schema.fields}
    given: dict[int, FileEntry] = {}
    for file in files:
        for own in columns_written(file, schemas.load(file.schema_id)):
            first = given.setdefault(own.id, file)
            if first is not file and first.max_sequence == file.max_sequence and own.id in names:
                raise InputError(
                    f"{file.where}: {file.name} and {first.name} have the column "
                    f"{names[own.id]!r} of the same rows, and neither is the newer"
                )
    parts = [
        (file, frozenset(name for id_, name in names.items() if given.get(id_) is file))
        for file in files
    ]
    return [part for part in parts if part[1]] or parts[:1]


class SideBySide(FileReader):
    """Files that have columns of the same rows, of which each gives its own."""

    def __init__(self, files: Sequence[tuple[FileReader, Collection[str]]]) -> None:
        self._files = files
        self.name = files[0][0].name
        self.num_rows = files[0][0].num_rows
        own = {one.name: one for reader, _ in files for one in reader.schema}
        self.schema = pa.schema(list(own.values()))

    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """See `FileReader.read`."""
        schema, streams = wanted.schema, []
        if wanted.row_groups is not None and not wanted.row_groups:
            return
        for reader, names in self._files:
            own = pa.schema([one for one in schema if one.name in names])
            if own.names:
                streams.append(
                    reader.read(replace(wanted, schema=own, encoded=(), row_groups=None))
                )
        if not streams:
            yield from rows_of_nulls(schema, self.num_rows, wanted.batch_rows)
        for batches in _cut_alike(streams):
            rows = batches[0].num_rows
            found = {
                name: column
                for batch in batches
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            }
            columns = [
                found[one.name] if one.name in found else pa.nulls(rows, one.type) for one in schema
            ]
            yield batch_of(columns, schema, rows)

    def stored(self, schema: pa.Schema) -> tuple[FileReader, Sequence[pa.Field | pa.Scalar]] | None:
        """See `FileReader.stored`: there is no one file that has them."""
        del schema
        return None


def _cut_alike(streams: Sequence[Iterator[pa.RecordBatch]]) -> Iterator[list[pa.RecordBatch]]:
    """Batches of the same rows, cut wherever one of the streams ends a batch."""
    # Files have as many rows as is stated of each, and were opened by that; readers see to it.
    heads: list[Any] = [next(stream, None) for stream in streams]
    while heads and not any(head is None for head in heads):
        rows = min(head.num_rows for head in heads)
        yield [head.slice(0, rows) for head in heads]
        heads = [
            head.slice(rows) if head.num_rows > rows else next(stream, None)
            for head, stream in zip(heads, streams, strict=True)
        ]


def open_parts(
    storage: Storage,
    folder: str,
    parts: Sequence[Part],
    schemas: Schemas,
    schema: TableSchema,
) -> FileReader:
    """Open files that have columns of the same rows."""
    return SideBySide(
        [
            (open_data_file(storage, folder, file, schemas, schema, is_live=True), names)
            for file, names in parts
        ]
    )


def parts_statistics(
    parts: Sequence[Part], schema: TableSchema, schemas: Schemas, among: Collection[str]
) -> FileStatistics:
    """What manifests say of the columns that each file gives; see `file_statistics`."""
    known = [file_statistics(file, schema, schemas, names & {*among}) for file, names in parts]
    columns = {name: own for one in known for name, own in one.columns.items()}
    return FileStatistics(known[0].rows, columns)


def parts_identity(
    storage: Storage, folder: str, parts: Sequence[Part], schema: TableSchema
) -> Hashable | None:
    """What tells these files from any others."""
    known = [data_identity(storage, folder, file, schema) for file, _ in parts]
    return None if None in known else tuple(known)
