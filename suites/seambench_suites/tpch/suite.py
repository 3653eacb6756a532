"""Queries and published answers as one object, and the rule by which answers are compared.

`answers.toml` holds, per query, the number of rows, how each column is printed, and a digest of the
published rows at that precision: enough to tell a right answer, too little to be a copy.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from seambase.errors import UsageError
from seambase.wording import counted
from seambench.contracts.data_files import build

_FOLDER = Path(__file__).parent
_SINGLE_ROW = frozenset({6, 14, 17, 19})
# An IEEE double promises 15 significant digits; what is printed beyond them depends on the engine.
_DOUBLE = Context(prec=15, rounding=ROUND_HALF_UP)
_EXACT = Context(prec=60, rounding=ROUND_HALF_UP)


@dataclass(frozen=True)
class Answer:
    """What is known of a published answer."""

    rows: int
    # per column, how it is printed: `text`, `double`, or the number of decimals
    columns: Mapping[str, str | int]
    sha256: str  # `answer_digest` of the published rows


class TpchSuite:
    """The queries by number, 1 to 22."""

    # whom a comparison runs where none is named: our paths, and pyarrow as a floor
    readers: Sequence[str] = ("native", "pyarrow", "auto", "merge", "connector")
    # those among them that read a row at a time: queries would take most of the run
    scans_only: Sequence[str] = ("connector",)
    bars: Path = _FOLDER.parent / "bars.toml"  # declares figures over its rows that must be met
    tables: Path = _FOLDER.parent / "tables.toml"  # declares the tables of figures in documents

    @cached_property
    def queries(self) -> Mapping[int, str]:
        """Text of each query, DuckDB's dialect, over tables called as in the specification."""
        return {
            number: (_FOLDER / "queries" / f"q{number:02}.sql").read_text(encoding="utf-8")
            for number in range(1, 23)
        }

    def ordered(self, number: int) -> bool:
        """Whether the order of a query's rows is part of its answer (and then it is total)."""
        if number not in range(1, 23):
            raise UsageError(f"there is no TPC-H query {number}; they are 1 to 22")
        return number not in _SINGLE_ROW

    def published_answers(self, scale: float) -> Mapping[int, Answer]:
        """The published answer of each query."""
        if scale != 1:
            raise UsageError(f"answers are published for scale 1, not for scale {scale:g}")
        return _published()


@cache
def _published() -> Mapping[int, Answer]:
    file = _FOLDER / "answers.toml"
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    return {int(name[1:]): build(Answer, entry, file) for name, entry in data.items()}


def answer_digest(columns: Mapping[str, str | int], rows: Sequence[Sequence[Any]]) -> str:
    """SHA-256 of rows in their order: fields between `|`, a newline after each row.

    Text and dates stand as they are. A number is rounded half up to as many decimals as are
    published, or, where the published number is the shortest form of a double, to 15 significant
    digits without trailing zeros.
    """
    digest = hashlib.sha256()
    for row in rows:
        fields = [_print(value, how) for value, how in zip(row, columns.values(), strict=True)]
        digest.update(("|".join(fields) + "\n").encode())
    return digest.hexdigest()


def published_difference(answer: Answer, rows: Sequence[Sequence[Any]]) -> str | None:
    """What tells rows that an engine returned from a published answer, or None."""
    if len(rows) != answer.rows:
        return f"{counted(answer.rows, 'row', 'are')} published, {len(rows)} were returned"
    if rows and len(rows[0]) != len(answer.columns):
        return (
            f"{counted(len(answer.columns), 'column', 'are')} "
            f"published, {len(rows[0])} were returned"
        )
    digest = answer_digest(answer.columns, rows)
    if digest != answer.sha256:
        first = ", ".join(str(value) for value in rows[0])
        return f"the rows differ from the published ones; the first returned is ({first})"
    return None


def _print(value: Any, how: str | int) -> str:
    if value is None:
        return "NULL"
    if how == "text":
        return str(value)
    number = Decimal(repr(value) if isinstance(value, float) else value)
    if how == "double":
        return f"{_DOUBLE.plus(number).normalize():f}"
    return f"{number.quantize(Decimal(1).scaleb(-int(how)), context=_EXACT):f}"


SUITE = TpchSuite()
