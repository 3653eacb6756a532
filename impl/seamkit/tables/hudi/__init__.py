"""Hudi tables: properties, timeline, file slices, and the bytes of log files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seamkit.tables.hudi.table import HudiTable

__all__ = ["HudiTable"]


def __getattr__(name: str) -> Any:
    # A table reads through the scanners, which import modules of this package: imported right
    # away, the two would wait for each other.
    if name == "HudiTable":
        from seamkit.tables.hudi.table import HudiTable

        return HudiTable
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
