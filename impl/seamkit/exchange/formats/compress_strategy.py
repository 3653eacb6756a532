"""Whether to compress the next chunk, learned from those before: StarRocks' AUTO.

Thompson sampling (StarRocks, June 2025, `compress_strategy.cpp`): each outcome counts for or
against compressing, and a draw from the Beta distribution of both counts decides. Which chunks are
compressed is thus by chance; readers obey what each chunk says.
"""

from __future__ import annotations

import random
from typing import Literal

#: What is believed beforehand: three successes against one.
_SUCCESSES, _FAILURES = 3, 1
#: `lz4_expected_compression_ratio`, `lz4_expected_compression_speed_mbps`.
_EXPECTED_RATIO = 2.1
_EXPECTED_MEGABYTES = 600.0


class CompressStrategy:
    """Decides chunk by chunk. One thread at a time.

    Args:
        rewards: `exact`; or `whole` as the original counts, whose ratio and bytes per nanosecond
            are divisions of whole numbers: what is slower than 1 GB/s always failed.
        seed: of the draws.
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
        """Count what became of a chunk that was compressed.

        Args:
            raw_bytes: before.
            packed_bytes: after, at least 1.
            nanoseconds: what it took, at least 1.
        """
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
