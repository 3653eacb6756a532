"""The change feed (`query="cdc"`): what each commit of a window did to the table's rows.

Of a commit with files of changes these alone are read. Of another one the files that it added are
inserted rows and those that it removed deleted ones, but for what it merely wrote anew; where it
removes and adds one file, the difference of the two deletion vectors is all that changed
(PROTOCOL.md, "Change Data Files"). Columns and words are Delta's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.files.roaring import Positions
from seamkit.files.vectors import all_but_new
from seamkit.scan.units import Mask, ReadUnit
from seamkit.tables.delta.log.actions import (
    AddFile,
    Metadata,
    Protocol,
    TableFiles,
    canonical,
    check_protocol,
)
from seamkit.tables.delta.log.checkpoint import Commit, load_commit
from seamkit.tables.delta.log.folder import LOG, LogFolder
from seamkit.tables.delta.log.snapshot import load_snapshot
from seamkit.tables.delta.planning import Planner, open_data_file
from seamkit.tables.delta.schema import DeltaTypes, Field, TableSchema, table_schema
from seamkit.tables.delta.vectors import read_vector
from seamkit.tables.states import refuse_taken_names

_KIND = "_change_type"
FEED_COLUMNS = pa.schema(
    {
        _KIND: pa.string(),
        "_commit_version": pa.int64(),
        "_commit_timestamp": pa.timestamp("us", "UTC"),
    }
)
"""What a change tells besides its row. An update has two changes, of its row before and after it:
`update_preimage` and `update_postimage`; the other kinds are `insert` and `delete`."""

_OWN_KIND = Field(_KIND, _KIND, None, pa.string())


@dataclass(frozen=True)
class ChangeFeed:
    """The commits of a window."""

    # of the last version, with the features that any has: one that was dropped since is no reason
    # to refuse what earlier commits made by it
    protocol: Protocol
    metadata: Metadata  # of the last version
    schema: TableSchema  # likewise; all changes are shown in it
    commits: list[Commit]  # oldest first

    def units(self, files: TableFiles, times: Mapping[int, int]) -> Iterator[ReadUnit]:
        """The changes, the oldest commit first."""
        planner = Planner(files, self.protocol, self.schema)
        for commit in self.commits:
            version = pa.scalar(commit.version, pa.int64())
            # As Spark has it; the newest version need not know of times that were stated once.
            millis = times[commit.version] if commit.millis is None else commit.millis
            moment = pa.scalar(millis * 1000, FEED_COLUMNS.field(2).type)
            known = dict(zip(FEED_COLUMNS.names[1:], (version, moment), strict=True))
            for file in commit.feed:
                yield planner.unit(file, None, "a file of changes", known=known, own=[_OWN_KIND])
            if not commit.feed and not commit.is_void:
                yield from _inferred(planner, commit, known)


def load_feed(folder: LogFolder, versions: range) -> ChangeFeed:
    """Read the commits of a window, of one version at least."""
    storage, first = folder.storage, load_snapshot(folder, versions[0])
    protocol, metadata = first.protocol, first.metadata
    _require_feed(metadata, versions[0], storage.root)
    commits, past = [], [(versions[0], protocol, metadata)]
    for version in versions:
        if version not in folder.commits:
            raise InputError(f"{storage.root}/{LOG}: the commit of version {version} is missing")
        commit = load_commit(storage, folder.commits[version], version)
        if commit.protocol is not None:
            check_protocol(commit.protocol, storage.root, ratified=folder.ratified is not None)
        if commit.metadata is not None:
            _require_feed(commit.metadata, version, storage.root)
        protocol, metadata = commit.protocol or protocol, commit.metadata or metadata
        if commit.protocol is not None or commit.metadata is not None:
            past.append((version, protocol, metadata))
        commits.append(commit)
    schema = table_schema(protocol, metadata, storage.root)
    for version, proto, meta in past:
        _require_shown(table_schema(proto, meta, storage.root), schema, version, storage.root)
    features = dict.fromkeys(name for _, own, _ in past for name in own.reader_features or ())
    readable = replace(protocol, reader_features=tuple(features))
    return ChangeFeed(readable, metadata, schema, commits)


def _require_feed(metadata: Metadata, version: int, root: str) -> None:
    if metadata.configuration.get("delta.enableChangeDataFeed", "false").lower() != "true":
        raise RefusedError(
            f"{root}: version {version} keeps no change feed (delta.enableChangeDataFeed is not "
            "true), so what changed is not known"
        )


def _require_shown(older: TableSchema, last: TableSchema, version: int, root: str) -> None:
    """Refuse a window in which a column, or a field in one, went away, or partitions changed."""
    if gone := _gone(older.fields, last.fields):
        raise RefusedError(
            f"{root}: version {version} has the column {gone!r}, which is gone at the end of the "
            "window or of another type, so its changes cannot be shown: end the window before that"
        )
    if [older.by_name[name].physical for name in older.partition_columns] != [
        last.by_name[name].physical for name in last.partition_columns
    ]:
        raise RefusedError(
            f"{root}: version {version} is partitioned otherwise than the end of the window: end "
            "it before that"
        )
    refuse_taken_names(last.arrow, FEED_COLUMNS.names, root)


def _gone(older: Sequence[Field], last: Sequence[Field]) -> str | None:
    """The dotted name of a field, at any depth, that later ones are without, if there is one."""
    # One of a type that the older does not promote to is another field.
    own = {field.physical: field for field in last}
    for field in older:
        now = own.get(field.physical)
        if now is None or not (field.children or _becomes(field.type, now.type)):
            return field.name
        if below := _gone(field.children, now.children):
            return f"{field.name}.{below}"
    return None


def _becomes(have: pa.DataType, want: pa.DataType) -> bool:
    """Whether changes of a type are shown as another one; void, all null, becomes any."""
    return have in (pa.null(), want) or DeltaTypes(widens=True).promotes(have, want)


def _inferred(
    planner: Planner, commit: Commit, known: Mapping[str, pa.Scalar]
) -> Iterator[ReadUnit]:
    """What follows from the data files that a commit added and removed."""
    # Of a removed file Spark leaves out partition values that are null.
    none = {
        planner.schema.by_name[name].physical: None for name in planner.schema.partition_columns
    }
    gone = [replace(f, partition_values={**none, **f.partition_values}) for f in commit.removes]
    adds, removes = _by_path(commit.adds, planner.root), _by_path(gone, planner.root)
    for kind, files, others in (("delete", removes, adds), ("insert", adds, removes)):
        values = {_KIND: pa.scalar(kind), **known}
        for path, file in files.items():
            other = others.get(path)
            if other is None:
                yield planner.unit(file, planner.vector_mask(file), f"{kind}s", known=values)
                continue
            # What the other state takes out and this one leaves.
            mask = _difference(planner, other, file)
            if mask is not None:
                yield planner.unit(file, mask, f"{kind}s, by two vectors", known=values)


def _by_path(files: list[AddFile], root: str) -> dict[str, AddFile]:
    found = {canonical(file.path): file for file in files}
    if len(found) < len(files):
        raise InputError(f"{root}/{LOG}: a commit adds or removes a file twice")
    return found


def _difference(planner: Planner, masked: AddFile, left: AddFile) -> Mask | None:
    """All rows but those that the vector of one state takes out and that of the other leaves."""
    # None where there are no such rows: the first state has no vector.
    if planner.vector_mask(masked) is None:
        return None
    planner.vector_mask(left)
    return Mask(partial(all_but, planner.files, masked, left, planner.schema))


def all_but(files: TableFiles, masked: AddFile, left: AddFile, schema: TableSchema) -> Positions:
    """The rows that one vector masks and another leaves."""
    now, before = (
        None if one.vector is None else read_vector(files, one.vector) for one in (masked, left)
    )
    reader = open_data_file(files, left, schema, DeltaTypes(widens=True), None)
    return all_but_new(reader.num_rows, now, before, reader.name)
