"""Rows to the parts of an exchange, and to those who read them."""

from __future__ import annotations

from . import exchange_kernels, kernels

Deal = kernels.timed(exchange_kernels.Deal, "time_deal", parts=["8", "64"])
Carry = kernels.timed(
    exchange_kernels.Carry, "time_carry", way=["pass-through", "sockets", "grpc", "flight"]
)
