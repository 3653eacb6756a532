"""Compressed files, as Hadoop names their codecs: by the ends of names, or by classes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import cramjam
import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.core.unpack import Bound, most_bytes, unpack
from seamkit.files.storage import read_part

#: Of files of text, by the ends of their names.
_ENDINGS = {
    ".gz": "gzip",
    ".bz2": "bz2",
    ".zst": "zstd",
    ".deflate": "zlib",
    ".snappy": "snappy",
    ".lz4": "lz4",
}
_REFUSED_ENDINGS = (".lzo", ".lzo_deflate", ".xz", ".zip", ".Z", ".br")

#: Of sequence files, by the classes that their headers name.
CODEC_CLASSES = {
    "org.apache.hadoop.io.compress.DefaultCodec": "zlib",
    "org.apache.hadoop.io.compress.DeflateCodec": "zlib",
    "org.apache.hadoop.io.compress.GzipCodec": "gzip",
    "org.apache.hadoop.io.compress.BZip2Codec": "bz2",
    "org.apache.hadoop.io.compress.SnappyCodec": "snappy",
    "org.apache.hadoop.io.compress.Lz4Codec": "lz4",
    "org.apache.hadoop.io.compress.ZStandardCodec": "zstd",
}


class ByteSource(Protocol):
    """What gives bytes in order."""

    def read(self, size: int) -> bytes:
        """Up to so many bytes, fewer only at the end."""


def codec_of(name: str) -> str | None:
    """The codec of a file by the end of its name; None where it is not compressed."""
    for ending in _REFUSED_ENDINGS:
        if name.endswith(ending):
            raise RefusedError(f"{name}: files compressed as {ending} are not supported")
    return next((codec for ending, codec in _ENDINGS.items() if name.endswith(ending)), None)


def opened(file: pa.NativeFile, codec: str | None, name: str, bound: Bound) -> ByteSource:
    """The bytes of a file, decompressed as they are read."""
    if codec is None:
        return _Plain(file, name)
    if codec in ("gzip", "bz2", "zstd"):
        return _Plain(pa.CompressedInputStream(file, codec), name)
    pieces = _inflated(file, name) if codec == "zlib" else _blocks(file, codec, name, bound)
    return _Pieces(pieces)


def decompressed(content: bytes, codec: str, name: str, bound: Bound) -> bytes:
    """The whole of something that was compressed as one."""
    source = opened(pa.BufferReader(content), codec, name, bound)
    parts, have = [], 0
    while part := source.read(1 << 20):
        parts.append(part)
        have += len(part)
        bound.check(have, len(content), f"{name}, a compressed value or block")
    return b"".join(parts)


class _Plain:
    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name = file, name

    def read(self, size: int) -> bytes:
        parts, left = [], size
        try:
            while left and (part := self._file.read(left)):
                parts.append(part)
                left -= len(part)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{self._name}: its bytes are broken ({error})") from error
        return parts[0] if len(parts) == 1 else b"".join(parts)


class _Pieces:
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left = pieces, b""

    def read(self, size: int) -> bytes:
        parts, have = [self._left], len(self._left)
        while have < size and (piece := next(self._pieces, None)) is not None:
            parts.append(piece)
            have += len(piece)
        whole = b"".join(parts)
        self._left = whole[size:]
        return whole[:size]


def _inflated(file: pa.NativeFile, name: str) -> Iterator[bytes]:
    """The pieces of a stream of zlib's own form."""
    import zlib

    inflater = zlib.decompressobj()
    given = b""
    try:
        while not inflater.eof:
            given = inflater.unconsumed_tail or file.read(1 << 20)
            if not given:
                raise InputError(f"{name}: its compressed bytes end too early")
            yield inflater.decompress(given, 1 << 22)
    except (OSError, zlib.error, pa.ArrowException) as error:
        raise InputError(f"{name}: its bytes are broken ({error})") from error
    if inflater.unused_data or file.read(1):
        raise InputError(f"{name}: there are bytes behind the end of its compressed ones")


def _blocks(file: pa.NativeFile, codec: str, name: str, bound: Bound) -> Iterator[bytes]:
    """The pieces of Hadoop's block streams: for each block its size, then pieces with theirs."""
    read = _exact(file, name)
    while size := read(4, True):
        [left] = struct.unpack(">i", size)
        while left > 0:
            [compressed] = struct.unpack(">i", read(4, False))
            if compressed <= 0:
                raise InputError(
                    f"{name}: a block of {counted(compressed, 'byte')}, {left} when read"
                )
            where = f"{name}, block before byte {file.tell()}"
            bound.check(max(left, compressed), compressed, where)
            piece = _piece(codec, read(compressed, False), left, name)
            left -= len(piece)
            yield piece
        if left < 0:
            raise InputError(f"{name}: a block of {counted(left, 'byte')}")


def _piece(codec: str, content: bytes, most: int, name: str) -> bytes:
    """One compressed piece, of at most so many bytes."""
    try:
        if codec == "snappy":
            piece = unpack(codec, content, most)
        else:  # tells no size
            room = min(most, most_bytes(codec, len(content)))
            piece = bytes(cramjam.lz4.decompress_block(content, output_len=room))
    except (ValueError, OverflowError, cramjam.DecompressionError) as error:
        raise InputError(f"{name}: its bytes are broken ({error})") from error
    if not piece:
        raise InputError(f"{name}: a piece of no bytes")
    return piece


def _exact(file: pa.NativeFile, name: str) -> Callable[[int, bool], bytes]:
    def read(size: int, may_end: bool) -> bytes:
        try:
            content = read_part(file, file.tell(), size)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{name}: not readable ({error})") from error
        if len(content) == size or (may_end and not content):
            return content
        raise InputError(f"{name}: its compressed bytes end too early")

    return read
