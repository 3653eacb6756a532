"""Avro log blocks into columns."""

from __future__ import annotations

from . import kernels

AvroDecode = kernels.timed(kernels.AvroDecode, "time_decode", columns=["all", "two"])
