"""Compressed bytes from outside made whole, within bounds.

A size that somebody states is believed as far as the compressed bytes can grow: beyond that it is
refused before any room is made. Where no size is stated, bytes come piece by piece, and stop soon
after as many as the caller takes. How many a caller takes is a `Bound`, which a scan's limit of
memory sets.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.core.varints import varint

_Unpack = Callable[[bytes | memoryview, int], bytes]

#: Most bytes that one compressed byte can stand for.
_GROWTH: Mapping[str, int] = {
    "snappy": 22,  # a copy of 64 bytes takes three
    "lz4": 255,  # lengths go on in bytes of 255
    "deflate": 1032,  # a copy of 258 bytes takes two bits
    "zlib": 1032,
    "gzip": 1032,
    "zstd": 32768,  # a block of 128 KiB takes four bytes
}
_PIECE_BYTES = 1 << 16
#: Pieces of up to so many bytes are taken whatever the limit: a table's metadata comes in such.
_SMALL_BYTES = 1 << 20
#: Of xz, whose streams state a dictionary of up to 4 GiB; the highest preset has 64 MiB.
_DICTIONARY_BYTES = 256 << 20


@dataclass(frozen=True)
class Bound:
    """What one compressed piece of a file may become: a block, a page, a line, a value."""

    most: int = 1 << 30  # bytes
    is_stated: bool = False  # whether a caller's limit of memory says so, and not the default

    @classmethod
    def of(cls, limit_bytes: int | None) -> Bound:
        """The bound that a scan's `memory_limit_bytes` sets; None for the default."""
        return cls() if limit_bytes is None else cls(max(limit_bytes, _SMALL_BYTES), True)

    def check(self, size: int, packed: int | None, where: str) -> None:
        """Refuse a piece that has, or states to have, too many bytes when it is unpacked.

        `packed` are the bytes that it takes in its file; None where they are not known.
        """
        if size > self.most:
            own = "" if packed is None else f"{counted(packed, 'byte', 'become')} "
            raise RefusedError(f"{where}: {own}{counted(size, 'byte')}, {self._words}")

    def unpack(self, codec: str, packed: bytes | memoryview, where: str) -> bytes:
        """All bytes of a piece that does not state its size; see `unpack`."""
        try:
            return unpack(codec, packed, self.most)
        except ValueError as error:
            raise InputError(f"{where}: not readable as {codec} ({error})") from error
        except OverflowError as error:
            words = f"{counted(len(packed), 'byte', 'become')} more, {self._words}"
            raise RefusedError(f"{where}: {words}") from error

    @property
    def _words(self) -> str:
        return f"where one piece may have {self.most} (memory_limit_bytes)"


def most_bytes(codec: str, packed: int) -> int:
    """The most bytes that so many compressed ones can become, by a codec of `unpack`."""
    return packed * _GROWTH[codec]


def check_growth(codec: str, packed: int, whole: int) -> None:
    """Refuse a stated size that compressed bytes cannot have."""
    if not 0 <= whole <= most_bytes(codec, packed):
        raise ValueError(f"{counted(packed, 'byte')} of {codec} cannot become {whole}")


def unpack(codec: str, packed: bytes | memoryview, most: int) -> bytes:
    """All bytes that were compressed, of which there may be `most`.

    The codec is `deflate`, `zlib`, `gzip`, `snappy` or `lz4` (a block without a frame; of LZ4 a
    small one), `zstd`, `bz2`, `xz`.
    """
    try:
        whole = _UNPACK[codec](packed, most)
    except _FAILURES as error:
        raise ValueError(str(error)) from error
    if len(whole) > most:
        raise OverflowError(f"it has more than {counted(most, 'byte')}")
    return whole


class _Stream(Protocol):
    """A decompressor of the standard library's."""

    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes | memoryview, max_length: int, /) -> bytes: ...


def _streamed(make: Callable[[], _Stream]) -> _Unpack:
    def run(packed: bytes | memoryview, most: int) -> bytes:
        stream = make()
        # One byte more, so that too much shows.
        whole = stream.decompress(packed, most + 1)
        if len(whole) <= most and not stream.eof:
            raise ValueError("it ends too early")
        return whole

    return run


def _snappy(packed: bytes | memoryview, most: int) -> bytes:
    size, _ = varint(bytes(packed[:10]), 0, "its size")
    check_growth("snappy", len(packed), size)
    if size > most:
        raise OverflowError(f"it says that it has {counted(size, 'byte')}")
    return bytes(pa.Codec("snappy").decompress(packed, size, asbytes=True))


def _zstd(packed: bytes | memoryview, most: int) -> bytes:
    # By pieces, into memory of ours: what `read` makes room for beforehand is lost if it raises.
    whole, piece = bytearray(), memoryview(bytearray(_PIECE_BYTES))
    if not packed:
        raise ValueError("it ends before it begins")
    with pa.CompressedInputStream(pa.py_buffer(packed), "zstd") as stream:
        while len(whole) <= most and (size := stream.readinto(piece)):
            whole += piece[:size]
    return bytes(whole)


def _lz4(packed: bytes | memoryview, most: int) -> bytes:
    # Here and not by pyarrow, which does not say how many bytes there were.
    whole, data, at = bytearray(), bytes(packed), 0
    try:
        while True:
            token = data[at]
            size, at = _lz4_length(data, at + 1, token >> 4)
            if size > len(data) - at:
                raise ValueError("it ends too early")
            whole += data[at : at + size]
            at += size
            if at == len(data) or len(whole) > most:
                return bytes(whole)
            back = data[at] | data[at + 1] << 8
            size, at = _lz4_length(data, at + 2, token & 15)
            if not 0 < back <= len(whole):
                raise ValueError(f"it copies from {counted(back, 'byte')} before, where nothing is")
            if len(whole) + size + 4 > most:
                raise OverflowError(f"it has more than {counted(most, 'byte')}")
            for _ in range(size + 4):
                whole.append(whole[-back])
    except IndexError as error:
        raise ValueError("it ends too early") from error


def _lz4_length(data: bytes, at: int, size: int) -> tuple[int, int]:
    """A length that begins in four bits and goes on in bytes, and where they end."""
    more = size == 15
    while more:
        size += data[at]
        more = data[at] == 255
        at += 1
    return size, at


_UNPACK: Mapping[str, _Unpack] = {
    "deflate": _streamed(partial(zlib.decompressobj, -15)),
    "zlib": _streamed(partial(zlib.decompressobj, 15)),
    "gzip": _streamed(partial(zlib.decompressobj, 31)),
    "snappy": _snappy,
    "lz4": _lz4,
    "zstd": _zstd,
    "bz2": _streamed(bz2.BZ2Decompressor),
    "xz": _streamed(partial(lzma.LZMADecompressor, memlimit=_DICTIONARY_BYTES)),
}
_FAILURES = (InputError, zlib.error, lzma.LZMAError, pa.ArrowException, EOFError, OSError)
