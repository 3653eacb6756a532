"""Where in a file of text, of JSON by lines or of sequences a byte lies, by its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def json_place(content: bytes, at: int) -> str:
    """Names down to the byte, `*` for items of arrays; whether it is of a `key` or a `value`."""
    names: list[str] = []
    in_objects: list[bool] = []
    is_key = True
    for match in _TOKEN.finditer(content):
        token = match[0]
        if token not in (b"{", b"[", b"}", b"]", b",", b":"):
            is_name = is_key and in_objects[-1:] == [True]
            if is_name:
                names[-1] = token.strip(b'"').decode("utf-8", "replace")
            if match.start() <= at < match.end():
                return ".".join(names) + (" key" if is_name else " value")
        if match.end() > at:
            break
        if token in (b"{", b"["):
            names.append("*")
            in_objects.append(token == b"{")
        elif token in (b"}", b"]"):
            names, in_objects = names[:-1], in_objects[:-1]
        is_key = token in (b"{", b",") or (is_key and token != b":")
    return ".".join(names) + " mark"


_CONTROL_A = b"\1"
_COMPRESSED = (".bz2", ".deflate", ".gz", ".lz4", ".snappy", ".zst")
_SYNC_BYTES = 16
#: Of a block of records, each behind its own length.
_PARTS = ("key lengths", "keys", "value lengths", "values")
Span = tuple[int, int, str]


def text_place(content: bytes, at: int, table: Mapping[str, Any], file: str = "") -> str:
    """Words for a byte of lines: `field NAME`, `mark` for what stands between, or `compressed`.

    What lies behind the last column is `field` without a name; of a line of JSON, names down to it.
    The table is its descriptor; the end of the file's name tells a codec.
    """
    if file.endswith(_COMPRESSED):
        return "compressed"
    begin = content.rfind(b"\n", 0, at) + 1
    end = content.find(b"\n", at)
    line = content[begin : end if end >= 0 else len(content)]
    if begin + len(line) <= at:
        return "mark"
    if table["format"] == "json":
        return json_place(line, at - begin)
    return _field(line, at - begin, table)


def _field(line: bytes, at: int, table: Mapping[str, Any]) -> str:
    mark = _mark(table)
    number, begin = 0, 0
    while (end := line.find(mark, begin)) >= 0 and end + len(mark) <= at:
        number, begin = number + 1, end + len(mark)
    if 0 <= end <= at:
        return "mark"
    names = [column["name"] for column in table["columns"]]
    return f"field {names[number]}" if number < len(names) else "field"


def _mark(table: Mapping[str, Any]) -> bytes:
    """What stands between the fields of a line: one byte, however it is written."""
    properties = table.get("properties", {})
    if table["format"] == "csv":
        return bytes(properties.get("separatorChar", ",")[:1], "utf-8")
    mark = properties.get("field.delim", properties.get("serialization.format", ""))
    if mark.lstrip("-").isdigit():
        return bytes([int(mark) % 256])
    return bytes(mark[:1], "utf-8") or _CONTROL_A


def sequence_place(content: bytes, at: int, table: Mapping[str, Any]) -> str:
    """Words for a byte of an intact sequence file.

    `magic`, `header PART`, `header sync`; of records `record length`, `key length`, `key`, `value`
    or, of one that is not compressed, its place in a text; of blocks `block sync`, `block count`,
    `block PART` and its `length`.
    """
    for begin, end, words in _spans(content):
        if begin <= at < end:
            if words != "text":
                return words
            return text_place(content[begin:end], at - begin, table)
    return "end"


def _spans(content: bytes) -> Iterator[Span]:
    yield 0, 4, "magic"
    at = 4
    for part in ("key class", "value class"):
        yield at, (at := _text_end(content, at)), f"header {part}"
    yield at, at + 2, "header flags"
    is_compressed, in_blocks = content[at], content[at + 1]
    at += 2
    if is_compressed:
        yield at, (at := _text_end(content, at)), "header codec"
    begin, count = at, int.from_bytes(content[at : at + 4], "big")
    at += 4
    for _ in range(2 * count):
        at = _text_end(content, at)
    yield begin, at, "header metadata"
    yield at, (at := at + _SYNC_BYTES), "header sync"
    while at < len(content):
        yield from (spans := list((_block if in_blocks else _record)(content, at, is_compressed)))
        at = spans[-1][1]


def _record(content: bytes, at: int, is_compressed: int) -> Iterator[Span]:
    """A record, or the mark between two."""
    if content[at : at + 4] == b"\xff" * 4:
        yield at, at + 4 + _SYNC_BYTES, "record sync"
        return
    size, key = (int.from_bytes(content[a : a + 4], "big") for a in (at, at + 4))
    begin = at + 8
    yield at, at + 4, "record length"
    yield at + 4, begin, "key length"
    yield begin, begin + key, "key"
    value = begin + key
    if not is_compressed:
        yield value, (value := _number(content, value)[1]), "length of a text"
    yield value, begin + size, "value" if is_compressed else "text"


def _block(content: bytes, at: int, _: int) -> Iterator[Span]:
    yield at, (at := at + 4 + _SYNC_BYTES), "block sync"
    yield at, (at := _number(content, at)[1]), "block count"
    for part in _PARTS:
        size, begin = _number(content, at)
        yield at, begin, f"block {part} length"
        yield begin, (at := begin + size), f"block {part}"


def _text_end(content: bytes, at: int) -> int:
    size, begin = _number(content, at)
    return begin + size


def _number(content: bytes, at: int) -> tuple[int, int]:
    """A number as Hadoop writes them by length, none of them below 0, and where it ends."""
    first = content[at]
    if first < 128:
        return first, at + 1
    size = 256 - 112 - first
    return int.from_bytes(content[at + 1 : at + 1 + size], "big"), at + 1 + size
