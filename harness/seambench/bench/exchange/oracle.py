"""The tables that plans exchange, of Spark or the generator, and what DuckDB answers over them."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from seambase.errors import InputError
from seambench.bench.exchange.plans import Plan, query
from seambench.contracts import registry
from seambench.data.dataset import MANIFEST, dataset_folder, open_dataset
from seambench.data.oracle import DIGEST_KIND
from seambench.data.tpch import TABLES, generate_single_process, generator_version
from seambench.engines.digest import digest_reader, types_in_duckdb, union
from seambench.records.compare import schema_difference
from seambench.records.verdicts import ExpectedAnswer, Finding

_LAYOUT = "parquet"


@dataclass(frozen=True)
class Written:
    """Tables that lie ready."""

    by: Literal["spark", "generator"]
    generator: str
    rows: dict[str, int]


def write_tables(
    folder: Path, plans: Sequence[Plan], scale: float, data: Path | None = None
) -> Written:
    """Write what plans need as `folder/TABLE.arrow`, of a data set of this scale or generated."""
    names = tuple(dict.fromkeys(name for plan in plans for name in plan.tables))
    path = None if data is None else dataset_folder(data, scale, _LAYOUT)
    if path is None or not (path / MANIFEST).exists():
        with tempfile.TemporaryDirectory(prefix="seambench-tpch-") as made:
            # All at once: a generator's start takes longer than small tables.
            generate_single_process(scale, Path(made), names)
            files = {name: Path(made) / f"{name}.parquet" for name in names}
            rows = {name: _write(folder, name, _batches([files[name]], name)) for name in names}
        return Written("generator", generator_version(), rows)
    dataset = open_dataset(path)
    expected = dataset.expected("base")
    rows = {}
    for name in names:
        files_of = sorted(dataset.tables[name].path.rglob("*.parquet"))
        rows[name] = _write(folder, name, _batches(files_of, name))
        if dataset.manifest["knobs"]["digest_kind"] == DIGEST_KIND:
            _check(folder, name, expected[name].digest)
    return Written("spark", str(dataset.manifest["knobs"]["generator"]), rows)


def _write(folder: Path, name: str, batches: Iterable[pa.RecordBatch]) -> int:
    count = 0
    with pa.ipc.new_file(folder / f"{name}.arrow", TABLES[name].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _batches(files: Sequence[Path], name: str) -> Iterable[pa.RecordBatch]:
    """The rows of a table's files, in the columns' own types."""
    schema = TABLES[name].schema
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(columns=schema.names):
            yield batch.cast(schema)


def _check(folder: Path, name: str, digest: str) -> None:
    """Whether what was read is what the data set was made of."""
    with pa.memory_map(str(folder / f"{name}.arrow")) as file:
        own = digest_reader(pa.ipc.open_file(file).read_all())
    if own != digest:
        raise InputError(f"table {name} has rows {own}, its data set says {digest}")


class Oracle:
    """What must come of a plan over the tables of a folder (see `write_tables`)."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self._plan = plan
        tables = {}
        for name in plan.tables:
            with pa.memory_map(str(folder / f"{name}.arrow")) as file:
                rows = pa.ipc.open_file(file).read_all()
            tables[name] = plan.derive.get(name, lambda table: table)(rows)
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
        outcomes: Sequence[Mapping[str, Any]],
        rows: int | None = None,
        size_bytes: int | None = None,
    ) -> Finding:
        """What is found in an outcome, by what each worker has to say of it and what came."""
        if self._plan.number is not None:
            return replace(self._judge_answer(outcomes[0]["answer"]), rows=rows, bytes=size_bytes)
        expected = self.digest(len(outcomes))
        received = union(digest for one in outcomes for digest in one["digests"])
        lost = f"rows {expected} were sent, {received} were received"
        difference = self._difference(outcomes) if received == expected else lost
        return Finding(expected, received, difference, rows, size_bytes)

    def _difference(self, outcomes: Sequence[Mapping[str, Any]]) -> str | None:
        """What is wrong though all rows are there, each once."""
        if self._plan.copies and len({tuple(one["digests"]) for one in outcomes}) > 1:
            return "workers that must have the same rows do not"
        for step, keys in self._keys.items():
            parts = [one["keys"][step] for one in outcomes]
            if sum(parts) != keys:
                return f"{step} has {keys} keys; its workers have {parts}: some are at two"
        return None

    def _judge_answer(self, packed: str) -> Finding:
        """The first worker's rows; doubles may differ by a rounding."""
        answer = pa.ipc.open_stream(base64.b64decode(packed)).read_all()
        with duckdb.connect() as con:
            kinds = types_in_duckdb(con, self._answer.schema)
        expected = ExpectedAnswer(
            self.digest(1),
            list(zip(self._answer.schema.names, map(str, kinds), strict=True)),
            _rows(self._answer),
            ordered=True,
        )
        judged = expected.judge(_rows(answer))
        difference = schema_difference(self._answer.schema, answer.schema)
        return judged if difference is None else replace(judged, difference=difference)


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]
