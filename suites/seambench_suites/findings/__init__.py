"""Defects that the suites found in other systems: one report each, written from data and a run.

`python -m seambench_suites.findings docs/findings` asks each smallest case again, in every version
that the data names, and writes the reports; it fails where a defect does not come out as told.
"""
