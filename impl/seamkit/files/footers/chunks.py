"""Parquet footers: without their writer's Arrow types, and with chunks that pyarrow can look at.

pyarrow checks a chunk where `RowGroupMetaData.column` makes an object of it, or a filter does, and
there no exception of C++ is caught: a damaged histogram of levels, or a bound that is too short,
would end the process.

Writers that have Arrow data put its schema beside their own under `ARROW:schema`, and pyarrow gives
columns these types: views, dictionaries, other zones. A table's types are Parquet's, which say the
same of one column whoever wrote it, so that word of the footer is hidden from pyarrow.

pyarrow makes room for a page as its header says, whatever the footer says of the chunk: thirty
kilobytes may take a gigabyte. So the headers of chunks that could hold such pages are looked at
before it reads them; they take a small read a page.

Nulls that were read are held against those that the footer counts. Whether a column may have nulls
is one number in a schema without a checksum. Where it says otherwise, levels are taken for values
or not looked at, and rows come that nobody wrote.
"""

from __future__ import annotations

import binascii
import itertools
import math
import re
import struct
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from seambase.encodings import plain_schema
from seambase.errors import InputError
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import call, check, new_error
from seamkit.core.unpack import Bound, most_bytes

_TAIL_BYTES = 8  # the footer's length, and the magic again
# The name of an entry in Thrift's compact form: a text, its length, and another text behind it.
_ARROW_KEY = b"\x18\x0cARROW:schema\x18"
_TYPES = (
    *("BOOLEAN", "INT32", "INT64", "INT96"),
    *("FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"),
)
_VALUE_BYTES = (1, 4, 8, 12, 4, 8, 0)
_WRITER = re.compile(r"(parquet-mr|parquet-cpp|parquet-rs) version (\d+)\.(\d+)")
#: The release of Arrow from which on times of INT96 before 1970 have a time of day from 0 on.
_FORWARD = 23
#: A time of INT96: of its day, which may be counted back from midnight, and the Julian day.
_INT96 = np.dtype([("nanos", "<i8"), ("day", "<u4")])
_JULIAN_1970, _MOST_DAYS = 2_440_588, 1 << 18
_ORDERING = {"parquet-mr": (1, 10), "parquet-cpp": (1, 3), "parquet-rs": (5, 2)}
#: Writers whose bounds of bytes are none: the library of JavaScript cuts the greatest as the least,
#: and Go's before 0.18 kept bounds in memory that it wrote to again.
_UNTRUE = re.compile(
    r"hyparquet|github\.com/(segmentio|parquet-go)/parquet-go( version 0\.(\d|1[0-7])\.|$)"
)
#: Arrow that compared the first chunk of a dictionary alone.
_OF_FIRST_CHUNKS = re.compile(r"parquet-cpp-arrow version (\d|10)\.")
#: Writers that compare decimals in bytes as if they had no sign: Polars where it puts pages
#: together, parquet-go, Arrow before its release 4, parquet-rs up to 13, Arrow2, ClickHouse up to
#: 25.7.
_WITHOUT_SIGNS = re.compile(
    r"Polars|github\.com/(segmentio|parquet-go)/parquet-go|parquet-cpp version |"
    r"Arrow2|parquet-rs version (\d|1[0-3])\.|ClickHouse v2([0-4]|5\.[0-7])\."
)
_OLD_ENCODINGS = frozenset(("PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "RLE", "BIT_PACKED"))
_DELTAS = frozenset(("DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"))


def footer_bytes(source: pa.NativeFile) -> tuple[int, bytes]:
    """Where the footer of a file begins that is Parquet as far as it is known, and its bytes."""
    end = max(source.size() - _TAIL_BYTES, 0)
    source.seek(end)
    begin = max(end - int.from_bytes(source.read(4), "little"), 0)
    source.seek(begin)
    return begin, source.read(end - begin)


def footer_without_arrow(source: pa.NativeFile, begin: int, body: bytes) -> pq.FileMetaData | None:
    """The footer of a file without the Arrow types of its writer; None if it names none.

    `begin` and `body` are what `footer_bytes` says.
    """
    # Behind the column chunks, whose statistics may hold the same bytes.
    at = body.rfind(_ARROW_KEY)
    found: pq.FileMetaData | None = None
    while at >= 0 and (found is None or b"ARROW:schema" in (found.metadata or {})):
        source.seek(begin)
        whole = bytearray(source.read())
        whole[at : at + len(_ARROW_KEY)] = _ARROW_KEY.lower()
        found = pq.read_metadata(pa.BufferReader(whole))
        at = whole.rfind(_ARROW_KEY, 0, at)
    return found


def names_extensions(footer: pq.FileMetaData) -> bool:
    """Whether the writer's Arrow schema names types that readers may make of columns."""
    encoded = (footer.metadata or {}).get(b"arrow:schema", b"")
    try:
        return b"ARROW:extension:name" in binascii.a2b_base64(encoded)
    except binascii.Error:
        return True  # nobody knows what a reader makes of it


def check_chunks(
    begin: int, body: bytes, footer: pq.FileMetaData, names: Sequence[str], where: str
) -> tuple[Mapping[str, bool], bytes | None]:
    """Make sure that pyarrow can look at every column chunk of a footer.

    It goes by the file's bytes, as `footer_bytes` gives them: pyarrow would not write a footer that
    speaks of encryption again, but end the process. `names` are those of all columns.

    Returns:
        Columns with types that not all readers know as they are told, and whether some refuse the
        file for it; the others take these for something else. And the footer without bounds that
        are cut, of which pyarrow must not look at any; None if it has none.
    """
    columns = [footer.schema.column(i) for i in range(footer.num_columns)]
    leaves = ffi.new("struct seam_parquet_leaf[]", max(len(columns), 1))
    paths = [ffi.from_buffer("uint8_t[]", column.path.encode()) for column in columns]
    for leaf, column, path in zip(leaves, columns, paths, strict=False):
        leaf.path, leaf.path_bytes = path, len(path)
        leaf.physical_type = _TYPES.index(column.physical_type)
        is_fixed = leaf.physical_type == len(_VALUE_BYTES)
        leaf.value_bytes = column.length if is_fixed else _VALUE_BYTES[leaf.physical_type]
        leaf.max_repetition = column.max_repetition_level
        leaf.max_definition = column.max_definition_level
    chunks = footer.num_row_groups * len(columns)
    spans = np.zeros((chunks, 2), np.int64)
    rules = ffi.new("struct seam_parquet_rules *")
    rules.n_leaves, rules.n_groups = len(columns), footer.num_row_groups
    held = ffi.from_buffer("int64_t[]", spans)
    rules.spans, rules.lists_levels = held, is_by_parquet_mr(footer)
    tellings, without_cut = bytearray(len(names)), bytearray(body)
    rules.without_cut = ffi.from_buffer("uint8_t[]", without_cut)
    rules.n_columns, rules.tellings = len(tellings), ffi.from_buffer("uint8_t[]", tellings)
    given = ffi.from_buffer("uint8_t[]", body), len(body), leaves, rules
    call(lib.seam_parquet_check_chunks, *given, source=where, begin=begin)
    _check_spans(spans, begin, footer, where)
    told = zip(names, tellings, strict=True)
    refused = {name: telling == lib.SEAM_PARQUET_REFUSED for name, telling in told if telling}
    return refused, None if without_cut == body else bytes(without_cut)


def is_by_parquet_mr(footer: pq.FileMetaData) -> bool:
    """Whether the writer is parquet-mr.

    Of data pages of the first format it names RLE among a chunk's encodings where it has levels,
    and there alone; Arrow's writers always do, DuckDB's never. It can put row groups of theirs into
    a file of its own as they are; beside RLE it names BIT_PACKED for levels that a column lacks.
    """
    return writer_of(footer).startswith("parquet-mr")


def orders_bytes(footer: pq.FileMetaData) -> bool:
    """Whether the writer orders bytes as their types do, so that their bounds say something.

    parquet-mr before 1.10 and parquet-cpp before 1.3 took each byte for a number with a sign, and
    the least or greatest text of Rust's library before 5.2 may be another. pyarrow passes over such
    bounds of texts, but not over those of decimals, nor over the latter. Arrow before its release
    11 looked at the first chunk of a dictionary alone.
    """
    try:
        name = footer.created_by or ""
    except UnicodeDecodeError:
        return False
    writer = _WRITER.match(name)
    if writer is not None and (int(writer[2]), int(writer[3])) < _ORDERING[writer[1]]:
        return False
    if _UNTRUE.match(name):
        return False
    return not (_OF_FIRST_CHUNKS.match(name) and _had_dictionaries(footer))


def _had_dictionaries(footer: pq.FileMetaData) -> bool:
    """Whether its writer had dictionaries, by its Arrow schema; true if that is not readable."""
    encoded = (footer.metadata or {}).get(b"arrow:schema")
    if encoded is None:
        return False
    try:
        own = pa.ipc.read_schema(pa.py_buffer(binascii.a2b_base64(encoded)))
    except (binascii.Error, OSError, pa.ArrowException):
        return True
    return not plain_schema(own).equals(own)


def orders_decimals(footer: pq.FileMetaData) -> bool:
    """Whether the writer orders decimals in bytes by their values, so that their bounds count."""
    return orders_bytes(footer) and _WITHOUT_SIGNS.match(writer_of(footer)) is None


def bounds_count(footer: pq.FileMetaData) -> Callable[[pq.ColumnSchema, pa.DataType], bool]:
    """Tells of a column and its type whether its bounds count, which those of bytes may not."""
    by_decimals = {True: orders_decimals(footer), False: orders_bytes(footer)}

    def count(column: pq.ColumnSchema, kind: pa.DataType) -> bool:
        is_decimal = pa.types.is_decimal(kind)
        if not column.physical_type.endswith("ARRAY"):
            # Those by the library of JavaScript are floating-point numbers.
            return not is_decimal or by_decimals[False]
        return by_decimals[is_decimal]

    return count


def contradicts(chunk: Any, column: pq.ColumnSchema) -> bool:
    """Whether a footer tells of a chunk a least value above the greatest, or less than no nulls."""
    known, told = chunk.statistics, column.converted_type
    if known is not None and known.has_null_count and known.null_count < 0:
        return True
    if known is None or not known.has_min_max or column.physical_type == "INT96":
        return False
    if column.logical_type.type == "FLOAT16":
        return False
    least, greatest = known.min_raw, known.max_raw
    if told == "DECIMAL" and column.physical_type.endswith("ARRAY"):
        least, greatest = (int.from_bytes(one, "big", signed=True) for one in (least, greatest))
    elif told.startswith("UINT"):
        least, greatest = (one % (1 << 64) for one in (least, greatest))
    return bool(least > greatest)


def contradicts_anywhere(footer: pq.FileMetaData, where: str) -> bool:
    """Whether a footer `contradicts` itself of any chunk."""
    del where
    columns = [*enumerate(map(footer.schema.column, range(footer.num_columns)))]
    groups = map(footer.row_group, range(footer.num_row_groups))
    return any(contradicts(group.column(n), own) for group in groups for n, own in columns)


_MULTIPLYING = re.compile(r"Polars|Arrow2")
_OVERLOOKING = re.compile(r"Arrow2|parquet-cpp version |parquet-cpp-arrow version [1-5]\.")
_FORGETTING = re.compile(r"parquet-rs version [0-4]\.")
_GUESSING = re.compile(r"parquet-go( version latest)?$")
_DOUBTED = (_MULTIPLYING, _OVERLOOKING, _FORGETTING, _GUESSING)
#: Java's releases in whose bounds NaN counts. Those before do not order bytes; later ones, and
#: others that call themselves so, leave it out.
_BOUNDING_NAN = re.compile(r"parquet-mr version 1\.1[0-7]\.")
#: Writers whose indexes bound bytes of pages wrongly: Go's library cuts the greatest as the least,
#: and ClickHouse up to 26.4 told no bytes in place of many.
_MISBOUNDING = re.compile(
    r"github\.com/(segmentio|parquet-go)/parquet-go|ClickHouse v2([0-5]|6\.[0-4])\."
)


def null_counts(footer: pq.FileMetaData) -> Callable[[Any], int | None]:
    """Gives the nulls of a chunk as the footer counts them; None where it does not, or wrongly.

    Of columns that it has as dictionaries Polars up to 2.1 counts a chunk's nulls once a page, and
    Arrow before its release 6 counted none of bytes (ARROW-12513), nor did Arrow2. Rust's library
    before 5 counted none where all are null, and two of Go's (fraugster, xitongsys) count others.
    """
    name = writer_of(footer)
    multiplies, overlooks, forgets, guesses = (one.match(name) for one in _DOUBTED)

    def nulls(chunk: Any) -> int | None:
        known = chunk.statistics
        if known is None or not known.has_null_count:
            return None
        count = int(known.null_count)
        if count < 0 or guesses or (forgets and not count):
            return None
        is_doubtful = (multiplies and count) or (
            overlooks and chunk.physical_type.endswith("ARRAY")
        )
        return None if is_doubtful and _is_coded(chunk) else count

    return nulls


def counts_nulls(footer: pq.FileMetaData) -> bool:
    """Whether all counts of nulls that a footer has are believed."""
    name, nulls = writer_of(footer), null_counts(footer)
    if not any(one.match(name) for one in _DOUBTED):
        return True
    groups = map(footer.row_group, range(footer.num_row_groups))
    chunks = (one.column(n) for one in groups for n in range(footer.num_columns))
    counting = (one for one in chunks if one.statistics and one.statistics.has_null_count)
    return all(nulls(one) is not None for one in counting)


def bounds_nan(footer: pq.FileMetaData) -> bool:
    """Whether bounds of floating-point numbers are those of NaN, too, as the greatest of them."""
    return _BOUNDING_NAN.match(writer_of(footer)) is not None


def bounds_pages(footer: pq.FileMetaData) -> bool:
    """Whether the bounds of bytes that indexes tell of pages hold, if there are any."""
    groups = map(footer.row_group, range(footer.num_row_groups))
    chunks = (group.column(i) for group in groups for i in range(group.num_columns))
    misbounds = _MISBOUNDING.match(writer_of(footer)) is not None
    return not (misbounds and any(chunk.has_column_index for chunk in chunks))


def _is_coded(chunk: Any) -> bool:
    return any(encoding.endswith("DICTIONARY") for encoding in chunk.encodings)


def writer_of(footer: pq.FileMetaData) -> str:
    """What a file's writer calls itself; empty where that is no text."""
    try:
        return footer.created_by or ""
    except UnicodeDecodeError:
        return ""


def in_rare_forms(footer: pq.FileMetaData, names: Collection[str]) -> Mapping[str, str]:
    """Columns in an encoding or a codec that not all readers have for their type, and where.

    Few know any but the old encodings of bytes of a fixed length; Spark knows no split streams, and
    comes without Brotli.
    """
    found = {}
    for number, path in chunk_paths(footer, names):
        is_fixed = footer.schema.column(number).physical_type == _TYPES[-1]
        known = _OLD_ENCODINGS if is_fixed else _OLD_ENCODINGS | _DELTAS
        for group in range(footer.num_row_groups):
            chunk = footer.row_group(group).column(number)
            if not known.issuperset(chunk.encodings) or chunk.compression == "BROTLI":
                found[_column_of(path, names) or path] = path
    return found


def constant_beside_nulls(footer: pq.FileMetaData, names: Collection[str]) -> Mapping[str, str]:
    """Columns of bytes with one value and nulls in a row group, no dictionary, and where."""
    columns = [
        (number, path)
        for number, path in chunk_paths(footer, names)
        if (column := footer.schema.column(number)).physical_type in _TYPES[-2:]
        and column.max_definition_level
    ]
    found, nulls = {}, null_counts(footer)
    for group in map(footer.row_group, range(footer.num_row_groups)):
        for number, path in columns:
            chunk = group.column(number)
            known = chunk.statistics
            if _is_coded(chunk):
                continue
            if known is None or not known.has_min_max or known.min_raw != known.max_raw:
                continue
            if nulls(chunk) != 0:
                found[_column_of(path, names) or path] = path
    return found


def _check_spans(
    spans: npt.NDArray[np.int64], end: int, footer: pq.FileMetaData, where: str
) -> None:
    """Make sure that no two chunks share bytes, and none those of the footer."""
    used = np.flatnonzero(spans[:, 1])
    order = used[np.argsort(spans[used, 0], kind="stable")]
    begins, ends = spans[order, 0], spans[order, 1]
    beyond = np.flatnonzero(ends > np.append(begins[1:], end))
    if len(beyond):
        group, column = divmod(int(order[beyond[0]]), footer.num_columns)
        raise InputError(
            f"{where}: footer, row group {group}, column {column}: its pages, bytes "
            f"{begins[beyond[0]]} to {ends[beyond[0]]}, lie where others do"
        )


_OF_DATA, _DICTIONARY = (0, 3), 2  # of the enum PageType
#: Of a page header: bounds of a page, which may be long texts, lie in it.
_HEADER_BYTES = (1 << 9, 1 << 16, 1 << 24)
#: Of pyarrow's names the codecs whose growth is known, `""` for no compression.
_CODECS = {"SNAPPY": "snappy", "GZIP": "gzip", "ZSTD": "zstd", "LZ4": "lz4", "UNCOMPRESSED": ""}


def check_page_sizes(
    footer: pq.FileMetaData,
    names: Collection[str] | None,
    row_groups: Sequence[int],
    read: Callable[[int, int], bytes],
    bound: Bound,
    where: str,
) -> None:
    """Make sure that no page of some (or all) columns of the row groups becomes too large."""
    for number, path in chunk_paths(footer, names):
        for group in row_groups:
            chunk = footer.row_group(group).column(number)
            if most_of_pages(chunk) > bound.most:
                _check_chunk(chunk, read, bound, f"{where}, column {path!r}, row group {group}")


def chunk_paths(
    footer: pq.FileMetaData, names: Collection[str] | None
) -> Iterator[tuple[int, str]]:
    """Numbers and paths of the chunks in which some columns lie; of all for None."""
    among = None if names is None else frozenset(names)  # each chunk looks its column up
    for number in range(footer.num_columns):
        path = footer.schema.column(number).path
        if among is None or _column_of(path, among) is not None:
            yield number, path


def _column_of(path: str, names: Collection[str]) -> str | None:
    """Which of some columns a path leads into; their names may have points, too."""
    begins = itertools.accumulate(path.split("."), lambda begin, name: f"{begin}.{name}")
    return next((begin for begin in begins if begin in names), None)


def leaves(values: pa.Array) -> Iterator[pa.Array]:
    """The values of each leaf of a column, in the order of the file's schema."""
    kind = values.type
    if pa.types.is_struct(kind):
        for inner in values.flatten():
            yield from leaves(inner)
    elif pa.types.is_list(kind) or pa.types.is_map(kind):
        begin, end = values.offsets[0].as_py(), values.offsets[-1].as_py()
        is_map = pa.types.is_map(kind)
        for inner in (values.keys, values.items) if is_map else (values.values,):
            yield from leaves(inner.slice(begin, end - begin))
    else:
        yield values


def int96_columns(footer: pq.FileMetaData, names: Collection[str]) -> list[str]:
    """Those of some columns in which times of INT96 lie, at any depth."""
    among = frozenset(names)
    found = [
        _column_of(path, among)
        for number, path in chunk_paths(footer, None)
        if footer.schema.column(number).physical_type == "INT96"
    ]
    return [name for name in dict.fromkeys(found) if name is not None]


def counts_back(footer: pq.FileMetaData) -> bool:
    """Whether times of INT96 before 1970 may have a negative time of day, back from midnight.

    Arrow wrote them so until its release 22. It reads them right in nanoseconds alone: in other
    units it takes the number for one without a sign, and they come 584 years late.
    """
    found = re.match(r"parquet-cpp(-arrow)? version (\d+)\.", writer_of(footer))
    return found is not None and int(found[2]) < _FORWARD


def fits_64_bits(values: pa.Array) -> bool:
    """Whether times of INT96, as twelve bytes, are numbers of nanoseconds; true of other values."""
    if values.type != pa.binary(_INT96.itemsize):
        return True
    known = values.drop_null()
    stored = np.frombuffer(known.buffers()[1], _INT96)[known.offset : known.offset + len(known)]
    days = stored["day"].astype(np.int64) - _JULIAN_1970
    if (np.abs(days) > _MOST_DAYS).any():
        return False
    micros = days * 86_400_000_000 + stored["nanos"] // 1000
    return not (np.abs(micros) >= (1 << 63) // 1000).any()


def paths_twice(footer: pq.FileMetaData) -> frozenset[str]:
    """Paths that two columns have: one that is called `s.b` beside the field b of a struct s."""
    paths = [footer.schema.column(number).path for number in range(footer.num_columns)]
    if len(paths) == len(set(paths)):
        return frozenset()
    return frozenset(path for path, count in Counter(paths).items() if count > 1)


def most_of_pages(chunk: pq.ColumnChunkMetaData) -> int | float:
    """The most bytes that the pages of a chunk may become; infinity where nobody knows."""
    codec = _CODECS.get(chunk.compression)
    if codec is None:
        return math.inf
    packed = chunk.total_compressed_size
    return int(most_bytes(codec, packed) if codec else packed)


def dictionary_bytes(
    chunk: pq.ColumnChunkMetaData, read: Callable[[int, int], bytes], where: str
) -> int:
    """What the dictionary in front of a chunk's pages becomes; 0 where there is none."""
    header = _header(read, chunk_begin(chunk), where)
    return int(header.uncompressed_bytes) if header.type == _DICTIONARY else 0


def chunk_begin(chunk: pq.ColumnChunkMetaData) -> int:
    """Where a chunk's first page lies, be it its dictionary."""
    at = int(chunk.data_page_offset)
    return min(at, chunk.dictionary_page_offset) if chunk.dictionary_page_offset else at


def _check_chunk(
    chunk: pq.ColumnChunkMetaData, read: Callable[[int, int], bytes], bound: Bound, where: str
) -> None:
    at = chunk_begin(chunk)
    end = at + chunk.total_compressed_size
    values = 0
    while at < end and values < chunk.num_values:
        page = f"{where}, page at byte {at}"
        header = _header(read, at, page)
        if header.compressed_bytes < 0:
            raise InputError(f"{page}: its header tells no size")
        bound.check(int(header.uncompressed_bytes), int(header.compressed_bytes), page)
        values += max(0, header.n_values) if header.type in _OF_DATA else 0
        at += header.header_bytes + header.compressed_bytes


def _header(read: Callable[[int, int], bytes], at: int, where: str) -> Any:
    header = ffi.new("struct seam_parquet_page_header *")
    for most in _HEADER_BYTES:
        data, error = read(at, most), new_error()
        code = lib.seam_parquet_page_begin(
            ffi.from_buffer("uint8_t[]", data), len(data), header, error
        )
        if code == lib.SEAM_OK or len(data) < most:
            break
    check(code, error, source=where)
    return header


class NullCounts:
    """Counts the nulls of columns that are read.

    Columns within lists and maps are passed over, and those within structs of other writers than
    parquet-mr: writers differ in what they count there. So are those of which two have one path.
    `row_groups` are those whose rows will all come; None for all.
    """

    def __init__(self, footer: pq.FileMetaData, row_groups: Sequence[int] | None) -> None:
        groups = range(footer.num_row_groups) if row_groups is None else row_groups
        self._chunks = [footer.row_group(group) for group in groups]
        self._footer = footer
        self._within = is_by_parquet_mr(footer)
        self._counted = null_counts(footer)
        self._read: dict[str, int] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Count those of a batch."""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            for path, nulls in self._nulls(name, column):
                self._read[path] = self._read.get(path, 0) + nulls

    def check(self, where: str) -> None:
        """Hold them against the footer, after all batches; `where` names the file."""
        schema, twice = self._footer.schema, paths_twice(self._footer)
        for number in range(len(schema)):
            path = schema.column(number).path
            is_read = path in self._read and path not in twice
            count = self._footer_nulls(number) if is_read else None
            if count is not None and count != self._read[path]:
                raise InputError(
                    f"{where}: column {path!r} has {counted(self._read[path], 'null')}, and its "
                    f"footer counts {count}"
                )

    def _footer_nulls(self, number: int) -> int | None:
        """Nulls of a column as the footer counts them; None where it does not."""
        counts = [self._counted(group.column(number)) for group in self._chunks]
        known = [one for one in counts if one is not None]
        return sum(known) if len(known) == len(counts) else None

    def _nulls(self, path: str, column: pa.Array) -> Iterator[tuple[str, int]]:
        if pa.types.is_struct(column.type):
            inside = column.flatten() if self._within else ()
            for field, inner in zip(column.type, inside, strict=False):
                yield from self._nulls(f"{path}.{field.name}", inner)
        elif not pa.types.is_nested(column.type):
            yield path, column.null_count


def bound_of(known: Any, end: str, kind: pa.DataType) -> pa.Array:
    """A bound, `min` or `max`, of pyarrow's statistics of a chunk: one value of a type.

    Whatever makes a value of Python's imports pandas first, where that is installed, which takes
    longer than many a read: whole numbers and texts are made of their bytes.
    """
    if pa.types.is_timestamp(kind) or pa.types.is_date32(kind):
        # Python's times begin with the year 1, end with 9999, and lack the last digits of
        # nanoseconds.
        return _number(getattr(known, f"{end}_raw"), kind)
    value = getattr(known, end)
    if pa.types.is_integer(kind):
        return _number(value, kind)
    if pa.types.is_string(kind):
        text = value.encode()
        offsets = pa.py_buffer(struct.pack("=ii", 0, len(text)))
        return pa.StringArray.from_buffers(1, offsets, pa.py_buffer(text))
    return pa.array([value], kind)


def _number(value: int, kind: pa.DataType) -> pa.Array:
    is_signed = not pa.types.is_unsigned_integer(kind)
    content = value.to_bytes(kind.bit_width // 8, sys.byteorder, signed=is_signed)
    return pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(content)])
