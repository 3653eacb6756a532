"""HFiles, as Hudi's metadata table has them, with other cells or in other blocks.

What HBase's book says of format 3 ("HFile format"): blocks behind headers of 33 bytes, data first,
then others, then what a reader loads when it opens the file (the index of data blocks, that of the
others, the file's own entries), and a trailer of 4096 bytes.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from seambench.formats.forms.footer import read_varint, varint

_TRAILER_BYTES = 4096
_HEADER = struct.Struct(">8siiqBii")
_DATA, _INDEX, _INFO = b"DATABLK*", b"IDXROOT2", b"FILEINF2"
_INNER = (b"IDXLEAF2", b"IDXINTE2")
_GZIP, _NONE = 1, 2
_CRC32, _SUMMED = 1, 16384
# Fields of the trailer's message.
_INFO_AT, _OPENED_AT, _INDEX_BYTES, _BLOCKS, _OTHERS, _CELLS = 1, 2, 3, 5, 6, 7
_LEVELS, _FIRST, _LAST, _CODEC = 8, 9, 10, 12
_LAST_KEY = b"hfile.LASTKEY"


@dataclass(frozen=True)
class Cell:
    """A key with a value."""

    key: bytes  # as it is written, with family, time and kind
    value: bytes  # what it stands for
    tail: bytes  # what follows behind the value

    @property
    def row(self) -> str:
        """What users call the key."""
        return self.key[2 : 2 + self.row_bytes].decode()

    @property
    def row_bytes(self) -> int:
        """How long that is."""
        return int.from_bytes(self.key[:2], "big")


@dataclass(frozen=True)
class HFile:
    """What an HFile holds."""

    cells: Sequence[Cell]  # in order
    # blocks that are neither data nor indexes, as magic, key and content
    others: Sequence[tuple[bytes, bytes, bytes]]
    info: Mapping[bytes, bytes]  # the file's own entries
    trailer: Mapping[int, int | bytes]  # the trailer's message by field
    version: bytes  # its last four bytes

    @property
    def schema(self) -> bytes:
        """Of the values, in Avro's JSON."""
        return self.info[b"schema"]


def read_hfile(data: bytes) -> HFile:
    """Read an intact HFile."""
    end = len(data) - _TRAILER_BYTES
    size, at = read_varint(data, end + 8)
    trailer = dict(_fields(data[at : at + size]))
    blocks = list(_blocks(data[:end], packed=trailer[_CODEC] == _GZIP))
    indexes = [content for magic, content in blocks if magic == _INDEX]
    [info] = [content for magic, content in blocks if magic == _INFO]
    size, at = read_varint(info, 4)
    pairs = [dict(_fields(bytes(pair))) for _, pair in _fields(info[at : at + size])]
    properties = {bytes(one[1]): bytes(one.get(2, b"")) for one in pairs}
    cells = [
        cell
        for magic, content in blocks
        if magic == _DATA
        for cell in _cells(content, tagged=b"hfile.MAX_TAGS_LEN" in properties)
    ]
    others = [one for one in blocks if one[0] not in (_DATA, _INDEX, _INFO, *_INNER)]
    names = list(_index_keys(indexes[1]))
    named = [(magic, key, text) for (magic, text), key in zip(others, names, strict=True)]
    return HFile(cells, named, properties, trailer, data[-4:])


def hfile_bytes(file: HFile, *, cells_a_block: int = 0, packed: bool = True) -> bytes:
    """Write an HFile, with so many cells in each block of data; 0 for all in one."""
    short = len(file.info[_LAST_KEY]) == 2 + int.from_bytes(file.info[_LAST_KEY][:2], "big")

    def key(cell: Cell) -> bytes:
        return cell.key[: 2 + cell.row_bytes] if short else cell.key

    each = cells_a_block or len(file.cells)
    out, last = bytearray(), -1
    listed: list[tuple[int, int, bytes]] = []
    for at in range(0, len(file.cells), each):
        some = file.cells[at : at + each]
        content = b"".join(
            struct.pack(">ii", len(one.key), len(one.value)) + one.key + one.value + one.tail
            for one in some
        )
        block = _block(_DATA, content, last, packed)
        last = len(out)
        listed.append((last, len(block), key(some[0])))
        out += block
    others = []
    for magic, name, content in file.others:
        block = _block(magic, content, -1, packed)
        others.append((len(out), len(block), name))
        out += block
    opened = len(out)
    index = _index(listed)
    out += _block(_INDEX, index, -1, packed) + _block(_INDEX, _index(others), -1, packed)
    info_at = len(out)
    info = {**file.info, _LAST_KEY: key(file.cells[-1])}
    message = b"".join(_field(1, _field(1, name) + _field(2, text)) for name, text in info.items())
    out += _block(_INFO, b"PBUF" + varint(len(message)) + message, -1, packed)
    trailer = {
        **file.trailer,
        _INFO_AT: info_at,
        _OPENED_AT: opened,
        _INDEX_BYTES: len(index),
        _BLOCKS: len(listed),
        _OTHERS: len(others),
        _CELLS: len(file.cells),
        _LEVELS: 1,
        _FIRST: 0,
        _LAST: last,
        _CODEC: _GZIP if packed else _NONE,
    }
    message = b"".join(_field(number, value) for number, value in sorted(trailer.items()))
    tail = b'TRABLK"$' + varint(len(message)) + message
    return bytes(out) + tail.ljust(_TRAILER_BYTES - 4, b"\0") + file.version


# Blocks.


def _blocks(data: bytes, *, packed: bool) -> Iterator[tuple[bytes, bytes]]:
    at = 0
    while at < len(data):
        magic, size, _, _, _, _, end = _HEADER.unpack_from(data, at)
        content = data[at + _HEADER.size : at + end]
        yield magic, gzip.decompress(content) if packed else content
        at += _HEADER.size + size


def _block(magic: bytes, content: bytes, previous: int, packed: bool) -> bytes:
    written = gzip.compress(content, mtime=0) if packed else content
    end = _HEADER.size + len(written)
    size = len(written) + 4 * -(-end // _SUMMED)
    header = (magic, size, len(content), previous, _CRC32, _SUMMED, end)
    block = _HEADER.pack(*header) + written
    sums = [zlib.crc32(block[at : at + _SUMMED]) for at in range(0, end, _SUMMED)]
    return block + b"".join(one.to_bytes(4, "big") for one in sums)


def _cells(block: bytes, *, tagged: bool) -> Iterator[Cell]:
    at = 0
    while at < len(block):
        key_bytes, value_bytes = struct.unpack_from(">ii", block, at)
        value_at = at + 8 + key_bytes
        end = after = value_at + value_bytes
        if tagged:
            after += 2 + int.from_bytes(block[after : after + 2], "big")
        after = _after_long(block, after)
        yield Cell(block[at + 8 : value_at], block[value_at:end], block[end:after])
        at = after


def _index(entries: Sequence[tuple[int, int, bytes]]) -> bytes:
    return b"".join(struct.pack(">qi", *one[:2]) + _long(len(one[2])) + one[2] for one in entries)


def _index_keys(index: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(index):
        begin = _after_long(index, at + 12)
        coded = index[at + 12 : begin]
        size = coded[0] if len(coded) == 1 else int.from_bytes(coded[1:], "big")
        yield index[begin : begin + size]
        at = begin + size


# Numbers: Hadoop's of variable length, and those of protobuf.


def _long(value: int) -> bytes:
    if value < 128:
        return bytes([value])
    inner = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([256 - 112 - len(inner)]) + inner


def _after_long(data: bytes, at: int) -> int:
    first = data[at] - 256 if data[at] > 127 else data[at]
    if first >= -112:
        return at + 1
    return at + 1 + (-112 - first if first >= -120 else -120 - first)


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(message):
        tag, at = read_varint(message, at)
        value, at = read_varint(message, at)
        if tag & 7 == 2:
            yield tag >> 3, message[at : at + value]
            at += value
        else:
            yield tag >> 3, value


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value
