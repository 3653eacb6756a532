"""Data files of a Paimon table, opened under the table's names and types.

A file says nothing of field ids: the manifest names the schema that it was written by, and there a
column has the name that the file knows it by. A column that was dropped and added again has another
id, so its old values do not come back.

Statistics in manifests are binary rows of smallest and largest values. They serve to leave files
out, and for nothing else. Texts may be cut, where the largest one is rounded up or left out;
floating-point numbers are passed over: writers differ in what NaN does to them.

An index file of deletion vectors has a byte for its version, then vectors; see
`seamkit.files.vectors`. Bitmaps have 32 or 64 bits. The manifest counts size and checksum into the
length of the latter alone.

Files lie in folders of partitions and buckets, or outside of both. Folders are named after values
as Paimon's writers spell them (PartitionPathUtils of paimon-core).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Hashable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.avro.data_file import AvroReader
from seamkit.files.columns import Finder, FoundReader, Place
from seamkit.files.orc import OrcReader, least_without_blanks
from seamkit.files.parquet import ParquetReader
from seamkit.files.promotion import LosslessTypes, TimesAsNumbers, in_unit, java_text
from seamkit.files.reader import FileReader, check_size
from seamkit.files.roaring import Positions
from seamkit.files.statistics import ColumnRange, FileStatistics
from seamkit.files.storage import Storage
from seamkit.files.variants.reader import with_whole_variants
from seamkit.files.vectors import FRAME_BYTES, read_framed, unframed, vector_positions
from seamkit.tables.agreement import JAVA, check_partition, check_stated, part_of_one
from seamkit.tables.paimon.metadata.manifests import FileEntry, VectorRange, row_values
from seamkit.tables.paimon.metadata.schemas import (
    KIND,
    SEQUENCE,
    Field,
    Schemas,
    TableSchema,
    places_of,
)
from seamkit.tables.paimon.narrowed import CastFinder, narrowing_of

#: What Java takes for blank, which is neither a no-break space nor the next line of U+0085.
_BLANK = re.compile(r"[\t-\r\x1c- \u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000]*")
_ESCAPED = re.compile(r"[\x00-\x1f\"#%'*/:=?\\\x7f{}\[\]^]")
_EPOCH = dt.datetime(1970, 1, 1)


def bucket_folder(partition: Mapping[str, pa.Scalar], bucket: int, schema: TableSchema) -> str:
    """The folder of a bucket below the table; bucket -2 has rows that wait for theirs."""
    options = schema.options
    default = options.get("partition.default-name", "__DEFAULT_PARTITION__")
    legacy = options.get("partition.legacy-name", "true").lower() == "true"
    parts = []
    if folder := options.get("data-file.path-directory"):
        parts.append(folder)
    for name, value in partition.items():
        digits = schema.by_name[name].digits
        text = _text(value, legacy, digits) if value.is_valid else ""
        parts.append(f"{_escape(name)}={_escape(default if _BLANK.fullmatch(text) else text)}")
    parts.append("bucket-postpone" if bucket == -2 else f"bucket-{max(bucket, 0)}")
    return "/".join(parts)


def located(storage: Storage, folder: str, name: str, external: str | None) -> tuple[Storage, str]:
    """A file's storage, and its path there.

    `external` is its whole path outside of the table's folder, or None.
    """
    if external is None:
        if "/" in name or name in ("", ".", ".."):
            raise InputError(f"{storage.root}: {name!r} is no name of a file")
        return storage, f"{folder}/{name}"
    return storage.beside(external)


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def _text(value: pa.Scalar, legacy: bool, digits: int) -> str:
    """A value as a folder's name has it: as Java prints it, or as it is cast to a text."""
    # `digits` are those of a time's type.
    kind = value.type
    if pa.types.is_boolean(kind):
        return str(value.as_py()).lower()
    if pa.types.is_date32(kind):
        return str(value.cast(pa.int32()).as_py()) if legacy else value.as_py().isoformat()
    if pa.types.is_timestamp(kind):
        return _timestamp(value, legacy, digits)
    if pa.types.is_floating(kind):
        return str(java_text(pa.array([value.as_py()], kind))[0])
    if pa.types.is_time32(kind):
        millis = value.cast(pa.int32()).as_py()
        return str(millis) if legacy else _clock(millis, digits)
    if pa.types.is_decimal(kind):
        return f"{value.as_py():f}"
    return str(value.as_py())


def _clock(millis: int, digits: int) -> str:
    """A time of day; zeros behind the first digit of its fraction are left out."""
    seconds, fraction = divmod(millis, 1000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{f'{fraction:03d}'[:digits].rstrip('0') or '0'}" if digits else text


def _timestamp(value: pa.Scalar, legacy: bool, least: int) -> str:
    digits = {"ms": 3, "us": 6, "ns": 9}[value.type.unit]
    seconds, fraction = divmod(value.cast(pa.int64()).as_py(), 10**digits)
    moment = _EPOCH + dt.timedelta(seconds=seconds)
    clock, text = moment.strftime("%H:%M:%S"), f"{fraction:0{digits}d}"
    if not legacy:  # as many digits as the type has
        text = text[:least] + text[least:].rstrip("0")
        return f"{moment.date().isoformat()} {clock}{text and '.'}{text}"
    while text.endswith("000"):
        text = text.removesuffix("000")
    if not text and not moment.second:
        clock = clock[:5]
    return f"{moment.date().isoformat()}T{clock}{text and '.'}{text}"


class PaimonTypes(LosslessTypes):
    """Type rules of data files: what a column may have been before its type was changed."""

    def promotes(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether values of a file's type are read as the table's."""
        kinds = pa.types
        if kinds.is_timestamp(have) and kinds.is_timestamp(want):
            return True  # of another unit; files do not all tell whether it is local
        if kinds.is_integer(have) and kinds.is_integer(want):
            return True  # Avro has ints for the smaller ones
        if kinds.is_integer(have) and kinds.is_floating(want):
            return True
        if kinds.is_string(want) and any(test(have) for test in _TOLD):
            return True
        return super().promotes(have, want)

    def promote(self, column: pa.Array, want: pa.DataType) -> pa.Array:
        """The values in the table's type."""
        have = column.type
        if pa.types.is_timestamp(have) and pa.types.is_timestamp(want):
            return pc.cast(pc.cast(in_unit(column, want.unit), pa.int64()), want)
        if pa.types.is_integer(have) and pa.types.is_floating(want):
            return pc.cast(column, want, safe=False)
        if pa.types.is_string(want):
            return _told(column)
        return super().promote(column, want)

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Files do not all tell whether a timestamp is one of a local time zone."""
        both = pa.types.is_timestamp(have) and pa.types.is_timestamp(want)
        return bool(both and have.unit == want.unit)


#: Types that become texts; `_told` tells of which that is refused.
_TOLD = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_boolean,
    pa.types.is_date32,
    pa.types.is_timestamp,
)


def _told(column: pa.Array) -> pa.Array:
    """The texts of a column's values, as Java has them."""
    if pa.types.is_floating(column.type):
        raise NotImplementedError("the text of such a number depends on the version of Java")
    if pa.types.is_timestamp(column.type):
        raise NotImplementedError("the text of a time depends on where Java runs")
    if not pa.types.is_decimal(column.type):
        return java_text(column)
    plain = (None if value is None else f"{value:f}" for value in column.to_pylist())
    return pa.array(plain, pa.string())


class UnmarkedTimes(PaimonTypes):
    """Type rules where a column of timestamps always was one, in the same unit.

    In Parquet Paimon 0.6 has their numbers alone: milliseconds of types of up to three digits,
    microseconds of up to six. Of any other column a number is none.
    """

    def promotes(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Also where a file has the number of a timestamp."""
        return _is_number_of(have, want) or super().promotes(have, want)

    def promote(self, column: pa.Array, want: pa.DataType) -> pa.Array:
        """The values in the table's type."""
        if _is_number_of(column.type, want):
            return pc.cast(column, want)
        return super().promote(column, want)


def _is_number_of(have: pa.DataType, want: pa.DataType) -> bool:
    kinds = pa.types
    return bool(kinds.is_int64(have) and kinds.is_timestamp(want) and want.unit in ("ms", "us"))


class OrcTypes(TimesAsNumbers, PaimonTypes):
    """Type rules of ORC: times of day are their milliseconds."""


_TYPES, _UNMARKED, _ORC_TYPES = PaimonTypes(), UnmarkedTimes(), OrcTypes()
#: Whether ORC files have instants by their writer's clock, as they do unless it says otherwise.
_OF_CLOCKS = "orc.timestamp-ltz.legacy.type"
_SECOND = 1000
#: Columns of files in tables whose rows are tracked, besides the table's.
_TRACKED = ("_ROW_ID", SEQUENCE)


def open_data_file(
    storage: Storage,
    folder: str,
    entry: FileEntry,
    schemas: Schemas,
    schema: TableSchema,
    is_live: bool,
) -> FileReader:
    """Open a data file of a bucket's folder, as the manifest has it.

    `is_live`: it is one of a snapshot, whose rows lie in the order of their keys.
    """
    own_storage, path = located(storage, folder, entry.name, entry.external_path)
    written = schema if entry.schema_id == schema.id else schemas.load(entry.schema_id)
    reader = _reader(own_storage, path, written, schema)
    size_bytes = entry.size_bytes if isinstance(reader, ParquetReader) else None
    check_size(reader, size_bytes, entry.rows, "the manifest")
    expected = [own.name for own in columns_written(entry, written)]
    lost = [name for name in expected if name not in reader.schema.names]
    if lost and not set(lost) <= set(schema.partition_keys):
        raise InputError(f"{reader.name}: the column {lost[0]!r} of its schema is missing")
    _check_columns(reader, schema, expected)
    _check_maps(reader, written)
    file = Place("", (), places_of(written.fields))
    nested = [own for own in schema.fields if own.children]
    found = with_whole_variants(reader, nested, file) if nested else reader
    if schema.fields != written.fields:
        find = Finder(schema.by_name, file, reader.name, has_others=True)
        names, before = schema.by_name, written.fields
        found = FoundReader(found, CastFinder(find, names, before, _TYPES.promotes, reader.name))

    def check() -> None:
        _check_partition(reader, entry, schema)
        if is_live and schema.primary_keys:
            _check_ranges(reader, entry, written)
        stated = file_statistics(entry, schema, schemas, schema.by_name)
        check_stated(found, stated, "its manifest", by_java=True)
        if isinstance(reader, OrcReader):
            _check_clock(reader, file_statistics(entry, written, schemas, written.by_name))

    reader.once(("as stated", is_live, *entry.stated), check)
    return found


def columns_written(entry: FileEntry, written: TableSchema) -> Sequence[Field]:
    """The columns that a file has of those of its schema."""
    own = entry.write_columns
    if own is None:
        return written.fields
    for name in own:
        if name not in written.by_name and name not in _TRACKED:
            raise RefusedError(
                f"{entry.where}: {entry.name} has {name!r}, which is no column of {written.where}; "
                "files that have parts of a column are not supported"
            )
    return [one for one in written.fields if one.name in own]


def data_identity(
    storage: Storage, folder: str, entry: FileEntry, schema: TableSchema
) -> Hashable | None:
    """What tells a data file from any other, and from itself under another schema."""
    own, path = located(storage, folder, entry.name, entry.external_path)
    known = own.file_identity(path)
    stated = entry.size_bytes, entry.rows, entry.schema_id
    return None if known is None else (known, stated, schema.where, schema.id)


def _check_columns(reader: FileReader, schema: TableSchema, expected: Sequence[str]) -> None:
    """Hold a file's columns against its schema, beyond those that are missing."""
    # A file of a table without a key may have more: it may be one that Hive wrote.
    if not schema.primary_keys:
        if KIND in reader.schema.names:
            raise InputError(
                f"{reader.name}: it has the column {KIND}, as files of tables with a primary key, "
                f"and {schema.where} has none"
            )
        return
    for name in reader.schema.names:
        if name not in expected and not name.startswith("_"):
            raise InputError(f"{reader.name}: its schema does not know the column {name!r}")


def _check_maps(reader: FileReader, written: TableSchema) -> None:
    """Refuse maps of which keys have columns of their own, as newer versions may write them."""
    maps = {own.name for own in written.fields if own.spelling == "MAP"}
    for one in reader.schema:
        if one.name in maps and pa.types.is_struct(one.type):
            raise RefusedError(
                f"{reader.name}: the map {one.name!r} is laid out in columns, as by the option "
                "map.storage-layout=shared-shredding; this is not supported"
            )


def _check_partition(reader: FileReader, entry: FileEntry, schema: TableSchema) -> None:
    """Hold the values of partition columns, which files have too, against the manifest's."""
    fields = [pa.field(name, schema.by_name[name].type) for name in schema.partition_keys]
    values = row_values(entry.partition, [field.type for field in fields], entry.where)
    parts = [
        part_of_one(field, value)
        for field, value in zip(fields, values, strict=True)
        if field.name in reader.schema.names
    ]
    check_partition(reader, parts)


def _check_ranges(reader: FileReader, entry: FileEntry, written: TableSchema) -> None:
    """Hold what a file says of keys and sequence numbers against what the manifest says."""
    # Of sequence numbers only Java's writer is believed: pypaimon states ranges of a whole batch
    # for the first of the files that it is split into. Of keys the first one counts, by which files
    # are sorted.
    types = [written.by_name[name].type for name in written.merge_keys]
    stated = {}
    if types and (pa.types.is_integer(types[0]) or pa.types.is_date32(types[0])):
        name = f"_KEY_{written.merge_keys[0]}"
        if name not in reader.schema.names:
            name = written.merge_keys[0]
        where = f"{entry.where}: {entry.name}"
        low, high = (row_values(data, types, where)[0] for data in (entry.min_key, entry.max_key))
        stated[name] = ColumnRange(None, low, high)
    if reader.created_by.startswith(JAVA):
        low, high = (pa.scalar(n, pa.int64()) for n in (entry.min_sequence, entry.max_sequence))
        stated[SEQUENCE] = ColumnRange(None, low, high, (True, True))
    check_stated(
        reader, FileStatistics(entry.rows, stated), "its manifest", in_all=True, by_java=True
    )


def _check_clock(reader: OrcReader, stated: FileStatistics) -> None:
    """Raise RefusedError if instants are by a clock that the file does not tell."""
    # The manifest has them by that of UTC. A zone's clock may be another by Java's database.
    for name, shown in reader.instants().items():
        known = stated.columns.get(name, ColumnRange())
        for own, end in zip(shown, (known.least, known.greatest), strict=True):
            if end is None or not end.is_valid:
                continue
            told = pc.cast(end, pa.timestamp("ms", "UTC"), safe=False)
            if abs(told.value - own.value) >= _SECOND:
                raise RefusedError(
                    f"{reader.name}: the instants of column {name!r} are by the clock of its "
                    "writer, in a zone that it does not say; this is not supported"
                )


def _keeps_times(written: TableSchema, schema: TableSchema) -> bool:
    """Whether columns with timestamps have the types that they were written with."""
    before = {own.id: own.type for own in written.fields}
    return written is schema or all(
        before.get(own.id, own.type) == own.type
        for own in schema.fields
        if own.children or pa.types.is_timestamp(own.type)
    )


def _reader(storage: Storage, path: str, written: TableSchema, schema: TableSchema) -> FileReader:
    """The reader of a file that was written by a schema."""
    kind = path.rpartition(".")[2]
    if kind == "parquet":
        return ParquetReader(storage, path, _UNMARKED if _keeps_times(written, schema) else _TYPES)
    if kind == "orc":
        by_clock = written.options.get(_OF_CLOCKS, "true").lower() == "true"
        return OrcReader(storage, path, _ORC_TYPES, by_clock=by_clock)
    if kind == "avro":
        return AvroReader(storage, path, _TYPES)
    raise RefusedError(f"{storage.full(path)}: data files in {kind!r} are not supported")


def file_statistics(
    file: FileEntry, schema: TableSchema, schemas: Schemas, among: Collection[str]
) -> FileStatistics:
    """What the manifest says of a file and of its columns among some.

    Statistics that are broken say nothing: they are optional.
    """
    written = schema if file.schema_id == schema.id else schemas.load(file.schema_id)
    names = file.value_stats_columns
    if names is None:
        names = file.write_columns
    if names is None:
        names = [own.name for own in written.fields]
    low_bytes, high_bytes, nulls = file.value_stats
    if nulls is None or len(nulls) != len(names):
        return FileStatistics(file.rows)
    try:
        fields = [written.by_name[name] for name in names]
        types = [pa.null() if own.children else own.type for own in fields]
        lows = row_values(low_bytes, types, file.where)
        highs = row_values(high_bytes, types, file.where)
    except (InputError, KeyError):  # KeyError: columns that the schema does not know
        return FileStatistics(file.rows)
    by_id = {own.id: own for own in schema.fields}
    found = {}
    for own, low, high, count in zip(fields, lows, highs, nulls, strict=True):
        now = by_id.get(own.id)
        if now is None or now.name not in among or now.type != own.type or own.children:
            continue
        if narrowing_of(now, own) is not None:
            continue
        if own.spelling.startswith("CHAR") and file.name.endswith(".orc"):
            low = least_without_blanks(low)
        if not pa.types.is_floating(own.type):
            found[now.name] = _of_column(low, high, count)
    return FileStatistics(file.rows, found)


def _of_column(low: pa.Scalar, high: pa.Scalar, nulls: int | None) -> ColumnRange:
    exact = not (pa.types.is_string(low.type) or pa.types.is_binary(low.type))
    least, greatest = (end if end.is_valid else None for end in (low, high))
    return ColumnRange(nulls, least, greatest, (exact, exact))


_FILE_VERSIONS = (b"\x01", b"\x02")
_BY = "the manifest"


def vector_identity(storage: Storage, vector: VectorRange) -> Hashable | None:
    """What tells a vector from any other."""
    own, path = located(storage, vector.folder, vector.index_file, vector.external_path)
    known = own.file_identity(path)
    return None if known is None else (known, vector)


def read_vector(storage: Storage, vector: VectorRange) -> Positions:
    """The deleted positions of a data file, ascending."""
    own, path = located(storage, vector.folder, vector.index_file, vector.external_path)
    at, length = vector.offset, vector.length
    where = f"{own.full(path)}, the deletion vector at byte {at}"
    if at < 1 or length < 4:
        raise InputError(f"{where}: the manifest says that it has {counted(length, 'byte')}")
    version, stored = read_framed(own, path, at, length + FRAME_BYTES, where)
    if version not in _FILE_VERSIONS:
        raise RefusedError(f"{where}: the file's version {version.hex()!r} is not supported")
    body = unframed(stored, (length, length - FRAME_BYTES), where, _BY)
    return vector_positions(body, vector.cardinality, own.bound, where, _BY, may_be_32=True)
