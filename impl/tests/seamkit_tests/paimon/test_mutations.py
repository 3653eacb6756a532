"""Damaged Paimon tables: the same rows, a warning, or a typed error; never other rows unseen."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests.samples.paimon_tables import unpack_paimon

TABLES = ("vectors", "pk-life", "append-vectors", "pk-partitions", "pk-evolution")
#: Kinds of files of which a bit may be flipped; the others have no checksum of any kind, so that a
#: flip can turn a value into another that is as good.
FLIPPED = ("index/", "manifest/index-manifest-")


def _answer(table: Path) -> Counter[str] | None:
    """The rows as a multiset; None for a typed error or a warning."""
    try:
        scan = PaimonTable(str(table)).scan(threads=1, strict=True)
        rows = scan.to_table().to_pylist()
    except (InputError, RefusedError, UsageError):
        return None
    return Counter(map(repr, rows))


def _flips(file: Path, chance: random.Random, count: int) -> Iterator[bytes]:
    """Contents with one bit changed."""
    content = file.read_bytes()
    for _ in range(count):
        at = chance.randrange(len(content))
        yield content[:at] + bytes([content[at] ^ (1 << chance.randrange(8))]) + content[at + 1 :]


def _mutations(table: Path, seed: int, count: int) -> Iterator[tuple[str, Path, bytes | None]]:
    """Descriptions, files, and new contents (None: the file is gone)."""
    chance = random.Random(seed)
    for file in sorted(path for path in table.rglob("*") if path.is_file()):
        content, name = file.read_bytes(), file.relative_to(table).as_posix()
        yield f"{name} removed", file, None
        yield f"{name} emptied", file, b""
        for length in sorted(chance.sample(range(len(content)), min(count, len(content)))):
            yield f"{name} cut at {length}", file, content[:length]
        if name.startswith(FLIPPED):
            for number, flipped in enumerate(_flips(file, chance, count)):
                yield f"{name} flipped, {number}", file, flipped


def _run(name: str, folder: Path, seed: int, count: int) -> dict[str, str]:
    """What came of each mutation that changed the rows."""
    table = unpack_paimon(name, folder)
    whole = _answer(table)
    assert whole
    silent = {}
    for what, file, content in list(_mutations(table, seed, count)):
        intact = file.read_bytes()
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
        found = _answer(table)
        if found is not None and found != whole:
            silent[what] = f"{found - whole} more, {whole - found} fewer"
        file.write_bytes(intact)
    assert _answer(table) == whole
    return silent


@pytest.mark.parametrize("name", TABLES)
def test_no_damage_changes_rows_in_silence(name: str, tmp_path: Path) -> None:
    """Every file removed, emptied, cut and flipped, a few times each."""
    assert _run(name, tmp_path, seed=7, count=1) == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", TABLES)
def test_no_damage_changes_rows_in_silence_at_length(name: str, seed: int, tmp_path: Path) -> None:
    """As above, with more luck."""
    assert _run(name, tmp_path, seed=100 + seed, count=20) == {}
