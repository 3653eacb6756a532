"""A differential over random tables: Paimon's own core writes and reads them, a reader must agree.

    python -m seambench_suites.paimon.differential --version core-1.4.2 --seeds 1-500
    python -m seambench_suites.paimon.differential --seeds 1-500 --impl auto
    python -m seambench_suites.paimon.differential --version core-1.4.2 --tables functions

Versions are those of `seambench.formats.paimon.bundle`; the default is the core within Spark's
connector 0.9.0. Differences that a version's own rules make are listed in `versions.toml`, and told
apart; any other is a failure. After each step the core reads the table, and the reader does. What
the core cannot write or read ends a table: then there is no answer to compare with.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from seambase.errors import SeambenchError
from seambench.conformance.plain import canonical, rows_of
from seambench.contracts import registry
from seambench.contracts.scan import Scanner, ScanRequest
from seambench.formats.paimon import FORMAT
from seambench.formats.paimon.core_writer import Core
from seambench.formats.writing import small_session
from seambench_suites.paimon.random_functions import UNORDERED, random_functions
from seambench_suites.paimon.random_tables import Step, random_life

__all__ = ["differences", "main", "reason"]

_TABLES: Mapping[str, Callable[[int], Sequence[Step]]] = {
    "rows": random_life,
    "functions": random_functions,
}
_OUT_OF_ORDER = 0x10
_LISTED = Path(__file__).with_name("versions.toml")


def differences(
    session: Any, scanner: Scanner, lives: Mapping[int, Sequence[Step]]
) -> Iterator[tuple[int, int, str]]:
    """How a reader's answers differ from the core's.

    Args:
        session: a Spark session with Paimon's core.
        scanner: the reader.
        lives: steps of the tables by their seeds.

    Yields:
        Seed, number of compared answers, and the difference; an empty text where there is none.
    """
    for seed, life in lives.items():
        with tempfile.TemporaryDirectory() as folder:
            compared, found = _compare(Core(session, Path(folder)), scanner, folder, life)
            yield seed, compared, found


def reason(version: str, life: Sequence[Step]) -> str | None:
    """Why a version reads a table otherwise by its own rules; None if nothing is listed.

    Args:
        version: of the core.
        life: the table's steps up to the difference.
    """
    first, *later = life
    names = ["kind", *first["create"]]
    begun: dict[Any, str] = {}
    for step in later:
        for row in step.get("write", ()):
            key = tuple(row[names.index(name)] for name in first["keys"])
            begun.setdefault(key, row[0])
    retract_first = any(kind.startswith("-") for kind in begun.values())
    options = [f"{name}={value}" for name, value in first["options"].items()]
    for one in tomllib.loads(_LISTED.read_text(encoding="utf-8"))["difference"]:
        has_option = any(fnmatchcase(option, one["option"]) for option in options)
        is_met = has_option and (retract_first or not one.get("begins_with_retract"))
        if is_met and one["version"] == version:
            return " ".join(str(one["reason"]).split())
    return None


def _compare(core: Core, scanner: Scanner, folder: str, life: Sequence[Step]) -> tuple[int, str]:
    compared = 0
    for number, step in enumerate(life):
        try:
            core.carry_out(step)
            expected = core.read(step)
        except Exception:  # what the core cannot do is nobody else's business
            return compared, ""
        try:
            scan = scanner.open(ScanRequest(folder, strict=True))
            names = scan.schema.names
            rows = _ordered(
                names, [[canonical(v) for v in row] for row in rows_of(scan.to_reader(), names)]
            )
        except SeambenchError as error:
            return compared, f"step {number}: {type(error).__name__}: {error}"
        compared += 1
        witness = _ordered(names, expected["rows"])
        if names != expected["columns"] or rows != witness:
            more = [row for row in rows if row not in witness]
            fewer = [row for row in witness if row not in rows]
            return compared, f"step {number}: more {more[:3]}, fewer {fewer[:3]}"
    return compared, ""


def _ordered(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Rows in order, and in them the items of columns that keep none."""
    found = []
    for row in rows:
        values = []
        for name, text in zip(names, row, strict=True):
            in_order = text
            if name in UNORDERED and text.startswith("["):
                items = re.findall(r"\[[^\[\]]*\]|\{[^{}]*\}|[^,\[\]{}]+", text[1:-1])
                in_order = ",".join(sorted(items))
            elif text.startswith("bytes:"):
                in_order = _without_estimate(ast.literal_eval(text.removeprefix("bytes:")))
            values.append(in_order)
        found.append(values)
    return sorted(found)


def _without_estimate(data: bytes) -> str:
    """Digits of bytes; of a sketch of registers out of order without the estimate it does not use.

    Java leaves a number there that depends on what came when, and C++ a zero.
    """
    is_sketch = data[:3] == b"\x0a\x01\x07" and len(data) >= 40
    if is_sketch and data[5] & _OUT_OF_ORDER:
        data = data[:8] + bytes(8) + data[16:]
    return data.hex()


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, and print each difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--version", help="of Paimon, such as core-1.4.2; the connector's by default"
    )
    parser.add_argument("--seeds", default="1-100", help="first and last")
    parser.add_argument("--tables", choices=[*_TABLES], default="rows", help="their fields")
    parser.add_argument("--impl", default="auto", help="the reader")
    asked = parser.parse_args(arguments)
    first, _, last = asked.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    lives = {seed: _TABLES[asked.tables](seed) for seed in seeds}
    version = (asked.version or "0.9.0").removeprefix("core-")
    tables = answers = listed = different = 0
    with small_session(FORMAT, asked.version) as session:
        scanner: Scanner = registry.resolve("scan", asked.impl)
        for seed, compared, found in differences(session, scanner, lives):
            tables += compared > 0
            answers += compared
            if not found:
                continue
            step = int(found.split(":")[0].removeprefix("step "))
            why = reason(version, lives[seed][: step + 1])
            listed += why is not None
            different += why is None
            sys.stdout.write(f"{seed}: {found}\n" + (f"    listed: {why}\n" if why else ""))
    sys.stdout.write(
        f"{tables} tables, {answers} answers, {different} differences, {listed} more that are "
        "listed with their reasons\n"
    )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
