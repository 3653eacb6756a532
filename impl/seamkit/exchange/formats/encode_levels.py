"""How the parts of each column are encoded: the levels of an exchange, and how they adapt."""

from __future__ import annotations

from collections.abc import Sequence

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

    Args:
        columns: how many there are.
        level: the exchange's, `ADAPTIVE` + `INTEGERS` + `STRINGS` or any part of it.

    Attributes:
        levels: of the columns, for the next chunk.

    Raises:
        UsageError: there is no such level.
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
        """Count one chunk.

        Args:
            raw: bytes of each column's parts before they were encoded.
            encoded: bytes that each column took in the chunk.
        """
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
