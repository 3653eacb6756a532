"""A differential over random tables: a writer on Spark makes and reads them, readers must agree."""

from __future__ import annotations

from seambench_suites.differential.comparing import compare
from seambench_suites.differential.formats import FORMATS, Answer, RandomFormat
from seambench_suites.differential.writing import write_tables

__all__ = ["FORMATS", "Answer", "RandomFormat", "compare", "write_tables"]
