"""A differential over random tables: a writer on Spark makes and reads them, readers must agree.

    python -m seambench_suites.differential write FOLDER --format delta --seeds 1-50
    python -m seambench_suites.differential compare FOLDER --format delta --impl auto

`write` makes `FOLDER/SEED/`: the table, its declaration, and what Spark reads after each step.
`compare` reads the table after each of these steps with other readers, tells every difference, and
last how much was compared; `--record FILE` keeps that as JSON. It needs no Spark, so it may be run
again and again. Steps that Spark cannot read do not count, and tables that it cannot write are
listed. Of Hive, whose folders have no versions, there is one answer a table.

    python -m seambench_suites.differential write FOLDER --format hudi --tables v6 --by 0.15.0
    python -m seambench_suites.differential ask FOLDER --format hudi --by 1.2.0

Hudi is asked every query about a table once it is whole: views, earlier states, windows. `--tables`
draws those of another table version, `--by` names the Hudi that writes. `ask` adds what another
Hudi answers; where they disagree the newest counts.

    python -m seambench_suites.differential write FOLDER --format paimon --tables functions
    python -m seambench_suites.differential write FOLDER --format paimon --by core-1.4.2

Paimon's core writes and reads, that within the connector or one of its own; it reads the table
after each step. Differences by rules that a version has alone are listed with their reasons.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
from collections import Counter
from pathlib import Path

from seambench.contracts import registry
from seambench_suites.differential.comparing import COUNTED, compare, writers
from seambench_suites.differential.formats import FORMATS
from seambench_suites.differential.writing import ask_tables, write_tables


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("write", "ask", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--format", choices=sorted(FORMATS), required=True)
    parser.add_argument("--seeds", default="1-20", help="first and last")
    parser.add_argument("--tables", help="another kind than the usual one")
    parser.add_argument("--by", metavar="VERSION", help="of the format, on Spark")
    parser.add_argument("--impl", action="append", default=[], help="readers; auto by default")
    parser.add_argument("--record", type=Path, help="file for the figures of one reader")
    given = parser.parse_args()
    own = FORMATS[given.format]
    if given.tables not in (None, *own.tables):
        parser.error(f"--tables of {given.format}: one of {', '.join(own.tables)}")
    if given.do == "ask" and (own.ask is None or given.by is None):
        parser.error("ask: of a format that takes questions, --by one of its versions")
    if given.record is not None and len(given.impl) > 1:
        parser.error("--record keeps the figures of one reader")
    return given


def _compare(given: argparse.Namespace, impl: str) -> int:
    own = FORMATS[given.format]
    counts = Counter(dict.fromkeys(COUNTED, 0))
    for line in compare(given.folder, own, registry.resolve("scan", impl), counts):
        sys.stdout.write(f"{impl}: {line}\n")
    sys.stdout.write(f"{given.format}, {impl}: {dict(counts)}\n")
    if given.record is not None:
        record = {
            "format": given.format,
            "writer": ", ".join(writers(given.folder, own)),
            "impl": impl,
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
            **counts,
        }
        given.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return counts["differences"]


def main() -> None:
    """Write tables, ask about them, or compare readers; exit code 1 where one differs."""
    given = _given()
    own = FORMATS[given.format]
    if given.do == "write":
        first, _, last = given.seeds.partition("-")
        seeds = range(int(first), int(last or first) + 1)
        write_tables(given.folder, own, seeds, given.tables, given.by)
    elif given.do == "ask":
        ask_tables(given.folder, own, given.by)
    elif sum(_compare(given, impl) for impl in given.impl or ["auto"]):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
