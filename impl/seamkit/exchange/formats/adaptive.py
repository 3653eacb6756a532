"""What chunks learn from those before: encodings of columns, and whether to compress.

Compression is StarRocks' AUTO by Thompson sampling (June 2025, `compress_strategy.cpp`): each
outcome counts for or against compressing, and a draw from the Beta distribution of both counts
decides. Which chunks are compressed is thus by chance; readers obey what each chunk says.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from seambase.errors import UsageError

#: Bits of a level: choose by column; integers, offsets and null flags; bytes of strings.
ADAPTIVE, INTEGERS, STRINGS = 1, 2, 4

_SAMPLES = 5
_FIRST_PERIOD = 64
_LAST_PERIOD = 10**9
_LIMIT = 0.9


class EncodeLevels:
    """The level of every column, chunk after chunk (StarRocks, `EncodeContext`).

    An adaptive level looks at the first five of 64 chunks, then of 128, and so on: a column whose
    parts did not become smaller than nine tenths of what they were has level 0 from then on. It
    stays there: what is not encoded never gets smaller. One thread at a time.

    `level` is the exchange's, `ADAPTIVE` + `INTEGERS` + `STRINGS` or any part of it; `levels` are
    those of the columns for the next chunk.
    """

    def __init__(self, columns: int, level: int) -> None:
        if not 0 <= level <= ADAPTIVE | INTEGERS | STRINGS:
            raise UsageError(f"an encode level is a number from 0 to 7, not {level}")
        self._level = level
        self._adapts = bool(level & ADAPTIVE and level & ~ADAPTIVE)
        self.levels = [level] * columns
        self._times = 0
        self._period = _FIRST_PERIOD
        self._raw = [0] * columns
        self._encoded = [0] * columns

    def update(self, raw: Sequence[int], encoded: Sequence[int]) -> None:
        """Count one chunk: the bytes of each column's parts before, and what they took encoded."""
        if not self._adapts:
            return
        if self._times % self._period < _SAMPLES:
            self._raw = [a + b for a, b in zip(self._raw, raw, strict=True)]
            self._encoded = [a + b for a, b in zip(self._encoded, encoded, strict=True)]
        self._times += 1
        if self._times % self._period == _SAMPLES:
            self.levels = [
                self._level if encoded_ < raw_ * _LIMIT else 0
                for raw_, encoded_ in zip(self._raw, self._encoded, strict=True)
            ]
            self._raw = [0] * len(self._raw)
            self._encoded = [0] * len(self._encoded)
            if self._period <= _LAST_PERIOD:
                self._period *= 2


#: What is believed beforehand: three successes against one.
_SUCCESSES, _FAILURES = 3, 1
#: `lz4_expected_compression_ratio`, `lz4_expected_compression_speed_mbps`.
_EXPECTED_RATIO = 2.1
_EXPECTED_MEGABYTES = 600.0


class CompressStrategy:
    """Decides chunk by chunk. One thread at a time.

    `rewards` are `exact`; or `whole` as the original counts, whose ratio and bytes per nanosecond
    are divisions of whole numbers: what is slower than 1 GB/s always failed.
    """

    def __init__(self, rewards: Literal["exact", "whole"] = "exact", seed: int = 0) -> None:
        self._whole = rewards == "whole"
        self._dice = random.Random(seed)
        self.successes = _SUCCESSES
        self.failures = _FAILURES

    def choose(self) -> bool:
        """Whether to compress the next chunk."""
        return self._dice.betavariate(self.successes, self.failures) > 0.5

    def feed(self, raw_bytes: int, packed_bytes: int, nanoseconds: int) -> None:
        """Count what became of a compressed chunk; its size and time after it are at least 1."""
        if self._whole:
            ratio, megabytes = raw_bytes // packed_bytes, raw_bytes // nanoseconds * 1000
            reward = (ratio / _EXPECTED_RATIO) * (megabytes / _EXPECTED_MEGABYTES)
        else:
            ratio_, megabytes_ = raw_bytes / packed_bytes, raw_bytes / nanoseconds * 1000
            reward = (ratio_ / _EXPECTED_RATIO) * (megabytes_ / _EXPECTED_MEGABYTES)
        if reward > 1:
            self.successes += 1
        else:
            self.failures += 1
