"""The report: static pages over the records, which open from disk without server or network."""

from __future__ import annotations

from seambench.report.exports.tables import exported
from seambench.report.site import build, publish, take_picture
from seambench.report.views.load import load_records

__all__ = ["build", "exported", "load_records", "publish", "take_picture"]
