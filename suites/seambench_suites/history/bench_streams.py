"""Appends to the serializers of an exchange."""

from __future__ import annotations

from . import kernels, stream_kernels

StreamPartition = kernels.timed(
    stream_kernels.StreamPartition, "time_append_and_flush", destinations=["whole", "64"]
)
