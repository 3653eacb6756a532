"""Deletion vectors: positions of a data file's rows that are gone.

A vector is an int32 magic and a portable 64-bit roaring bitmap, little-endian. Inline it stands in
the log as Z85. In a file it has its size in front (int32, big-endian) and a CRC-32 behind it, and
the file's first byte is the format's version (PROTOCOL.md, "Deletion Vector Format"). A vector is
believed only if all of these and its cardinality are right: without it, deleted rows come back.
"""

from __future__ import annotations

import struct
import uuid
import zlib

import numpy as np

from seambase.description import StoredFile
from seambase.errors import InputError
from seamkit.files.roaring import Positions, read_positions
from seamkit.files.storage import read_part
from seamkit.tables.delta.log.actions import VectorDescriptor
from seamkit.tables.delta.log.paths import TableFiles

__all__ = ["decode_z85", "read_vector", "stored_vector"]

_MAGIC = 1681511377
_FILE_VERSION = 1
_ENCODED_UUID = 20
_ALPHABET = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGITS = np.full(256, -1, np.int64)
_DIGITS[list(_ALPHABET)] = range(85)


def read_vector(files: TableFiles, vector: VectorDescriptor) -> Positions:
    """The deleted positions of a data file, ascending.

    Args:
        files: of the table.
        vector: where it is.

    Raises:
        InputError: the vector is missing or not what its descriptor says.
    """
    if vector.storage_type == "i":
        where = f"{files.storage.root}: an inline deletion vector"
        data = _inline(vector, where)
    else:
        where, data = _from_file(files, vector)
    if len(data) < 4 or struct.unpack_from("<i", data)[0] != _MAGIC:
        raise InputError(f"{where}: the magic number is wrong")
    bound = files.storage.bound
    return read_positions(memoryview(data)[4:], vector.cardinality, bound, where, "the log")


def stored_vector(files: TableFiles, vector: VectorDescriptor) -> StoredFile:
    """Where a vector is stored, for descriptions; nothing is read.

    Raises:
        InputError: its descriptor is broken.
    """
    path = "the log" if vector.storage_type == "i" else _path(files, vector)
    at = vector.offset
    return StoredFile("deletion vector", path, vector.size_bytes, vector.cardinality, at)


def decode_z85(text: str) -> bytes:
    """Bytes of a Z85 text.

    A last group that begins with `#`, as none of four bytes does, is one of fewer: writers in Rust
    put a `#` for each byte that is missing there (crate z85).

    Raises:
        ValueError: it is none.
    """
    if len(text) % 5 == 0 and text[-5:].startswith("#"):
        return decode_z85(text[:-5]) + _few_bytes(text[-5:])
    raw = np.frombuffer(text.encode("latin-1", "replace"), np.uint8)
    digits = _DIGITS[raw]
    if len(raw) % 5 or (digits < 0).any():
        raise ValueError("not groups of five characters of Z85")
    words = digits.reshape(-1, 5) @ np.array([85**4, 85**3, 85**2, 85, 1])
    if (words > 0xFFFFFFFF).any():
        raise ValueError("a group of Z85 that stands for more than four bytes")
    return bytes(words.astype(">u4").tobytes())


def _few_bytes(group: str) -> bytes:
    """One to three bytes of a group of Z85 that has a `#` for each byte that is missing."""
    digits = [_ALPHABET.find(one.encode()) for one in group.lstrip("#")]
    value = 0
    for digit in digits:
        value = value * 85 + digit
    size = len(digits) - 1
    if size < 1 or min(digits) < 0 or value >= 256**size:
        raise ValueError("a last group of Z85 that stands for no bytes")
    return value.to_bytes(size, "big")


def _inline(vector: VectorDescriptor, where: str) -> bytes:
    try:
        data = decode_z85(vector.location)
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error
    if not len(data) - 4 < vector.size_bytes <= len(data):
        raise InputError(f"{where}: {len(data)} bytes, the log says {vector.size_bytes}")
    return data[: vector.size_bytes]


def _from_file(files: TableFiles, vector: VectorDescriptor) -> tuple[str, bytes]:
    """The vector's bytes out of its file, and where they stand."""
    storage, path = files.locate(_path(files, vector))
    # Without an offset the file holds this vector alone, behind its version.
    at = 1 if vector.offset is None else vector.offset
    where = f"{storage.full(path)}, the deletion vector at byte {at}"
    try:
        with storage.open(path) as file:
            version = file.read(1)
            stored = read_part(file, at, vector.size_bytes + 8)
    except OSError as error:
        raise InputError(f"{where}: not readable ({error})") from error
    if version != bytes([_FILE_VERSION]):
        raise InputError(f"{where}: the file's version is {version.hex() or 'missing'}, not 01")
    if at < 1 or vector.size_bytes < 0 or len(stored) != vector.size_bytes + 8:
        raise InputError(f"{where}: the file ends before it")
    size, data = struct.unpack_from(">i", stored)[0], stored[4:-4]
    if size != vector.size_bytes:
        raise InputError(f"{where}: {size} bytes, the log says {vector.size_bytes}")
    if zlib.crc32(data) != struct.unpack_from(">I", stored, len(stored) - 4)[0]:
        raise InputError(f"{where}: its checksum is wrong")
    return where, data


def _path(files: TableFiles, vector: VectorDescriptor) -> str:
    """The vector's file, as a path that a log would spell."""
    if vector.storage_type == "p":
        return vector.location
    if vector.storage_type != "u":
        raise InputError(
            f"{files.storage.root}: a deletion vector has the unknown storage type "
            f"{vector.storage_type!r}"
        )
    prefix, encoded = vector.location[:-_ENCODED_UUID], vector.location[-_ENCODED_UUID:]
    try:
        name = uuid.UUID(bytes=decode_z85(encoded))
    except ValueError as error:
        raise InputError(
            f"{files.storage.root}: {vector.location!r} names no deletion vector"
        ) from error
    folder = f"{prefix}/" if prefix else ""
    return f"{folder}deletion_vector_{name}.bin"
