"""The report: a static page over the records, which opens from disk without server or network."""

from __future__ import annotations

from seambench.report.site import build

__all__ = ["build"]
