"""Answers that engines gave to cases: `golden/answers/*.json`, a file for each engine and version.

An engine was asked just what a case asks, and what it gave is kept as a digest:

    {"engine": "Lake 2.0", "origin": "how it was asked", "answers": {"scan/lake/one": "…"}}

The expectation of such a case is worked out here, so that the two hold each other: a digest that is
no longer the expectation's fails a test. What an engine answered otherwise is not in its file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from seambase.errors import UsageError
from seambench.contracts.data_files import build


@dataclass(frozen=True)
class Answered:
    """What one engine answered."""

    engine: str
    origin: Sequence[str]
    answers: Mapping[str, str]  # by the id of a case the digest of its answer (`digest_of`)


@cache
def answers_of(root: Path) -> Sequence[Answered]:
    """What engines answered to the cases below a root."""
    found = []
    for file in sorted((root / "golden" / "answers").glob("*.json")):
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UsageError(f"{file}: not readable as JSON ({error})") from error
        found.append(build(Answered, content, file))
    return found


def engine_of(root: Path, case: str) -> str:
    """The engines that were seen to answer a case as expected; empty where none was asked."""
    return " and ".join(one.engine for one in answers_of(root) if case in one.answers)


def digest_of(answer: Any) -> str:
    """A digest of an answer as plain data: lists, texts, numbers."""
    text = json.dumps(answer, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
