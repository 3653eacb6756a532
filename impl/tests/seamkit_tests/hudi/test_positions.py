"""Record positions: the bitmap of a block's header, and reading by position."""

import base64
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seambase.errors import InputError
from seamkit.files.roaring import read_bitmap
from seamkit.tables.hudi.log.log import LogBlock
from seamkit.tables.hudi.merge.keys import usable_positions

# Written by Hudi 1.2.0 for updates of the rows 0, 1 and 3 of a base file.
OF_HUDI = "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAIAEAAAAAAAAQADAA=="


def array(values: list[int]) -> bytes:
    """An array container."""
    return struct.pack(f"<{len(values)}H", *values)


def bitmap_32(containers: list[tuple[int, int, bytes]]) -> bytes:
    """A bitmap without runs: key, cardinality and bytes of each container."""
    heads = b"".join(struct.pack("<HH", key, count - 1) for key, count, _ in containers)
    at, offsets = 8 + 8 * len(containers), b""
    for _, _, container in containers:
        offsets += struct.pack("<I", at)
        at += len(container)
    body = b"".join(container for _, _, container in containers)
    return struct.pack("<II", 12346, len(containers)) + heads + offsets + body


def bitmap_64(buckets: list[tuple[int, bytes]]) -> bytes:
    """The portable form: a count, then the upper 32 bits and a bitmap for each bucket."""
    parts = [struct.pack("<I", high) + bitmap for high, bitmap in buckets]
    return struct.pack("<q", len(buckets)) + b"".join(parts)


def test_a_bitmap_that_hudi_wrote() -> None:
    """The set bits are the rows of the base file that were updated."""
    assert read_bitmap(base64.b64decode(OF_HUDI)).tolist() == [0, 1, 3]


def test_containers_of_arrays_and_bits_in_several_buckets() -> None:
    """Upper 32 bits, then 16, then 16: arrays up to 4096 values, bits above."""
    even = range(0, 65536, 2)
    bits = np.packbits([i % 2 == 0 for i in range(65536)], bitorder="little").tobytes()
    first = bitmap_32([(0, 2, array([5, 9])), (3, len(even), bits)])
    data = bitmap_64([(0, first), (2, bitmap_32([(1, 1, array([7]))]))])
    expected = [5, 9, *((3 << 16) + i for i in even), (2 << 32) + (1 << 16) + 7]
    assert read_bitmap(data).tolist() == expected


@pytest.mark.parametrize("containers", [1, 4])
def test_runs(containers: int) -> None:
    """A flag for each container says that it is runs; from four containers on there are offsets."""
    heads = b"".join(struct.pack("<HH", key, 4 - 1) for key in range(containers))
    runs = struct.pack("<HHHHH", 2, 10, 2, 100, 0)  # 10 to 12, and 100
    flags = bytes([(1 << containers) - 1])
    begin = 4 + len(flags) + len(heads) + 4 * containers
    offsets = b"".join(struct.pack("<I", begin + len(runs) * i) for i in range(containers))
    cookie = struct.pack("<I", 12347 | (containers - 1) << 16)
    data = bitmap_64(
        [(0, cookie + flags + heads + (offsets if containers >= 4 else b"") + runs * containers)]
    )
    own = [10, 11, 12, 100]
    assert read_bitmap(data).tolist() == [(k << 16) + v for k in range(containers) for v in own]


@given(st.binary(max_size=40), st.integers(0, 40))
@settings(deadline=None, max_examples=100)
def test_broken_bitmaps_are_refused(noise: bytes, at: int) -> None:
    """Whatever the bytes, the values are in order or the bitmap is refused."""
    whole = base64.b64decode(OF_HUDI)
    for data in (noise, whole[:at] + noise, whole[:at] + noise + whole[at + len(noise) :]):
        try:
            values = read_bitmap(data)
        except ValueError:
            continue
        assert (np.diff(values) > 0).all()


@pytest.mark.parametrize("cut", range(len(base64.b64decode(OF_HUDI))))
def test_truncated_bitmaps_are_refused(cut: int) -> None:
    """Fewer positions than there were would shift all those behind them."""
    with pytest.raises((ValueError, struct.error)):
        read_bitmap(base64.b64decode(OF_HUDI)[:cut])


def block(instant: str | None, positions: str | None) -> LogBlock:
    """A delete block with these headers."""
    header = {}
    if instant is not None:
        header["BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS"] = instant
    if positions is not None:
        header["RECORD_POSITIONS"] = positions
    return LogBlock("delete", "2", header, memoryview(b""), 0, "a.log")


@pytest.mark.parametrize(
    "other",
    [
        block("3", OF_HUDI),
        block(None, OF_HUDI),
        block("1", None),
        block("1", base64.b64encode(bitmap_64([])).decode()),
    ],
    ids=["of another base file", "of no base file", "missing", "empty"],
)
def test_positions_of_every_block_or_of_none(other: LogBlock) -> None:
    """One block without positions for this base file, and the slice is read by key."""
    good = block("1", OF_HUDI)
    found = usable_positions([good, good], "1")
    assert found is not None
    assert [positions.tolist() for positions in found] == [[0, 1, 3]] * 2
    assert usable_positions([good, other], "1") is None


def test_broken_positions_are_named() -> None:
    """The message tells file and block."""
    with pytest.raises(InputError, match=r"a\.log, delete block at byte 0: the record positions"):
        usable_positions([block("1", OF_HUDI[:20])], "1")
