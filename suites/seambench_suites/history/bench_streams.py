"""Appends to the serializers of an exchange."""

from __future__ import annotations

from . import kernels, stream_kernels


class StreamPartition(kernels.Timed):
    """65,536 rows of 16 columns to one serializer of Presto pages, or interleaved to 64."""

    param_names = ("destinations",)
    params = (["whole", "64"],)
    kernel_type = stream_kernels.StreamPartition
    time_append_and_flush = kernels.Timed.run
