"""Which reader a base file needs."""

from __future__ import annotations

from collections.abc import Sequence

from seambase.errors import InputError, RefusedError
from seamkit.files.columns import FoundReader
from seamkit.files.lance import LanceReader
from seamkit.files.orc import OrcReader
from seamkit.files.parquet import ParquetReader
from seamkit.files.reader import FileReader
from seamkit.files.storage import Storage
from seamkit.tables.hudi.key_filters import KeyedParquetReader
from seamkit.tables.hudi.listing.slices import BaseFile
from seamkit.tables.hudi.skeleton import SkeletonReader
from seamkit.tables.hudi.types.promotion import HUDI_ORC_TYPES, HUDI_TYPES

__all__ = ["open_base", "open_slice_base"]


def open_slice_base(storage: Storage, base: BaseFile, keys: Sequence[str] = ()) -> FileReader:
    """Open a slice's base file, with the file outside the table that it may need.

    Args:
        storage: the table's folder.
        base: the file.
        keys: names of the fields of record keys, by which its footer may leave it out.

    Raises:
        InputError: a file is missing, truncated, or not of the format that its name says; it has
            fewer rows than its commit states, or not those of the file outside.
        RefusedError: a format that is not read; named.
    """
    reader = _opened(storage, base, keys)
    if reader.num_rows < base.stated_rows:
        raise InputError(
            f"{reader.name}: {reader.num_rows} rows, but its commit states {base.stated_rows}; "
            "restore the file, or roll its commit back with Hudi's own tools"
        )
    return reader


def _opened(storage: Storage, base: BaseFile, keys: Sequence[str]) -> FileReader:
    plain = base.external is None and base.names is None
    if plain and base.path.endswith(".parquet"):
        return KeyedParquetReader(storage, base.path, keys)
    reader = own = open_base(storage, base.path)
    if base.external is not None:
        outside = open_base(storage.elsewhere(base.external.root), base.external.path)
        reader = SkeletonReader(own, outside, base.external.values)
    return reader if base.names is None else FoundReader(reader, base.names.finder(reader.name))


def open_base(storage: Storage, path: str) -> FileReader:
    """Open a base file by the ending of its name; a table may hold files of several formats.

    Raises:
        InputError: the file is missing, truncated, or not of the format that its name says.
        RefusedError: a format that is not read; named.
        UnavailableError: a file in Lance without the package pylance.
    """
    ending = path.rpartition(".")[2].lower()
    if ending == "parquet":
        return ParquetReader(storage, path, HUDI_TYPES)
    if ending == "orc":
        return OrcReader(storage, path, HUDI_ORC_TYPES)
    if ending == "lance":
        return LanceReader(storage, path, HUDI_TYPES)
    raise RefusedError(
        f"{storage.full(path)}: base files of format '{ending}' are not supported; Parquet, ORC "
        "and Lance are"
    )
