"""Conformance under pytest: the same cases as `seambench check`."""
