"""Builds Hudi log files byte by byte, from the layout alone."""

import struct
from collections.abc import Callable, Mapping, Sequence
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


_MODEL = "org.apache.hudi.common.model."
_JAVA_NUMBERS = {"int": 0, "string": 1, "float": 2, "boolean": 3, "long": 7, "double": 8}


class _Kryo:
    """Objects as Kryo 4 writes them: https://github.com/EsotericSoftware/kryo, 4.0.2."""

    def __init__(self) -> None:
        self._classes: list[str] = []
        self._texts: dict[str, int] = {}
        self._objects = 0

    def class_(self, name: str) -> bytes:
        if name in self._classes:
            return b"\1" + kryo_number(self._classes.index(name))
        self._classes.append(name)
        return b"\1" + kryo_number(len(self._classes) - 1) + kryo_text(name)

    def new(self) -> bytes:
        self._objects += 1
        return b"\1"

    def text(self, text: str | None) -> bytes:
        """A text of a Java object each; one that was there before is the same object."""
        if text is None:
            return b"\0"
        if text in self._texts:
            return kryo_number(self._texts[text] + 2)
        self._texts[text] = self._objects
        return self.new() + kryo_text(text)

    def key(self, key: str | None, partition: str | None) -> bytes:
        return (
            self.class_(f"{_MODEL}HoodieKey") + self.new() + self.text(partition) + self.text(key)
        )

    def value(self, word: str, value: Any) -> bytes:
        if word == "null":
            return b"\0"
        if word == "decimal":
            unscaled, scale = value
            size = unscaled.bit_length() // 8 + 1
            digits = unscaled.to_bytes(size, "big", signed=True)
            number: bytes = kryo_number(size + 1) + digits + kryo_signed(scale, 32)
            return self.class_("java.math.BigDecimal") + self.new() + number
        written: Mapping[str, Callable[[], bytes]] = {
            "int": lambda: kryo_signed(value, 32),
            "long": lambda: kryo_signed(value, 64),
            "boolean": lambda: bytes([value]),
            "float": lambda: struct.pack(">f", value),
            "double": lambda: struct.pack(">d", value),
            "string": lambda: self.text(value),
        }
        return kryo_number(_JAVA_NUMBERS[word] + 2) + written[word]()


def kryo_number(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the ninth has eight."""
    out = b""
    while value > 0x7F and len(out) < 8:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def kryo_signed(value: int, bits: int) -> bytes:
    """A number whose lowest bit is its sign."""
    return kryo_number((value << 1 ^ value >> bits - 1) & (1 << bits) - 1)


def kryo_text(text: str) -> bytes:
    """Plain letters end with one whose highest bit is set; of others their number comes first."""
    halves = text.encode("utf-16-le")
    count = len(halves) // 2
    if 1 < count < 64 and text.isascii():
        return text[:-1].encode() + bytes([ord(text[-1]) | 0x80])
    size = count + 1
    head = (
        bytes([size | 0x80]) if size < 64 else bytes([size & 0x3F | 0xC0]) + kryo_number(size >> 6)
    )
    units = (chr(unit) for unit in struct.unpack(f"<{count}H", halves))
    return head + b"".join(unit.encode("utf-8", "surrogatepass") for unit in units)


def java_delete_content(
    records: Sequence[tuple[str | None, str | None, tuple[str, Any]]], *, version: int = 2
) -> bytes:
    """Content of a delete block before Hudi 0.14; an ordering value is its type's word and it.

    Version 1 has keys alone.
    """
    kryo = _Kryo()
    item = f"{_MODEL}{'HoodieKey' if version == 1 else 'DeleteRecord'}"
    out = kryo.class_(f"[L{item};") + kryo.new() + kryo_number(len(records) + 1)
    for key, partition, order in records:
        if version == 2:
            out += kryo.class_(item) + kryo.new()
        out += kryo.key(key, partition)
        if version == 2:
            out += kryo.value(*order)
    return struct.pack(">ii", version, len(out)) + out
