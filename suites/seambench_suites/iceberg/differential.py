"""A differential over random tables: Spark and Iceberg write and read them, readers must agree.

    python -m seambench_suites.iceberg.differential write FOLDER --seeds 1-50
    python -m seambench_suites.iceberg.differential compare FOLDER --impl auto

`write` makes `FOLDER/SEED/`: the table, its declaration, and what Spark reads after each step.
`compare` reads the table after each of these steps with other readers and tells every difference;
it needs no Spark, so it may be run again and again. Steps that Spark cannot read do not count.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seambase.errors import SeambenchError
from seambench.conformance.plain import canonical, rows_of
from seambench.contracts import registry
from seambench.contracts.scan import Scanner, ScanRequest
from seambench.formats.iceberg import FORMAT
from seambench.formats.iceberg.writer import write_table
from seambench.formats.writing import small_session
from seambench_suites.iceberg.random_tables import random_table

__all__ = ["compare", "main"]


def _write(folder: Path, seeds: range) -> None:
    """Make random tables, unless they are there."""
    with small_session(FORMAT) as spark:
        # With it on, Spark was seen to read equality deletes otherwise than a new session does.
        spark.conf.set("spark.sql.iceberg.executor-cache.enabled", "false")
        for seed in seeds:
            target = folder / str(seed)
            if (target / "witness.json").exists():
                continue
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir(parents=True)
            spec = random_table(seed)
            (target / "spec.json").write_text(json.dumps(dataclasses.asdict(spec), indent=1))
            done = write_table(spark, spec, target / "table", lenient=True)
            (target / "failures.json").write_text(json.dumps(done.failures, indent=1))
            (target / "witness.json").write_text(json.dumps(done.witness, indent=1))


def compare(folder: Path, scanner: Scanner, name: str) -> Iterator[str]:
    """Every difference between a reader and Spark over the tables of a folder, as text."""
    for file in sorted(folder.glob("*/witness.json")):
        steps = json.loads(file.read_text(encoding="utf-8"))
        for number, step in enumerate(steps, 1):
            problem = _differs(scanner, file.parent / "table", step)
            if problem:
                yield f"{file.parent.name}, step {number}, {name}: {problem}"


def _differs(scanner: Scanner, table: Path, step: dict[str, Any]) -> str | None:
    """How a reader's answer differs from Spark's, or None."""
    if "rows" not in step:
        return None
    names = step["columns"]
    try:
        scan = scanner.open(ScanRequest(str(table / "metadata" / step["metadata"]), threads=1))
        if scan.schema.names != names:
            return f"columns {scan.schema.names}, Spark has {names}"
        rows = sorted([canonical(v) for v in row] for row in rows_of(scan.to_reader(), names))
    except SeambenchError as error:
        return f"{type(error).__name__}: {error}"
    if rows == step["rows"]:
        return None
    more = [row for row in rows if row not in step["rows"]]
    fewer = [row for row in step["rows"] if row not in rows]
    return f"{len(rows)} rows, Spark has {len(step['rows'])}; unexpected {more}, missing {fewer}"


def main() -> None:
    """Write tables, or compare readers; exit code 1 where one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("do", choices=("write", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", default="1-20")
    parser.add_argument("--impl", action="append")
    asked = parser.parse_args()
    if asked.do == "write":
        first, _, last = asked.seeds.partition("-")
        _write(asked.folder, range(int(first), int(last or first) + 1))
        return
    differ = 0
    for name in asked.impl or ["auto"]:
        for line in compare(asked.folder, registry.resolve("scan", name), name):
            sys.stdout.write(line + "\n")
            differ += 1
    if differ:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
