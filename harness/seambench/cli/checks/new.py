"""`seambench new`: a skeleton that builds, runs and fails honestly, for any seam and language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from seambase.errors import UsageError
from seambench.cli.shared.common import console

#: Words of a kind that templates have in capitals.
_PUT_IN = ("program", "head", "task", "excuse")
_LANGUAGES = ("python", "c", "rust", "go", "java")


class _Kind(NamedTuple):
    """A kind of skeleton.

    Attributes:
        seam: it is for.
        python: module and class of the one in Python.
        java: class of the one in Java; empty where there is none.
        program: what it is built as in other languages.
        cases: its first cases.
        head: what it is, at the beginning of a sentence.
        task: what comes back from it.
        excuse: what it says that it does, before a `yet`.
    """

    seam: str
    python: str
    java: str
    program: str
    cases: str
    head: str
    task: str
    excuse: str


_KINDS = {
    "scanner": _Kind(
        *("scan", "reader:Reader", "MyScanner", "reader", "scan/hudi/event-v9/*"),
        "A scanner",
        "the rows of the request's table, as an Arrow IPC stream",
        "reads no tables",
    ),
    "column": _Kind(
        *("column", "columns:Columns", "MyColumns", "columns", "column/fixed/*"),
        "Off-heap columns",
        "a line of JSON for each chunk of the rows that follow the request",
        "holds nothing",
    ),
    "serde": _Kind(
        *("serde", "serde:Serde", "", "serde", "serde/presto/bigint_*"),
        "A serde",
        "what follows the request, in its other form",
        "turns nothing",
    ),
    "exchange": _Kind(
        *("exchange", "exchange:Exchange", "", "exchange", "exchange/rows/*"),
        "An exchange",
        "what the sender or receiver says that the request's role names; frames follow it",
        "carries nothing",
    ),
}


def new(
    what: Annotated[str, typer.Argument(help="scanner, column, serde or exchange.")],
    folder: Annotated[
        Path | None, typer.Argument(help="New folder (default: my-WHAT).", show_default=False)
    ] = None,
    lang: Annotated[
        str, typer.Option(help="python, c, rust, go, or java (scanner, column).")
    ] = "python",
) -> None:
    """Write a skeleton of an implementation, and say how it is built and checked."""
    if what not in _KINDS:
        raise UsageError(f"no skeleton of {what!r}; there are {', '.join(_KINDS)}")
    kind, skeletons = _KINDS[what], files("seambench.conformance") / "skeletons"
    sources = [skeletons / "any" / lang, skeletons / what / lang]
    there = [one for one in _LANGUAGES if one != "java" or kind.java]
    if lang not in there:
        raise UsageError(f"no skeleton of {what!r} in {lang!r}; there are {', '.join(there)}")
    target = folder or Path(f"my-{what}")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already, and not empty")
    name = target.resolve().name
    if not re.fullmatch(r"[\w.-]+", name):
        raise UsageError(f"{name!r} is no name for it: letters, digits, dots, - and _")
    words = {"NAME": name, **{word.upper(): getattr(kind, word) for word in _PUT_IN}}
    target.mkdir(parents=True, exist_ok=True)
    if lang != "python":
        built = {"java": kind.java, "c": f"{kind.program}.so"}.get(lang, kind.program)
        facts = (skeletons / what / "facts.json").read_text(encoding="utf-8")
        (target / f"{built}.seambench.json").write_text(_filled(facts, words), encoding="utf-8")
    for source in sources:
        if source.is_dir():
            _copy(source, target, words)
    _tell(kind, lang, target)


def _copy(source: Traversable, target: Path, words: Mapping[str, str]) -> None:
    """Copy a skeleton, with its words put in."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        if entry.is_dir():
            if entry.name != "__pycache__":
                _copy(entry, target / entry.name, words)
        else:
            text = _filled(entry.read_text(encoding="utf-8"), words)
            (target / entry.name).write_text(text, encoding="utf-8")


def _filled(text: str, words: Mapping[str, str]) -> str:
    return re.sub(rf"\b(?:{'|'.join(words)})\b", lambda found: words[found[0]], text)


def _tell(kind: _Kind, lang: str, target: Path) -> None:
    if lang == "python":
        name = kind.python
    elif lang == "java":
        name = f"java:{kind.java} --classpath ."
    elif lang == "c":
        name = f"lib:./{kind.program}.so"
    else:
        name = f"cmd:./{kind.program}"
    out = console()
    for entry in sorted(path for path in target.rglob("*") if path.is_file()):
        out.print(f"wrote {entry}", markup=False, soft_wrap=True)
    out.print("\nnext:")
    build = "" if lang in ("python", "java") else " && make"
    check = f"seambench check --seam {kind.seam} --impl {name}"
    for line in (
        f"cd {target}{build}",
        f"{check} --case '{kind.cases}'    # it refuses, so all fail",
        "seambench explain CASE    # what one of them wants",
        f"{check}    # all that it states; docs/doors.md says what passes through the door",
    ):
        out.print(f"    {line}", markup=False, soft_wrap=True)
