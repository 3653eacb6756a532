"""Where the golden off-heap tables lie; data only, nothing of the suites is imported."""

from __future__ import annotations

import json
from typing import Any

from seamkit_tests import SUITES_GOLDEN

GOLDEN = SUITES_GOLDEN / "offheap"


def load_golden(name: str) -> Any:
    """The content of a golden file."""
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))
