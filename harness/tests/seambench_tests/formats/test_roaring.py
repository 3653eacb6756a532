"""Positions of Roaring bitmaps are those that another library put in."""

import struct

import numpy as np
import pytest

from seambench.formats.lint.roaring import positions_32, positions_64

#: One container or several; as arrays, sets of bits and runs; at both ends of what there is.
POSITIONS = {
    "none": [],
    "array": [0, 7, 65535],
    "containers": [3, 65536, 65537, 200_000, 2**32 - 1],
    "bits": [*range(0, 60_000, 2)],
    "bits-and-array": [*range(0, 60_000, 3), 70_000],
    "run": [*range(100, 5_000)],
    "runs-of-five": [n for key in range(5) for n in range(key << 16, (key << 16) + 9_000)],
}


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_are_those_put_in(name: str) -> None:
    """Bitmaps of CRoaring, with runs where it makes some, alone and below upper halves."""
    pyroaring = pytest.importorskip("pyroaring")
    values = POSITIONS[name]
    bitmap = pyroaring.BitMap(values)
    bitmap.run_optimize()
    data = b"ahead" + bitmap.serialize()
    found, end = positions_32(data, 5)
    assert (list(found), end) == (values, len(data))
    wide = struct.pack("<q", 2) + b"".join(struct.pack("<i", n) + data[5:] for n in (0, 3))
    upper = np.array(values, np.int64) + 3 * 2**32
    assert list(positions_64(wide)[0]) == [*values, *upper]


@pytest.mark.parametrize("data", [b"", bytes(8), struct.pack("<II", 12346, 3)])
def test_what_is_no_bitmap_is_refused(data: bytes) -> None:
    """Bytes that are no bitmap, or end too soon."""
    with pytest.raises(ValueError, match="bitmap"):
        positions_32(data)
