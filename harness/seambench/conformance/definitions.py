"""Case files as people are shown them: where they lie, what they name as sources, their text."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from seambench.contracts.seam import Case, Explanation, refusal_in_words

_MOST = 3000


def explain_file(case: Case, file: Path, request: Mapping[str, object]) -> Explanation:
    """A case whose file says what it is about; `request` tells it from others of that file."""
    return Explanation(
        rule=case.requirement,
        sources=_sources(file),
        file=place(file),
        request={name: str(value) for name, value in request.items() if value not in ("", None)},
        outcome=refusal_in_words(case),
        definition=_definition(file),
    )


def place(file: Path) -> str:
    """Where a file lies below its suite's folder: `cases/...` or `golden/...`; else its name."""
    for at, part in enumerate(file.parts):
        if part in ("cases", "golden"):
            return "/".join(file.parts[at:])
    return file.name


@cache
def _definition(file: Path) -> str:
    text = file.read_text(encoding="utf-8").strip()
    return text if len(text) <= _MOST else f"{text[:_MOST]}\n\N{HORIZONTAL ELLIPSIS}"


@cache
def _sources(file: Path) -> list[str]:
    """The source that a case file states, and threads about engines that broke the rule."""
    if file.suffix != ".toml":
        return []
    read = tomllib.loads(file.read_text(encoding="utf-8"))
    stated = [read["source"]] if isinstance(read.get("source"), str) else []
    threads = [f"found broken: {thread}" for thread in read.get("threads", ())]
    return [*stated, *threads]
