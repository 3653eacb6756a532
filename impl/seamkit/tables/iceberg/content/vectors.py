"""Deletion vectors in Puffin files (version 3): positions of a data file's rows that are gone.

The manifest's entry says where the blob lies; the file's own footer is not needed. A blob is the
length of what follows up to its checksum (big-endian), a magic number, a portable 64-bit roaring
bitmap (little-endian), and the CRC-32 of magic number and bitmap (big-endian). A vector is believed
only if all of these and its cardinality are right: without it, deleted rows come back.
"""

from __future__ import annotations

import struct
import zlib

from seambase.errors import InputError
from seamkit.files.roaring import Positions, read_bitmap
from seamkit.files.storage import read_part
from seamkit.tables.iceberg.metadata.location import TableFiles
from seamkit.tables.iceberg.metadata.manifests import Entry

__all__ = ["read_vector"]

_MAGIC = bytes.fromhex("d1d33964")
_LEAST_BYTES = 20  # length, magic number, a bitmap of no buckets, checksum
_PUFFIN = b"PFA1"


def read_vector(files: TableFiles, vector: Entry) -> Positions:
    """The deleted positions of a data file, ascending.

    Raises:
        InputError: the vector is missing, or not what its entry says.
    """
    storage, path = files.locate(vector.path)
    offset, length = vector.offset, vector.length
    where = f"{storage.full(path)}, the deletion vector at byte {offset}"
    if offset is None or length is None or offset < len(_PUFFIN) or length < _LEAST_BYTES:
        raise InputError(f"{where}: its entry gives it {length} bytes there")
    try:
        with storage.open(path) as file:
            size = file.size()
            magic = file.read(len(_PUFFIN))
            blob = read_part(file, offset, length)
    except OSError as error:
        raise InputError(f"{where}: not readable ({error})") from error
    if size != vector.size_bytes:
        raise InputError(
            f"{storage.full(path)}: {size} bytes, its manifest says {vector.size_bytes}"
        )
    if magic != _PUFFIN:
        raise InputError(f"{storage.full(path)}: no Puffin file")
    return _positions(blob, length, vector.records, where)


def _positions(blob: bytes, length: int, records: int, where: str) -> Positions:
    if len(blob) != length:
        raise InputError(f"{where}: the file ends before it")
    [inner] = struct.unpack_from(">I", blob)
    if inner != length - 8:
        raise InputError(f"{where}: its length is {inner}, its entry says {length - 8}")
    content = memoryview(blob)[4:-4]
    if bytes(content[:4]) != _MAGIC:
        raise InputError(f"{where}: the magic number is wrong")
    [checksum] = struct.unpack_from(">I", blob, length - 4)
    if zlib.crc32(content) != checksum:
        raise InputError(f"{where}: its checksum is wrong")
    try:
        positions = read_bitmap(content[4:], records)
    except ValueError as error:
        raise InputError(f"{where}: the bitmap is broken: {error}") from error
    if len(positions) != records:
        raise InputError(f"{where}: it has {len(positions)} positions, its manifest says {records}")
    return positions
