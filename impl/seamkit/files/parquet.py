"""Rows of one Parquet file, as batches of the table's types."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambase.encodings import made_anew
from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.core.unpack import Bound
from seamkit.files.blooms.split_block import groups_that_may_hold
from seamkit.files.columns import field_id
from seamkit.files.expressions import named_values
from seamkit.files.file_cache import KEPT
from seamkit.files.footers.calendars import check_calendar, check_int96, first_of_int96
from seamkit.files.footers.chunks import (
    NullCounts,
    bound_of,
    check_chunks,
    check_page_sizes,
    chunk_begin,
    chunk_paths,
    contradicts,
    counts_back,
    counts_nulls,
    fits_64_bits,
    footer_bytes,
    footer_without_arrow,
    int96_columns,
    leaves,
    names_extensions,
    null_counts,
    orders_bytes,
    orders_decimals,
    writer_of,
)
from seamkit.files.footers.rewriting import PAIRS_ID, footer_of_int96, footer_of_pairs
from seamkit.files.promotion import (
    LOSSLESS,
    TypeRules,
    byte_decimals,
    decimals_of,
    footer_of_bytes,
    has_within,
    resolve_batch,
)
from seamkit.files.ranges import FarFile
from seamkit.files.reader import FileReader, RowsWanted, check_rows, rows_of_nulls
from seamkit.files.spreading import long_dictionaries, rows_at_once, texts_within
from seamkit.files.statistics import (
    FileStatistics,
    FooterBounds,
    footer_statistics,
    guarantee_of,
    is_misjudged,
    that_may_match,
)
from seamkit.files.storage import Storage, read_part

if TYPE_CHECKING:
    import pyarrow.dataset as ds

_T = TypeVar("_T")

PARQUET_ERRORS = (OSError, pa.ArrowException, UnicodeDecodeError)
"""What pyarrow raises of a broken file, names in it that are no text among it."""

#: Columns come in the types of Parquet, as they always did before Arrow 21.
PLAIN_TYPES = {"arrow_extensions_enabled": False} if int(pa.__version__.split(".")[0]) > 20 else {}

#: How Arrows say that they know no VARIANT, no GEOMETRY, or what comes after these.
_UNKNOWN_TYPE = re.compile(r"LogicalType that is not recognized|Logical type (Undefined|Variant) ")

#: Among the words by which Arrow asks for a key.
_ENCRYPTED = "encrypted"

#: How Arrow says that it reads no maps whose keys may be null.
_OPTIONAL_KEYS = "Map keys must be annotated as required"

#: How Arrow says that it does not read what is legal: flags by numbers of a dictionary, decimals of
#: more bytes than their digits take.
_UNREAD = re.compile(
    r"Dictionary encoding not implemented|::FromBigEndian was (?!0)|Invalid BYTE_ARRAY length for d"
)

_STREAM_BYTES = 1 << 20
_HEADER_BYTES = 100


@dataclass(frozen=True)
class _Hidden:
    """What of a footer is hidden from pyarrow: its writer's Arrow schema, maps with such keys.

    Bounds that are cut are, too; and what pyarrow does not show, see `check_chunks`.
    """

    has_arrow: bool
    has_pairs: bool
    has_cut: bool
    told_otherwise: Mapping[str, bool]


def open_parquet(
    source: Any, where: str, bound: Bound | None = None, **options: Any
) -> pq.ParquetFile:
    """Open a Parquet file, whoever made it; pages that have a checksum are held to it.

    Columns have the types of Parquet, and not those that the writer's Arrow schema names. `bound`
    is what a page may become, of a file that is read whole; further options are of `ParquetFile`.
    """
    return _opened(source, where, bound, **options)[0]


def _opened(
    source: Any, where: str, bound: Bound | None = None, *, pairs: bool = False, **options: Any
) -> tuple[pq.ParquetFile, _Hidden]:
    """The same, and what of its footer is hidden from pyarrow."""
    # `pairs`: maps whose keys may be null come as lists of their entries, see `footer_of_pairs`.
    footer = other = cut = None
    told: Mapping[str, bool] = {}
    try:
        # One that is known was made and checked when it was read.
        is_known = "metadata" in options
        if not is_known:
            own = footer_bytes(source)
            file, footer, other = _with_footer(source, source, own, options, pairs=pairs)
            told, cut = check_chunks(*own, file.metadata, file.schema_arrow.names, where)
            if cut is not None:
                whole = pa.BufferReader(cut + len(cut).to_bytes(4, "little") + b"PAR1")
                file, footer, other = _with_footer(source, whole, (0, cut), options, pairs=pairs)
        else:
            file = pq.ParquetFile(source, **_how(source), **options)
        names = file.schema_arrow.names
        if bound is not None and bound.is_stated:
            groups = range(file.metadata.num_row_groups)
            check_page_sizes(file.metadata, None, groups, partial(read_part, source), bound, where)
    except PARQUET_ERRORS as error:
        if _UNKNOWN_TYPE.search(str(error)):
            raise RefusedError(
                f"{where}: a column has a logical type that pyarrow {pa.__version__} does not know "
                f"({error}): VARIANT is known from pyarrow 22 on, GEOMETRY from 20"
            ) from error
        if _ENCRYPTED in str(error):
            raise RefusedError(f"{where}: it is encrypted, which is not supported") from error
        raise InputError(f"{where}: not readable as Parquet ({error})") from error
    check_names(names, where)
    _check_rows(file.metadata, where)
    if not is_known:
        check_calendar(file.metadata, own[1], where)
    hidden = _Hidden(footer is not None, other is not None, cut is not None, told)
    return file, hidden


def _with_footer(
    source: Any,
    holder: Any,
    own: tuple[int, bytes],
    options: Mapping[str, Any],
    *,
    pairs: bool,
) -> tuple[pq.ParquetFile, pq.FileMetaData | None, pq.FileMetaData | None]:
    """A file by the footer at the end of `holder`: the file, or a copy of its footer alone."""
    # `own` is that footer, and where it begins. The footers that come back hide from pyarrow what
    # `_Hidden` tells: the Arrow schema, and maps whose keys may be null; None where they hide none.
    footer = other = None
    try:
        footer = footer_without_arrow(holder, *own)
        if footer is None and holder is not source:
            footer = pq.read_metadata(holder)
        file = pq.ParquetFile(source, metadata=footer, **_how(source), **options)
    except pa.ArrowInvalid as error:
        if pairs and _OPTIONAL_KEYS in str(error):
            other = footer_of_pairs(own[1])
        if other is None:
            raise
        file = pq.ParquetFile(source, metadata=other, **_how(source), **options)
    return file, footer, other


def _check_rows(footer: pq.FileMetaData, where: str) -> None:
    """Row groups have the rows of the file: one without rows would be passed over."""
    rows = sum(footer.row_group(group).num_rows for group in range(footer.num_row_groups))
    if rows != footer.num_rows:
        raise InputError(
            f"{where}: {counted(rows, 'row')} in row groups, {footer.num_rows} in the file"
        )


def _how(source: Any) -> dict[str, Any]:
    """How pyarrow reads a file: by streams of pages, so that memory does not grow with the file."""
    # One that is far away fetches ahead by itself, group by group.
    buffer_bytes = 0 if isinstance(source, FarFile) else _STREAM_BYTES
    return {
        "page_checksum_verification": True,
        "pre_buffer": False,
        "buffer_size": buffer_bytes,
        **PLAIN_TYPES,
    }


def check_names(names: Sequence[str], where: str) -> None:
    """Make sure that a name means one column."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{where}: two columns have the name {twice!r}")


FirstDay = Callable[[pq.FileMetaData], int | None]
"""The first day of a file's times of INT96 that is read; None for all."""


@dataclass(frozen=True)
class OpenParquet:
    """An open file.

    Attributes:
        file: as pyarrow opened it.
        content: its bytes, which no other reader uses.
        name: what messages call it.
        options: further arguments of `pyarrow.parquet.ParquetFile`, with which it was opened.
        rules: which types of the file become which of the table.
        identity: by which what is made of it may be kept; None if nothing may.
        bound: what a page may become.
        first_of_int96: see `ParquetReader`.
    """

    file: pq.ParquetFile
    content: pa.NativeFile
    name: str
    options: Mapping[str, Any]
    rules: TypeRules
    identity: Hashable | None
    bound: Bound
    first_of_int96: FirstDay


def columns_alike(own: pa.Schema, schema: pa.Schema) -> list[str]:
    """The columns that a file has in the type wanted: what it says of others cannot be compared."""
    names = set(own.names)
    return [
        field.name
        for field in schema
        if field.name in names and own.field(field.name).type.equals(field.type)
    ]


# What a footer holds of a column chunk in memory, about.
_BYTES_A_CHUNK = 500


def _footer_memory(footer: pq.FileMetaData) -> int:
    """What a footer takes in memory, about."""
    chunks = footer.num_row_groups * footer.num_columns
    return int(footer.serialized_size + chunks * _BYTES_A_CHUNK)


class ParquetReader(FileReader):
    """A `FileReader` of Parquet; the footer, which holds a large bloom filter, is read once.

    `int96_unit` is the unit of timestamps that are stored as INT96; None for nanoseconds, as which
    those of some writers are read anyway (`counts_back`). Files whose times reach beyond 64 bits of
    these are refused, as are such times before the day that `first_of_int96` says.

    Attributes:
        counts_back: whether its times of INT96 come as nanoseconds for that.
    """

    has_footer = True

    def __init__(
        self,
        storage: Storage,
        path: str,
        rules: TypeRules = LOSSLESS,
        int96_unit: str | None = None,
        first_of_int96: FirstDay = first_of_int96,
    ) -> None:
        self.rules = rules
        self._first_of_int96 = first_of_int96
        self._int96_unit = int96_unit
        self._how: dict[str, Any] = {"coerce_int96_timestamp_unit": int96_unit}
        self.name = storage.full(path)
        self._storage = storage
        self.is_strict = storage.is_strict
        self._path = path
        self._identity: Hashable | None = None
        self._content, self._file = self._opened()
        footer, names = self._file.metadata, self._file.schema_arrow.names
        self.counts_back = bool(int96_unit and counts_back(footer) and int96_columns(footer, names))
        if self.counts_back:
            self._int96_unit, self._how = None, {}
            self._file = open_parquet(self._content, self.name, metadata=footer)
        self.size_bytes: int = self._content.size()
        self.num_rows: int = self._file.metadata.num_rows
        self.num_row_groups: int = self._file.metadata.num_row_groups
        self._names = set(self._file.schema_arrow.names)
        self._of_bytes: pq.ParquetFile | None = None
        self._footer_of_bytes: pq.FileMetaData | None = None

    @functools.cached_property
    def _decimals(self) -> Mapping[str, pa.DataType]:
        """Columns that are read as bytes and become decimals; see `seamkit.files.promotion`."""
        return byte_decimals(self._file.metadata)

    def _opened(self) -> tuple[pa.NativeFile, pq.ParquetFile]:
        """The file; its footer may be known from an earlier read of the same file."""
        before = self._storage.file_identity(self._path)
        content = self._storage.open(self._path)
        known = None if before is None else KEPT.get(("footer", before))
        # Another file may have come there between looking at it and opening it.
        same = before is not None and before == self._storage.file_identity(self._path)
        self._identity = before if same else None
        if known is not None and same:
            footer, hidden = known
            self._hidden: _Hidden = hidden
            return content, open_parquet(content, self.name, metadata=footer, **self._how)
        file, self._hidden = _opened(content, self.name, pairs=True, **self._how)
        if same and before == self._storage.file_identity(self._path):
            kept = file.metadata, self._hidden
            KEPT.put(("footer", before), kept, _footer_memory(file.metadata))
        else:
            self._identity = None
        return content, file

    @functools.cached_property
    def schema(self) -> pa.Schema:
        """The file's own columns."""
        own = self._file.schema_arrow.remove_metadata()
        if not self._hidden.has_pairs:
            return own
        return pa.schema([field.with_type(made_anew(field.type, _as_map)) for field in own])

    @property
    def footer(self) -> pq.FileMetaData:
        """What the file says of itself; `seamkit.files.footers.chunks` knows what to ask of it."""
        return self._file.metadata

    @property
    def local_path(self) -> str | None:
        """Where the file lies on this machine; None if it lies elsewhere."""
        return self.name if self._storage.is_local else None

    @property
    def names_extensions(self) -> bool:
        """Whether its writer named types of its own for columns, by which engines may go."""
        # A footer's own words are copied whole when they are looked at, bloom filters among them.
        return self._hidden.has_arrow and names_extensions(self._file.metadata)

    @property
    def told_otherwise(self) -> Mapping[str, bool]:
        """Columns with types that other readers take for others; true if they refuse the file."""
        return self._hidden.told_otherwise

    @property
    def created_by(self) -> str:
        """See `FileReader.created_by`."""
        return writer_of(self._file.metadata)

    @property
    def has_cut_bounds(self) -> bool:
        """Whether bounds of values of a fixed length are cut, which are hidden from pyarrow."""
        return self._hidden.has_cut

    def int96_columns(self, names: Collection[str]) -> list[str]:
        """Those of some columns in which times of INT96 lie, at any depth."""
        return int96_columns(self._file.metadata, names)

    def maps_as_pairs(self, names: Collection[str]) -> list[str]:
        """Those of some columns with maps whose keys may be null, at any depth."""
        if not self._hidden.has_pairs:
            return []
        own = self._file.schema_arrow
        return [name for name in names if own.field(name).type != self.schema.field(name).type]

    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """See `FileReader.read`."""
        schema, row_groups = wanted.schema, wanted.row_groups
        present = [name for name in schema.names if name in self._names]
        if not present:
            yield from rows_of_nulls(schema, self.rows_in(row_groups), wanted.batch_rows)
            return
        long: Sequence[str] = ()
        if (bound := self._storage.bound).is_stated:
            long = self._check_pages(present, row_groups)
            own, most = self._file.metadata, wanted.batch_rows
            wanted = replace(wanted, batch_rows=rows_at_once(own, present, most, bound))
        times = self.int96_columns(present)
        self._check_times(times, row_groups)
        # The footer's own words are copied for it.
        first_day = self._first_of_int96(self._file.metadata) if times else None
        kept = dictionary_columns(self._file, schema, wanted.encoded)
        file, schema = self._encoded(schema, kept, long, row_groups)
        rows, nulls = 0, NullCounts(self._file.metadata, row_groups)
        held = FooterBounds(self._file.metadata, self.name) if self.is_strict else None
        try:
            for group, batch in self._pieces(file, present, wanted):
                rows += batch.num_rows
                nulls.add(batch)
                if first_day is not None:
                    for name in times:
                        check_int96(batch.column(name), first_day, name, self.name)
                batch = decimals_of(batch, self._decimals)
                if held is not None and group is not None:
                    held.check(batch, group)
                pieces = (
                    texts_within(batch, kept, self._storage.bound, self.name) if long else (batch,)
                )
                for piece in pieces:
                    yield resolve_batch(piece, schema, self.rules, self.name)
        except PARQUET_ERRORS as error:
            raise self._wrong(f"broken after row {rows}", error) from error
        check_rows(rows, self.rows_in(row_groups), self.name)
        nulls.check(self.name)

    def _wrong(self, what: str, error: Exception) -> InputError | RefusedError:
        """What to raise for an error of pyarrow's, which may be about what it does not read."""
        if _UNREAD.search(str(error)):
            how = "a column is stored in a way that pyarrow does not read"
            return RefusedError(f"{self.name}: {how} ({error})")
        return InputError(f"{self.name}: {what} ({error})")

    def _check_times(self, times: Sequence[str], row_groups: Sequence[int] | None) -> None:
        """Refuse columns with times of INT96 beyond 64 bits of nanoseconds, which would wrap."""
        # Their bytes tell. In another unit than nanoseconds pyarrow takes a time of day for a
        # number without a sign, and some writers count it back from midnight before 1970.
        if self._int96_unit or not times:
            return
        footer = self._kept("footer of INT96", partial(footer_of_int96, self._file.metadata))
        if footer is None:
            raise RefusedError(f"{self.name}: columns {times} have times of INT96, not read here")
        read = pq.ParquetFile(self._opened_again(), metadata=footer)
        try:
            for batch in read.iter_batches(columns=times, row_groups=row_groups):
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    if not all(map(fits_64_bits, leaves(column))):
                        raise RefusedError(
                            f"{self.name}: columns {times} have times of INT96 that are not read: "
                            f"one of {name!r} is beyond 64 bits of nanoseconds"
                        )
        except PARQUET_ERRORS as error:
            raise InputError(f"{self.name}: columns {times} are broken ({error})") from error

    def _check_pages(
        self, names: Collection[str], row_groups: Sequence[int] | None
    ) -> Sequence[str]:
        """Refuse pages that become too large; the columns whose texts may, once they are spread."""
        groups = range(self.num_row_groups) if row_groups is None else row_groups
        own, bound, read = self._file.metadata, self._storage.bound, self._reading_at()
        try:
            check_page_sizes(own, names, groups, read, bound, self.name)
            return long_dictionaries(own, names, groups, read, bound, self.name)
        except PARQUET_ERRORS as error:
            raise InputError(f"{self.name}: its pages are not readable ({error})") from error

    def _pieces(
        self, file: pq.ParquetFile, names: Sequence[str], wanted: RowsWanted
    ) -> Iterator[tuple[int | None, pa.RecordBatch]]:
        """Batches as the file has them, with their row group where none goes over its end."""
        # So it is for strict reads, and of a file far away. Otherwise pyarrow reads a column of
        # several groups before it comes to the next one, and what was fetched of the first groups
        # would have to be kept.
        groups = wanted.row_groups
        parts: list[Sequence[int] | None] = [groups]
        is_apart = self.is_strict or isinstance(self._content, FarFile)
        if is_apart:
            groups = range(self.num_row_groups) if groups is None else groups
            parts = [[group] for group in groups]
        for part in parts:
            group = part[0] if part and is_apart else None
            for batch in file.iter_batches(
                wanted.batch_rows, columns=names, use_threads=wanted.use_threads, row_groups=part
            ):
                yield group, batch

    def _opened_again(self) -> pa.NativeFile:
        if isinstance(self._content, FarFile):
            return self._content.again()
        return self._storage.open(self._path)

    def _expect(
        self, content: pa.NativeFile, names: Collection[str], row_groups: Sequence[int] | None
    ) -> None:
        """Let a file far away fetch what will be read of some columns."""
        if not isinstance(content, FarFile):
            return
        metadata = self._file.metadata
        groups = range(metadata.num_row_groups) if row_groups is None else row_groups
        content.expect([_spans(metadata, group, names) for group in groups])

    def fetch(self, names: Collection[str], row_groups: Sequence[int]) -> None:
        """See `FileReader.fetch`; nothing is done for a file on this machine."""
        if isinstance(self._content, FarFile):
            metadata = self._file.metadata
            self._content.fetch(
                [span for group in row_groups for span in _spans(metadata, group, names)]
            )

    def _encoded(
        self,
        schema: pa.Schema,
        names: Sequence[str],
        long: Sequence[str],
        row_groups: Sequence[int] | None,
    ) -> tuple[pq.ParquetFile, pa.Schema]:
        """The file opened to hand out texts as dictionaries, and the schema that `names` give."""
        # Decimals may come as bytes, unless it is the file as it was opened first.
        read = self._names.intersection(schema.names)
        decimals = not self._decimals.keys().isdisjoint(read)
        if not names and not long:
            self._expect(self._content, read, row_groups)
            return self._file_of_bytes() if decimals else self._file, schema
        content = self._opened_again()
        self._expect(content, read, row_groups)
        file = self._opened_by(content, decimals=decimals, read_dictionary=[*names, *long])
        return file, with_dictionaries(schema, names)

    def _file_of_bytes(self) -> pq.ParquetFile:
        if self._of_bytes is None:
            self._of_bytes = self._opened_by(self._content, decimals=True)
        return self._of_bytes

    def _opened_by(
        self, content: pa.NativeFile, *, decimals: bool, **options: Any
    ) -> pq.ParquetFile:
        """The file opened once more by the known footer: to parse it anew would cost more."""
        if decimals and self._footer_of_bytes is None:
            made = partial(footer_of_bytes, self._file.metadata, self._decimals)
            self._footer_of_bytes = self._kept("footer of bytes", made)
            self._decimals = {} if self._footer_of_bytes is None else self._decimals
        footer = self._footer_of_bytes if decimals and self._decimals else self._file.metadata
        return pq.ParquetFile(content, metadata=footer, **options, **_how(content), **self._how)

    def _kept(self, what: str, make: Callable[[], _T]) -> _T:
        """What is made of the footer alone: once, as long as the file stays as it is."""
        key = (what, self._identity)
        known: tuple[_T] | None = None if self._identity is None else KEPT.get(key)
        if known is None:
            known = (make(),)
            if self._identity is not None:
                KEPT.put(key, known, _footer_memory(self._file.metadata))
        return known[0]

    def of_footer(self, ask: Callable[[pq.FileMetaData, str], _T]) -> _T:
        """What something says of the footer: once, as long as the file stays as it is."""
        return self._kept(
            f"{ask.__module__}.{ask.__qualname__}", partial(ask, self._file.metadata, self.name)
        )

    def once(self, what: Hashable, check: Callable[[], None]) -> None:
        """See `FileReader.once`."""
        key = (what, self._identity)
        if self._identity is None or KEPT.get(key) is None:
            check()
            if self._identity is not None:
                KEPT.put(key, True, _BYTES_A_CHUNK)

    def greatest(self, name: str, kind: pa.DataType) -> int | None:
        """See `FileReader.greatest`."""
        if name not in self._names or not self._file.schema_arrow.field(name).type.equals(kind):
            return None
        greatest = None
        for chunk in _chunks(self._file, name):
            known = chunk.statistics
            if chunk.physical_type not in ("INT32", "INT64") or known is None:
                return None
            if not known.has_min_max or not known.has_null_count or known.null_count:
                return None
            value = int(known.max_raw)
            greatest = value if greatest is None else max(greatest, value)
        return greatest

    def leasts(self, name: str, kind: pa.DataType) -> Sequence[pa.Scalar]:
        """See `FileReader.leasts`."""
        if name not in self._names or not self._file.schema_arrow.field(name).type.equals(kind):
            return ()
        if pa.types.is_nested(kind) or not orders_bytes(self._file.metadata):
            return ()
        chunks, nulls = _chunks(self._file, name), null_counts(self._file.metadata)
        known = [chunk.statistics for chunk in chunks]
        for one, chunk in zip(known, chunks, strict=True):
            if one is None or not one.has_min_max or nulls(chunk) != 0:
                return ()
        try:
            return [bound_of(one, "min", kind)[0] for one in known]
        except UnicodeDecodeError:  # texts that are cut within a character
            return ()
        except (*PARQUET_ERRORS, ValueError, OverflowError) as error:
            raise self._wrong("its statistics are not readable", error) from error

    def statistics(
        self, schema: pa.Schema, row_groups: Sequence[int] | None = None
    ) -> FileStatistics:
        """See `FileReader.statistics`."""
        try:
            return footer_statistics(self._file, schema, row_groups)
        except (*PARQUET_ERRORS, ValueError, OverflowError) as error:
            raise self._wrong("its statistics are not readable", error) from error

    def rows_in(self, row_groups: Sequence[int] | None) -> int:
        """Rows of some row groups, or of all (None), as the footer tells."""
        if row_groups is None:
            return self.num_rows
        return sum(self._file.metadata.row_group(i).num_rows for i in row_groups)

    def row_groups_that_may_match(
        self, condition: pc.Expression, schema: pa.Schema, counted: Collection[str] | None = None
    ) -> list[int]:
        """See `FileReader.row_groups_that_may_match`; Bloom filters come after statistics."""
        own = self._file.schema_arrow
        alike = columns_alike(own, schema)
        groups = self._by_statistics(condition, schema, alike, counted)
        tested = [own.field(name) for name in alike if counted is None or name in counted]
        if not groups:
            return groups
        try:
            values = partial(named_values, condition)
            return groups_that_may_hold(
                self._file.metadata, groups, values, pa.schema(tested), self._reading_at()
            )
        except PARQUET_ERRORS as error:
            raise InputError(f"{self.name}: its filters are not readable ({error})") from error

    def opened(self) -> OpenParquet:
        """The file for who reads parts of it."""
        how = self._how, self.rules, self._identity, self._storage.bound, self._first_of_int96
        return OpenParquet(self._file, self._opened_again(), self.name, *how)

    def _reading_at(self) -> Callable[[int, int], bytes]:
        """Gives bytes from an offset on, fewer where the file ends; opened at the first call."""
        opened: list[pa.NativeFile] = []

        def read(offset: int, length: int) -> bytes:
            if not opened:
                opened.append(self._opened_again())
            opened[0].seek(min(offset, self.size_bytes))
            return bytes(opened[0].read(min(length, max(self.size_bytes - offset, 0))))

        return read

    def _by_statistics(
        self,
        condition: pc.Expression,
        schema: pa.Schema,
        alike: Sequence[str],
        counted: Collection[str] | None,
    ) -> list[int]:
        """The row groups that a condition leaves by the ranges of `alike` columns."""
        # Ranges of floating-point numbers say nothing of NaN, which pyarrow does not think of: it
        # would leave out rows that are NaN for `is_nan(x)`, and for `x != 5` where all others are
        # 5.
        if is_misjudged(condition, schema) or (counted is None and len(alike) < len(schema)):
            return list(range(self.num_row_groups))
        own, footer = self._file.schema_arrow, self._file.metadata
        try:
            kinds = [own.field(name).type for name in alike]
            decimals = any(has_within(pa.types.is_decimal, kind) for kind in kinds)
            is_sure = orders_decimals(footer) or not decimals
            floats = any(has_within(pa.types.is_floating, kind) for kind in kinds)
            if (
                counted is None
                and not floats
                and orders_bytes(footer)
                and is_sure
                and counts_nulls(footer)
            ):
                fragment = self._kept("fragment", self._footer_alone)
                with suppress(pa.ArrowInvalid):  # of a bound as what the condition casts it to
                    left = fragment.subset(filter=condition, schema=schema).row_groups
                    return self._with_contradicting({group.id for group in left}, alike)
            known = pa.schema([own.field(n) for n in alike if counted is None or n in counted])
            guarantees = [
                guarantee_of(footer_statistics(self._file, known, [group]))
                for group in range(self.num_row_groups)
            ]
        except (*PARQUET_ERRORS, ValueError, OverflowError) as error:
            raise self._wrong("its statistics are not readable", error) from error
        return that_may_match(guarantees, condition, schema)

    def _with_contradicting(self, left: set[int], names: Sequence[str]) -> list[int]:
        """Row groups that are left, and those with ranges that contradict themselves."""
        footer = self._file.metadata
        columns = [(n, footer.schema.column(n)) for n, _ in chunk_paths(footer, names)]
        return [
            number
            for number in range(self.num_row_groups)
            if number in left
            or any(contradicts(footer.row_group(number).column(n), own) for n, own in columns)
        ]

    def _footer_alone(self) -> ds.ParquetFileFragment:
        """A file of nothing but the footer, as it was read: of Parquet's types alone."""
        import pyarrow.dataset as ds

        footer = pa.BufferOutputStream()
        self._file.metadata.write_metadata_file(footer)
        return ds.ParquetFileFormat().make_fragment(pa.BufferReader(footer.getvalue()))


def _as_map(kind: pa.DataType) -> pa.DataType:
    """A map where `footer_of_pairs` has a list of its entries."""
    if not pa.types.is_list(kind) or field_id(kind.value_field) != PAIRS_ID:
        return kind
    key, item = kind.value_type
    return pa.map_(key.with_nullable(False), item)


def dictionary_columns(
    file: pq.ParquetFile, schema: pa.Schema, names: Collection[str]
) -> list[str]:
    """Columns of texts all of whose pages refer to a dictionary.

    Writers of the first data page format name the encoding of such a chunk PLAIN_DICTIONARY, and
    add PLAIN where they gave the dictionary up. `schema` has what will be read, in the types
    wanted, `names` those to choose from.
    """
    own = file.schema_arrow
    texts = (
        name
        for name in names
        if schema.field(name).type in (pa.string(), pa.binary())
        and own.get_field_index(name) >= 0
        and own.field(name).type.equals(schema.field(name).type)
    )
    return [
        name
        for name in texts
        if all(
            "PLAIN_DICTIONARY" in chunk.encodings and "PLAIN" not in chunk.encodings
            for chunk in _chunks(file, name)
        )
    ]


def with_dictionaries(schema: pa.Schema, names: Collection[str]) -> pa.Schema:
    """The schema with some columns of texts as pyarrow hands out dictionaries."""
    return pa.schema(
        [
            field.with_type(pa.dictionary(pa.int32(), field.type)) if field.name in names else field
            for field in schema
        ]
    )


def _spans(metadata: pq.FileMetaData, group: int, names: Collection[str]) -> list[tuple[int, int]]:
    """Where the chunks of some columns lie in the file; their names are those of the schema."""
    found = []
    row_group = metadata.row_group(group)
    for number, _ in chunk_paths(metadata, names):
        chunk = row_group.column(number)
        begin = chunk_begin(chunk)
        # Old writers leave the last page's header out of the length; pyarrow reads on for it.
        found.append((begin, begin + chunk.total_compressed_size + _HEADER_BYTES))
    return found


def _chunks(file: pq.ParquetFile, name: str) -> list[pq.ColumnChunkMetaData]:
    """A flat column's chunks, one a row group."""
    metadata = file.metadata
    paths = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    index = paths.index(name)
    return [metadata.row_group(i).column(index) for i in range(metadata.num_row_groups)]
