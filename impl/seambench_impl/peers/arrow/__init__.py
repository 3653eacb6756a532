"""Implementations of Arrow as serdes of its IPC streams."""
