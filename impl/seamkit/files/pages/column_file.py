"""A Parquet file in memory of one column and some of its pages, for pyarrow, which reads no parts.

Its footer says what the original one does of the column: the SchemaElement is copied, and so are
Arrow's own type, where the file has its schema, and the name of the writer. Bounds, indexes and
filters are left out.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from seamkit.core.varints import varint_bytes

_MAGIC = b"PAR1"
# Types of Thrift's compact protocol.
_INT32, _INT64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
# Numbers in parquet.thrift.
_TYPES = (
    *("BOOLEAN", "INT32", "INT64", "INT96"),
    *("FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"),
)
_ENCODINGS = (0, 2, 3, 8)  # pages tell their own; these two lists are not compared


@dataclass(frozen=True)
class ColumnChunk:
    """Pages of a column."""

    name: str
    element: bytes  # its SchemaElement
    physical_type: str  # as pyarrow names it
    codec: int  # its number in parquet.thrift
    # the column in Arrow, where the file has Arrow's schema; else None
    arrow_field: pa.Field | None
    created_by: str  # the writer; empty if the file does not tell
    rows: int  # of the pages
    uncompressed_bytes: int  # of the pages
    dictionary: bytes  # the page of its dictionary; empty if it has none


def column_file(chunk: ColumnChunk, pages: Iterable[bytes | memoryview]) -> pa.Buffer:
    """The file: one row group that is made of the dictionary and the pages."""
    body = b"".join([_MAGIC, chunk.dictionary, *pages])
    footer = _footer(chunk, len(body) - len(_MAGIC))
    return pa.py_buffer(body + footer + len(footer).to_bytes(4, "little") + _MAGIC)


def _footer(chunk: ColumnChunk, size_bytes: int) -> bytes:
    root = _struct((4, _BINARY, _text(b"schema")), (5, _INT32, _number(1)))
    first = len(_MAGIC)
    has_dictionary = bool(chunk.dictionary)
    metadata = _struct(
        (1, _INT32, _number(_TYPES.index(chunk.physical_type))),
        (2, _LIST, _list(_INT32, map(_number, _ENCODINGS))),
        (3, _LIST, _list(_BINARY, [_text(chunk.name.encode())])),
        (4, _INT32, _number(chunk.codec)),
        (5, _INT64, _number(chunk.rows)),
        (6, _INT64, _number(chunk.uncompressed_bytes)),
        (7, _INT64, _number(size_bytes)),
        (9, _INT64, _number(first + len(chunk.dictionary))),
        *([(11, _INT64, _number(first))] if has_dictionary else []),
    )
    column = _struct((2, _INT64, _number(first)), (3, _STRUCT, metadata))
    group = _struct(
        (1, _LIST, _list(_STRUCT, [column])),
        (2, _INT64, _number(chunk.uncompressed_bytes)),
        (3, _INT64, _number(chunk.rows)),
    )
    return _struct(
        (1, _INT32, _number(2)),
        (2, _LIST, _list(_STRUCT, [root, chunk.element])),
        (3, _INT64, _number(chunk.rows)),
        (4, _LIST, _list(_STRUCT, [group])),
        *_arrow_schema(chunk.arrow_field),
        *([(6, _BINARY, _text(chunk.created_by.encode()))] if chunk.created_by else []),
    )


def _arrow_schema(field: pa.Field | None) -> list[tuple[int, int, bytes]]:
    if field is None:
        return []
    schema = base64.b64encode(pa.schema([field]).serialize())
    pair = _struct((1, _BINARY, _text(b"ARROW:schema")), (2, _BINARY, _text(schema)))
    return [(5, _LIST, _list(_STRUCT, [pair]))]


def _struct(*fields: tuple[int, int, bytes]) -> bytes:
    """A struct of fields: number, type, value; each number less than 16 above the one before."""
    out, last = bytearray(), 0
    for number, kind, value in fields:
        out.append(number - last << 4 | kind)
        out += value
        last = number
    return bytes(out) + b"\0"


def _list(kind: int, elements: Iterable[bytes]) -> bytes:
    values = list(elements)
    return bytes([len(values) << 4 | kind]) + b"".join(values)


def _text(value: bytes) -> bytes:
    return varint_bytes(len(value)) + value


def _number(value: int) -> bytes:
    """A number from 0 on, whose lowest bit is its sign."""
    return varint_bytes(value << 1)
