"""Gives a table of Hudi's a metadata table that lists its files, as large as the table is.

Properties, the schema of records and the file's own entries are those that Hudi 1.2.0 wrote of a
golden table; the records, and the blocks of the HFile that holds them, are written here. The layout
is told in HBase's book, appendix "HFile format", and in docs/hudi.md.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import google_crc32c

from seambench_suites.history.plan_kernels import commit_body

__all__ = ["add_metadata_table"]

_GOLDEN = Path(str(files("seambench_suites"))) / "golden/hudi/log-compaction/v9/table.zip"
_FOLDER = ".hoodie/metadata"
_ALL_PARTITIONS = "__all_partitions__"
_NAMES_PARTITIONS, _NAMES_FILES = 1, 2
_FIRST = "00000000000000000"  # the instant at which a metadata table is built of a table as it is
_BLOCK_BYTES, _CHECKED_BYTES = 64 << 10, 16 << 10
_HEADER = struct.Struct(">8siiqBii")
_DATA, _CRC32C, _PUT = b"DATABLK*", 2, 4
_TRAILER_BYTES, _TRAILER_MAGIC, _VERSION = 4096, b'TRABLK"$', b"\0\0\0\3"
# Fields of the trailer's message.
_INFO_OFFSET, _ENTRIES, _BLOCKS, _FIRST_DATA, _LAST_DATA = 1, 7, 8, 9, 10


def add_metadata_table(root: Path) -> None:
    """List all files of a table in a metadata table, as if it had been built now.

    Args:
        root: the table's folder, with one level of folders for partitions.
    """
    with zipfile.ZipFile(_GOLDEN) as archive:
        names = archive.namelist()
        own = root / _FOLDER
        archive.extract(f"{_FOLDER}/.hoodie/hoodie.properties", root)
        written = archive.read(next(n for n in names if n.endswith(".hfile")))
    timeline = own / ".hoodie" / "timeline"
    timeline.mkdir()
    (own / "files").mkdir()
    (own / "files" / ".hoodie_partition_metadata").touch()
    newest = max(p.name for p in (root / ".hoodie/timeline").iterdir() if "_" in p.name)
    (timeline / f"{newest.partition('.')[0]}.deltacommit").write_bytes(commit_body({}))
    (timeline / f"{_FIRST}_{_FIRST}.deltacommit").write_bytes(commit_body({}))
    target = own / "files" / f"files-0000-0_0-0-0_{_FIRST}.hfile"
    target.write_bytes(_hfile(written, _records(root, written)))
    with (root / ".hoodie/hoodie.properties").open("a") as properties:
        properties.write("hoodie.table.metadata.partitions=files\n")


def _records(root: Path, written: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys in order, with their records as bytes of Avro."""
    import fastavro

    schema = fastavro.parse_schema(json.loads(_own_entry(written, b"schema")))
    folders = [p for p in root.iterdir() if p.is_dir() and p.name != ".hoodie"]
    known = {_ALL_PARTITIONS: (_NAMES_PARTITIONS, {p.name: _file(0) for p in folders})}
    for folder in folders:
        named = (p for p in folder.iterdir() if not p.name.startswith(".hoodie"))
        known[folder.name] = _NAMES_FILES, {p.name: _file(p.stat().st_size) for p in named}
    for key, (kind, listed) in sorted(known.items()):
        out = io.BytesIO()
        record = {"key": key, "type": kind, "filesystemMetadata": listed}
        fastavro.schemaless_writer(out, schema, record)
        yield key.encode(), out.getvalue()


def _file(size_bytes: int) -> Mapping[str, Any]:
    return {"size": size_bytes, "isDeleted": False}


def _hfile(written: bytes, records: Iterable[tuple[bytes, bytes]]) -> bytes:
    """An HFile with other records than the one that Hudi wrote, and the same entries of its own."""
    out, cells, blocks, entries = bytearray(), bytearray(), [], 0

    def end_block() -> None:
        blocks.append(len(out))
        out.extend(_block(bytes(cells), blocks[-2] if len(blocks) > 1 else -1))
        cells.clear()

    for key, value in records:
        entries += 1
        cells += struct.pack(">iih", 12 + len(key), len(value), len(key)) + key
        cells += struct.pack(">bqb", 0, 0, _PUT) + value + b"\0"
        if len(cells) >= _BLOCK_BYTES:
            end_block()
    if cells:
        end_block()
    message = _trailer_message(written)
    info = written[message[_INFO_OFFSET] : -_TRAILER_BYTES]
    message |= {_INFO_OFFSET: len(out), _ENTRIES: entries, _BLOCKS: len(blocks)}
    message |= {_FIRST_DATA: blocks[0], _LAST_DATA: blocks[-1]}
    return bytes(out) + info + _trailer(message)


def _trailer_message(written: bytes) -> dict[int, Any]:
    return dict(_fields(_sized(written[-_TRAILER_BYTES:], len(_TRAILER_MAGIC))))


def _own_entry(written: bytes, name: bytes) -> bytes:
    """The value of one of the file's own entries."""
    at = _trailer_message(written)[_INFO_OFFSET]
    end = at + _HEADER.unpack_from(written, at)[-1]
    block = zlib.decompress(written[at + _HEADER.size : end], wbits=31)
    pairs = (dict(_fields(pair)) for _, pair in _fields(_sized(block, len(b"PBUF"))))
    return next(bytes(pair[2]) for pair in pairs if pair[1] == name)


def _sized(data: bytes, at: int) -> bytes:
    """A message behind its length."""
    size, begin = _number(data, at)
    return data[begin : begin + size]


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers and values of a message of protobuf that has whole numbers and bytes alone."""
    at = 0
    while at < len(message):
        tag, at = _number(message, at)
        value, at = _number(message, at)
        if tag & 7 == 2:
            yield tag >> 3, message[at : at + value]
            at += value
        else:
            yield tag >> 3, value


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = shift = 0
    while data[at] > 0x7F:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | data[at] << shift, at + 1


def _trailer(message: Mapping[int, Any]) -> bytes:
    body = b""
    for number, value in message.items():
        if isinstance(value, int):
            body += _varint(number << 3) + _varint(value)
        else:
            body += _varint(number << 3 | 2) + _varint(len(value)) + bytes(value)
    whole = _TRAILER_MAGIC + _varint(len(body)) + body
    return whole.ljust(_TRAILER_BYTES - len(_VERSION), b"\0") + _VERSION


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def _block(content: bytes, before: int) -> bytes:
    """A block of data with its header and checksums."""
    packed = zlib.compressobj(wbits=31)
    body = packed.compress(content) + packed.flush()
    whole = _HEADER.size + len(body)
    sums = -(-whole // _CHECKED_BYTES) * 4
    header = _HEADER.pack(
        _DATA, len(body) + sums, len(content), before, _CRC32C, _CHECKED_BYTES, whole
    )
    block = header + body
    parts = (block[at : at + _CHECKED_BYTES] for at in range(0, whole, _CHECKED_BYTES))
    return block + b"".join(google_crc32c.value(part).to_bytes(4, "big") for part in parts)
