"""A differential over random tables: Paimon's own core writes and reads them, a reader must agree.

    python -m seambench_suites.paimon.differential --version core-1.4.2 --seeds 1-500
    python -m seambench_suites.paimon.differential --seeds 1-500 --impl auto

Versions are those of `seambench.formats.paimon.bundle`; the default is the core within Spark's
connector 0.9.0, which knows no descending order of sequence fields and begins no record with a
retract: differences there are its own. After each step the core reads the table, and the reader
does. What the core cannot write or read ends a table: then there is no answer to compare with.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from seambase.errors import SeambenchError
from seambench.conformance.plain import canonical, rows_of
from seambench.contracts import registry
from seambench.contracts.scan import Scanner, ScanRequest
from seambench.formats.paimon import FORMAT
from seambench.formats.paimon.core_writer import Core
from seambench.formats.writing import small_session
from seambench_suites.paimon.random_tables import random_life

__all__ = ["differences", "main"]


def differences(
    session: Any, scanner: Scanner, seeds: Sequence[int]
) -> Iterator[tuple[int, int, str]]:
    """How a reader's answers differ from the core's.

    Args:
        session: a Spark session with Paimon's core.
        scanner: the reader.
        seeds: of the tables.

    Yields:
        Seed, number of compared answers, and the difference; an empty text where there is none.
    """
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            compared, found = _compare(Core(session, Path(folder)), scanner, folder, seed)
            yield seed, compared, found


def _compare(core: Core, scanner: Scanner, folder: str, seed: int) -> tuple[int, str]:
    compared = 0
    for number, step in enumerate(random_life(seed)):
        try:
            core.carry_out(step)
            expected = core.read(step)
        except Exception:  # what the core cannot do is nobody else's business
            return compared, ""
        try:
            scan = scanner.open(ScanRequest(folder, strict=True))
            names = scan.schema.names
            rows = sorted([canonical(v) for v in row] for row in rows_of(scan.to_reader(), names))
        except SeambenchError as error:
            return compared, f"step {number}: {type(error).__name__}: {error}"
        compared += 1
        if names != expected["columns"] or rows != expected["rows"]:
            more = [row for row in rows if row not in expected["rows"]]
            fewer = [row for row in expected["rows"] if row not in rows]
            return compared, f"step {number}: more {more[:3]}, fewer {fewer[:3]}"
    return compared, ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and print each difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--version", help="of Paimon, such as core-1.4.2; the connector's by default"
    )
    parser.add_argument("--seeds", default="1-100", help="first and last")
    parser.add_argument("--impl", default="auto", help="the reader")
    asked = parser.parse_args(arguments)
    first, _, last = asked.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    tables = answers = different = 0
    with small_session(FORMAT, asked.version) as session:
        scanner: Scanner = registry.resolve("scan", asked.impl)
        for seed, compared, found in differences(session, scanner, seeds):
            tables += compared > 0
            answers += compared
            if found:
                different += 1
                sys.stdout.write(f"{seed}: {found}\n")
    sys.stdout.write(f"{tables} tables, {answers} answers, {different} differences\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
