"""The 22 queries derived from TPC-H, and the published answers at scale 1.

Derived from TPC-H, not comparable with published TPC-H results: DuckDB's dialect, the
specification's validation parameters, and tie-breakers wherever a LIMIT cuts.
"""

from __future__ import annotations

from seambench_suites.tpch.suite import (
    SUITE,
    Answer,
    TpchSuite,
    answer_digest,
    published_difference,
)

__all__ = ["SUITE", "Answer", "TpchSuite", "answer_digest", "published_difference"]
