"""Deletion vectors: positions of a data file's rows that are gone.

An index file has a byte for its version, then vectors: their size (int32, big-endian), a magic
number and a bitmap, and the CRC-32 of these two. Bitmaps of 32 bits have a big-endian magic number,
those of 64 bits a little-endian one; the manifest counts size and checksum into the length of the
latter alone. A vector is believed only if its checksum is right: otherwise deleted rows could come
back.
"""

from __future__ import annotations

import struct
import zlib

from seambase.errors import InputError, RefusedError
from seamkit.files.roaring import Positions, read_positions
from seamkit.files.storage import Storage, read_part
from seamkit.tables.paimon.metadata.manifests import VectorRange
from seamkit.tables.paimon.paths import located

__all__ = ["read_vector"]

_FOLDER = "index"
_FILE_VERSIONS = (1, 2)
_MAGIC_32 = 1581511376  # big-endian
_MAGIC_64 = 1681511377  # little-endian
_FRAME_BYTES = 8  # size and checksum


def read_vector(storage: Storage, vector: VectorRange) -> Positions:
    """The deleted positions of a data file, ascending.

    Raises:
        InputError: the vector is missing or not what the manifest says.
        RefusedError: an index file of a version that is not known.
    """
    own, path = located(storage, _FOLDER, vector.index_file, vector.external_path)
    where = f"{own.full(path)}, the deletion vector at byte {vector.offset}"
    body = _body(own, path, vector, where)
    bitmap = _bitmap(body, where)
    return read_positions(bitmap, vector.cardinality, own.bound, where, "the manifest")


def _body(storage: Storage, path: str, vector: VectorRange, where: str) -> bytes:
    """Magic number and bitmap, once size and checksum were found right."""
    at, length = vector.offset, vector.length
    if at < 1 or length < 4:
        raise InputError(f"{where}: the manifest says that it has {length} bytes")
    try:
        with storage.open(path) as file:
            version = file.read(1)
            stored = read_part(file, at, length + _FRAME_BYTES)
    except OSError as error:
        raise InputError(f"{where}: not readable ({error})") from error
    if len(version) != 1 or version[0] not in _FILE_VERSIONS:
        raise RefusedError(f"{where}: the file's version {version.hex()!r} is not supported")
    if len(stored) < 4:
        raise InputError(f"{where}: the file ends before it")
    size = struct.unpack_from(">i", stored)[0]
    if size not in (length, length - _FRAME_BYTES) or size < 4:
        raise InputError(f"{where}: {size} bytes, the manifest says {length}")
    body: bytes = stored[4 : 4 + size]
    checksum = stored[4 + size : 8 + size]
    if len(checksum) != 4:
        raise InputError(f"{where}: the file ends within it")
    if zlib.crc32(body) != struct.unpack(">I", checksum)[0]:
        raise InputError(f"{where}: its checksum is wrong")
    return body


def _bitmap(body: bytes, where: str) -> bytes | memoryview:
    """The vector as a bitmap of 64 bits."""
    if struct.unpack_from(">i", body)[0] == _MAGIC_32:
        # One bucket of it, whose upper bits are zero.
        return struct.pack("<QI", 1, 0) + body[4:]
    if struct.unpack_from("<i", body)[0] == _MAGIC_64:
        return memoryview(body)[4:]
    raise InputError(f"{where}: the bitmap is broken: its magic number is {body[:4].hex()}")
