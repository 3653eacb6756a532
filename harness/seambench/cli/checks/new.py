"""`seambench new`: a template that builds, runs and fails honestly, for any seam and language."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from seambase.errors import UsageError
from seambase.written import whole_folder
from seambench.cli.shared import completing
from seambench.cli.shared.common import console

if TYPE_CHECKING:
    from seambench.contracts.formats import TableFormat

#: Words of a kind that templates have in capitals.
_PUT_IN = ("program", "head", "task", "excuse")
_FACTS = ".seambench.json"


class _Language(NamedTuple):
    """How what is written in a language is built and named."""

    name: str  # of the implementation, after it is built; `{}` is what it is built as
    sources: tuple[str, ...] = ()  # folders of templates besides the language's own
    built: bool = True  # whether `make` builds it


_LANGUAGES = {
    "python": _Language("{}:read", built=False),
    "c": _Language("lib:./{}.so", ("native",)),
    "c++": _Language("lib:./{}.so", ("native",)),
    "rust": _Language("cmd:./{}"),
    "go": _Language("cmd:./{}"),
    "java": _Language(
        "cmd:java --add-opens=java.base/java.nio=ALL-UNNAMED -cp target/classes:target/lib/* Reader"
    ),
    "javascript": _Language("cmd:node {}.mjs"),
}
_FOLDERS = {"c++": "cpp"}


class _Kind(NamedTuple):
    """A kind of template."""

    seam: str  # it is for
    python: str  # module and class of the one in Python; empty where it is a function
    java: str  # class of the one in Java by StarRocks' contract; empty where there is none
    program: str  # what it is built as in other languages
    cases: str  # its first cases, with what a table format adds in braces
    head: str  # what it is, at the beginning of a sentence
    task: str  # what comes back from it
    excuse: str = ""  # what it says that it does, before a `yet`
    comes: str = "it refuses, so all fail"  # what comes of its first cases

    @property
    def of_format(self) -> bool:
        """Whether one is of a table format."""
        return "{" in self.cases


_KINDS = {
    "scanner": _Kind(
        *("scan", "", "", "reader", "scan/{0.name}/{0.first_cases}"),
        "A scanner",
        "the rows of the request's table, as an Arrow IPC stream",
        comes="it gives no rows, so rows are missing",
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
    "writer": _Kind(
        *("table-writer", "writer:Writer", "", "writer", "table-writer/{0.name}/types/bigint*"),
        "A writer",
        "a line of JSON for each step",
        comes="it makes a folder, so there is no table",
    ),
}

#: What else kinds and languages are called.
_ALSO = {
    "reader": "scanner",
    "columns": "column",
    "table-writer": "writer",
    "py": "python",
    "cpp": "c++",
    "cxx": "c++",
    "js": "javascript",
    "node": "javascript",
    "golang": "go",
    "rs": "rust",
}


def new(
    what: Annotated[
        str,
        typer.Argument(
            help="scanner, column, serde, exchange or writer.",
            autocompletion=completing.one_of(*_KINDS),
        ),
    ],
    folder: Annotated[
        Path | None, typer.Argument(help="New folder (default: my-WHAT).", show_default=False)
    ] = None,
    lang: Annotated[
        str,
        typer.Option(
            help="python, rust or go; of all but writers c; of columns java; "
            "of a scanner also c++, java, javascript.",
            autocompletion=completing.one_of(*_LANGUAGES),
        ),
    ] = "python",
    table_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Of a scanner or writer: its table format (`list formats`).",
            autocompletion=completing.formats,
        ),
    ] = None,
) -> None:
    """Write a template of an implementation, and say how it is built and checked."""
    what, lang = _ALSO.get(what, what), _ALSO.get(lang.lower(), lang)
    if what not in _KINDS:
        raise UsageError(f"no template of {what!r}; there are {', '.join(_KINDS)}")
    kind = _KINDS[what]
    there = [one for one in _LANGUAGES if _is_there(what, one)]
    if lang not in there:
        raise UsageError(f"no template of {what!r} in {lang!r}; there are {', '.join(there)}")
    if table_format is not None and not kind.of_format:
        raise UsageError(f"a {what} is of no table format: --format goes with scanner and writer")
    format_ = _format(kind, table_format) if kind.of_format else None
    target = folder or Path(f"my-{what}")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already, and not empty")
    name = target.resolve().name
    if not re.fullmatch(r"[\w.+-]+", name):
        raise UsageError(f"{name!r} is no name for it: letters, digits, dots, +, - and _")
    words = {"NAME": name, **{word.upper(): getattr(kind, word) for word in _PUT_IN}}
    if format_ is not None:
        words["FORMAT"] = format_.name
    with whole_folder(target):
        _write((what, kind), lang, target, format_, words)
    _tell(kind, lang, target, format_)


def _write(
    of: tuple[str, _Kind],
    lang: str,
    target: Path,
    format_: TableFormat | None,
    words: Mapping[str, str],
) -> None:
    """Write what a new implementation states, and the templates of its language."""
    (what, kind), templates = of, files("seambench.conformance") / "templates"
    target.mkdir(parents=True, exist_ok=True)
    if lang != "python" or not kind.python:
        built = "Reader" if lang == "java" and not kind.java else kind.program
        file = target / f"{kind.java if lang == 'java' and kind.java else built}{_FACTS}"
        stated = templates / what / "facts.json"
        if format_ is None or stated.is_file():
            facts = stated.read_text(encoding="utf-8")
        else:
            facts = _facts(format_)
        file.write_text(_filled(facts, words), encoding="utf-8")
    for source in _sources(templates, what, lang):
        _copy(source, target, words)


def _is_there(what: str, lang: str) -> bool:
    """Whether a kind has its own template in a language, or a door for that of every seam."""
    from seambench.contracts.registry import find_seam

    templates, folder = files("seambench.conformance") / "templates", _FOLDERS.get(lang, lang)
    door = _LANGUAGES[lang].name.partition(":")[0]
    return (templates / what / folder).is_dir() or (
        (templates / "every_seam" / folder).is_dir() and door in find_seam(_KINDS[what].seam).doors
    )


def _sources(templates: Traversable, what: str, lang: str) -> list[Traversable]:
    """Folders of templates: those of every seam first, over which the seam's own go."""
    names = (_FOLDERS.get(lang, lang), *_LANGUAGES[lang].sources)
    listed = [templates / seam / name for name in names for seam in ("every_seam", what)]
    return [source for source in listed if source.is_dir()]


def _format(kind: _Kind, name: str | None) -> TableFormat:
    """The table format of a scanner or writer; the first announced one if none is named."""
    from seambench.conformance.load import load_cases
    from seambench.contracts.formats import announced_formats, resolve_format

    found = announced_formats()[0] if name is None else resolve_format(name)
    if not load_cases(kind.seam, begins=[f"{kind.seam}/{found.name}/"]):
        raise UsageError(f"no installed case of the seam {kind.seam} is of {found.title} tables")
    return found


def _facts(format_: TableFormat) -> str:
    """What a new reader of a format states."""
    words = (f"formats.{format_.name}", "query.snapshot", "named-columns", *format_.first_words)
    facts = {"name": "NAME", "version": "0.1", "capabilities": dict.fromkeys(words, True)}
    return json.dumps(facts, indent=2) + "\n"


def _copy(source: Traversable, target: Path, words: Mapping[str, str]) -> None:
    """Copy a template, with its words put in."""
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


def _tell(kind: _Kind, lang: str, target: Path, format_: TableFormat | None) -> None:
    if lang == "python" and kind.python:
        name = kind.python
    elif lang == "java" and kind.java:
        name = f"java:{kind.java} --classpath ."
    else:
        name = shlex.quote(_LANGUAGES[lang].name.format(kind.program))
    cases = kind.cases.format(format_)
    doors = "docs/writers.md" if kind.seam == "table-writer" else "docs/doors.md"
    out = console()
    for entry in sorted(path for path in target.rglob("*") if path.is_file()):
        out.print(f"wrote {entry}", markup=False, soft_wrap=True)
    out.print("\nnext:")
    built = _LANGUAGES[lang].built and not (lang == "java" and kind.java)
    check = f"seambench check --seam {kind.seam} --impl {name}"
    for line in (
        f"cd {target}{' && make' if built else ''}",
        f"{check} --case '{cases}'    # {kind.comes}",
        "seambench explain CASE    # what one of them wants",
        f"{check}    # all that it states; {doors} says what passes through the door",
    ):
        out.print(f"    {line}", markup=False, soft_wrap=True)
