"""Base files: which reader each needs, and the skeletons of bootstrapped tables.

A bootstrap without rewriting leaves a table's old files where they are and writes a *skeleton*
beside each: the meta columns, row by row. An index says which old file belongs to which skeleton:
`.hoodie/.aux/.bootstrap/.fileids/*.hfile`, with keys `part=PARTITION;fileid=ID` and values that are
Avro containers of `HoodieBootstrapFilePartitionInfo` (Hudi 1.2.0, `HFileBootstrapIndex`). Skeletons
have the instant 00000000000001; base files of later instants hold whole rows again.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.avro.data_file import read_container
from seamkit.core.border import batch_of
from seamkit.files.columns import FoundReader, inner_fields
from seamkit.files.lance import LanceReader
from seamkit.files.orc import OrcReader
from seamkit.files.parquet import ParquetReader
from seamkit.files.reader import FileReader, RowsWanted
from seamkit.files.statistics import ColumnRange, FileStatistics
from seamkit.files.storage import Storage
from seamkit.files.variants.reader import METADATA, TYPED, VALUE, ShreddedReader, in_pieces
from seamkit.tables.hudi.config.properties import BOOTSTRAP_ROOT, TableConfig
from seamkit.tables.hudi.config.value_types import HUDI_ORC_TYPES, HUDI_TYPES
from seamkit.tables.hudi.indexes.key_filters import MOST_KEYS, named_record_keys, read_key_filter
from seamkit.tables.hudi.listing.files import BaseFile, External, FileSlice
from seamkit.tables.hudi.listing.hfile import read_hfile

_INDEX = ".hoodie/.aux/.bootstrap/.fileids"
_SKELETON_INSTANT = "00000000000001"
_NULL = "__HIVE_DEFAULT_PARTITION__"


def with_external_files(
    slices: Sequence[FileSlice], storage: Storage, config: TableConfig
) -> list[FileSlice]:
    """The slices, their skeletons joined to the files that hold the other columns.

    Nothing is done without `hoodie.bootstrap.base.path`.
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
        content = memoryview(storage.map(path))
        for key, value in read_hfile(content, file=where, bound=storage.bound).entries:
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


class SkeletonReader(FileReader):
    """A skeleton (meta columns) and the file outside the table with the rest: one `FileReader`.

    `values` are what folders say of columns that both files lack.
    """

    def __init__(
        self, skeleton: FileReader, outside: FileReader, values: Mapping[str, str | None]
    ) -> None:
        self.name = skeleton.name
        self.num_rows = skeleton.num_rows
        self._skeleton = skeleton
        self._outside = outside
        own = set(skeleton.schema.names) | set(outside.schema.names)
        self._values = {name: text for name, text in values.items() if name not in own}
        by_folder = [pa.field(name, pa.string()) for name in self._values]
        self.schema = pa.schema([*skeleton.schema, *outside.schema, *by_folder])
        if skeleton.num_rows != outside.num_rows:
            raise InputError(
                f"{skeleton.name}: {counted(skeleton.num_rows, 'row')}, but "
                f"{outside.name}, which holds their other columns, has {outside.num_rows}"
            )

    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """See `FileReader.read`; texts come as they are."""
        schema, batch_rows, use_threads = wanted.schema, wanted.batch_rows, wanted.use_threads
        keys, rest = self._split(schema)
        shown = {n: self._folder_value(schema.field(n)) for n in self._values if n in schema.names}
        pieces = _in_step(
            self._skeleton.batches(keys, batch_rows, use_threads=use_threads),
            self._outside.batches(rest, batch_rows, use_threads=use_threads),
        )
        for first, second in pieces:
            n = first.num_rows
            columns = {**_columns(first), **_columns(second)}
            columns |= {name: pa.repeat(value, n) for name, value in shown.items()}
            yield batch_of([columns[name] for name in schema.names], schema, n)

    def _split(self, schema: pa.Schema) -> tuple[pa.Schema, pa.Schema]:
        """The columns of the skeleton, and those of the other file."""
        inside = set(self._skeleton.schema.names)
        rest = [f for f in schema if f.name not in inside and f.name not in self._values]
        return pa.schema([field for field in schema if field.name in inside]), pa.schema(rest)

    def _folder_value(self, field: pa.Field) -> pa.Scalar:
        text = self._values[field.name]
        try:
            return pa.scalar(text, pa.string()).cast(field.type)
        except pa.ArrowException as error:
            raise InputError(
                f"{self._outside.name}: the folder's value {text!r} of column '{field.name}' is no "
                f"{field.type} ({error})"
            ) from error

    def greatest(self, name: str, kind: pa.DataType) -> int | None:
        """What the file that has the column tells; see `FileReader.greatest`."""
        inside = name in self._skeleton.schema.names
        return (self._skeleton if inside else self._outside).greatest(name, kind)

    def statistics(
        self, schema: pa.Schema, row_groups: Sequence[int] | None = None
    ) -> FileStatistics:
        """What the two files tell of their own columns; see `FileReader.statistics`."""
        del row_groups  # there is one
        keys, rest = self._split(schema)
        both = self._skeleton.statistics(keys), self._outside.statistics(rest)
        return FileStatistics(both[0].rows, {**both[0].columns, **both[1].columns})


def _columns(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def _in_step(
    first: Iterator[pa.RecordBatch], second: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Batches of the same rows, whatever row groups cut each file's; both have as many rows."""
    left, right = next(first, None), next(second, None)
    while left is not None and right is not None:
        rows = min(left.num_rows, right.num_rows)
        yield left.slice(0, rows), right.slice(0, rows)
        left = left.slice(rows) if rows < left.num_rows else next(first, None)
        right = right.slice(rows) if rows < right.num_rows else next(second, None)


_FILE_NAME = "_hoodie_file_name"
_NAME = re.compile(r"(?P<id>.+)_[\d-]+_(?P<instant>\d+)\.\w+")
_NAMES = pa.schema([(_FILE_NAME, pa.string())])
_FILTER = b"org.apache.hudi.bloomfilter"
_KIND = b"hoodie_bloom_filter_type_code"
_LEAST, _GREATEST = b"hoodie_min_record_key", b"hoodie_max_record_key"


def open_slice_base(storage: Storage, base: BaseFile, keys: Sequence[str] = ()) -> FileReader:
    """Open a slice's base file, with the file outside the table that it may need."""
    reader = _opened(storage, base, keys)
    if reader.num_rows < base.stated_rows:
        raise InputError(
            f"{reader.name}: {counted(reader.num_rows, 'row')}, but its commit states "
            f"{base.stated_rows}; restore the file, or roll its commit back with Hudi's own tools"
        )
    for name in base.needed:
        if name not in reader.schema.names:
            raise RefusedError(
                f"{reader.name}: Hudi did not write the file, which lacks the partition column "
                f"{name!r}, and its path does not tell a value of that"
            )
    if base.external is None:
        named = ("named by rows", base.file_id, base.instant)
        reader.once(named, partial(_check_names, reader, base))
    if base.stated_columns and not (base.external or base.names):
        key = ("columns", *base.stated_columns)
        reader.once(key, partial(_check_columns, reader, frozenset(base.stated_columns)))
    return reader


def _check_columns(reader: FileReader, known: Collection[str]) -> None:
    """Make sure that a file has no columns, or fields within, but those of its commit's schema."""
    for name in _paths(reader.schema):
        if name not in known and not name.startswith("_hoodie_"):
            raise InputError(
                f"{reader.name}: it has a column {name!r}, which the schema of its commit has not"
            )


def _paths(fields: Iterable[pa.Field], prefix: str = "") -> Iterator[str]:
    """The fields of a file at every depth, dotted, as those of its commit's schema."""
    for one in fields:
        path, kind = f"{prefix}{one.name}", one.type
        yield path
        while (within := inner_fields(kind)) and not pa.types.is_struct(kind):
            kind = within[-1].type  # of a map, the value
        names = {field.name for field in within}
        if METADATA not in names or names.isdisjoint((VALUE, TYPED)):  # of a variant
            yield from _paths(within, f"{path}.")


def _check_names(reader: FileReader, base: BaseFile) -> None:
    """Hold the file that rows name as theirs against the one that they lie in, by one row group."""
    # Writers before Hudi 0.11 let rows that they copied name the file from which they came, which
    # is of an earlier instant (HUDI-3855); and a file group may be written twice at one instant.
    known = reader.statistics(_NAMES, range(min(reader.num_row_groups, 1))).columns
    one = known.get(_FILE_NAME, ColumnRange())
    if one.least is None or one.least != one.greatest:
        return
    match = _NAME.fullmatch(one.least.as_py())
    if match and match["instant"] >= base.instant and match["id"] != base.file_id:
        raise InputError(f"{reader.name}: its rows say that they lie in {match[0]}")


def _opened(storage: Storage, base: BaseFile, keys: Sequence[str]) -> FileReader:
    plain = base.external is None and base.names is None
    if plain and base.path.endswith(".parquet"):
        return _with_variants(KeyedParquetReader(storage, base.path, keys))
    reader = own = open_base(storage, base.path)
    if base.external is not None:
        outside = open_base(storage.elsewhere(base.external.root), base.external.path)
        reader = SkeletonReader(own, outside, base.external.values)
    return reader if base.names is None else FoundReader(reader, base.names.finder(reader.name))


def _with_variants(reader: FileReader) -> FileReader:
    """The file with whole variants, as the table's schema has them, if it has some in pieces."""
    pieces = in_pieces(reader.schema)
    return ShreddedReader(reader, pieces) if pieces else reader


def open_base(storage: Storage, path: str) -> FileReader:
    """Open a base file by the ending of its name; a table may hold files of several formats."""
    ending = path.rpartition(".")[2].lower()
    if ending == "parquet":
        return _with_variants(ParquetReader(storage, path, HUDI_TYPES, int96_unit="us"))
    if ending == "orc":
        return OrcReader(storage, path, HUDI_ORC_TYPES)
    if ending == "lance":
        return LanceReader(storage, path, HUDI_TYPES)
    raise RefusedError(
        f"{storage.full(path)}: base files of format '{ending}' are not supported; Parquet, ORC "
        "and Lance are"
    )


class KeyedParquetReader(ParquetReader):
    """A base file, of which no row group may match where its footer rules out all keys asked."""

    def __init__(self, storage: Storage, path: str, keys: Sequence[str]) -> None:
        super().__init__(storage, path, HUDI_TYPES, int96_unit="us")
        self._keys = keys

    def row_groups_that_may_match(
        self, condition: pc.Expression, schema: pa.Schema, counted: Collection[str] | None = None
    ) -> list[int]:
        """See `FileReader.row_groups_that_may_match`; keys are asked for after statistics."""
        groups = super().row_groups_that_may_match(condition, schema, counted)
        footer: Mapping[bytes, bytes] = self._file.metadata.metadata or {}
        if not groups or _FILTER not in footer:
            return groups
        named = named_record_keys(condition, self._keys, schema, counted, MOST_KEYS)
        if named is None:
            return groups
        texts = [text for forms in named for text in forms if _is_between(text, footer)]
        if not texts:
            return []
        found = read_key_filter(footer[_FILTER], footer.get(_KIND, b"SIMPLE"), self.name)
        return groups if found is None or any(map(found.may_hold, texts)) else []


def _is_between(text: str, footer: Mapping[bytes, bytes]) -> bool:
    """Whether a key is within the range that a footer has; Java and UTF-8 order ASCII alike.

    Hudi 0.12.0 wrote its ends the wrong way round in `bulk_insert` of Spark's rows (HUDI-4992).
    """
    least, greatest = footer.get(_LEAST), footer.get(_GREATEST)
    if least is None or greatest is None:
        return True
    least, greatest = sorted((least, greatest))
    own = text.encode("utf-8", "surrogatepass")
    if not (own.isascii() and least.isascii() and greatest.isascii()):
        return True
    return least <= own <= greatest
