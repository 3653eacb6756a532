"""Real Hudi tables: Spark and Hudi write what a table's declaration tells."""

from __future__ import annotations
