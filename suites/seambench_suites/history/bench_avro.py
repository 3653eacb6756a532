"""Avro log blocks into columns."""

from __future__ import annotations

from . import kernels


class AvroDecode(kernels.Timed):
    """200,000 records of 8 fields in 10 blocks, into all columns or into two."""

    param_names = ("columns",)
    params = (["all", "two"],)
    kernel_type = kernels.AvroDecode
    time_decode = kernels.Timed.run
