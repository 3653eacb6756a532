"""Rows to the parts of an exchange, and to those who read them."""

from __future__ import annotations

from . import exchange_kernels, kernels


class Deal(kernels.Timed):
    """65,536 rows of 16 columns to 8 or 64 parts."""

    param_names = ("parts",)
    params = (["8", "64"],)
    kernel_type = exchange_kernels.Deal
    time_deal = kernels.Timed.run


class Carry(kernels.Timed):
    """65,536 rows of 16 columns to 8 readers: passed through, or over a socket and decoded."""

    param_names = ("way",)
    params = (["pass-through", "sockets", "grpc", "flight"],)
    kernel_type = exchange_kernels.Carry
    time_carry = kernels.Timed.run
