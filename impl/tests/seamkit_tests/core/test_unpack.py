"""Compressed bytes made whole: right, and never more room than the bytes can fill."""

import bz2
import gzip
import lzma
import struct
import tracemalloc
import zlib
from collections.abc import Callable

import cramjam
import pyarrow as pa
import pytest

from seamkit.core.unpack import check_growth, most_bytes, unpack

_DENSE = bytes(8 << 20)


def _deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, wbits=-15)
    return packer.compress(data) + packer.flush()


_PACK: dict[str, Callable[[bytes], bytes]] = {
    "deflate": _deflate,
    "zlib": lambda data: zlib.compress(data, 9),
    "gzip": lambda data: gzip.compress(data, 9),
    "snappy": lambda data: bytes(cramjam.snappy.compress_raw(data)),
    "zstd": lambda data: bytes(pa.compress(data, "zstd", asbytes=True)),
    "lz4": lambda data: bytes(cramjam.lz4.compress_block(data, store_size=False)),
    "bz2": bz2.compress,
    "xz": lambda data: lzma.compress(data, preset=0),  # whose dictionary is small
}


@pytest.mark.parametrize("codec", _PACK)
@pytest.mark.parametrize("data", [b"", b"a", bytes(range(256)) * 300], ids=["empty", "one", "many"])
def test_bytes_come_back(codec: str, data: bytes) -> None:
    """What another library packed, up to just as many bytes as are allowed."""
    packed = _PACK[codec](data)
    assert unpack(codec, packed, len(data)) == data
    assert unpack(codec, memoryview(packed), 1 << 20) == data
    if data:
        with pytest.raises(OverflowError):
            unpack(codec, packed, len(data) - 1)


@pytest.mark.parametrize("codec", [name for name in _PACK if name != "lz4"])
def test_every_cut_is_refused(codec: str) -> None:
    """Whatever is missing."""
    packed = _PACK[codec](b"abcdefgh" * 40)
    for length in range(len(packed)):
        with pytest.raises(ValueError):  # noqa: PT011 - libraries have words of their own
            unpack(codec, packed[:length], 1 << 20)


def test_a_cut_block_of_lz4_is_never_other_bytes() -> None:
    """It tells no size, so that it may end behind any bytes that stand for themselves."""
    data = bytes(range(64)) + b"abcdefgh" * 40 + bytes(range(64, 128))
    packed = _PACK["lz4"](data)
    assert unpack("lz4", packed, len(data)) == data
    for length in range(len(packed)):
        try:
            assert data.startswith(unpack("lz4", packed[:length], 1 << 20))
        except ValueError:
            continue


@pytest.mark.parametrize("block", [b"\x10a\x02\0", b"\x10a\0\0", b"\x10a\x01", b"\xf0\xff"])
def test_a_block_of_lz4_that_copies_from_nowhere_is_refused(block: bytes) -> None:
    """From before its beginning or from no distance; one whose lengths do not end."""
    with pytest.raises(ValueError, match=r"copies|ends"):
        unpack("lz4", block, 100)


@pytest.mark.parametrize("codec", ["deflate", "zlib", "gzip", "snappy", "zstd", "lz4"])
def test_no_packer_packs_denser(codec: str) -> None:
    """The bounds come from the formats; zeros come near to them, and never beyond."""
    packed = _PACK[codec](_DENSE)
    check_growth(codec, len(packed), len(_DENSE))
    assert most_bytes(codec, len(packed)) < 1.1 * len(_DENSE)
    with pytest.raises(ValueError, match="cannot become"):
        check_growth(codec, len(packed), 2 * len(_DENSE))


@pytest.mark.parametrize("codec", [name for name in _PACK if name != "snappy"])
def test_a_bomb_takes_no_more_than_is_allowed(codec: str) -> None:
    """Eight megabytes in few bytes, of which one is allowed."""
    packed = _PACK[codec](_DENSE)
    tracemalloc.start()
    try:
        with pytest.raises(OverflowError):
            unpack(codec, packed, 1 << 20)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_size_that_snappy_states_is_not_believed() -> None:
    """A gigabyte for ten bytes is refused before any room is made for it."""
    block = b"\x80\x80\x80\x80\x04" + b"\0abcd"
    with pytest.raises(ValueError, match=r"10 bytes of snappy cannot become 1073741824"):
        unpack("snappy", block, 1 << 30)


def test_a_dictionary_that_xz_states_is_not_believed() -> None:
    """Four gigabytes of it, which the library would ask for at once."""
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
    packed = bytearray(lzma.compress(b"abc", check=lzma.CHECK_NONE, filters=filters))
    at = packed.index(b"\x21\x01") + 2  # the filter, and how many properties it has
    packed[at] = 40  # the largest dictionary
    header = 12  # of the stream, before the one of the block with its checksum
    end = header + 4 * packed[header]
    packed[end : end + 4] = struct.pack("<I", zlib.crc32(packed[header:end]))
    with pytest.raises(ValueError, match=r"[Mm]emory"):
        unpack("xz", bytes(packed), 1 << 20)
