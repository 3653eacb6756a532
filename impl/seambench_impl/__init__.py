"""Seambench's own implementations of the four seams, and adapters for its peers.

Knows the contracts in `seambench.contracts.seams`; knows no suite.
"""
