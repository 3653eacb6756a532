"""Which reader a base file needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seamkit.files.columns import FoundReader
from seamkit.files.lance import LanceReader
from seamkit.files.orc import OrcReader
from seamkit.files.parquet import ParquetReader
from seamkit.files.reader import FileReader
from seamkit.files.storage import Storage
from seamkit.tables.hudi.bootstrap import SkeletonReader
from seamkit.tables.hudi.config.value_types import HUDI_ORC_TYPES, HUDI_TYPES
from seamkit.tables.hudi.indexes.key_filters import MOST_KEYS, named_record_keys, read_key_filter
from seamkit.tables.hudi.listing.files import BaseFile

__all__ = ["KeyedParquetReader", "open_base", "open_slice_base"]

_FILTER = b"org.apache.hudi.bloomfilter"
_KIND = b"hoodie_bloom_filter_type_code"
_LEAST, _GREATEST = b"hoodie_min_record_key", b"hoodie_max_record_key"


def open_slice_base(storage: Storage, base: BaseFile, keys: Sequence[str] = ()) -> FileReader:
    """Open a slice's base file, with the file outside the table that it may need.

    Args:
        storage: the table's folder.
        base: the file.
        keys: names of the fields of record keys, by which its footer may leave it out.

    Raises:
        InputError: a file is missing, truncated, or not of the format that its name says; it has
            fewer rows than its commit states, another column, or not the rows of the file outside.
        RefusedError: a format that is not read; named.
    """
    reader = _opened(storage, base, keys)
    if reader.num_rows < base.stated_rows:
        raise InputError(
            f"{reader.name}: {reader.num_rows} rows, but its commit states {base.stated_rows}; "
            "restore the file, or roll its commit back with Hudi's own tools"
        )
    own = () if base.external or base.names else reader.schema.names
    known = {*base.stated_columns} or {*own}
    for name in own:
        if name not in known and not name.startswith("_hoodie_"):
            raise InputError(
                f"{reader.name}: it has a column {name!r}, which the schema of its commit has not"
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


class KeyedParquetReader(ParquetReader):
    """A base file, of which no row group may match where its footer rules out all keys asked for.

    Args:
        storage: the table's folder.
        path: the file below it.
        keys: names of the key fields.

    Raises:
        InputError: as of `ParquetReader`.
    """

    def __init__(self, storage: Storage, path: str, keys: Sequence[str]) -> None:
        super().__init__(storage, path, HUDI_TYPES)
        self._keys = keys

    def row_groups_that_may_match(
        self, condition: pc.Expression, schema: pa.Schema, counted: Collection[str] | None = None
    ) -> list[int]:
        """See `FileReader.row_groups_that_may_match`; keys are asked for after statistics."""
        groups = super().row_groups_that_may_match(condition, schema, counted)
        told: Mapping[bytes, bytes] = self._file.metadata.metadata or {}
        if not groups or _FILTER not in told:
            return groups
        named = named_record_keys(condition, self._keys, schema, counted, MOST_KEYS)
        if named is None:
            return groups
        texts = [text for forms in named for text in forms if _is_between(text, told)]
        if not texts:
            return []
        found = read_key_filter(told[_FILTER], told.get(_KIND, b"SIMPLE"), self.name)
        return groups if found is None or any(map(found.may_hold, texts)) else []


def _is_between(text: str, told: Mapping[bytes, bytes]) -> bool:
    """Whether a key is within the range that a footer has; Java and UTF-8 order ASCII alike."""
    least, greatest = told.get(_LEAST), told.get(_GREATEST)
    if least is None or greatest is None:
        return True
    own = text.encode("utf-8", "surrogatepass")
    if not (own.isascii() and least.isascii() and greatest.isascii()):
        return True
    return least <= own <= greatest
