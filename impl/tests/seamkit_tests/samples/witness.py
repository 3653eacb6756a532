"""How witness files of golden tables spell values."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

__all__ = ["witness_text"]


def witness_text(value: Any) -> str:
    """A value in the words of the witness files."""
    if isinstance(value, float):
        return "float:nan" if math.isnan(value) else f"float:{value.hex()}"
    if isinstance(value, dt.datetime):
        return f"timestamp:{value.replace(tzinfo=None).isoformat()}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(witness_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}={witness_text(v)}" for k, v in value.items()) + "}"
    return f"{type(value).__name__}:{value}"
