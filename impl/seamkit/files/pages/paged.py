"""A Parquet file whose pages are read one by one, for the few rows that are wanted of it.

pyarrow decodes whole column chunks. What it is given here instead is a file in memory that has the
dictionary and those pages of a chunk in which wanted rows are (see `private_forms.py`). Only
columns without nesting are read so. Every page that is read must have the size and the number of
rows that its index says.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambase.errors import InputError
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import batch_of, call
from seamkit.core.unpack import Bound
from seamkit.files.file_cache import KEPT
from seamkit.files.footers.calendars import check_int96
from seamkit.files.footers.chunks import bounds_count, chunk_begin, paths_twice, writer_of
from seamkit.files.pages.bounds import (
    ColumnPages,
    Span,
    bounded_pages,
    has_bounds,
    spans_that_may_match,
)
from seamkit.files.pages.column_file import ColumnChunk, column_file
from seamkit.files.pages.index import (
    ChunkPlaces,
    FilePlaces,
    Integers,
    Pages,
    find_places,
    read_bounds,
    read_pages,
)
from seamkit.files.parquet import (
    PARQUET_ERRORS,
    PLAIN_TYPES,
    OpenParquet,
    ParquetReader,
    columns_alike,
)
from seamkit.files.private_forms import PrivateForm
from seamkit.files.promotion import LOSSLESS, resolve_batch
from seamkit.files.ranges import FarFile, near
from seamkit.files.reader import FileReader, PageCounts
from seamkit.files.spreading import long_dictionaries
from seamkit.files.storage import read_part

_T = TypeVar("_T")

# Of a column's bytes; above it pages are not worth to be read apart.
_MOST_SHARE = 0.5
_LOCAL_GAP_BYTES = 16 << 10
_FAR_GAP_BYTES = 64 << 10
_MOST_INDEX_BYTES = 16 << 20
# Of the enum PageType.
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_BYTES_A_PAGE = 200


@dataclass(frozen=True)
class _Column:
    """A column chunk, and the pages of it that are wanted."""

    name: str
    number: int
    begin: int
    pages: Pages


def paged_file(
    reader: FileReader, schema: pa.Schema, counts: PageCounts | None = None
) -> PagedFile | None:
    """The pages of a reader's file; None if it is none of Parquet, or pages cannot be read apart.

    Nor are there any where a column has another name or shape in the file, where the writer tells
    sizes of pages without their headers, as Go's library by xitongsys does, or the read is strict:
    what holds for whole row groups is looked at then. `counts` receives how many pages are read;
    the schema has all columns that will be, in the table's types.
    """
    reader, is_plain = _plain(reader, schema)
    if not is_plain or not isinstance(reader, ParquetReader) or reader.is_strict:
        return None
    if reader.created_by == "parquet-go version latest" or not PAGES.is_open:
        return None
    return PagedFile(reader.opened(), counts)


def _plain(reader: FileReader, schema: pa.Schema) -> tuple[FileReader, bool]:
    """The reader of the file itself, and whether it gives columns as they are wanted."""
    stored = reader.stored(schema)
    if stored is None:
        return reader, False
    below, columns = stored
    own = frozenset(below.schema.names)
    return below, all(
        column.equals(wanted)
        if isinstance(column, pa.Field)
        else not column.is_valid and wanted.name not in own
        for column, wanted in zip(columns, schema, strict=True)
    )


class PagedFile:
    """The pages of an open file; for one thread. `counts` receives how many are read."""

    def __init__(self, opened: OpenParquet, counts: PageCounts | None = None) -> None:
        self._counts = counts or PageCounts()
        self._footer = opened.file.metadata
        self._schema = opened.file.schema_arrow
        self._content = opened.content
        self._where = opened.name
        self._identity = opened.identity
        self._options = opened.options
        self._rules = opened.rules
        self._bound = opened.bound
        self._first_of_int96 = opened.first_of_int96

    def spans_that_may_match(
        self, condition: pc.Expression, schema: pa.Schema, counted: Collection[str], row_group: int
    ) -> list[Span] | None:
        """The rows of a row group that a condition leaves; None where no index tells anything.

        Only columns that are `counted` count; others may hold any value. Types are the table's.
        """
        alike = [name for name in columns_alike(self._schema, schema) if name in counted]
        with self._readable():
            known = [self._bounds(name, row_group) for name in alike]
        columns = [one for one in known if one is not None]
        if not columns:
            return None
        spans = spans_that_may_match(columns, condition, schema)
        if not spans:
            self._counts.add(sum(len(one.pages) for one in columns), 0)
        return spans

    def rows(
        self, schema: pa.Schema, row_group: int, positions: Integers, batch_rows: int
    ) -> Iterator[pa.RecordBatch] | None:
        """Some rows of a row group, by positions in order, with the columns and types of `schema`.

        Columns that the file lacks are null. None where the pages that hold the rows are most of
        all, or a column cannot be read so.
        """
        if self._has_long_texts(schema, row_group):
            return None
        columns = []
        wanted = whole = n_wanted = 0
        for name in schema.names:
            if name not in self._names:
                continue
            with self._readable():
                column = self._column(name, row_group)
            if column is None:
                return None
            columns.append(column)
            numbers = _pages_of(column.pages, positions)
            n_wanted += len(numbers)
            wanted += int(column.pages.sizes[numbers].sum())
            whole += int(column.pages.sizes.sum())
        if not columns or wanted > _MOST_SHARE * whole:
            return None
        self._counts.add(sum(len(column.pages) for column in columns), n_wanted)
        return self._resolved(self._batches(columns, row_group, positions, batch_rows), schema)

    def _has_long_texts(self, schema: pa.Schema, row_group: int) -> bool:
        """Whether only a reader of whole row groups keeps within a stated limit of memory."""
        if not self._bound.is_stated:
            return False
        names, where = self._names.intersection(schema.names), self._where
        with self._readable():
            found = long_dictionaries(
                self._footer, names, [row_group], self._read, self._bound, where
            )
        return bool(found)

    def _resolved(
        self, batches: Iterator[pa.RecordBatch], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        with self._readable():
            for batch in batches:
                yield resolve_batch(batch, schema, self._rules, self._where)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """What pyarrow and the storage raise of broken bytes becomes an InputError."""
        try:
            yield
        except PARQUET_ERRORS as error:
            raise InputError(f"{self._where}: a page is not readable ({error})") from error

    @functools.cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self._schema.names)

    @functools.cached_property
    def _is_told(self) -> Callable[[pq.ColumnSchema, pa.DataType], bool]:
        """Whether bounds of a column say something; Go's library cut the greatest as the least."""
        if "/parquet-go" in writer_of(self._footer):
            return lambda column, _: not column.physical_type.endswith("ARRAY")
        return bounds_count(self._footer)

    @functools.cached_property
    def _first_day(self) -> int | None:
        return self._first_of_int96(self._footer)

    def _batches(
        self, columns: Sequence[_Column], row_group: int, positions: Integers, batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        for begin in range(0, len(positions), batch_rows):
            own = positions[begin : begin + batch_rows]
            chosen = [_pages_of(column.pages, own) for column in columns]
            if isinstance(self._content, FarFile):
                spans = map(_spans, columns, chosen)
                self._content.fetch([span for listed in spans for span in listed])
            arrays = [
                self._values(column, row_group, numbers, own)
                for column, numbers in zip(columns, chosen, strict=True)
            ]
            fields = [self._schema.field(column.name) for column in columns]
            yield batch_of(arrays, pa.schema(fields), len(own))

    def _values(
        self, column: _Column, row_group: int, numbers: Integers, positions: Integers
    ) -> pa.Array:
        """Values of a column in some rows, all of which are in some pages."""
        pages = column.pages
        rows = np.diff(pages.first_rows)[numbers]
        dictionary, data = self._bytes(column, numbers)
        where = self._of(column.name, row_group)
        sizes = self._check_dictionary(dictionary, column.begin, where) if dictionary else 0
        for number, page, n in zip(numbers, data, rows, strict=True):
            size = _check_page(page, int(n), int(pages.offsets[number]), where)
            self._bound.check(size, len(page), f"{where}, page at byte {pages.offsets[number]}")
            sizes += size
        whole = int(rows.sum())
        chunk = self._chunk(column, row_group, whole, sizes, dictionary)
        file = pq.ParquetFile(
            pa.BufferReader(column_file(chunk, data)),
            page_checksum_verification=True,
            **PLAIN_TYPES,
            **self._options,
        )
        values = file.read_row_group(0, use_threads=False).column(0)
        if len(values) != whole:
            raise InputError(f"{where}: pages have {len(values)} of {counted(whole, 'row')}")
        if chunk.physical_type == "INT96" and self._first_day is not None:
            check_int96(values, self._first_day, column.name, self._where)
        # Where a row is among those of the pages.
        begins = np.cumsum(rows) - rows
        at = np.searchsorted(pages.first_rows, positions, "right") - 1
        moved = begins - pages.first_rows[numbers]
        places = positions + moved[np.searchsorted(numbers, at)]
        if places[-1] - places[0] == len(places) - 1:
            return _one_array(values.slice(int(places[0]), len(places)))
        return _one_array(_taken(values, places))

    def _bytes(self, column: _Column, numbers: Integers) -> tuple[memoryview, list[memoryview]]:
        """The page of a column's dictionary, which may be empty, and some of its data pages."""
        spans = _spans(column, numbers)
        parts = near(spans, 0 if isinstance(self._content, FarFile) else _LOCAL_GAP_BYTES)
        read = {begin: memoryview(self._read(begin, end - begin)) for begin, end in parts}
        pages, part = [], 0
        for begin, end in spans:
            while end > parts[part][1]:
                part += 1
            first, last = parts[part]
            if len(read[first]) < last - first:
                raise InputError(f"{self._where}: it ends before byte {last}")
            pages.append(read[first][begin - first : end - first])
        has_dictionary = len(spans) > len(numbers)
        return (pages[0], pages[1:]) if has_dictionary else (memoryview(b""), pages)

    def _read_index(self, offset: int, length: int) -> bytes:
        """Bytes of an index, which may have come with others."""
        for begin, data in self._indexes:
            if begin <= offset and offset + length <= begin + len(data):
                return data[offset - begin : offset - begin + length]
        return self._read(offset, length)

    @functools.cached_property
    def _indexes(self) -> list[tuple[int, bytes]]:
        """All indexes of a file far away, which lie together, with where they begin."""
        if not isinstance(self._content, FarFile):
            return []
        chunks = [chunk for group in self._places.groups for chunk in group]
        places = [place for c in chunks for place in (c.offset_index, c.column_index)]
        spans = near([(at, at + size) for at, size in places if at > 0 < size], _FAR_GAP_BYTES)
        if sum(end - begin for begin, end in spans) > _MOST_INDEX_BYTES:
            return []
        return [(begin, self._read(begin, end - begin)) for begin, end in spans]

    def _read(self, offset: int, length: int) -> bytes:
        return read_part(self._content, offset, length)

    def _check_dictionary(self, page: memoryview, offset: int, where: str) -> int:
        header = _header(page, offset, where)
        if header.type != _DICTIONARY:
            raise InputError(
                f"{where}: offset index: the first page does not begin where the chunk does, and "
                f"no dictionary is there (at byte {offset})"
            )
        size = int(header.header_bytes + header.uncompressed_bytes)
        self._bound.check(size, len(page), f"{where}, dictionary at byte {offset}")
        return size

    def _chunk(
        self, column: _Column, row_group: int, rows: int, size_bytes: int, dictionary: memoryview
    ) -> ColumnChunk:
        places = self._places
        return ColumnChunk(
            name=column.name,
            element=places.elements[column.number],
            physical_type=self._footer.schema.column(column.number).physical_type,
            codec=places.groups[row_group][column.number].codec,
            arrow_field=self._schema.field(column.name) if places.has_arrow else None,
            created_by=self._footer.created_by or "",
            rows=rows,
            uncompressed_bytes=size_bytes,
            dictionary=bytes(dictionary),
        )

    @functools.cached_property
    def _places(self) -> FilePlaces:
        return self._kept(
            lambda: find_places(self._content, self._footer, self._where),
            lambda found: found.size_bytes,
            "places",
        )

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        """Numbers of the columns without nesting, among the leaves of the schema."""
        schema, twice = self._footer.schema, paths_twice(self._footer)
        found = {schema.column(n).path: n for n in range(self._footer.num_columns)}
        return {
            name: number
            for name, number in found.items()
            # A name with a dot in it may be the path of a column within another.
            if "." not in name and name not in twice and name in self._names
            if not pa.types.is_nested(self._schema.field(name).type)
            if not schema.column(number).max_repetition_level
        }

    def _column(self, name: str, row_group: int) -> _Column | None:
        """A column chunk with its pages; None if no index has any, or it has nesting."""
        number = self._numbers.get(name)
        if number is None:
            return None
        places = self._chunk_places(row_group, number)
        if places is None or not places.offset_index[1] or places.codec < 0:
            return None
        begin, end = self._extent(row_group, number)
        pages = self._kept(
            lambda: read_pages(
                self._read_index,
                places.offset_index,
                (begin, end),
                self._footer.row_group(row_group).num_rows,
                self._of(name, row_group),
            ),
            lambda lengths: _BYTES_A_PAGE * len(lengths),
            *("pages", row_group, number),
        )
        # Rust's library 42 told no page of a chunk of nothing but nulls.
        return _Column(name, number, begin, pages) if len(pages) else None

    def _chunk_places(self, row_group: int, number: int) -> ChunkPlaces | None:
        if not self._footer.row_group(row_group).column(number).has_offset_index:
            return None
        return self._places.groups[row_group][number]

    def _extent(self, row_group: int, number: int) -> tuple[int, int]:
        """Where a column chunk begins and ends in the file."""
        chunk = self._footer.row_group(row_group).column(number)
        begin = chunk_begin(chunk)
        return begin, min(begin + chunk.total_compressed_size, self._content.size())

    def _bounds(self, name: str, row_group: int) -> ColumnPages | None:
        """What is known of a column's values by page; None if nothing is."""
        column = self._column(name, row_group)
        if column is None:
            return None
        field, number = self._schema.field(name), column.number
        described = self._footer.schema.column(number)
        chunk = self._footer.row_group(row_group).column(number)
        place = self._places.groups[row_group][number].column_index
        # As with row groups, bounds count where pyarrow knows how the file orders values.
        statistics = chunk.statistics
        if not place[1] or statistics is None or not statistics.has_min_max:
            return None
        if not has_bounds(field.type, described):
            return None
        if not self._is_told(described, field.type):
            return None
        where = self._of(name, row_group)

        def read() -> ColumnPages:
            known = read_bounds(self._read_index, place, column.pages, where)
            return bounded_pages(field, described, column.pages, known, where)

        return self._kept(
            read, lambda found: _BYTES_A_PAGE * len(found.pages), "bounds", row_group, number
        )

    def _kept(self, make: Callable[[], _T], bytes_of: Callable[[_T], int], *what: Hashable) -> _T:
        """What an earlier reader of the same file made, or else is made now."""
        if self._identity is None:
            return make()
        key = ("page index", *what, self._identity)
        found: _T | None = KEPT.get(key)
        if found is None:
            found = make()
            KEPT.put(key, found, bytes_of(found))
        return found

    def _of(self, name: str, row_group: int) -> str:
        return f"{self._where}: row group {row_group}: column {name!r}"


def _pages_of(pages: Pages, positions: Integers) -> Integers:
    """Numbers of the pages that some rows are in, in order."""
    borders = np.searchsorted(positions, pages.first_rows)
    return np.flatnonzero(np.diff(borders))


def _spans(column: _Column, numbers: Integers) -> list[tuple[int, int]]:
    """Where the dictionary and some pages of a column lie: what is before the first page is one."""
    pages, first = column.pages, int(column.pages.offsets[0])
    spans = [(column.begin, first)] if first > column.begin else []
    begins, sizes = pages.offsets[numbers].tolist(), pages.sizes[numbers].tolist()
    return spans + [(begin, begin + size) for begin, size in zip(begins, sizes, strict=True)]


def _header(page: memoryview, offset: int, where: str) -> Any:
    header = ffi.new("struct seam_parquet_page_header *")
    given = ffi.from_buffer("uint8_t[]", page), len(page), header
    call(lib.seam_parquet_page_header, *given, source=where, begin=offset)
    return header


def _check_page(page: memoryview, rows: int, offset: int, where: str) -> int:
    """The bytes that a page takes uncompressed."""
    header = _header(page, offset, where)
    own = header.n_values if header.n_rows < 0 else header.n_rows
    if header.type not in (_DATA, _DATA_V2) or header.n_values != rows or own != rows:
        raise InputError(
            f"{where}: offset index: first_row_index: {counted(rows, 'row')}, but the "
            f"page there is of type {header.type} and has {counted(header.n_values, 'value')} "
            f"(at byte {offset})"
        )
    return int(header.header_bytes + header.uncompressed_bytes)


def _taken(values: pa.ChunkedArray, positions: Integers) -> pa.ChunkedArray:
    """Some values, chunk by chunk: together texts may be longer than an array can have."""
    ends = np.cumsum([len(chunk) for chunk in values.chunks])
    parts = np.split(positions, np.searchsorted(positions, ends[:-1]))
    begins = ends - [len(chunk) for chunk in values.chunks]
    chunks = zip(values.chunks, parts, begins, strict=True)
    return pa.chunked_array(
        [chunk.take(pa.array(own - begin)) for chunk, own, begin in chunks], values.type
    )


def _one_array(values: pa.ChunkedArray) -> pa.Array:
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()


def _trial() -> bool:
    """Whether rows of some pages, of a dictionary and of plain values, are those of their file."""
    rows = 1000
    texts = [None if i % 7 == 0 else f"text {i % 5}" for i in range(rows)]
    table = pa.table({"number": pa.array(range(rows)), "text": pa.array(texts)})
    sink = pa.BufferOutputStream()
    how = {"use_dictionary": ["text"], "write_batch_size": 100, "data_page_size": 100}
    pq.write_table(table, sink, write_page_index=True, write_page_checksum=True, **how)
    content = pa.BufferReader(sink.getvalue())
    file, where = pq.ParquetFile(content), "a trial of pages"
    opened = OpenParquet(file, content, where, {}, LOSSLESS, None, Bound(), lambda _: None)
    positions = np.array([3, 4, 555, 998])
    tried = PagedFile(opened).rows(table.schema, 0, positions, 3)
    read = None if tried is None else pa.Table.from_batches(tried, table.schema)
    return read is not None and bool(read.equals(table.take(pa.array(positions))))


PAGES = PrivateForm("pages", "row groups are read whole where a few pages would do", _trial)
