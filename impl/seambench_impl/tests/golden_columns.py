"""Where the golden off-heap tables lie; data only, nothing of the suites is imported."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import seambench

__all__ = ["GOLDEN", "load_golden"]

GOLDEN = Path(str(files(seambench))).parent / "seambench_suites" / "golden" / "offheap"
if not GOLDEN.is_dir():  # a checkout keeps each package in a folder of its own
    GOLDEN = Path(__file__).parents[3] / "suites" / "seambench_suites" / "golden" / "offheap"


def load_golden(name: str) -> Any:
    """The content of a golden file."""
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))
