"""Random tables, written by Spark, and what versions of their format answer about them.

`FOLDER/SEED/` gets the declaration, who wrote the table, the table, what the writer answered, and
what it said to the steps that it did not carry out. Tables of another kind or writer than the usual
have that in their folder's name. A table that could not be written leaves the error in its place.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seambench.formats.golden import small_session
from seambench_suites.differential.formats import Answer, RandomFormat

_MANY = 20
"""Tables from which on a session is not brief."""
_ANSWERED = ("columns", "rows", "count", "error")


def write_tables(
    folder: Path, own: RandomFormat, seeds: range, kind: str | None, version: str | None
) -> None:
    """Make random tables, unless they are there, and ask their writer."""
    usual = next(iter(own.tables))
    package = own.package(version)
    by = package.rpartition(":")[2]
    odd = [] if (kind or usual, package) == (usual, own.package()) else [kind or usual, by]
    with _session(own, version, brief=len(seeds) < _MANY) as spark:
        for seed in seeds:
            target = folder / "-".join([str(seed), *odd])
            if any((target / name).exists() for name in ("witness.json", "unwritten.json")):
                continue
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir(parents=True)
            _keep(target / "origin.json", {"writer": package})
            _write_one(spark, own, own.tables[kind or usual](seed, by), target)


@contextmanager
def _session(own: RandomFormat, version: str | None, *, brief: bool) -> Iterator[Any]:
    with small_session(own.table_format, version, brief=brief) as spark:
        for name, value in own.settings.items():
            spark.conf.set(name, value)
        yield spark


def _write_one(spark: Any, own: RandomFormat, spec: Any, target: Path) -> None:
    """Make one table and keep what its writer answers."""
    _keep(target / "spec.json", dataclasses.asdict(spec))
    try:
        done = own.write(spark, spec, target / "table", lenient=True)
    except Exception as error:  # what cannot be written is no table to read
        _check_life(spark)
        reason = _in_short(error)
        sys.stderr.write(f"{target.name}: not written: {reason}\n")
        _keep(target / "unwritten.json", {"error": reason})
        return
    _keep(target / "failures.json", done.failures)
    if own.ask is not None:
        answers = _ask(spark, own, target, own.questions(done))
    else:
        # A folder of Hive's has no versions: its witness is of the last step alone.
        noted = zip(done.instants[-len(done.witness) :], done.witness, strict=True)
        answers = [{"instant": instant, **step} for instant, step in noted]
    _keep(target / "witness.json", answers)


def _ask(
    spark: Any, own: RandomFormat, target: Path, questions: Sequence[Answer]
) -> Sequence[Answer]:
    assert own.ask is not None
    answers = [own.ask(spark, target / "table", one) for one in questions]
    if any("error" in answer for answer in answers):
        _check_life(spark)
    return answers


def _check_life(spark: Any) -> None:
    """End the run if the session has died, which else would be an answer to all questions."""
    spark.sql("SELECT 1").collect()


def _in_short(error: Exception) -> str:
    """What an error says, in two lines at most: what failed, and Java's innermost cause."""
    lines = str(error).splitlines() or [type(error).__name__]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return "; ".join(line[:300] for line in [lines[0], *causes[-1:]])


def ask_tables(folder: Path, own: RandomFormat, version: str) -> None:
    """Ask one version of the format about every table that it has not answered for."""
    files = [
        file
        for file in sorted(folder.glob("*/witness.json"))
        if not (file.parent / f"witness-{version}.json").exists()
        and json.loads((file.parent / "origin.json").read_text())["writer"] != own.package(version)
    ]
    with _session(own, version, brief=len(files) < _MANY) as spark:
        for file in files:
            requests = [
                {name: x for name, x in answer.items() if name not in _ANSWERED}
                for answer in json.loads(file.read_text(encoding="utf-8"))
            ]
            answers = _ask(spark, own, file.parent, requests)
            _keep(file.parent / f"witness-{version}.json", answers)


def _keep(file: Path, content: Any) -> None:
    """Write a file that is either whole or not there."""
    partial = file.with_suffix(".tmp")
    partial.write_text(json.dumps(content, indent=1), encoding="utf-8")
    partial.replace(file)
