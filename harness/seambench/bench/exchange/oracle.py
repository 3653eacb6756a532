"""What must come of a plan: the generator's tables, and what DuckDB answers over them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from seambench.bench.exchange.plans import Plan, query
from seambench.contracts import registry
from seambench.engines.digest import digest_reader, types_in_duckdb, union
from seambench.records.compare import schema_difference
from seambench.records.verdicts import ExpectedAnswer, Finding


class Oracle:
    """What must come of a plan over the tables of a folder (see `write_tables`)."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self._plan = plan
        tables = {}
        for name in plan.tables:
            with pa.memory_map(str(folder / f"{name}.arrow")) as file:
                found = pa.ipc.open_file(file).read_all()
            tables[name] = plan.derive.get(name, lambda table: table)(found)
        if plan.number is None:
            self._digests = [digest_reader(table) for table in tables.values()]
            self._keys = {
                step.name: len(tables[step.name][step.keys[0]].unique())
                for step in plan.steps
                if step.keys
            }
        else:
            sql = registry.resolve_suite("tpch").queries[plan.number]
            self._answer = query(sql, **tables)
            self._digests = [digest_reader(self._answer)]

    def digest(self, workers: int) -> str:
        """Of all rows that so many workers must have together."""
        return union(self._digests * (workers if self._plan.copies else 1))

    def judge(
        self,
        told: Sequence[Mapping[str, Any]],
        rows: int | None = None,
        size_bytes: int | None = None,
    ) -> Finding:
        """What is found in an outcome, by what each worker has to say of it and what came."""
        if self._plan.number is not None:
            return replace(self._judge_answer(told[0]["answer"]), rows=rows, bytes=size_bytes)
        expected = self.digest(len(told))
        found = union(digest for one in told for digest in one["digests"])
        lost = f"rows {expected} were sent, {found} were received"
        difference = self._difference(told) if found == expected else lost
        return Finding(expected, found, difference, rows, size_bytes)

    def _difference(self, told: Sequence[Mapping[str, Any]]) -> str | None:
        """What is wrong though all rows are there, each once."""
        if self._plan.copies and len({tuple(one["digests"]) for one in told}) > 1:
            return "workers that must have the same rows do not"
        for step, keys in self._keys.items():
            parts = [one["keys"][step] for one in told]
            if sum(parts) != keys:
                return f"{step} has {keys} keys; its workers have {parts}: some are at two"
        return None

    def _judge_answer(self, packed: str) -> Finding:
        """The first worker's rows; doubles may differ by a rounding."""
        found = pa.ipc.open_stream(base64.b64decode(packed)).read_all()
        with duckdb.connect() as con:
            kinds = types_in_duckdb(con, self._answer.schema)
        expected = ExpectedAnswer(
            self.digest(1),
            list(zip(self._answer.schema.names, map(str, kinds), strict=True)),
            _rows(self._answer),
            ordered=True,
        )
        judged = expected.judge(_rows(found))
        difference = schema_difference(self._answer.schema, found.schema)
        return judged if difference is None else replace(judged, difference=difference)


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]
