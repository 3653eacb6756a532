"""Where in an Avro file, or in a record, a byte lies: names of fields, as its schema has them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

from seambench.formats.forms.footer import read_varint
from seambench_suites.mutations.text_places import json_place

_MAGIC_BYTES, _SYNC_BYTES = 4, 16
#: Bytes of the types whose length is always the same.
_FIXED = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_HEADER = {"type": "map", "values": "bytes"}
Span = tuple[int, int, str]


def avro_place(content: bytes, at: int) -> str:
    """Words for a byte of an intact Avro file.

    `header KEY key`, `header KEY value` or where in it a byte of JSON lies, `header sync`, `block
    count`, `block size`, `block sync`; of what a block holds `record FIELDS` where it is not
    compressed, else `block data`.
    """
    if at < _MAGIC_BYTES:
        return "magic"
    header: list[Span] = []
    begin = _items(Names(None), _HEADER, content, _MAGIC_BYTES, "", header)
    texts: dict[str, bytes] = {}
    for (first, middle, _), (_, end, _) in zip(header[::2], header[1::2], strict=True):
        key, value = (_text(content, *span) for span in ((first, middle), (middle, end)))
        name = key.decode("utf-8", "replace")
        texts[name] = value
        if first <= at < end:
            where = at - (end - len(value))
            is_json = where >= 0 and value.startswith(b"{")
            part = "key" if at < middle else "value"
            return f"header {name} {json_place(value, where) if is_json else part}"
    if at < begin + _SYNC_BYTES:
        return "header sync"
    begin += _SYNC_BYTES
    is_plain = texts.get("avro.codec", b"null") == b"null"
    names = Names(json.loads(texts["avro.schema"]))
    while begin < len(content):
        count, sized = _varint(content, begin)
        size, data = _varint(content, sized)
        if at < data:
            return "block count" if at < sized else "block size"
        if at < data + size:
            if not is_plain:
                return "block data"
            return f"record {innermost(field_spans(names, content, data, count), at)}"
        begin = data + size + _SYNC_BYTES
        if at < begin:
            return "block sync"
    return "end"


def is_between_blocks(content: bytes, length: int) -> bool:
    """Whether so many bytes of an intact Avro file are its header, or some blocks besides."""
    return (
        0 < length < len(content)
        and avro_place(content, length - 1).endswith(" sync")
        and avro_place(content, length) == "block count"
    )


def innermost(spans: Iterator[Span], at: int) -> str:
    """Names of the smallest of some values that holds a byte; empty where none does."""
    found = [(end - begin, path) for begin, end, path in spans if begin <= at < end]
    # Of spans alike the first: a value comes before what it is a part of.
    return min(found, key=itemgetter(0), default=(0, ""))[1]


def _text(content: bytes, at: int, end: int) -> bytes:
    """What a string or bytes between two offsets hold."""
    return content[_varint(content, at)[1] : end]


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A whole number as Avro has them, and where it ends."""
    number, at = read_varint(content, at)
    return number >> 1 ^ -(number & 1), at


class Names:
    """A schema whose types can be found by their names."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self._known: dict[str, Mapping[str, Any]] = {}
        self._collect(schema)

    def type_of(self, schema: Any) -> Any:
        """What a name stands for; what is no name stays."""
        return self._known.get(schema, schema) if isinstance(schema, str) else schema

    def _collect(self, schema: Any) -> None:
        for one in schema if isinstance(schema, list) else ():
            self._collect(one)
        if not isinstance(schema, dict):
            return
        if isinstance(schema.get("name"), str):
            self._known[schema["name"]] = schema
            self._known[f"{schema.get('namespace', '')}.{schema['name']}"] = schema
        for key in ("type", "items", "values"):
            self._collect(schema.get(key))
        for field in schema.get("fields", ()):
            self._collect(field["type"])


def field_spans(names: Names, content: bytes, at: int, count: int = 1) -> Iterator[Span]:
    """Begin, end and names down to each value of records that lie behind each other."""
    for _ in range(count):
        spans: list[Span] = []
        at = _value(names, names.schema, content, at, "", spans)
        yield from spans


def _value(names: Names, schema: Any, content: bytes, at: int, path: str, spans: list[Span]) -> int:
    """Notes the spans of a value and of all in it; where it ends."""
    begin, kind = at, names.type_of(schema)
    if isinstance(kind, list):
        branch, at = _varint(content, at)
        at = _value(names, kind[branch], content, at, path, spans)
    elif isinstance(kind, dict) and kind["type"] == "record":
        for field in kind["fields"]:
            inner = f"{path}.{field['name']}".lstrip(".")
            at = _value(names, field["type"], content, at, inner, spans)
    elif isinstance(kind, dict) and kind["type"] in ("array", "map"):
        at = _items(names, kind, content, at, path, spans)
    elif isinstance(kind, dict) and kind["type"] == "fixed":
        at += kind["size"]
    elif isinstance(kind, dict) and kind["type"] != "enum":
        at = _value(names, kind["type"], content, at, path, spans)
    elif kind in _FIXED:
        at += _FIXED[kind]
    else:
        size, at = _varint(content, at)
        at += size if kind in ("string", "bytes") else 0
    spans.append((begin, at, path))
    return at


def _items(
    names: Names, kind: Mapping[str, Any], content: bytes, at: int, path: str, spans: list[Span]
) -> int:
    count, at = _varint(content, at)
    while count:
        if count < 0:
            _, at = _varint(content, at)
        for _ in range(abs(count)):
            if kind["type"] == "map":
                at = _value(names, "string", content, at, f"{path}.key", spans)
            inner = kind["values" if kind["type"] == "map" else "items"]
            at = _value(names, inner, content, at, f"{path}.*", spans)
        count, at = _varint(content, at)
    return at
