"""Avro log blocks into columns."""

from __future__ import annotations

from . import kernels


class AvroDecode:
    """200,000 records of 8 fields in 10 blocks, into all columns or into two."""

    version = "1"
    param_names = ("columns",)
    params = (["all", "two"],)
    number = 1

    def setup(self, columns: str) -> None:
        """Encode, compile the decoder and compare a decoded block, once a process."""
        self.kernel = kernels.kernel(kernels.AvroDecode, columns)

    def time_decode(self, _columns: str) -> None:
        """Decode 10 blocks into one batch."""
        self.kernel.run()
