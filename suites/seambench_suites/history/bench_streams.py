"""Appends to the serializers of an exchange."""

from __future__ import annotations

from . import kernels, stream_kernels


class StreamPartition:
    """65,536 rows of 16 columns to one serializer of Presto pages, or interleaved to 64."""

    version = "1"
    number = 1
    param_names = ("destinations",)
    params = (["whole", "64"],)

    def setup(self, destinations: str) -> None:
        """Make rows and serializers and compare a page, once a process; empty them else."""
        self.kernel = kernels.kernel(stream_kernels.StreamPartition, destinations)
        self.kernel.prepare()

    def time_append_and_flush(self, _: str) -> None:
        """Append everything, flush every page."""
        self.kernel.run()
