"""`seambench new`: a skeleton that builds, runs and fails honestly, for any seam and language."""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from seambase.errors import UsageError
from seambench.cli.shared.common import console

__all__ = ["new"]

_LANGUAGES = ("python", "c", "rust", "go", "java")


class _Kind(NamedTuple):
    """A kind of skeleton: its seam, its classes, what it is built as, its first cases."""

    seam: str
    python: str
    java: str
    program: str
    library: bool
    cases: str


_KINDS = {
    "scanner": _Kind("scan", "reader:Reader", "MyScanner", "reader", True, "scan/hudi/event-v9/*"),
    "column": _Kind("column", "columns:Columns", "MyColumns", "columns", True, "column/fixed/*"),
    "serde": _Kind("serde", "serde:Serde", "", "serde", True, "serde/presto/bigint_*"),
    "exchange": _Kind("exchange", "exchange:Exchange", "", "exchange", True, "exchange/rows/*"),
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
    skeletons = files("seambench.conformance") / "skeletons" / what
    there = [one for one in _LANGUAGES if (skeletons / one).is_dir()]
    if lang not in there:
        raise UsageError(f"no skeleton of {what!r} in {lang!r}; there are {', '.join(there)}")
    source = skeletons / lang
    target = folder or Path(f"my-{what}")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already, and not empty")
    name = target.resolve().name
    if not re.fullmatch(r"[\w.-]+", name):
        raise UsageError(f"{name!r} is no name for it: letters, digits, dots, - and _")
    _copy(source, target, name)
    _tell(_KINDS[what], lang, target)


def _copy(source: Traversable, target: Path, name: str) -> None:
    """Copy a skeleton, with its name put in."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        if entry.is_dir():
            if entry.name != "__pycache__":
                _copy(entry, target / entry.name, name)
        else:
            text = entry.read_text(encoding="utf-8")
            (target / entry.name).write_text(re.sub(r"\bNAME\b", name, text), encoding="utf-8")


def _tell(kind: _Kind, lang: str, target: Path) -> None:
    if lang == "python":
        name = kind.python
    elif lang == "java":
        name = f"java:{kind.java} --classpath ."
    elif lang == "c" and kind.library:
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
