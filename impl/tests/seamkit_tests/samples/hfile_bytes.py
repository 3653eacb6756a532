"""HFiles built from the documented layout, to be read back and to be broken."""

import gzip
import struct
import zlib
from collections.abc import Mapping, Sequence

import google_crc32c

from seambench.formats.forms.footer import varint


def _text(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2]) + varint(len(value)) + value


def _block(magic: bytes, content: bytes, codec: int, checksum: int, chunk: int) -> bytes:
    packed = gzip.compress(content, mtime=0) if codec == 1 else content
    end = 33 + len(packed)
    sums = 4 * -(-end // chunk)
    header = struct.pack(
        ">8siiqBii", magic, len(packed) + sums, len(content), -1, checksum, chunk, end
    )
    data = header + packed
    if checksum == 0:
        return data + bytes(sums)
    sum_of = zlib.crc32 if checksum == 1 else google_crc32c.value
    parts = [data[i : i + chunk] for i in range(0, len(data), chunk)]
    return data + b"".join(struct.pack(">I", sum_of(part)) for part in parts)


def _cell(key: bytes, value: bytes, tail: bytes, kind: int) -> bytes:
    whole = struct.pack(">h", len(key)) + key + b"\0" + struct.pack(">q", 2**63 - 1) + bytes([kind])
    return struct.pack(">ii", len(whole), len(value)) + whole + value + tail


def build_hfile(
    blocks: Sequence[Sequence[tuple[bytes, bytes]]],
    info: Mapping[bytes, bytes] | None = None,
    *,
    codec: int = 2,
    checksum: int = 1,
    chunk: int = 64,
    tail: bytes = b"\0",
    kind: int = 4,
    version: int = 3,
    entries: int | None = None,
) -> bytes:
    """An HFile of the given data blocks, with a leaf index block behind each.

    Args:
        blocks: entries of each data block.
        info: the file's own entries; `KEY_VALUE_VERSION` says that cells end in a version number.
        codec: 1 gzip, 2 none.
        checksum: 0 none, 1 CRC32, 2 CRC32C.
        chunk: bytes per checksum.
        tail: what follows each cell's value.
        kind: of cells; 4 puts a value.
        version: of the format.
        entries: what the trailer claims, if not the truth.
    """
    out, last = b"", 0
    for block in blocks:
        last = len(out)
        cells = b"".join(_cell(key, value, tail, kind) for key, value in block)
        out += _block(b"DATABLK*", cells, codec, checksum, chunk)
        out += _block(b"IDXLEAF2", b"index", codec, checksum, chunk)
    told = {b"KEY_VALUE_VERSION": b"\0\0\0\1"} if info is None else info
    pairs = b"".join(_text(1, _text(1, k) + _text(2, v)) for k, v in told.items())
    at = len(out)
    out += _block(b"FILEINF2", b"PBUF" + varint(len(pairs)) + pairs, codec, checksum, chunk)
    count = sum(map(len, blocks)) if entries is None else entries
    message = b"".join(
        bytes([number << 3]) + varint(value)
        for number, value in ((1, at), (7, count), (9, 0), (10, last), (12, codec))
    )
    trailer = b'TRABLK"$' + varint(len(message)) + message
    return out + trailer.ljust(4092, b"\0") + struct.pack(">I", version)
