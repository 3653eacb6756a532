"""Deletion vectors of a Paimon table.

An index file has a byte for its version, then vectors; see `seamkit.files.vectors`. Bitmaps have
32 or 64 bits. The manifest counts size and checksum into the length of the latter alone.
"""

from __future__ import annotations

from seambase.errors import InputError, RefusedError
from seamkit.files.roaring import Positions
from seamkit.files.storage import Storage
from seamkit.files.vectors import FRAME_BYTES, read_framed, unframed, vector_positions
from seamkit.tables.paimon.metadata.manifests import VectorRange
from seamkit.tables.paimon.paths import located

__all__ = ["read_vector"]

_FOLDER = "index"
_FILE_VERSIONS = (b"\x01", b"\x02")
_BY = "the manifest"


def read_vector(storage: Storage, vector: VectorRange) -> Positions:
    """The deleted positions of a data file, ascending.

    Raises:
        InputError: the vector is missing or not what the manifest says.
        RefusedError: an index file of a version that is not known.
    """
    own, path = located(storage, _FOLDER, vector.index_file, vector.external_path)
    at, length = vector.offset, vector.length
    where = f"{own.full(path)}, the deletion vector at byte {at}"
    if at < 1 or length < 4:
        raise InputError(f"{where}: the manifest says that it has {length} bytes")
    version, stored = read_framed(own, path, at, length + FRAME_BYTES, where)
    if version not in _FILE_VERSIONS:
        raise RefusedError(f"{where}: the file's version {version.hex()!r} is not supported")
    body = unframed(stored, (length, length - FRAME_BYTES), where, _BY)
    return vector_positions(body, vector.cardinality, own.bound, where, _BY, may_be_32=True)
