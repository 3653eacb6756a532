"""Damaged Iceberg tables, thousands of them: what a reader makes of each, counted.

    python -m seambench_suites.iceberg.damaged [--impl auto] [--count 6] [--seed 1] [--json FILE]

Every file of some golden tables is removed, emptied, cut and has bits flipped, one at a time. The
reader must give the same rows or a typed error. Told apart are fewer rows, other rows without a
word, and any other error, each with the file and the place. Metadata, manifests, and the footers
and page headers of Parquet have no checksum, so a flipped bit can turn a value there into another
that is as good; whatever was removed, emptied or cut must be noticed, or exit code 1.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from seambase.errors import SeambenchError
from seambench.conformance.plain import canonical, rows_of
from seambench.contracts import registry
from seambench.contracts.scan import Scanner, ScanRequest
from seambench.formats.golden import golden_table
from seambench.formats.iceberg import FORMAT
from seambench_suites.cases import ROOT

TABLES = (
    "vectors-upgraded",
    "vectors-shared",
    "positions-partitioned",
    "positions-orc",
    "equality-and-vectors",
    "equality-global",
    "equality-avro",
    "evolution",
    "defaults-nested",
    "apart",
)

Rows = Counter[str]


@dataclass(frozen=True)
class Damaged:
    """One damaged table.

    Attributes:
        table: the golden one.
        kind: of the file: `metadata`, `list`, `manifest`, `data`, `deletes`, `vectors`, `hint`.
        change: `removed`, `emptied`, `cut` or `flipped`.
        where: file and place.
        outcome: `same`, `refused`, `fewer` or `other` rows, or `failed` with another error.
    """

    table: str
    kind: str
    change: str
    where: str
    outcome: str


def tried(scanner: Scanner, table: str, folder: Path, seed: int, count: int) -> Iterator[Damaged]:
    """Damage a golden table in every way, one after the other, in a new folder.

    The seed is that of the places; `count` are lengths, and bits, of each file.
    """
    golden_table(FORMAT, Path(ROOT) / "golden" / "iceberg" / table).unpack(folder)
    whole = _rows(scanner, folder)
    kinds = {file: kind for kind, find in FORMAT.damage.FILES.items() for file in find(folder)}
    chance = random.Random(f"{seed} {table}")
    newest = max(
        kinds,
        key=lambda file: int(file.name[1:].partition(".")[0]) if kinds[file] == "metadata" else -1,
    )
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        kind, intact = kinds.get(file, "hint"), file.read_bytes()
        for change, place, content in _changes(intact, chance, count):
            if change == "removed" and file in (newest, folder / "metadata" / "version-hint.text"):
                continue  # an older version is as good a table, where it is the newest left
            if content is None:
                file.unlink()
            else:
                file.write_bytes(content)
            outcome = _outcome(scanner, folder, whole)
            where = f"{file.relative_to(folder).as_posix()} {place}"
            yield Damaged(table, kind, change, where, outcome)
            file.write_bytes(intact)


def _changes(
    intact: bytes, chance: random.Random, count: int
) -> Iterator[tuple[str, str, bytes | None]]:
    """Kinds of changes, their places, and new contents; None for no file."""
    yield "removed", "", None
    yield "emptied", "", b""
    for length in sorted(chance.sample(range(1, len(intact)), min(count, len(intact) - 1))):
        yield "cut", f"at {length}", intact[:length]
    for _ in range(count):
        at, bit = chance.randrange(len(intact)), chance.randrange(8)
        yield (
            "flipped",
            f"bit {bit} of byte {at}",
            b"".join((intact[:at], bytes([intact[at] ^ (1 << bit)]), intact[at + 1 :])),
        )


def _rows(scanner: Scanner, table: Path) -> Rows:
    scan = scanner.open(ScanRequest(str(table), threads=1))
    names = scan.schema.names
    found = rows_of(scan.to_reader(), names)
    return Counter(repr([names, *map(canonical, row)]) for row in found)


def _outcome(scanner: Scanner, table: Path, whole: Rows) -> str:
    try:
        found = _rows(scanner, table)
    except SeambenchError:
        return "refused"
    except Exception as error:  # whatever it is, it is none that a user can act upon
        return f"failed: {type(error).__name__}: {str(error)[:120]}"
    if found == whole:
        return "same"
    return "fewer" if found.total() < whole.total() else "other"


def _table(found: Mapping[tuple[str, str, str], int]) -> Iterator[str]:
    """Counts by kind of file and change, a line each."""
    outcomes = sorted({outcome for _, _, outcome in found})
    yield f"{'file':10}{'change':10}" + "".join(f"{one:>9}" for one in outcomes)
    for kind, change in sorted({key[:2] for key in found}):
        numbers = "".join(f"{found.get((kind, change, one), 0):9}" for one in outcomes)
        yield f"{kind:10}{change:10}{numbers}"


def main() -> None:
    """Count, and tell every change that was not noticed; exit code 1 for one that must be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--impl", default="auto")
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    scanner: Scanner = registry.resolve("scan", asked.impl)
    all_of_them: list[Damaged] = []
    for table in TABLES:
        with tempfile.TemporaryDirectory() as folder:
            all_of_them += tried(scanner, table, Path(folder) / table, asked.seed, asked.count)
    noticed = ("same", "refused")
    bad = [one for one in all_of_them if one.outcome not in noticed]
    for one in bad:
        sys.stdout.write(f"{one.table}: {one.kind} {one.where}, {one.change}: {one.outcome}\n")
    counts = Counter((one.kind, one.change, one.outcome.partition(":")[0]) for one in all_of_them)
    sys.stdout.write("\n".join([*_table(counts), f"{len(all_of_them)} damaged tables\n"]))
    if asked.json:
        text = json.dumps([one.__dict__ for one in all_of_them], indent=1)
        asked.json.write_text(text, encoding="utf-8")
    if any(one.change != "flipped" or one.outcome.startswith("failed") for one in bad):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
