"""Avro records as plain Python values, and files of them: instants, archives, indexes.

fastavro decodes, and whoever wrote the bytes wrote the schema, too. So schemas are checked before
it meets them: a type that holds itself could be nested until the stack ends, an item that takes no
byte could come ten billion times, and a block that was compressed a thousandfold could take all
memory. Each is refused here; what is left takes time and memory in proportion to its bytes.
"""

from __future__ import annotations

import functools
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import fastavro

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.avro.schema import AvroType, parse_schema
from seamkit.core.unpack import Bound

RecordReader = Callable[[io.BytesIO], Any]
"""Reads one datum from where the stream stands; raises whatever broken bytes lead fastavro to."""

_MAGIC = b"Obj\x01"
_HEADER = fastavro.parse_schema({"type": "map", "values": "bytes"})
_SYNC_BYTES = 16
_CHECKSUM_BYTES = 4  # of the decompressed bytes, behind a block of Snappy

#: Codecs by the names that files give them.
_CODECS: Mapping[bytes, str | None] = {
    b"null": None,
    b"deflate": "deflate",
    b"snappy": "snappy",
    b"zstandard": "zstd",
    b"bzip2": "bz2",
    b"xz": "xz",
}


def record_reader(schema_text: str | bytes, where: str) -> RecordReader:
    """A reader for data of one schema."""
    why = _unbounded(schema_text)
    if why is not None:
        raise RefusedError(f"{where}: {why}")
    try:
        parsed = _parsed(schema_text)
    except Exception as error:  # fastavro raises whatever the schema leads it to
        raise InputError(f"{where}: its schema is no Avro schema ({error})") from error
    return functools.partial(fastavro.schemaless_reader, writer_schema=parsed, reader_schema=None)


def read_container(content: bytes, where: str, bound: Bound | None = None) -> Iterator[Any]:
    """The records of an Avro object container file; see `AvroContainer`."""
    return AvroContainer(content, where, bound).records()


class AvroContainer:
    """An Avro object container file: its writer's schema (JSON), and its blocks.

    A block may become what `bound` says. `properties` are all that the header says by key, the
    schema among it.
    """

    def __init__(self, content: bytes, where: str, bound: Bound | None = None) -> None:
        self._content = content
        self._where = where
        self._bound = bound or Bound()
        stream = io.BytesIO(content)
        metadata = _header(stream, where)
        self._sync = stream.read(_SYNC_BYTES)
        if len(self._sync) != _SYNC_BYTES:
            raise InputError(f"{where}: cut off within the marker behind its header")
        self._begin = stream.tell()
        self._codec = metadata.get("avro.codec", b"null")
        if self._codec not in _CODECS:
            known = b", ".join(_CODECS).decode()
            raise RefusedError(f"{where}: compressed by {self._codec!r:.40}; {known} are read")
        self.schema = metadata.get("avro.schema", b"")
        self.properties: Mapping[str, bytes] = metadata

    @property
    def rows(self) -> int:
        """How many records its blocks say they have."""
        return sum(count for _, count, _ in self._packed_blocks())

    def records(self) -> Iterator[Any]:
        """Its records; those before a broken one have been handed out."""
        read = record_reader(self.schema, self._where)
        for at, count, packed in self._packed_blocks():
            where = f"{self._where}, block at byte {at}"
            block = self._whole(packed, where)
            stream = io.BytesIO(block)
            for number in range(count):
                if number and stream.tell() >= len(block):
                    raise InputError(
                        f"{where}: it ends after {number} of {counted(count, 'record')}"
                    )
                try:
                    record = read(stream)
                except Exception as error:  # fastavro raises whatever the bytes lead it to
                    reason = str(error) or "it ends too early"
                    raise InputError(
                        f"{where}: record {number} is not readable ({reason})"
                    ) from error
                yield record
            if stream.tell() != len(block):
                raise InputError(f"{where}: bytes follow its {count} records")

    def blocks(self) -> Iterator[tuple[int, int, bytes]]:
        """Where each block begins, how many records it says it has, and its decompressed bytes."""
        for at, count, block in self._packed_blocks():
            yield at, count, self._whole(block, f"{self._where}, block at byte {at}")

    def _whole(self, block: bytes, where: str) -> bytes:
        """A block's bytes without their compression."""
        name = _CODECS[self._codec]
        packed = block[:-_CHECKSUM_BYTES] if name == "snappy" else block
        whole = block if name is None else self._bound.unpack(name, packed, where)
        if name == "snappy" and zlib.crc32(whole) != int.from_bytes(block[len(packed) :], "big"):
            raise InputError(f"{where}: its checksum is wrong")
        return whole

    def _packed_blocks(self) -> Iterator[tuple[int, int, bytes]]:
        stream = io.BytesIO(self._content)
        stream.seek(self._begin)
        while stream.tell() < len(self._content):
            at = stream.tell()
            count, size = _long(stream, self._where), _long(stream, self._where)
            block = stream.read(max(size, 0))
            if count < 0 or len(block) != size or stream.read(_SYNC_BYTES) != self._sync:
                raise InputError(f"{self._where}: the block at byte {at} is broken")
            yield at, count, block


def _header(stream: io.BytesIO, where: str) -> dict[str, bytes]:
    if stream.read(4) != _MAGIC:
        raise InputError(f"{where}: no Avro file")
    try:
        entries: dict[str, bytes] = fastavro.schemaless_reader(stream, _HEADER, None)
    except Exception as error:  # fastavro raises whatever the bytes lead it to
        reason = str(error) or "it ends too early"
        raise InputError(
            f"{where}: the header of an Avro file is not readable ({reason})"
        ) from error
    return entries


def _long(stream: io.BytesIO, where: str) -> int:
    value = 0
    for shift in range(0, 70, 7):
        byte = stream.read(1)
        if not byte:
            break
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80 and value < 1 << 64:
            return (value >> 1) ^ -(value & 1)
    raise InputError(f"{where}: a number before byte {stream.tell()} does not end in 64 bits")


# Files of one writer share a schema: each is looked through once.
@functools.lru_cache(maxsize=64)
def _parsed(schema_text: str | bytes) -> Any:
    return fastavro.parse_schema(json.loads(schema_text))


@functools.lru_cache(maxsize=64)
def _unbounded(schema_text: str | bytes) -> str | None:
    """Why data of a schema may take more than their bytes say; None where they do not."""
    known: dict[int, bool | None] = {}  # whether each datum takes a byte; None while it is open

    def takes_bytes(avro: AvroType) -> bool:
        if id(avro) not in known:
            known[id(avro)] = None
            inner = [takes_bytes(child) for child in avro.children]
            if avro.kind == "array" and not all(inner):
                raise ValueError("its schema has a list of items that take no bytes")
            own = any(inner) if avro.kind == "record" else avro.kind != "null"
            known[id(avro)] = avro.size > 0 if avro.kind == "fixed" else own
        found = known[id(avro)]
        if found is None:
            raise ValueError("a type of its schema holds itself, which is not supported")
        return found

    try:
        takes_bytes(parse_schema(schema_text))
    except ValueError as error:
        return str(error)
    return None
