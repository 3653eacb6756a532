"""Where in a log of Hudi, in an ORC file or in a file of properties a byte lies."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator

import pyarrow as pa

from seambench.formats.forms.footer import read_varint
from seambench.formats.hudi.damage import block_positions
from seambench.formats.hudi.log_blocks import AVRO, DELETES, PARQUET, SCHEMA, entries_of
from seambench_suites.mutations.avro_places import Names, field_spans, innermost
from seambench_suites.mutations.footer_fields import parquet_place

_CHUNK_HEAD = 3  # the length of a chunk of ORC, and whether it is compressed
_TYPES = 4  # of ORC's footer
_PARTS = ("", "size", "version", "type", "header", "length", "content", "total")


def log_place(content: bytes, at: int) -> str:
    """Words for a byte of an intact log of Hudi.

    `block magic`, `block size`, `block version`, `block type`, `header KEY` with the number of an
    entry, `block length`, `footer` and `block total`; of what a block holds `record FIELDS`, where
    it lies in a Parquet file, `deletes`, or `content` of another kind.
    """
    block = [one for one in block_positions(content) if one[""] <= at][-1]
    part = next(one for one in reversed(_PARTS) if block[one] <= at)
    if part == "header":
        return _header_place(content, block["header"], at)
    if part != "content":
        return f"block {part or 'magic'}"
    begin = block["content"]
    size = struct.unpack_from(">q", content, block["length"])[0]
    if at >= begin + size:
        return "footer"
    inner = content[begin : begin + size]
    kind = struct.unpack_from(">i", content, block["type"])[0]
    if kind == PARQUET:
        return parquet_place(inner, at - begin)
    if kind == AVRO:
        schema = json.loads(dict(entries_of(content, block["header"]))[SCHEMA])
        return _record_place(Names(schema), inner, at - begin)
    return "deletes" if kind == DELETES else "content"


def _header_place(content: bytes, begin: int, at: int) -> str:
    end = begin + 4
    for key, text in entries_of(content, begin):
        end += 8 + len(text)
        if at < end and at >= begin + 4:
            return f"header {key}"
    return "header count"


def _record_place(names: Names, block: bytes, at: int) -> str:
    """A byte of an Avro block: a version, a number of records, each behind its length."""
    begin = 8
    while begin < len(block):
        end = begin + 4 + struct.unpack_from(">i", block, begin)[0]
        if begin <= at < end:
            if at < begin + 4:
                return "length of a record"
            return f"record {innermost(field_spans(names, block, begin + 4), at)}"
        begin = end
    return "number of records"


def properties_place(content: bytes, at: int) -> str:
    """`KEY key` or `KEY value` of a line of properties, or `comment`."""
    begin = content.rfind(b"\n", 0, at) + 1
    end = content.find(b"\n", at)
    line = content[begin : end if end >= 0 else len(content)]
    if line.startswith(b"#") or b"=" not in line:
        return "comment"
    key = line.partition(b"=")[0]
    return f"{key.decode('utf-8', 'replace')} {'key' if at - begin <= len(key) else 'value'}"


def orc_place(content: bytes, at: int) -> str:
    """`magic`, `stripes`, `metadata`, `footer FIELDS`, `postscript FIELD` or `tail` of an ORC file.

    The fields are those within which another bit there is seen when the footer is unpacked; none
    are named where it does not unpack then, or is none of Snappy's one chunk.
    """
    tail = len(content) - 1
    postscript = tail - content[-1]
    if at == tail:
        return "tail"
    if at >= postscript:
        number = next(n for _, end, n, _ in _fields(content, postscript, tail) if at < end)
        return f"postscript {number}"
    sizes = {number: value for _, _, number, value in _fields(content, postscript, tail)}
    footer = postscript - sizes.get(1, 0)
    if at >= footer:
        return f"footer {_footer_fields(content[footer:postscript], at - footer)}".rstrip()
    if at >= footer - sizes.get(5, 0):
        return "metadata"
    return "magic" if at < 3 else "stripes"


def _footer_fields(chunk: bytes, at: int) -> str:
    """Numbers of the fields that a byte of a footer's compressed chunk becomes a part of."""
    changed = bytearray(chunk)
    changed[at] ^= 1
    try:
        whole, other = (_unpacked(bytes(one)) for one in (chunk, changed))
    except (OSError, IndexError):
        return ""
    pairs = zip(whole, other, strict=False)
    places = [number for number, (one, another) in enumerate(pairs) if one != another]
    if at < _CHUNK_HEAD or len(whole) != len(other) or not places:
        return ""
    return _path_of(whole, 0, len(whole), places[0])


def _unpacked(chunk: bytes) -> bytes:
    size, _ = read_varint(chunk, _CHUNK_HEAD)
    unpacked: bytes = pa.decompress(chunk[_CHUNK_HEAD:], size, "snappy", asbytes=True)
    return unpacked


def _path_of(content: bytes, at: int, end: int, wanted: int) -> str:
    for begin, after, number, _ in _fields(content, at, end):
        if begin <= wanted < after:
            if number != _TYPES or at:
                return str(number)
            _, inner = read_varint(content, begin)
            _, inner = read_varint(content, inner)
            return f"{number}.{_path_of(content, inner, after, wanted)}"
    return ""


def _fields(content: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Begin, end, number and value of the fields of a message of protobuf; 0 for bytes."""
    while at < end:
        begin, (tag, at) = at, read_varint(content, at)
        value, at = read_varint(content, at)
        if tag & 7 == 2:
            value, at = 0, at + value
        yield begin, at, tag >> 3, value
