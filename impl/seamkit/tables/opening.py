"""The front door: what lies in a folder tells its table format."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.files.storage import Storage

if TYPE_CHECKING:
    from seamkit.tables.delta.table import DeltaTable
    from seamkit.tables.hudi.table import HudiTable
    from seamkit.tables.iceberg.table import IcebergTable
    from seamkit.tables.paimon.table import PaimonTable

__all__ = ["open_table"]

#: By the folder of metadata that tells them: module and class of each format.
_FORMATS = {
    ".hoodie": ("seamkit.tables.hudi.table", "HudiTable"),
    "_delta_log": ("seamkit.tables.delta.table", "DeltaTable"),
    "metadata": ("seamkit.tables.iceberg.table", "IcebergTable"),
    "schema": ("seamkit.tables.paimon.table", "PaimonTable"),
}
#: Part of a file's name that the folder of metadata must hold, where its own name tells too little.
_WITNESSES = {"metadata": ".metadata.json", "schema": "schema-"}
_NAMES_SHOWN = 5
_DATA_ENDINGS = {".parquet": "Parquet", ".orc": "ORC", ".avro": "Avro", ".csv": "CSV"}


def open_table(
    path: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
) -> HudiTable | DeltaTable | IcebergTable | PaimonTable:
    """Open the table that lies in a folder.

    Args:
        path: the table's folder, or its address on any storage that fsspec reaches: `s3://`,
            `gs://`, `hdfs://`, `memory://`, ... Of an Iceberg table also one of its metadata
            files, or `iceberg://CATALOG/NAMESPACE.TABLE`, for which pyiceberg asks the catalog.
        storage_options: arguments of the fsspec file system (`key`, `secret`, `endpoint_url`, ...);
            a local folder has none.

    Returns:
        A `HudiTable`, a `DeltaTable`, an `IcebergTable` or a `PaimonTable`.

    Raises:
        UsageError: an argument of the wrong kind, or a folder that is a table of several formats.
        InputError: there is no such folder, or no table in it, or a broken one.
        RefusedError: a table of another format, or of a version that is not supported.
        UnavailableError: the library for this kind of storage is not installed.
    """
    root = _address(path)
    if storage_options is not None and not isinstance(storage_options, Mapping):
        raise UsageError(f"storage_options is {storage_options!r}: names and values are meant")
    if root.startswith("iceberg://") or root.endswith((".metadata.json", ".metadata.json.gz")):
        return _opened("metadata", root, storage_options)
    _require_folder(root)
    storage = Storage(root, storage_options)
    names = {entry.name: entry.size_bytes is None for entry in storage.list()}
    found = [marker for marker in _FORMATS if names.get(marker) and _is_marked(storage, marker)]
    if len(found) > 1:
        classes = " or ".join(f"seamkit.{_FORMATS[marker][1]}" for marker in found)
        raise UsageError(
            f"{root} is a table of several formats, with {' and '.join(found)}: say which is meant "
            f"with {classes}"
        )
    if not found:
        raise _no_table(storage, names)
    return _opened(found[0], root, storage_options)


def _opened(
    marker: str, root: str, storage_options: Mapping[str, Any] | None
) -> HudiTable | DeltaTable | IcebergTable | PaimonTable:
    module, name = _FORMATS[marker]
    made = getattr(importlib.import_module(module), name)
    table: HudiTable | DeltaTable | IcebergTable | PaimonTable = made(root, storage_options)
    return table


def _is_marked(storage: Storage, marker: str) -> bool:
    """Whether a folder of metadata is that of its format."""
    witness = _WITNESSES.get(marker, "")
    return not witness or any(witness in entry.name for entry in storage.list(marker))


def _address(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"path is {path!r}: a folder or an address is meant")
    text = os.fspath(path)
    if not isinstance(text, str) or not text:
        raise UsageError(f"path is {text!r}: a folder or an address is meant")
    return text


def _require_folder(root: str) -> None:
    """What a local path without a folder is, in words; storages elsewhere have no folders."""
    if "://" in root or root.startswith("file:"):
        return
    path = Path(root)
    if path.is_dir():
        return
    if not path.exists():
        raise InputError(f"{root}: there is no such folder")
    kind = _DATA_ENDINGS.get(path.suffix)
    what = f"a {kind} file" if kind else "a file"
    raise InputError(f"{root} is {what}: a table is a folder, so name the one it lies in")


def _no_table(storage: Storage, names: Mapping[str, bool]) -> Exception:
    """The error for a folder without a table that can be read: what it looks like instead."""
    root = storage.root
    if not names:
        return InputError(f"{root} is empty, or is not there: no table lies in it")
    own = root.rstrip("/").rpartition("/")[2]
    if own in _FORMATS and any(_WITNESSES.get(own, "") in name for name in names):
        return InputError(f"{root} is a table's own folder of metadata: name the folder above it")
    *others, last = (name.removesuffix("Table") for _, name in _FORMATS.values())
    known = f"{', '.join(others)} and {last}"
    looks = _looks_like(names)
    if looks:
        return RefusedError(f"{root} looks like {looks}; {known} tables can be read")
    listed = ", ".join(sorted(names)[:_NAMES_SHOWN])
    more = ", ..." if len(names) > _NAMES_SHOWN else ""
    markers = " or ".join(_FORMATS)
    return InputError(
        f"{root} looks like no table: it holds {listed}{more}, and no folder {markers}"
    )


def _looks_like(names: Mapping[str, bool]) -> str:
    """What is known and not read here; empty where a folder looks like nothing known."""
    kinds = {kind for name in names if (kind := _DATA_ENDINGS.get(Path(name).suffix))}
    if kinds:
        return f"a folder of {' and '.join(sorted(kinds))} files, no table"
    if any(is_folder and "=" in name for name, is_folder in names.items()):
        return "a folder of partitions, as Hive has them"
    return ""
