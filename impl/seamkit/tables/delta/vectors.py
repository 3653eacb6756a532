"""Deletion vectors of a Delta table, inline in the log as Z85 or in files.

A file's first byte is the format's version; see `seamkit.files.vectors` for what follows
(PROTOCOL.md, "Deletion Vector Format").
"""

from __future__ import annotations

import uuid
from collections.abc import Hashable

import numpy as np

from seambase.description import StoredFile
from seambase.errors import InputError
from seambase.wording import counted
from seamkit.files.roaring import Positions
from seamkit.files.vectors import FRAME_BYTES, read_framed, unframed, vector_positions
from seamkit.tables.delta.log.actions import TableFiles, VectorDescriptor
from seamkit.tables.delta.log.folder import LOG

_FILE_VERSION = b"\x01"
_BY = "the log"
_ENCODED_UUID = 20
_ALPHABET = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGITS = np.full(256, -1, np.int64)
_DIGITS[list(_ALPHABET)] = range(85)


def read_vector(files: TableFiles, vector: VectorDescriptor) -> Positions:
    """The deleted positions of a data file, ascending."""
    if vector.storage_type == "i":
        where = f"{files.storage.root}: an inline deletion vector"
        data = _inline(vector, where)
    else:
        where, data = _from_file(files, vector)
    return vector_positions(data, vector.cardinality, files.storage.bound, where, _BY)


def stored_vector(files: TableFiles, vector: VectorDescriptor, of: str) -> StoredFile:
    """Where the vector of a data file is stored, for descriptions; nothing is read."""
    is_inline = vector.storage_type == "i"
    return StoredFile(
        "deletion vector",
        files.place(LOG if is_inline else _path(files, vector)),
        vector.size_bytes,
        vector.cardinality,
        vector.offset,
        of if is_inline else "",
    )


def vector_identity(files: TableFiles, vector: VectorDescriptor) -> Hashable | None:
    """What tells a vector from any other: one in the log by itself, another by its file, too."""
    if vector.storage_type == "i":
        return vector
    storage, path = files.locate(_path(files, vector))
    known = storage.file_identity(path)
    return None if known is None else (known, vector)


def decode_z85(text: str) -> bytes:
    """Bytes of a Z85 text.

    A last group that begins with `#`, as none of four bytes does, is one of fewer: writers in Rust
    put a `#` for each byte that is missing there (crate z85).
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
        raise InputError(
            f"{where}: {counted(len(data), 'byte')}, the log says {vector.size_bytes:,}"
        )
    return data[: vector.size_bytes]


def _from_file(files: TableFiles, vector: VectorDescriptor) -> tuple[str, bytes]:
    """The vector's bytes out of its file, and where they stand."""
    storage, path = files.locate(_path(files, vector))
    # Without an offset the file holds this vector alone, behind its version.
    at = 1 if vector.offset is None else vector.offset
    where = f"{storage.full(path)}, the deletion vector at byte {at}"
    version, stored = read_framed(storage, path, at, vector.size_bytes + FRAME_BYTES, where)
    if version != _FILE_VERSION:
        raise InputError(f"{where}: the file's version is {version.hex() or 'missing'}, not 01")
    if at < 1 or vector.size_bytes < 0:
        raise InputError(f"{where}: the log says {counted(vector.size_bytes, 'byte')}")
    return where, unframed(stored, (vector.size_bytes,), where, _BY)


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
