"""Conformance and performance suites. They meet implementations by name only."""
