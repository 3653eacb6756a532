"""An independent reader of Presto's SerializedPages, in plain Python: a witness, not an engine.

It follows the format as Presto 0.296 writes it (PagesSerde, PagesSerdeUtil and the block encodings
of com.facebook.presto.common.block) and as Velox reads it (PrestoSerializer.cpp, August 2026), and
keeps every encoding as it came. It judges what implementations write, explains pages field by field
and says where a broken one breaks. It is strict: whatever a writer of the format would not write is
an error, except what real writers are known to do (flags without nulls, nulls with bytes).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Literal

import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seambase.pages.flat_encodings import encoding_of
from seambase.serde import CODECS, SerdeRequest
from seambase.types import SerdeType
from seambase.walk import ByteField, Cursor
from seambase.wording import counted

__all__ = [
    "CHECKSUMMED",
    "COMPRESSED",
    "HEADER_BYTES",
    "Block",
    "Page",
    "PageOptions",
    "checksum_of",
    "compress",
    "frame",
    "layout_of",
    "page_options",
    "read_pages",
]

HEADER_BYTES = 21
COMPRESSED, ENCRYPTED, CHECKSUMMED = 1, 2, 4

_WIDTHS = {
    "BYTE_ARRAY": 1,
    "SHORT_ARRAY": 2,
    "INT_ARRAY": 4,
    "LONG_ARRAY": 8,
    "INT128_ARRAY": 16,
}
_ENCODINGS = (*_WIDTHS, "VARIABLE_WIDTH", "ARRAY", "MAP", "ROW")
# Dictionaries and runs of any type, and bare nulls, which stand in for any.
_ANY_TYPE = ("DICTIONARY", "RLE", "BYTE_ARRAY")
_SOURCE_ID_BYTES = 24
# pyarrow's names; gzip and zlib are Python's own.
_ARROW_CODECS: Mapping[str, str] = {"lz4": "lz4_raw", "zstd": "zstd", "snappy": "snappy"}


@dataclass(frozen=True)
class PageOptions:
    """What bytes mean and no byte tells, and limits.

    Attributes:
        codec: what compressed pages are compressed with.
        nulls_first: rows have their flags before their fields (an option of Velox).
        zero_offsets: those of null rows may be 0 (Velox passes over them, and has had a writer of
            such; Presto would take other fields).
        timestamps: `lossless` makes timestamps 16 bytes wide (an option of Velox).
        size_limit: most bytes of a payload, most rows of a block.
        depth_limit: most levels of blocks.
    """

    codec: str = "none"
    nulls_first: bool = False
    zero_offsets: bool = False
    timestamps: Literal["millis", "micros", "lossless"] = "millis"
    size_limit: int = 1 << 30
    depth_limit: int = 256


def page_options(request: SerdeRequest) -> PageOptions:
    """What the witness must know to read pages of a request."""
    options = request.options
    return PageOptions(
        codec=str(options.get("codec", "none")),
        nulls_first=bool(options.get("nulls_first", False)),
        zero_offsets=options.get("dialect") == "velox",
        timestamps=options.get("timestamps", "millis"),
    )


@dataclass
class Block:
    """A column, or a part of one, in the encoding it came in.

    Attributes:
        encoding: its name on the wire.
        nulls: a flag per row, or None where no flags follow.
        values: bytes of each non-null row (fixed widths), or of each row (VARIABLE_WIDTH).
        offsets: of ARRAY, MAP, ROW: rows + 1 of them; empty for a row with its flags first.
        children: elements; keys and values; fields; the dictionary; the one row of a run.
        ids: of a DICTIONARY.
        source_id: of a DICTIONARY; it differs in every process and is not compared.
        hash_table: of a MAP, or None.
    """

    encoding: str
    rows: int
    nulls: list[bool] | None = None
    values: list[bytes] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    children: list[Block] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    source_id: bytes = field(default=b"", compare=False)
    hash_table: list[int] | None = None

    def is_null(self, row: int) -> bool:
        """Whether the flags say that a row is null."""
        return self.nulls is not None and self.nulls[row]


@dataclass
class Page:
    """A page: its header, its payload as it was before compression, and its columns."""

    rows: int
    marker: int
    uncompressed_size: int
    size: int
    checksum: int
    payload: bytes
    columns: list[Block]


def read_pages(
    data: bytes | memoryview,
    options: PageOptions,
    types: list[SerdeType] | None = None,
    walked: list[ByteField] | None = None,
) -> list[Page]:
    """Read pages that stand end to end, with options for what no byte tells.

    Without `types` the encodings alone are gone by, which is enough unless timestamps are lossless.
    Every field is added to `walked` as it is read, also before an error.
    """
    cursor = Cursor(data, walked=walked)
    pages: list[Page] = []
    while cursor.left:
        pages.append(_Reader(cursor, options, types).page(len(pages)))
    return pages


def checksum_of(payload: bytes | memoryview, marker: int, rows: int, uncompressed: int) -> int:
    """CRC-32 of a page: payload as on the wire, marker, row count, uncompressed size."""
    crc = zlib.crc32(payload)
    crc = zlib.crc32(bytes([marker]), crc)
    crc = zlib.crc32(rows.to_bytes(4, "little", signed=True), crc)
    return zlib.crc32(uncompressed.to_bytes(4, "little", signed=True), crc)


def compress(payload: bytes, codec: str) -> bytes:
    """A payload as a codec leaves it."""
    if codec in _ARROW_CODECS:
        squeezed: bytes = pa.Codec(_ARROW_CODECS[codec]).compress(payload, asbytes=True)
        return squeezed
    if codec == "gzip":
        return gzip.compress(payload, mtime=0)
    if codec == "zlib":
        return zlib.compress(payload)
    raise UsageError(f"codec {codec!r}: one of {', '.join(CODECS)} is meant")


def frame(rows: int, payload: bytes, codec: str = "none", checksum: bool = False) -> bytes:
    """A page around a payload: compressed where a codec is named, whether that pays or not."""
    wire = payload if codec == "none" else compress(payload, codec)
    marker = (COMPRESSED if codec != "none" else 0) | (CHECKSUMMED if checksum else 0)
    crc = checksum_of(wire, marker, rows, len(payload)) if checksum else 0
    head = rows.to_bytes(4, "little", signed=True) + bytes([marker])
    sizes = len(payload).to_bytes(4, "little") + len(wire).to_bytes(4, "little")
    return head + sizes + crc.to_bytes(8, "little") + wire


def layout_of(block: Block) -> str:
    """Encodings of a block, outermost first: `ARRAY<MAP<VARIABLE_WIDTH,LONG_ARRAY>>`."""
    if not block.children and block.encoding != "ROW":
        return block.encoding
    return f"{block.encoding}<{','.join(layout_of(child) for child in block.children)}>"


class _Reader:
    """Reads one page from a cursor."""

    def __init__(self, cursor: Cursor, options: PageOptions, types: list[SerdeType] | None) -> None:
        self._cursor = cursor
        self._options = options
        self._types = types

    def page(self, number: int) -> Page:
        cursor, begin = self._cursor, self._cursor.at
        if cursor.left < HEADER_BYTES:
            raise cursor.broken(
                f"header of page {number}", f"{HEADER_BYTES} bytes are needed, {cursor.left} left"
            )
        rows = cursor.count("number of rows")
        marker = cursor.number("<B", "codec marker")
        uncompressed = cursor.count("uncompressed size")
        size = cursor.count("size")
        crc = cursor.number("<Q", "checksum")
        self._check_header(begin, marker, uncompressed, size, crc)
        if size > cursor.left:
            raise cursor.broken(
                "payload",
                f"the header says {counted(size, 'byte')}, {cursor.left} are left",
                begin + 9,
            )
        wire = cursor.data[cursor.at : cursor.at + size]
        if marker & CHECKSUMMED and checksum_of(wire, marker, rows, uncompressed) != crc:
            raise cursor.broken("checksum", "it is not that of the page", begin + 13)
        if marker & COMPRESSED:
            cursor.take(size, f"payload, {self._options.codec}")
            payload = self._expand(bytes(wire), uncompressed, begin)
            inner = Cursor(payload, walked=cursor.walked)
            inner.depth = cursor.depth + 1
            columns = self._columns(inner, rows)
        else:
            payload = bytes(wire)
            inner = Cursor(cursor.data, cursor.at, cursor.at + size, cursor.walked)
            columns = self._columns(inner, rows)
            cursor.at += size
        return Page(rows, marker, uncompressed, size, crc, payload, columns)

    def _check_header(
        self, begin: int, marker: int, uncompressed: int, size: int, crc: int
    ) -> None:
        """What must hold between the fields of a header (Presto's SerializedPage, PagesSerde)."""
        cursor = self._cursor
        if marker & ENCRYPTED:
            raise RefusedError(f"at byte {begin + 4}, codec marker: encrypted pages are not read")
        if marker & ~(COMPRESSED | CHECKSUMMED):
            raise cursor.broken("codec marker", f"{marker} has bits that mean nothing", begin + 4)
        if not marker & CHECKSUMMED and crc:
            raise cursor.broken("checksum", "the marker says none, but it is not 0", begin + 13)
        if not marker & COMPRESSED and size != uncompressed:
            raise cursor.broken("size", f"{size} differs from {uncompressed}, not compressed")
        if marker & COMPRESSED and size >= uncompressed:
            raise cursor.broken("size", f"{size} is not less than {uncompressed}, yet compressed")
        if uncompressed > self._options.size_limit:
            raise RefusedError(
                f"at byte {begin + 5}, uncompressed size: {uncompressed} is beyond the limit"
            )

    def _expand(self, wire: bytes, uncompressed: int, begin: int) -> bytes:
        """The payload before compression."""
        codec = self._options.codec
        try:
            payload = _decompress(wire, uncompressed, codec)
        except (pa.ArrowException, OSError, EOFError, zlib.error, ValueError) as error:
            raise self._cursor.broken("payload", f"not {codec}: {error}", begin + 21) from error
        if len(payload) != uncompressed:
            raise self._cursor.broken(
                "uncompressed size", f"{uncompressed}, but {len(payload)} came out", begin + 5
            )
        return payload

    def _columns(self, cursor: Cursor, rows: int) -> list[Block]:
        """All columns of a payload, which they must fill."""
        count = cursor.count("number of columns")
        if self._types is not None and count != len(self._types):
            raise cursor.broken(
                "number of columns", f"{count}, the schema has {len(self._types)}", cursor.at - 4
            )
        columns = []
        for number in range(count):
            type_ = self._types[number] if self._types is not None else None
            begin = cursor.at
            cursor.note(begin, f"column {number}", type_.text if type_ else None)
            with cursor.deeper():
                column = self.block(cursor, type_, 1)
            if column.rows != rows:
                raise cursor.broken(
                    f"column {number}", f"{counted(column.rows, 'row')}, not {rows}", begin
                )
            columns.append(column)
        if cursor.left:
            raise cursor.broken(
                "payload", f"{counted(cursor.left, 'byte', 'follow')} the last column"
            )
        return columns

    def block(self, cursor: Cursor, type_: SerdeType | None, depth: int) -> Block:
        """One block with its name."""
        if depth > self._options.depth_limit:
            raise RefusedError(f"at byte {cursor.at}: blocks are nested too deep")
        begin = cursor.at
        length = cursor.count("length of the encoding's name", 64)
        name = cursor.text(length, "encoding")
        if name not in (*_ANY_TYPE, *([encoding_of(type_)] if type_ else _ENCODINGS)):
            needs = f"{type_.text} needs {encoding_of(type_)}, this is" if type_ else "there is no"
            raise cursor.broken("encoding", f"{needs} {name!r}", begin)
        if name in _WIDTHS:
            return self._fixed(cursor, name, type_)
        readers = {
            "VARIABLE_WIDTH": self._variable,
            "ARRAY": self._array,
            "MAP": self._map,
            "ROW": self._row_nulls_first if self._options.nulls_first else self._row,
            "DICTIONARY": self._dictionary,
            "RLE": self._run,
        }
        return readers[name](cursor, type_, depth)

    def _rows(self, cursor: Cursor) -> int:
        rows = cursor.count("rows")
        if rows > self._options.size_limit:
            raise RefusedError(f"at byte {cursor.at - 4}, rows: {rows} is beyond the limit")
        return rows

    def _nulls(self, cursor: Cursor, rows: int) -> list[bool] | None:
        """Flags: the first row is the highest bit of the first byte."""
        flag = cursor.number("<B", "has nulls")
        if flag not in (0, 1):
            raise cursor.broken("has nulls", f"{flag} is neither 0 nor 1", cursor.at - 1)
        if not flag:
            return None
        bits = cursor.take((rows + 7) // 8, "null flags")
        # Bits behind the last row may be anything: Velox leaves there what lay in its memory.
        return [bool(bits[row >> 3] >> (7 - (row & 7)) & 1) for row in range(rows)]

    def _fixed(self, cursor: Cursor, name: str, type_: SerdeType | None) -> Block:
        width = _WIDTHS[name]
        if self._options.timestamps == "lossless" and type_ and type_.kind == "timestamp":
            width = 16
        rows = self._rows(cursor)
        nulls = self._nulls(cursor, rows)
        count = rows - sum(nulls or ())
        if count and type_ is not None and name != encoding_of(type_):
            raise cursor.broken(
                "has nulls",
                f"{name} of a {type_.text} has {counted(count, 'value')}, not only nulls",
            )
        data = cursor.take(width * count, f"{counted(count, 'value')} of {counted(width, 'byte')}")
        values = [data[at : at + width] for at in range(0, len(data), width)]
        return Block(name, rows, nulls, values)

    def _variable(self, cursor: Cursor, _: SerdeType | None, __: int) -> Block:
        rows = self._rows(cursor)
        begin = cursor.at
        ends = cursor.numbers("i", rows, "end offsets")
        nulls = self._nulls(cursor, rows)
        total = cursor.count("bytes of all rows")
        starts = [0, *ends[:-1]] if rows else []
        for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if not start <= end <= total:
                raise cursor.broken(
                    "end offsets", f"row {row} reaches from {start} to {end} of {total}", begin
                )
        if (ends[-1] if rows else 0) != total:
            raise cursor.broken("bytes of all rows", f"{total}, the offsets end elsewhere")
        data = cursor.take(total, "bytes")
        values = [data[start:end] for start, end in zip(starts, ends, strict=True)]
        return Block("VARIABLE_WIDTH", rows, nulls, values)

    def _spans(
        self, cursor: Cursor, rows: int, reach: int, what: str
    ) -> tuple[list[int], list[bool] | None]:
        """Offsets with a leading 0, and flags; null rows span nothing."""
        begin = cursor.at
        offsets = cursor.numbers("i", rows + 1, "offsets")
        nulls = self._nulls(cursor, rows)
        if offsets[0] != 0 or any(a > b for a, b in pairwise(offsets)):
            raise cursor.broken("offsets", "they do not grow from 0", begin)
        if offsets[-1] != reach:
            raise cursor.broken("offsets", f"they end at {offsets[-1]} of {reach} {what}", begin)
        for row, null in enumerate(nulls or ()):
            if null and offsets[row] != offsets[row + 1]:
                raise cursor.broken("offsets", f"null row {row} has {what}", begin)
        return offsets, nulls

    def _array(self, cursor: Cursor, type_: SerdeType | None, depth: int) -> Block:
        with cursor.deeper():
            elements = self.block(cursor, _child(cursor, type_, 0), depth + 1)
        rows = self._rows(cursor)
        offsets, nulls = self._spans(cursor, rows, elements.rows, "elements")
        return Block("ARRAY", rows, nulls, offsets=offsets, children=[elements])

    def _map(self, cursor: Cursor, type_: SerdeType | None, depth: int) -> Block:
        with cursor.deeper():
            keys = self.block(cursor, _child(cursor, type_, 0), depth + 1)
            values = self.block(cursor, _child(cursor, type_, 1), depth + 1)
        if keys.rows != values.rows:
            raise cursor.broken(
                "map", f"{counted(keys.rows, 'key')} and {counted(values.rows, 'value')}"
            )
        if any(_null_at(keys, row) for row in range(keys.rows)):
            raise cursor.broken("map", "a key is null")
        length = cursor.number("<i", "length of the hash table")
        table = None
        if length != -1:
            if length != 2 * keys.rows:
                raise cursor.broken(
                    "length of the hash table",
                    f"{length} for {counted(keys.rows, 'entry')}",
                    cursor.at - 4,
                )
            table = cursor.numbers("i", length, "hash table")
        rows = self._rows(cursor)
        offsets, nulls = self._spans(cursor, rows, keys.rows, "entries")
        return Block("MAP", rows, nulls, offsets=offsets, children=[keys, values], hash_table=table)

    def _fields(self, cursor: Cursor, type_: SerdeType | None, depth: int) -> list[Block]:
        count = cursor.count("number of fields", cursor.left)
        if type_ is not None and (type_.kind != "row" or count != len(type_.children)):
            raise cursor.broken("number of fields", f"{count} in a {type_.text}", cursor.at - 4)
        with cursor.deeper():
            return [self.block(cursor, _child(cursor, type_, at), depth + 1) for at in range(count)]

    def _row(self, cursor: Cursor, type_: SerdeType | None, depth: int) -> Block:
        fields = self._fields(cursor, type_, depth)
        rows = self._rows(cursor)
        begin = cursor.at
        offsets = cursor.numbers("i", rows + 1, "offsets")
        nulls = self._nulls(cursor, rows)
        self._check_fields(cursor, fields, nulls, rows)
        gone = [False, *(nulls or [False] * rows)]
        reached = accumulate((not null for null in gone[1:]), initial=0)
        for row, (offset, wanted) in enumerate(zip(offsets, reached, strict=True)):
            zero = self._options.zero_offsets and gone[row] and offset == 0
            if offset != wanted and not zero:
                raise cursor.broken("offsets", f"{offset} where {wanted} rows are present", begin)
        return Block("ROW", rows, nulls, offsets=offsets, children=fields)

    def _row_nulls_first(self, cursor: Cursor, type_: SerdeType | None, depth: int) -> Block:
        rows = self._rows(cursor)
        nulls = self._nulls(cursor, rows)
        fields = self._fields(cursor, type_, depth)
        self._check_fields(cursor, fields, nulls, rows)
        return Block("ROW", rows, nulls, children=fields)

    def _check_fields(
        self, cursor: Cursor, fields: list[Block], nulls: list[bool] | None, rows: int
    ) -> None:
        """Fields hold the rows that are not null, and no others."""
        present = rows - sum(nulls or ())
        for at, block in enumerate(fields):
            if block.rows != present:
                raise cursor.broken(
                    f"field {at}",
                    f"{counted(block.rows, 'row')} for {counted(present, 'present row')}",
                )

    def _dictionary(self, cursor: Cursor, type_: SerdeType | None, depth: int) -> Block:
        rows = self._rows(cursor)
        with cursor.deeper():
            entries = self.block(cursor, type_, depth + 1)
        begin = cursor.at
        ids = cursor.numbers("i", rows, "ids")
        if any(not 0 <= id_ < entries.rows for id_ in ids):
            raise cursor.broken(
                "ids", f"one is outside the {counted(entries.rows, 'entry')}", begin
            )
        source = cursor.take(_SOURCE_ID_BYTES, "source id")
        return Block("DICTIONARY", rows, children=[entries], ids=ids, source_id=source)

    def _run(self, cursor: Cursor, type_: SerdeType | None, depth: int) -> Block:
        rows = self._rows(cursor)
        with cursor.deeper():
            value = self.block(cursor, type_, depth + 1)
        if value.rows != 1:
            raise cursor.broken("run", f"its value has {counted(value.rows, 'row')}, not one")
        return Block("RLE", rows, children=[value])


def _null_at(block: Block, row: int) -> bool:
    """Whether a row is null, also one that comes through a dictionary or a run."""
    if block.encoding == "DICTIONARY":
        return _null_at(block.children[0], block.ids[row])
    if block.encoding == "RLE":
        return _null_at(block.children[0], 0)
    return block.is_null(row)


def _child(cursor: Cursor, type_: SerdeType | None, at: int) -> SerdeType | None:
    if type_ is None:
        return None
    if at >= len(type_.children):
        raise cursor.broken("encoding", f"a column of type {type_.text} has no such parts")
    return type_.children[at]


def _decompress(wire: bytes, uncompressed: int, codec: str) -> bytes:
    """Undo a codec; never gives more than `uncompressed` bytes and one."""
    if codec in _ARROW_CODECS:
        expanded: bytes = pa.Codec(_ARROW_CODECS[codec]).decompress(
            wire, uncompressed, asbytes=True
        )
        return expanded
    if codec in ("gzip", "zlib"):
        stream = zlib.decompressobj(31 if codec == "gzip" else 15)
        expanded = stream.decompress(wire, uncompressed + 1)
        if not stream.eof or stream.unused_data:
            raise ValueError("it does not end where it should")
        return expanded
    raise ValueError("the page is compressed, but no codec is told")
