"""Conformance of exchanges: cases as data, and the check that runs one."""
