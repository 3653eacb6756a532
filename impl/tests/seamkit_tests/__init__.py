"""Tests of the library and of what joins it to the harness; they are not part of the wheel.

Folders by subject; what several of them need lies in `samples`, bytes in `golden`.
"""

from importlib.resources import files
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"
"""Bytes that only these tests need."""
SUITES_GOLDEN = Path(str(files("seambench_suites"))) / "golden"
"""Bytes of real engines that the suites bring."""
