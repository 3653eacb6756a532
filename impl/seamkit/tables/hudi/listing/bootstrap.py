"""Bootstrapped tables: base files that hold keys alone, and the files elsewhere that hold the rest.

A bootstrap without rewriting leaves a table's old files where they are and writes a *skeleton*
beside each: the meta columns, row by row. An index says which old file belongs to which skeleton:
`.hoodie/.aux/.bootstrap/.fileids/*.hfile`, with keys `part=PARTITION;fileid=ID` and values that are
Avro containers of `HoodieBootstrapFilePartitionInfo` (Hudi 1.2.0, `HFileBootstrapIndex`). Skeletons
have the instant 00000000000001; base files of later instants hold whole rows again.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from seambase.errors import InputError
from seamkit.avro import read_container
from seamkit.files.storage import Storage
from seamkit.tables.hudi.config.properties import TableConfig
from seamkit.tables.hudi.listing.hfile import read_hfile
from seamkit.tables.hudi.listing.slices import External, FileSlice

__all__ = ["BOOTSTRAP_ROOT", "with_external_files"]

BOOTSTRAP_ROOT = "hoodie.bootstrap.base.path"
_INDEX = ".hoodie/.aux/.bootstrap/.fileids"
_SKELETON_INSTANT = "00000000000001"
_NULL = "__HIVE_DEFAULT_PARTITION__"


def with_external_files(
    slices: Sequence[FileSlice], storage: Storage, config: TableConfig
) -> list[FileSlice]:
    """The slices, their skeletons joined to the files that hold the other columns.

    Args:
        slices: as the timeline shows them.
        storage: the table's folder.
        config: its properties; nothing is done without `hoodie.bootstrap.base.path`.

    Raises:
        InputError: the index is missing or broken, or does not name a skeleton's file.
    """
    root = config.raw.get(BOOTSTRAP_ROOT)
    if not root or not any(_is_skeleton(slice_) for slice_ in slices):
        return list(slices)
    index = _read_index(storage, root, config)
    joined = []
    for slice_ in slices:
        if slice_.base is not None and _is_skeleton(slice_):
            external = index.get((slice_.partition, slice_.file_id))
            if external is None:
                raise InputError(
                    f"{storage.full(slice_.base.path)}: it has keys alone, and the bootstrap index "
                    f"below {_INDEX} does not name the file of its other columns"
                )
            slice_ = replace(slice_, base=replace(slice_.base, external=external))
        joined.append(slice_)
    return joined


def _is_skeleton(slice_: FileSlice) -> bool:
    return slice_.base is not None and slice_.base.instant == _SKELETON_INSTANT


def _read_index(
    storage: Storage, root: str, config: TableConfig
) -> dict[tuple[str, str], External]:
    """The file outside the table by partition and file id."""
    index: dict[tuple[str, str], External] = {}
    files = [status.path for status in storage.list(_INDEX) if status.name.endswith(".hfile")]
    if not files:
        raise InputError(f"{storage.full(_INDEX)}: the bootstrap index is missing")
    for path in files:
        where = storage.full(path)
        for key, value in read_hfile(memoryview(storage.map(path)), file=where).entries:
            partition, separator, file_id = key.decode("utf-8", "replace").rpartition(";fileid=")
            if not separator or not partition.startswith("part="):
                raise InputError(f"{where}: the key {key!r} names no partition and file")
            entry = _entry(value, f"{where}, key {key!r}")
            index[partition.removeprefix("part="), file_id] = _external(entry, root, config, where)
    return index


def _entry(value: bytes, where: str) -> Mapping[str, Any]:
    entries = list(itertools.islice(read_container(value, where), 2))
    if len(entries) != 1 or not isinstance(entries[0], dict):
        raise InputError(f"{where}: not one entry of an index")
    return entries[0]


def _external(entry: Mapping[str, Any], root: str, config: TableConfig, where: str) -> External:
    """The root in the properties counts, not the one in the index: tables are moved."""
    try:
        uri = entry["bootstrapFileStatus"]["path"]["uri"]
    except (LookupError, TypeError):
        uri = None
    folder = entry.get("bootstrapPartitionPath") or ""
    if not uri or not isinstance(uri, str) or not isinstance(folder, str):
        raise InputError(f"{where}: an entry without the path of a file")
    name = uri.rpartition("/")[2]
    path = f"{folder}/{name}" if folder else name
    return External(root.removeprefix("file:"), path, _partition_values(folder, config))


def _partition_values(folder: str, config: TableConfig) -> dict[str, str | None]:
    """What the names of folders say: `name=value`, or values in the order of the fields."""
    values: dict[str, str | None] = {}
    parts = folder.split("/") if folder else []
    for number, part in enumerate(parts):
        name, separator, text = part.partition("=")
        if not separator and len(parts) == len(config.partition_fields):
            name, text = config.partition_fields[number], part
        if name:
            values[unquote(name)] = None if text == _NULL else unquote(text)
    return values
