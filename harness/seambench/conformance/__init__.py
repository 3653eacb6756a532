"""Conformance, once for all seams: select cases, isolate, run, judge."""
