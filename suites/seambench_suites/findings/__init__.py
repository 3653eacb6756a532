"""Defects that the suites found in other systems: one report each, written from data and runs.

`python -m seambench_suites.findings docs/findings` asks each smallest case again and runs each
script, in every version that the data names, and writes the reports; it fails where a defect does
not come out as the data say.
"""

from __future__ import annotations

from pathlib import Path

FINDINGS = Path(__file__).with_name("findings.toml")
