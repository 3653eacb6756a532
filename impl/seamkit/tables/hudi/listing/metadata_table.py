"""The metadata table's list of files: partition `files` of the table in `.hoodie/metadata`.

It is a merge-on-read table of its own: HFiles as base files, HFile blocks in its logs, one record
for each partition of the data table, which maps file names to sizes and marks those that were
deleted; the record `__all_partitions__` names the partitions (Hudi 1.2.0, `HoodieMetadataPayload`).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

from seambase.errors import InputError, RefusedError
from seamkit.avro import record_reader
from seamkit.files.storage import FileStatus, Storage
from seamkit.tables.hudi.config.properties import load_config
from seamkit.tables.hudi.listing.file_groups import list_slices
from seamkit.tables.hudi.listing.hfile import HFile, read_hfile
from seamkit.tables.hudi.listing.listing import Listing
from seamkit.tables.hudi.listing.slices import FileSlice
from seamkit.tables.hudi.log.log import LogBlock, read_blocks
from seamkit.tables.hudi.log.log_order import order_blocks
from seamkit.tables.hudi.timeline.timeline import Timeline, load_timeline

__all__ = ["METADATA_FOLDER", "has_file_list", "list_from_metadata"]

METADATA_FOLDER = ".hoodie/metadata"
_FILES = "files"
_ALL_PARTITIONS = "__all_partitions__"
_ROOT = "."

_Files = dict[str, dict[str, Any]]


def has_file_list(timeline: Timeline) -> bool:
    """Whether the table's properties say that the metadata table lists its files."""
    built = timeline.config.raw.get("hoodie.table.metadata.partitions", "")
    return _FILES in (name.strip() for name in built.split(","))


def list_from_metadata(storage: Storage, timeline: Timeline) -> Listing:
    """The files of each partition, as the metadata table has them.

    Args:
        storage: the data table's folder.
        timeline: the data table's. What a write has listed counts once that write has completed.

    Raises:
        InputError: the metadata table is missing, broken, or behind the data table.
        RefusedError: it holds something that is not supported.
    """
    own = storage.below(METADATA_FOLDER)
    own_timeline = load_timeline(own, load_config(own, metadata_table=True))
    newest = timeline.last_completed()
    if newest is not None and not own_timeline.is_committed(newest):
        raise InputError(f"{own.root}: the write of {newest} is not in the metadata table")
    pending = {i.requested for i in timeline.instants if i.state != "completed"}
    listing = Listing({_FILES: own.list(_FILES)}, covers=lambda partition: partition == _FILES)
    records: dict[str, _Files] = {}
    for slice_ in list_slices(listing, own_timeline):
        _fold(records, slice_, own, own_timeline, pending)
    if _ALL_PARTITIONS not in records:
        raise InputError(f"{own.root}: no record names the partitions")
    return Listing({_path(key): _statuses(key, records) for key in _partitions(records)})


def _partitions(records: Mapping[str, _Files]) -> Iterable[str]:
    return (key for key, info in records[_ALL_PARTITIONS].items() if not info["isDeleted"])


def _path(key: str) -> str:
    return "" if key == _ROOT else key


def _statuses(key: str, records: Mapping[str, _Files]) -> list[FileStatus]:
    prefix = f"{key}/" if _path(key) else ""
    return [
        FileStatus(name, prefix + name, info["size"])
        for name, info in sorted(records.get(key, {}).items())
        if not info["isDeleted"]
    ]


def _fold(
    records: dict[str, _Files],
    slice_: FileSlice,
    own: Storage,
    timeline: Timeline,
    pending: set[str],
) -> None:
    """Put the records of one slice into `records`: its base, then its logs on top."""
    if slice_.base is not None:
        file = own.full(slice_.base.path)
        base = read_hfile(memoryview(own.map(slice_.base.path)), file=file)
        schema = base.info.get(b"schema")
        if schema is None:
            raise InputError(f"{file}: the file does not tell its schema")
        _apply(records, base, schema, file)
    blocks: list[LogBlock] = []
    for log in slice_.logs:
        # Folders can be listed instead, so nothing damaged need be passed over.
        content = memoryview(own.map(log.path))
        blocks += read_blocks(content, file=own.full(log.path), strict=True)
    for block in order_blocks(blocks, lambda i: timeline.is_committed(i) and i not in pending):
        if block.kind == "delete":
            for key in block.delete_keys().record_keys:
                records.pop(key or "", None)
        elif block.kind == "hfile":
            part = read_hfile(block.content, file=block.where)
            _apply(records, part, block.schema or "", block.where)
        else:
            raise RefusedError(f"{block.where}: a metadata table has HFile and delete blocks alone")


def _apply(
    records: dict[str, _Files], content: HFile, schema_text: str | bytes, where: str
) -> None:
    read = record_reader(schema_text, where)
    try:
        for key, value in content.entries:
            record = read(io.BytesIO(value))
            files = records.setdefault(key.decode(), {})
            for name, info in (record["filesystemMetadata"] or {}).items():
                _combine(files, name, info)
    except Exception as error:  # fastavro raises whatever the bytes lead it to
        raise InputError(f"{where}: a record is not readable ({error!r})") from error


def _combine(files: _Files, name: str, info: dict[str, Any]) -> None:
    """A deletion takes the file away; sizes only grow, whichever order their writers come in."""
    if "/" in name:
        raise ValueError(f"{name!r} is no name of a file")
    known = files.get(name)
    if known is not None and not info["isDeleted"]:
        info = {"size": max(known["size"], info["size"]), "isDeleted": False}
    files[name] = info
