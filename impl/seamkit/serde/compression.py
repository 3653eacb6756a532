"""Codecs for whole payloads, by the names that Presto and Velox give them.

| name | bytes |
|---|---|
| `lz4` | a raw LZ4 block: no frame, no length |
| `snappy` | a raw Snappy block, which begins with its length |
| `zstd` | standard frames |
| `gzip`, `zlib` | as RFC 1952 and RFC 1950 |

All of it runs in libraries that release the GIL. Whoever reads knows the exact size beforehand
and never allocates more than that, nor a size that so many bytes cannot become.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import cramjam

from seambase.errors import InputError, UsageError
from seambase.extras import needs
from seambase.wording import counted
from seamkit.core.memory import Block, TrackedAllocator
from seamkit.core.unpack import check_growth

with needs("seamkit[serde]", "a codec of pages"):
    import zstandard
    from isal import igzip_lib, isal_zlib

Bytes = bytes | bytearray | memoryview

# Of zlib's window parameter: 15 bits, with the header of the one or the other.
_WINDOW = {"zlib": 15, "gzip": 31}
_ZSTD_LEVEL = 3
_DEFLATE_LEVEL = 2


class _Local(threading.local):
    """Contexts that are costly to make and belong to one thread."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=_ZSTD_LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_local = _Local()


def _lz4_compress(data: Bytes, allocator: TrackedAllocator) -> memoryview:
    block = Block(allocator, cramjam.lz4.compress_block_bound(data))
    size = cramjam.lz4.compress_block_into(data, block.view, store_size=False)
    return block.view[:size]


def _snappy_compress(data: Bytes, allocator: TrackedAllocator) -> memoryview:
    block = Block(allocator, cramjam.snappy.compress_raw_max_len(data))
    return block.view[: cramjam.snappy.compress_raw_into(data, block.view)]


def _zstd_compress(data: Bytes, _: TrackedAllocator) -> memoryview:
    return memoryview(_local.compressor.compress(data))


def _deflate(name: str) -> Callable[[Bytes, TrackedAllocator], memoryview]:
    def run(data: Bytes, _: TrackedAllocator) -> memoryview:
        return memoryview(isal_zlib.compress(data, _DEFLATE_LEVEL, _WINDOW[name]))

    return run


def _lz4_decompress(data: Bytes, size: int, allocator: TrackedAllocator) -> memoryview:
    block = Block(allocator, size)
    done = cramjam.lz4.decompress_block_into(data, block.view, output_len=size)
    return block.view[:done]


def _snappy_decompress(data: Bytes, size: int, allocator: TrackedAllocator) -> memoryview:
    block = Block(allocator, size)
    return block.view[: cramjam.snappy.decompress_raw_into(data, block.view)]


def _zstd_decompress(data: Bytes, size: int, _: TrackedAllocator) -> memoryview:
    # A frame that knows its size is decompressed into that much memory, whatever the bound.
    known = zstandard.frame_content_size(data)
    if known >= 0 and known != size:
        raise ValueError(f"its frame holds {counted(known, 'byte')}")
    return memoryview(
        _local.decompressor.decompress(data, max_output_size=size, allow_extra_data=False)
    )


def _inflate(name: str) -> Callable[[Bytes, int, TrackedAllocator], memoryview]:
    def run(data: Bytes, size: int, _: TrackedAllocator) -> memoryview:
        stream = isal_zlib.decompressobj(_WINDOW[name])
        # One byte more than announced, so that too much shows.
        out = memoryview(stream.decompress(data, size + 1))
        if not stream.eof or stream.unused_data:
            raise ValueError("its stream ends too early or too late")
        return out

    return run


_COMPRESS: Mapping[str, Callable[[Bytes, TrackedAllocator], memoryview]] = {
    "lz4": _lz4_compress,
    "snappy": _snappy_compress,
    "zstd": _zstd_compress,
    "gzip": _deflate("gzip"),
    "zlib": _deflate("zlib"),
}
_DECOMPRESS: Mapping[str, Callable[[Bytes, int, TrackedAllocator], memoryview]] = {
    "lz4": _lz4_decompress,
    "snappy": _snappy_decompress,
    "zstd": _zstd_decompress,
    "gzip": _inflate("gzip"),
    "zlib": _inflate("zlib"),
}
CODECS = ("none", *_COMPRESS)
"""Names of the codecs, `none` among them."""
# A class, which its stub declares to be an instance.
_ISAL_ERROR: Any = igzip_lib.IsalError
# What the libraries raise for bytes they cannot read.
_FAILURES: tuple[type[Exception], ...] = (
    cramjam.DecompressionError,
    zstandard.ZstdError,
    _ISAL_ERROR,
    ValueError,
    EOFError,
)


def _known(codec: str) -> None:
    if codec not in _COMPRESS:
        raise UsageError(f"codec {codec!r}: one of {', '.join(_COMPRESS)} is meant")


def compress(codec: str, data: Bytes, allocator: TrackedAllocator) -> memoryview:
    """Compress a payload by one of `CODECS` but `none`; the result may well be longer.

    Where the codec can be given some, memory is the allocator's.
    """
    _known(codec)
    return _COMPRESS[codec](data, allocator)


def decompress(
    codec: str, data: Bytes, size_bytes: int, allocator: TrackedAllocator, *, offset: int = 0
) -> memoryview:
    """Decompress a payload into exactly `size_bytes` bytes, which the caller holds to its limit.

    `offset` is where it begins in its file, for messages.
    """
    _known(codec)
    try:
        check_growth(codec, len(data), size_bytes)
        out = _DECOMPRESS[codec](data, size_bytes, allocator)
    except _FAILURES as error:
        raise InputError(
            f"{counted(len(data), 'byte', 'are')} not {codec} of "
            f"{counted(size_bytes, 'byte')}: {error} (at byte {offset})"
        ) from error
    if len(out) != size_bytes:
        raise InputError(
            f"{codec} yields {counted(len(out), 'byte')} where {size_bytes:,} were announced "
            f"(at byte {offset})"
        )
    return out


@dataclass
class Skipper:
    """Decides when compression is not even tried, as Velox's iterative writers do.

    After an attempt that did not pay, as many are left out as were before, and one more: 1, 2, 4,
    8, 16, then 30 each time. Attempts that pay change nothing. Pages below `min_bytes` are never
    tried and change nothing.

    Args:
        min_bytes: smallest payload worth trying.
    """

    min_bytes: int = 0
    _skipped: int = 0
    _to_skip: int = 0

    def wants(self, size_bytes: int) -> bool:
        """Whether the next payload, `size_bytes` long, should be tried; ask once for each."""
        if size_bytes < self.min_bytes:
            return False
        if self._to_skip > 0:
            self._to_skip -= 1
            self._skipped += 1
            return False
        return True

    def tried(self, paid: bool) -> None:
        """Take note of how an attempt went."""
        if not paid:
            self._to_skip = min(self._skipped + 1, 30)
