"""A differential over random tables: Spark + Hudi write and read them, other readers must agree.

    python -m seambench_suites.hudi.differential write FOLDER --hudi 1.2.0 --version 9 --seeds 1-20
    python -m seambench_suites.hudi.differential ask FOLDER --hudi 1.2.0
    python -m seambench_suites.hudi.differential compare FOLDER --impl merge --impl connector

`write` makes `FOLDER/SEED-vVERSION-HUDI/`: the table, its declaration and what the Hudi that wrote
it answers. `ask` adds what another version answers. `compare` reads every table with other readers
and tells each difference; it needs no Spark, so it may be run again and again. Only answers are
compared that at least one version of Hudi gave; where versions disagree the newest one counts.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from seambase.errors import RefusedError, SeambenchError
from seambench.conformance.plain import canonical, rows_of
from seambench.contracts import registry
from seambench.contracts.scan import Scanner, ScanRequest
from seambench.formats.hudi import FORMAT
from seambench.formats.hudi.writer import write_table
from seambench.formats.writing import small_session
from seambench_suites.hudi.random_tables import random_table
from seambench_suites.hudi.spark_answers import Answer, ask_spark, questions

__all__ = ["compare", "main"]

_KEYS = ("query", "as_of", "begin", "end")


def _write(folder: Path, hudi: str, version: int, seeds: range) -> None:
    """Make random tables and ask their writer."""
    with small_session(FORMAT, hudi) as spark:
        for seed in seeds:
            _write_one(spark, folder / f"{seed}-v{version}-{hudi}", seed, version, hudi)


def _write_one(spark: Any, target: Path, seed: int, version: int, hudi: str) -> None:
    """Make one random table, unless it is there, and ask its writer."""
    if (target / "written.json").exists():
        return
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    spec = random_table(seed, version, hudi)
    (target / "spec.json").write_text(json.dumps(dataclasses.asdict(spec), indent=1))
    try:
        written = write_table(spark, spec, target / "table", lenient=True)
    except Exception as error:  # what Hudi cannot write is no table to read
        sys.stderr.write(f"{target.name}: not written: {str(error)[:300]}\n")
        return
    (target / "written.json").write_text(json.dumps(dataclasses.asdict(written), indent=1))
    _ask(spark, target, hudi)


def _ask(spark: Any, target: Path, hudi: str) -> None:
    """Keep what one version of Hudi answers about a table."""
    written = json.loads((target / "written.json").read_text())
    asked = questions(written["instants"], written["completions"])
    spark.catalog.clearCache()
    answers = [ask_spark(spark, target / "table", request) for request in asked]
    (target / f"answers-{hudi}.json").write_text(json.dumps(answers, indent=1))


def _ask_all(folder: Path, hudi: str) -> None:
    """Ask one version of Hudi about every table that it has not been asked about."""
    with small_session(FORMAT, hudi) as spark:
        for file in sorted(folder.glob("*/written.json")):
            if not (file.parent / f"answers-{hudi}.json").exists():
                _ask(spark, file.parent, hudi)


def compare(folder: Path, scanner: Scanner, name: str) -> Iterator[str]:
    """Every difference between a reader and Hudi over the tables of a folder, as text."""
    for file in sorted(folder.glob("*/written.json")):
        for request, truth in _truths(file.parent):
            if not scanner.capabilities.get(f"query.{request['query']}"):
                continue
            problem = _differs(scanner, file.parent / "table", request, truth)
            if problem:
                asked = " ".join(f"{k}={v}" for k, v in request.items())
                yield f"{file.parent.name} {name} {asked}: {problem}"


def _truths(target: Path) -> Iterator[tuple[dict[str, Any], Mapping[str, Answer]]]:
    """Every request about a table with the rows that versions of Hudi gave, by version."""
    found: dict[tuple[Any, ...], dict[str, Answer]] = {}
    for file in sorted(target.glob("answers-*.json")):
        for answer in json.loads(file.read_text()):
            key = tuple(answer.get(k) for k in _KEYS)
            version = file.stem.partition("-")[2]
            # 1.0.2 alone counts the commit at which a window begins in.
            odd = version == "1.0.2" and answer["query"] == "incremental"
            if "rows" in answer and not odd:
                found.setdefault(key, {})[version] = answer
    for key, answers in found.items():
        yield {k: v for k, v in zip(_KEYS, key, strict=True) if v}, answers


def _differs(
    scanner: Scanner, table: Path, request: Mapping[str, Any], truth: Mapping[str, Answer]
) -> str | None:
    """How a reader's answer differs from the newest Hudi's, or None."""
    answer = truth[max(truth, key=lambda v: [int(part) for part in v.split(".")])]
    names = answer["columns"]
    try:
        # Hudi merges what changed among itself, without the rows that it changed.
        alone = request["query"] == "incremental"
        asked = ScanRequest(str(table), columns=names, threads=1, changes_alone=alone, **request)
        scan = scanner.open(asked)
        rows = sorted([canonical(v) for v in row] for row in rows_of(scan.to_reader(), names))
    except RefusedError as error:
        return f"refused: {error}"
    except SeambenchError as error:
        return f"{type(error).__name__}: {error}"
    except Exception:  # a defect, told with where it is
        return traceback.format_exc(limit=-2)
    if rows == answer["rows"]:
        return None
    others = [v for v, other in truth.items() if other["rows"] == rows]
    missing = [row for row in answer["rows"] if row not in rows]
    extra = [row for row in rows if row not in answer["rows"]]
    agrees = f" (as Hudi {', '.join(others)})" if others else ""
    return f"missing {missing}, unexpected {extra}, {len(rows)} for {len(answer['rows'])}{agrees}"


def main() -> None:
    """Write, ask or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("do", choices=["write", "ask", "compare"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hudi", default="1.2.0")
    parser.add_argument("--version", type=int, default=9)
    parser.add_argument("--seeds", default="1-10")
    parser.add_argument("--impl", action="append", default=[])
    asked = parser.parse_args()
    if asked.do == "write":
        first, _, last = asked.seeds.partition("-")
        _write(asked.folder, asked.hudi, asked.version, range(int(first), int(last or first) + 1))
    elif asked.do == "ask":
        _ask_all(asked.folder, asked.hudi)
    else:
        found = 0
        for name in asked.impl or ["merge", "connector"]:
            for line in compare(asked.folder, registry.resolve("scan", name), name):
                found += 1
                sys.stdout.write(line + "\n")
        raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
