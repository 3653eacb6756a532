"""Rows to the parts of an exchange."""

from __future__ import annotations

from . import exchange_kernels, kernels


class Deal(kernels.Timed):
    """65,536 rows of 16 columns to 8 or 64 parts."""

    param_names = ("parts",)
    params = (["8", "64"],)
    kernel_type = exchange_kernels.Deal
    time_deal = kernels.Timed.run
