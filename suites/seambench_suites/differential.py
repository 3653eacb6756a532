"""A differential over random tables: a writer on Spark makes and reads them, readers must agree.

    python -m seambench_suites.differential write FOLDER --format delta --seeds 1-50
    python -m seambench_suites.differential compare FOLDER --format delta --impl auto

`write` makes `FOLDER/SEED/`: the table, its declaration, and what Spark reads after each step.
`compare` reads the table after each of these steps with other readers, tells every difference, and
last how much was compared; `--record FILE` keeps that as JSON. It needs no Spark, so it may be run
again and again. Steps that Spark cannot read do not count. Hudi and Paimon, whose writers are asked
in other ways, have their own in their folders; of Hive, whose folders have no versions, there is
one answer a table.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime as dt
import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from seambase.errors import SeambenchError
from seambench.conformance.plain import canonical, in_key_order, rows_of
from seambench.contracts import registry
from seambench.contracts.formats import TableFormat
from seambench.contracts.scan import Scanner, ScanRequest
from seambench.formats import delta, hive, iceberg
from seambench.formats.delta.writer import write_table as write_delta
from seambench.formats.hive.writer import write_table as write_hive
from seambench.formats.iceberg.writer import write_table as write_iceberg
from seambench.formats.writing import small_session
from seambench_suites.delta.random_tables import random_table as random_delta
from seambench_suites.hive.random_tables import random_table as random_hive
from seambench_suites.iceberg.random_tables import random_table as random_iceberg

__all__ = ["FORMATS", "RandomFormat", "compare", "main"]

_Step = Mapping[str, Any]

_MANY = 20
"""Tables from which on a session is not brief."""


@dataclasses.dataclass(frozen=True)
class RandomFormat:
    """A table format whose random tables Spark writes.

    Attributes:
        table_format: the format.
        draw: the declaration that a seed means.
        write: carries it out; see `seambench.formats.delta.writer.write_table`.
        request: asks for a table as it was after a step, given what was noted of that.
        settings: of Spark's session.
    """

    table_format: TableFormat
    draw: Callable[[int], Any]
    write: Callable[..., Any]
    request: Callable[[Path, _Step], ScanRequest]
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)


FORMATS: Mapping[str, RandomFormat] = {
    "delta": RandomFormat(
        delta.FORMAT,
        random_delta,
        write_delta,
        lambda table, step: ScanRequest(str(table), as_of=step["instant"], threads=1),
        # A version of some rows is replayed in fifty tasks otherwise, and code for its plans is
        # generated and compiled for longer than they run.
        {
            "spark.databricks.delta.snapshotPartitions": "1",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.adaptive.enabled": "false",
        },
    ),
    "hive": RandomFormat(
        hive.FORMAT,
        random_hive,
        write_hive,
        lambda table, _: ScanRequest(str(table), threads=1),
    ),
    "iceberg": RandomFormat(
        iceberg.FORMAT,
        random_iceberg,
        write_iceberg,
        lambda table, step: ScanRequest(str(table / "metadata" / step["metadata"]), threads=1),
        # With it on, Spark was seen to read equality deletes otherwise than a new session does.
        {"spark.sql.iceberg.executor-cache.enabled": "false"},
    ),
}


def _write(folder: Path, own: RandomFormat, seeds: range) -> None:
    """Make random tables, unless they are there."""
    with small_session(own.table_format, brief=len(seeds) < _MANY) as spark:
        for name, value in own.settings.items():
            spark.conf.set(name, value)
        for seed in seeds:
            target = folder / str(seed)
            if (target / "witness.json").exists():
                continue
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir(parents=True)
            spec = own.draw(seed)
            (target / "spec.json").write_text(json.dumps(dataclasses.asdict(spec), indent=1))
            done = own.write(spark, spec, target / "table", lenient=True)
            # A folder of Hive's has no versions: its witness is of the last step alone.
            noted = done.instants[-len(done.witness) :]
            steps = [
                {"instant": instant, **step}
                for instant, step in zip(noted, done.witness, strict=True)
            ]
            (target / "failures.json").write_text(json.dumps(done.failures, indent=1))
            (target / "witness.json").write_text(json.dumps(steps, indent=1))


def compare(
    folder: Path, own: RandomFormat, scanner: Scanner, counts: Counter[str]
) -> Iterator[str]:
    """Every difference between a reader and Spark over the tables of a folder, as text.

    Args:
        folder: what `write` made.
        own: their format.
        scanner: the reader.
        counts: receives how many `tables` and `answers` were compared, and `differences`.
    """
    for file in sorted(folder.glob("*/witness.json")):
        counts["tables"] += 1
        for number, step in enumerate(json.loads(file.read_text(encoding="utf-8")), 1):
            if "rows" not in step:
                continue
            counts["answers"] += 1
            problem = _differs(scanner, own.request(file.parent / "table", step), step)
            if problem:
                counts["differences"] += 1
                yield f"{file.parent.name}, step {number}: {problem}"


def _differs(scanner: Scanner, request: ScanRequest, step: _Step) -> str | None:
    """How a reader's answer differs from Spark's, or None."""
    names = step["columns"]
    try:
        scan = scanner.open(request)
        if scan.schema.names != names:
            return f"columns {scan.schema.names}, Spark has {names}"
        found = rows_of(scan.to_reader(), names)
        rows = sorted([canonical(in_key_order(value)) for value in row] for row in found)
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
    parser.add_argument("--format", choices=sorted(FORMATS), required=True)
    parser.add_argument("--seeds", default="1-20")
    parser.add_argument("--impl", default="auto")
    parser.add_argument("--record", type=Path)
    given = parser.parse_args()
    own = FORMATS[given.format]
    if given.do == "write":
        first, _, last = given.seeds.partition("-")
        _write(given.folder, own, range(int(first), int(last or first) + 1))
        return
    counts = Counter(tables=0, answers=0, differences=0)
    for line in compare(given.folder, own, registry.resolve("scan", given.impl), counts):
        sys.stdout.write(line + "\n")
    sys.stdout.write(f"{given.format}, {given.impl}: {dict(counts)}\n")
    if given.record is not None:
        record = {
            "format": given.format,
            "writer": own.table_format.bundle(None).packages[0],
            "impl": given.impl,
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
            **counts,
        }
        given.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if counts["differences"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
