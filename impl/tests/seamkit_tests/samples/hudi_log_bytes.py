"""Builds Hudi log files byte by byte, from the layout alone."""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from seamkit_tests.samples.avro_schemas import array, datum, logical, optional, record

MAGIC = b"#HUDI#"
KINDS = {"command": 0, "delete": 1, "avro": 3, "hfile": 4, "parquet": 5, "cdc": 6}
INSTANT, TARGET, SCHEMA, COMMAND, COMPACTED = 0, 1, 2, 3, 4


def entries(header: Mapping[int, str | bytes]) -> bytes:
    """A header or footer: a count, then key, length and text of each entry."""
    out = [struct.pack(">i", len(header))]
    for key, value in header.items():
        text = value if isinstance(value, bytes) else value.encode()
        out.append(struct.pack(">ii", key, len(text)) + text)
    return b"".join(out)


NO_ENTRIES = entries({})


def block(
    kind: str | int,
    header: Mapping[int, str | bytes],
    content: bytes = b"",
    *,
    version: int = 1,
    footer: bytes = NO_ENTRIES,
    add_to_size: int = 0,
    add_to_total: int = 0,
) -> bytes:
    """One block; the last arguments put an error into it."""
    number = KINDS[kind] if isinstance(kind, str) else kind
    body = struct.pack(">ii", version, number) + entries(header)
    body += struct.pack(">q", len(content)) + content + footer
    size = len(body) + 8
    return (
        MAGIC
        + struct.pack(">q", size + add_to_size)
        + body
        + struct.pack(">q", size + len(MAGIC) + add_to_total)
    )


def data_block(instant: str, content: bytes = b"", **header: str) -> bytes:
    """A data block whose content does not matter; `compacted` and `partial` set headers."""
    known: dict[int, str | bytes] = {INSTANT: instant, SCHEMA: '"int"'}
    if "compacted" in header:
        known[COMPACTED] = header["compacted"]
    if "partial" in header:
        known[7] = header["partial"]
    return block("avro", known, content)


def avro_content(
    schema: dict[str, Any], records: Sequence[Mapping[str, Any]], version: int = 3
) -> bytes:
    """The content of an Avro data block: version, count, then length and datum of each record."""
    out = [struct.pack(">ii", version, len(records))]
    for one in records:
        written = datum(schema, dict(one))
        out.append(struct.pack(">i", len(written)) + written)
    return b"".join(out)


def rollback_block(instant: str, target: str) -> bytes:
    """A command block that undoes `target`."""
    return block("command", {INSTANT: instant, TARGET: target, COMMAND: "0"})


_SCALARS = ("boolean", "int", "long", "float", "double", "bytes", "string", "date", "decimal")
_BASES = {"date": "int", "time": "long", "timestamp": "long", "local-date": "int"}


def _wrapper(word: str) -> dict[str, Any]:
    kind: Any = _BASES.get(word, word)
    if word == "decimal":
        kind = logical("bytes", "decimal", precision=30, scale=15)
    return record(f"{word.title().replace('-', '')}Wrapper", value=kind)


_WRAPPERS = [_wrapper(word) for word in (*_SCALARS, "time", "timestamp")]
_ITEMS = ["null", *(one["name"] for one in _WRAPPERS), _wrapper("local-date")]
_DELETED = record(
    "HoodieDeleteRecord",
    recordKey=optional("string"),
    partitionPath=optional("string"),
    orderingVal=["null", *_WRAPPERS, record("ArrayWrapper", wrappedValues=optional(array(_ITEMS)))],
)
DELETE_RECORD_LIST = record("HoodieDeleteRecordList", deleteRecordList=array(_DELETED))


def delete_content(
    records: Sequence[tuple[str | None, str | None, Any]], *, version: int = 3
) -> bytes:
    """Content of a delete block; an ordering value is None or (wrapper's name, record)."""
    names = ("recordKey", "partitionPath", "orderingVal")
    listed = [dict(zip(names, one, strict=True)) for one in records]
    content = datum(DELETE_RECORD_LIST, {"deleteRecordList": listed})
    return struct.pack(">ii", version, len(content)) + content
