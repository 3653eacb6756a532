"""Cases as data, one small file each; a case's path is its id."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent
"""Folder of `cases/` and `golden/`: what the entry point `seambench.cases` hands out."""
