"""Roaring bitmaps in their portable form, of 32 and of 64 bits, as deletion vectors hold them.

The layout is that of RoaringFormatSpec, whose integers are little-endian.
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.int64]
_PLAIN, _WITH_RUNS = 12346, 12347
#: Without runs offsets always stand there, with runs from so many containers on.
_OFFSETS_FROM = 4
_MOST_IN_ARRAY, _BITSET_BYTES = 4096, 8192


def positions_32(data: bytes, at: int = 0) -> tuple[Positions, int]:
    """Positions of a bitmap of 32 bits that begins somewhere, and where it ends.

    Raises:
        ValueError: it is none, or ends too soon.
    """
    try:
        return _containers(data, at)
    except struct.error as why:
        raise ValueError(f"the bitmap at {at} ends too soon") from why


def positions_64(data: bytes, at: int = 0) -> tuple[Positions, int]:
    """Positions of one of 64 bits: a count, and by their upper half bitmaps of 32 bits.

    Raises:
        ValueError: it is none, or ends too soon.
    """
    try:
        (count,) = struct.unpack_from("<q", data, at)
        at, found = at + 8, [np.empty(0, np.int64)]
        for _ in range(count):
            (upper,) = struct.unpack_from("<i", data, at)
            lower, at = _containers(data, at + 4)
            found.append(lower + (np.int64(upper) << np.int64(32)))
    except struct.error as why:
        raise ValueError(f"the bitmap at {at} ends too soon") from why
    return np.concatenate(found), at


def _containers(data: bytes, at: int) -> tuple[Positions, int]:
    (cookie,) = struct.unpack_from("<I", data, at)
    runs = b""
    if cookie == _PLAIN:
        (size,) = struct.unpack_from("<I", data, at + 4)
        at += 8
    elif cookie & 0xFFFF == _WITH_RUNS:
        size = (cookie >> 16) + 1
        runs = data[at + 4 : (at := at + 4 + (size + 7) // 8)]
    else:
        raise ValueError(f"the bitmap at {at} begins with {cookie}, no cookie")
    heads = struct.unpack_from(f"<{2 * size}H", data, at)
    at += 4 * size + (4 * size if not runs or size >= _OFFSETS_FROM else 0)
    found = [np.empty(0, np.int64)]
    for number, (key, less) in enumerate(zip(heads[::2], heads[1::2], strict=True)):
        if runs and runs[number // 8] >> number % 8 & 1:
            (count,) = struct.unpack_from("<H", data, at)
            pairs = struct.unpack_from(f"<{2 * count}H", data, at + 2)
            both = list(zip(pairs[::2], pairs[1::2], strict=True))
            # Runs that overlap could ask for far more than the file has.
            if (values := sum(more + 1 for _, more in both)) != less + 1:
                raise ValueError(f"a container has {values} values, its head says {less + 1}")
            low = np.concatenate([np.arange(begin, begin + more + 1) for begin, more in both])
            at += 2 + 4 * count
        elif less + 1 <= _MOST_IN_ARRAY:
            low = np.array(struct.unpack_from(f"<{less + 1}H", data, at))
            at += 2 * (less + 1)
        else:
            words = np.frombuffer(struct.unpack_from(f"{_BITSET_BYTES}s", data, at)[0], np.uint8)
            low = np.flatnonzero(np.unpackbits(words, bitorder="little"))
            at += _BITSET_BYTES
        if len(low) != less + 1:
            raise ValueError(f"a container has {len(low)} values, its head says {less + 1}")
        found.append(low.astype(np.int64) + (key << 16))
    return np.concatenate(found), at
