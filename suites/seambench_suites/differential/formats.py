"""The formats whose random tables are compared: how they are drawn, written and asked about."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from seambench.contracts.formats import TableFormat
from seambench.contracts.scan import ScanRequest
from seambench.contracts.tables import Written
from seambench.formats import delta, hive, hudi, iceberg, paimon
from seambench.formats.delta.writer import write_table as write_delta
from seambench.formats.hive.writer import write_table as write_hive
from seambench.formats.hudi.writer import write_table as write_hudi
from seambench.formats.iceberg.writer import write_table as write_iceberg
from seambench_suites.delta.random_tables import random_table as random_delta
from seambench_suites.hive.random_tables import random_table as random_hive
from seambench_suites.hudi.random_tables import random_table as random_hudi
from seambench_suites.hudi.spark_answers import ask_spark, questions, scan_request
from seambench_suites.hudi.version_rules import why_otherwise
from seambench_suites.iceberg.random_tables import random_table as random_iceberg
from seambench_suites.paimon import version_rules as paimon_rules
from seambench_suites.paimon.random_functions import random_functions, random_items
from seambench_suites.paimon.random_tables import random_life

Answer = Mapping[str, Any]
"""What was asked, in the format's words, and `columns` and `rows` (values as text) or `error`."""

Rows = Sequence[Sequence[str]]


@dataclasses.dataclass(frozen=True)
class RandomFormat:
    """A table format whose random tables Spark writes."""

    table_format: TableFormat
    # kinds of tables, the usual one first: the declaration that a seed and the version of the
    # writer mean
    tables: Mapping[str, Callable[[int, str], Any]]
    # carries it out; see `seambench.formats.delta.writer.write_table`. What it does not note itself
    # is asked for when the table is whole.
    write: Callable[..., Written]
    request: Callable[[Path, Answer], ScanRequest]  # asks a reader what Spark was asked
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)  # of Spark's session
    # what to ask about a table when it is whole
    questions: Callable[[Written], Sequence[Answer]] = lambda _done: ()
    # has Spark answer one of these questions; any version of the format may be asked
    ask: Callable[[Any, Path, Answer], Answer] | None = None
    # the reason why a version of the format answers by a rule of its own, which nobody else need
    # follow, or None. It is given the version, the table's folder, the number of the question from
    # 1, the answer, and a reader's own.
    why_otherwise: Callable[[str, Path, int, Answer, Answer], str | None] = lambda *_: None
    # rows with what has no order put in one, given the names of their columns
    in_order: Callable[[Sequence[str], Rows], Rows] = lambda _, rows: rows

    def package(self, version: str | None = None) -> str:
        """The package of a version of the format, or of the usual one; its version is its end."""
        return self.table_format.bundle(version).packages[0]


FORMATS: Mapping[str, RandomFormat] = {
    "delta": RandomFormat(
        delta.FORMAT,
        {"usual": lambda seed, _: random_delta(seed)},
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
        {"usual": lambda seed, _: random_hive(seed)},
        write_hive,
        lambda table, _: ScanRequest(str(table), threads=1),
    ),
    "hudi": RandomFormat(
        hudi.FORMAT,
        {
            f"v{version}": partial(
                lambda version, seed, by: random_hudi(seed, version, by), version
            )
            for version in (9, 8, 6)
        },
        write_hudi,
        scan_request,
        # As for Delta: code for plans of some rows is compiled for longer than it runs.
        {
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.adaptive.enabled": "false",
        },
        questions=lambda done: questions(done.instants, done.completions),
        ask=ask_spark,
        why_otherwise=why_otherwise,
    ),
    "iceberg": RandomFormat(
        iceberg.FORMAT,
        {"usual": lambda seed, _: random_iceberg(seed)},
        write_iceberg,
        lambda table, step: ScanRequest(str(table / "metadata" / step["metadata"]), threads=1),
        # With it on, Spark was seen to read equality deletes otherwise than a new session does.
        {"spark.sql.iceberg.executor-cache.enabled": "false"},
    ),
    "paimon": RandomFormat(
        paimon.FORMAT,
        {
            "rows": lambda seed, by: paimon_rules.table_of(seed, random_life(seed), by),
            "functions": lambda seed, by: paimon_rules.table_of(seed, random_functions(seed), by),
            "items": lambda seed, by: paimon_rules.table_of(seed, random_items(seed), by),
        },
        paimon_rules.write_steps,
        paimon_rules.scan_request,
        why_otherwise=paimon_rules.why_otherwise,
        in_order=paimon_rules.in_order,
    ),
}
