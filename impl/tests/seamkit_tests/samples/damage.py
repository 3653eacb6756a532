"""Damage to the files of a table: which of it changes the rows without a word."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from seambase.errors import InputError, RefusedError, UsageError
from seambench.formats.forms.footer import Footer, Struct

Answer = Callable[[Path], Counter[str] | None]
"""The rows of a table as a multiset; None for a typed error or a warning."""


def answers(table: Callable[[str], Any], **how: Any) -> Answer:
    """Reads folders as tables of one class; times of commits, which files have, do not count."""

    def answer(folder: Path) -> Counter[str] | None:
        try:
            rows = table(str(folder)).scan(threads=1, **how).to_table().to_pylist()
        except (InputError, RefusedError, UsageError):
            return None
        return Counter(repr({**row, "_commit_timestamp": None}) for row in rows)

    return answer


def silent_damage(
    table: Path,
    answer: Answer,
    flipped: Callable[[Path], bool],
    lasting: Callable[[Path], bool] = lambda _: False,
    *,
    seed: int,
    count: int,
    flips: int | None = None,
) -> dict[str, str]:
    """What came of each mutation that changed the rows.

    Every file is removed, emptied and cut; the table is whole again afterwards.

    Args:
        table: the table's folder.
        answer: reads it.
        flipped: whether bits of a file, given relative to the table, are flipped as well.
        lasting: whether a file is not removed.
        seed: of the places.
        count: lengths tried of each file.
        flips: bits tried of each file; as many as lengths by default.
    """
    whole = answer(table)
    assert whole
    silent = {}
    mutations = list(_mutations(table, flipped, lasting, seed, (count, flips or count)))
    assert len(mutations) > 6 * count
    for what, file, content in mutations:
        intact = file.read_bytes()
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
        found = answer(table)
        if found is not None and found != whole:
            silent[what] = f"{found - whole} more, {whole - found} fewer"
        file.write_bytes(intact)
    assert answer(table) == whole
    return silent


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


def _mutations(
    table: Path,
    flipped: Callable[[Path], bool],
    lasting: Callable[[Path], bool],
    seed: int,
    counts: tuple[int, int],
) -> Iterator[tuple[str, Path, bytes | None]]:
    """Descriptions, files, and new contents (None: the file is gone)."""
    chance, (count, flips) = random.Random(seed), counts
    for file in sorted(path for path in table.rglob("*") if path.is_file()):
        content, name = file.read_bytes(), file.relative_to(table)
        if not lasting(file):
            yield f"{name} removed", file, None
        yield f"{name} emptied", file, b""
        for length in sorted(chance.sample(range(len(content)), min(count, len(content)))):
            yield f"{name} cut at {length}", file, content[:length]
        if flipped(name):
            for number, changed in enumerate(_flips(content, chance, flips)):
                yield f"{name} flipped, {number}", file, changed


def _flips(content: bytes, chance: random.Random, count: int) -> Iterator[bytes]:
    """Contents with one bit changed."""
    for _ in range(count):
        at = chance.randrange(len(content))
        yield content[:at] + bytes([content[at] ^ (1 << chance.randrange(8))]) + content[at + 1 :]
