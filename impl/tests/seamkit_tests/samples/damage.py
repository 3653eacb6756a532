"""Damage to the files of a table: which of it changes the rows without a word."""

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seambase.errors import InputError, RefusedError, UsageError
from seambench.formats.forms.footer import Footer, Struct

Answer = Callable[[Path], Counter[str] | None]
"""The rows of a table as a multiset; None for a typed error or a warning."""


def replace_in(file: Path, old: str, new: str) -> None:
    """Put a text in another's place throughout a file, which has it."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def answers(table: Callable[[str], Any], **how: Any) -> Answer:
    """Reads folders as tables of one class; times of commits, which files have, do not count."""

    def answer(folder: Path) -> Counter[str] | None:
        try:
            rows = table(str(folder)).scan(threads=1, **how).to_table().to_pylist()
        except (InputError, RefusedError, UsageError):
            return None
        return Counter(repr({**row, "_commit_timestamp": None}) for row in rows)

    return answer


def in_each_others_place(table: Path, pattern: str, answer: Answer) -> Counter[str]:
    """What is told where two files of a table swap their places: `told`, `same` or `silent`.

    Args:
        table: the table's folder.
        pattern: of the files.
        answer: reads it.
    """
    before, found = answer(table), Counter[str]()
    assert before
    files = {file: file.read_bytes() for file in sorted(table.glob(pattern))}
    for one, other in itertools.combinations(files, 2):
        one.write_bytes(files[other])
        other.write_bytes(files[one])
        after = answer(table)
        found["told" if after is None else "same" if after == before else "silent"] += 1
        one.write_bytes(files[one])
        other.write_bytes(files[other])
    return found


def schema_elements_changed(
    table: Path, pattern: str, change: Callable[[Struct], None], answer: Answer
) -> Counter[str]:
    """What is told where elements of the schemas in Parquet footers say something else, one each.

    Sizes of files stay as they are.
    """
    before, found = answer(table), Counter[str]()
    for file in sorted(table.glob(pattern)):
        intact = file.read_bytes()
        for number in range(1, len(Footer(intact).schema.items)):
            footer = Footer(intact)
            change(footer.schema.items[number])
            content = footer.file()
            assert len(content) == len(intact)
            file.write_bytes(content)
            after = answer(table)
            found["told" if after is None else "same" if after == before else "silent"] += 1
        file.write_bytes(intact)
    return found
