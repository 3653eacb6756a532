"""Parts of sentences: how many of a thing, and what may have been meant by a name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

_SHOWN = 20
#: How Arrow and Polars say that a column of a filter is not there.
_MISSING = re.compile(r'No match for FieldRef\.Name\((.*?)\) in |unable to find column "(.*?)"')

#: How Arrow says that values of two types do not compare.
_UNLIKE = re.compile(
    r"Function '(?:not_)?(?:equal|less|less_equal|greater|greater_equal)' has no kernel matching "
    r"input types \((.*)\)|Array type doesn't match type of values set: (.*)"
)

#: What terminals take for colours and other commands (ECMA-48, control sequences).
_COMMANDS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def uncoloured(text: str) -> str:
    """A text of others without what would colour it in a terminal."""
    return _COMMANDS.sub("", text)


def plural(word: str, count: int = 2) -> str:
    """A word for so many: some kinds of files are plurals already."""
    if count == 1 or word.endswith("s"):
        return word
    return f"{word[:-1]}ies" if word.endswith("ry") else f"{word}{'e' * word.endswith('ch')}s"


_SINGULAR = {"are": "is", "do": "does", "have": "has", "were": "was"}


def counted(count: int, word: str, verb: str = "") -> str:
    """So many of a thing, and what they do: `1 file`, `2,345 files`, `1 byte follows`."""
    if verb and count == 1:
        verb = _SINGULAR.get(verb, f"{verb}s")
    return f"{count:,} {plural(word, count)}{' ' * bool(verb)}{verb}"


def nearest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Names that may have been meant, the likeliest first; letters may be small or large."""
    folded: dict[str, str] = {}
    for one in known:
        folded.setdefault(one.casefold(), one)
    return [folded[near] for near in difflib.get_close_matches(name.casefold(), folded, n=most)]


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """The end of a sentence about a name; empty where none of those known is like it."""
    near = nearest(name, known, most)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def no_column(name: str, known: Sequence[str]) -> str:
    """That a table has no such column, and which one may be meant; all where none is like it."""
    more = ", ..." if len(known) > _SHOWN else ""
    listed = f"; the columns are {', '.join(known[:_SHOWN])}{more}" if known else ""
    return f"there is no column {name!r}{did_you_mean(name, known, 3) or listed}"


def filter_problem(said: str, known: Sequence[str]) -> str:
    """What Arrow or Polars says of a filter; of columns not there, and of types, in our words."""
    missing = _MISSING.search(said)
    if missing:
        return no_column(missing[1] or missing[2], known)
    unlike = _UNLIKE.search(said)
    if unlike is None:
        return said
    types = unlike[1] or unlike[2].replace(" vs ", ", ")
    way = "give one of the column's own type"
    if "extension<" in types:
        way = "Arrow compares no extension types: write the filter in SQL, or cast the column"
    return f"values of the types {types} do not compare: {way}"
