"""The metadata table, `.hoodie/metadata`, and its list of files, the partition `files` of it.

It is a merge-on-read table of its own: HFiles as base files, HFile blocks in its logs, one record
for each partition of the data table, which maps file names to sizes and marks those that were
deleted; the record `__all_partitions__` names the partitions (Hudi 1.2.0, `HoodieMetadataPayload`).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from seambase.errors import InputError, RefusedError
from seamkit.avro.data_file import Records, record_reader
from seamkit.files.storage import FileStatus, Storage
from seamkit.tables.hudi.config.properties import PROPERTIES, TIMELINE, load_config
from seamkit.tables.hudi.listing.file_groups import list_slices
from seamkit.tables.hudi.listing.files import TAKEN_UP, FileSlice, Listing
from seamkit.tables.hudi.listing.hfile import HFile, read_hfile
from seamkit.tables.hudi.log.log import LogBlock, order_blocks, read_blocks
from seamkit.tables.hudi.timeline.timeline import Timeline, load_timeline

METADATA_FOLDER = ".hoodie/metadata"
_FILES = "files"
_ALL_PARTITIONS = "__all_partitions__"
_ROOT = "."
_BYTES_A_FILE = 500  # of memory, about

_MAP = "filesystemMetadata"

_Files = dict[str, tuple[int, bool]]
"""Of each file of a partition its size, and whether it is deleted."""


def has_partition(timeline: Timeline, name: str = _FILES) -> bool:
    """Whether the table's properties say that the metadata table has a partition, wholly built."""
    built = timeline.config.raw.get("hoodie.table.metadata.partitions", "")
    return name in (part.strip() for part in built.split(","))


@dataclass(frozen=True)
class _Part:
    """A base file or a block of a log: its records, and the schema that wrote them."""

    content: HFile
    schema: str | bytes
    where: str


@dataclass(frozen=True)
class MetadataTable:
    """A table's metadata table."""

    storage: Storage
    timeline: Timeline
    # writes of the data table that have not completed; theirs does not count
    pending: frozenset[str]

    def slices(self, partition: str) -> list[FileSlice]:
        """The latest slices of one partition."""
        files = self.storage.list(partition)
        listing = Listing({partition: files}, covers=lambda listed: listed == partition)
        return list_slices(listing, self.timeline)

    def slices_within(self, partition: str, most_bytes: int) -> list[FileSlice]:
        """The latest slices of an index, all files of which are asked for at once.

        None of them where they have more bytes than that: what reads them can do without.
        """
        self.timeline.ahead([partition], history=False)
        slices = self.slices(partition)
        files = [file for slice_ in slices for file in (slice_.base, *slice_.logs) if file]
        if sum(file.size_bytes for file in files) > most_bytes:
            return []
        self.storage.ahead(file.path for file in files)
        return slices

    def records(
        self, slice_: FileSlice, wanted: Callable[[str], bool] = lambda _: True
    ) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """The records of one slice by key, its base's first, then those of its logs on top.

        A deleted key has None. `wanted` is asked of each key when its turn comes.
        """
        for part in self.parts(slice_):
            if isinstance(part, _Part):
                yield from _decoded(part, wanted)
            else:
                yield from ((key, None) for key in part)

    def parts(self, slice_: FileSlice) -> Iterator[_Part | list[str]]:
        """The base of one slice, then what its logs have on top: HFiles, and deleted keys."""
        own = self.storage
        if slice_.base is not None:
            file = own.full(slice_.base.path)
            content = memoryview(own.map(slice_.base.path))
            base = read_hfile(content, file=file, bound=own.bound)
            schema = base.info.get(b"schema")
            if schema is None:
                raise InputError(f"{file}: the file does not tell its schema")
            yield _Part(base, schema, file)
        blocks: list[LogBlock] = []
        for log in slice_.logs:
            # Folders can be listed instead, so nothing damaged need be passed over.
            content = memoryview(own.map(log.path))
            blocks += read_blocks(content, file=own.full(log.path), strict=True)
        for block in order_blocks(blocks, self._counts):
            if block.kind == "delete":
                yield [key or "" for key in block.delete_keys().record_keys]
            elif block.kind == "hfile":
                part = read_hfile(block.content, file=block.where, bound=own.bound)
                yield _Part(part, block.schema or "", block.where)
            else:
                raise RefusedError(
                    f"{block.where}: a metadata table has HFile and delete blocks alone"
                )

    def _counts(self, instant: str) -> bool:
        return self.timeline.is_committed(instant) and instant not in self.pending


def open_metadata_table(storage: Storage, timeline: Timeline) -> MetadataTable:
    """Open a table's metadata table, in which a listing counts once its write has completed."""
    ask_metadata_ahead(storage)
    own = storage.below(METADATA_FOLDER)
    own_timeline = load_timeline(own, load_config(own, metadata_table=True))
    newest = timeline.last_completed()
    if newest is not None and not own_timeline.is_committed(newest):
        raise InputError(f"{own.root}: the write of {newest} is not in the metadata table")
    pending = frozenset(i.requested for i in timeline.instants if i.state != "completed")
    return MetadataTable(own, own_timeline, pending)


def ask_metadata_ahead(storage: Storage) -> None:
    """Ask at once for what opening a table's metadata table reads; see `Storage.ahead`."""
    storage.below(METADATA_FOLDER).ahead([PROPERTIES], [TIMELINE])


def list_from_metadata(storage: Storage, timeline: Timeline) -> Listing:
    """The files of each partition, as the metadata table has them.

    What a write has listed counts once that write has completed.
    """
    table = open_metadata_table(storage, timeline)
    table.timeline.ahead([_FILES], history=False)
    slices = table.slices(_FILES)
    identity = table.timeline.identity()
    make = partial(_listing, table, slices)
    if identity is None:
        return make()
    return table.storage.kept(
        _paths(slices),
        make,
        lambda listing: _BYTES_A_FILE * sum(map(len, listing.partitions.values())),
        "files in a metadata table of Hudi",
        identity,
        table.pending,
    )


def _listing(table: MetadataTable, slices: Sequence[FileSlice]) -> Listing:
    """The files of each partition, decoded from slices of the metadata table."""
    records: dict[str, _Files] = {}
    table.storage.ahead(_paths(slices))
    for slice_ in slices:
        for part in table.parts(slice_):
            if isinstance(part, _Part):
                _add(records, part)
            else:
                for key in part:
                    records.pop(key, None)
    if _ALL_PARTITIONS not in records:
        raise InputError(f"{table.storage.root}: no record names the partitions")
    live = (key for key, (_, deleted) in records[_ALL_PARTITIONS].items() if not deleted)
    return Listing({_path(key): _statuses(key, records) for key in live})


def _paths(slices: Sequence[FileSlice]) -> list[str]:
    return [file.path for slice_ in slices for file in (slice_.base, *slice_.logs) if file]


def _path(key: str) -> str:
    return "" if key == _ROOT else key


def _statuses(key: str, records: Mapping[str, _Files]) -> list[FileStatus]:
    prefix = f"{key}/" if _path(key) else ""
    return [
        FileStatus(name, prefix + name, size_bytes)
        for name, (size_bytes, deleted) in sorted(records.get(key, {}).items())
        if not deleted
    ]


def _decoded(part: _Part, wanted: Callable[[str], bool]) -> Iterator[tuple[str, dict[str, Any]]]:
    read = record_reader(part.schema, part.where)
    for key, value in part.content.entries:
        text = _text(key, part.where)
        if wanted(text):
            try:
                record = read(io.BytesIO(value))
            except Exception as error:  # fastavro raises whatever the bytes lead it to
                raise InputError(f"{part.where}: a record is not readable ({error!r})") from error
            yield text, record


def _text(key: bytes, where: str) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: a record is not readable ({error!r})") from error


def _add(known: dict[str, _Files], part: _Part) -> None:
    """Put the records of a part on top of those that are known."""
    where = part.where
    values = [value for _, value in part.content.entries]
    maps = Records.of_each(part.schema, values, ((_MAP, ("size", "isDeleted")),), where)
    column = maps.column(_MAP, Mapping)
    if column is None:
        raise InputError(f"{where}: its records have no field {_MAP}")
    info = Records(column.items, where)
    names, ends = column.keys.to_pylist(), column.offsets.to_pylist()
    sizes, deleted = info.needed("size", int), info.needed("isDeleted", bool)
    listed = list(zip(names, sizes.to_pylist(), deleted.to_pylist(), strict=True))
    for (key, _), (begin, end) in zip(part.content.entries, pairwise(ends), strict=True):
        text = _text(key, where)
        own = names[begin:end]
        wrong = next((one for one in own if "/" in one and not one.endswith(TAKEN_UP)), None)
        if wrong is not None and text != _ALL_PARTITIONS:
            raise InputError(f"{where}: {wrong!r} is no name of a file")
        _combine(known.setdefault(text, {}), listed[begin:end])


def _combine(files: _Files, listed: Iterable[tuple[str, int, bool]]) -> None:
    """A deletion takes the file away; sizes only grow, whichever order their writers come in."""
    for name, size_bytes, deleted in listed:
        known = files.get(name)
        if known is not None and not deleted:
            size_bytes = max(known[0], size_bytes)
        files[name] = size_bytes, deleted
