"""What readers must return: expected rows from the generator's rows and the pure update function.

The tables themselves are never read here. Expected rows are kept as Parquet beside the tables,
their digests in the manifest; answers of queries over them are worked out when they are asked for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from seambase.errors import UsageError
from seambench.contracts.tables import Groups, Ordering
from seambench.data.dataset import Dataset, ExpectedTable, State
from seambench.data.tpch import TABLES
from seambench.data.updates import Updates
from seambench.engines.digest import digest_table

#: Which hash the digests are made with.
DIGEST_KIND = "duckdb2"


@dataclass(frozen=True)
class Expectation:
    """What the oracle found for one table."""

    groups: Groups  # what is known of its slices
    rows: dict[State, int]  # expected number of rows, by state


def generator_batches(source: Path, table: str) -> Iterator[pa.RecordBatch]:
    """Rows of a table from a folder of the generator's Parquet, in the table's types."""
    schema = TABLES[table].schema
    files = sorted(str(file) for file in source.glob("*.parquet"))
    for batch in ds.dataset(files, format="parquet").to_batches(batch_size=131_072):
        yield batch.cast(schema)


def write_expected(
    source: Path, updates: Updates, ordering: Ordering, folders: dict[State, Path]
) -> Expectation:
    """Apply the updates to the generator's Parquet of a table: what must come of it.

    The rows of each state are kept as `<table>.parquet` in its folder; a state left out is only
    counted.
    """
    schema = TABLES[updates.table].schema.append(pa.field("ts", pa.int64()))
    base: set[int] = set()
    changed: set[int] = set()
    replaced: set[int] = set()
    rows: dict[State, int] = {"snapshot": 0, "base": 0}
    with contextlib.ExitStack() as stack:
        writers: dict[State, pq.ParquetWriter] = {}
        for state, folder in folders.items():
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{updates.table}.parquet"
            writers[state] = stack.enter_context(pq.ParquetWriter(file, schema, compression="zstd"))
        for batch in generator_batches(source, updates.table):
            slices, fate = updates.slice_of(batch), updates.fate(batch)
            base.update(slices[~fate.held_back].tolist())
            changed.update(slices[fate.logged | fate.deleted].tolist())
            replaced.update(slices[updates.replaced(batch, ordering)].tolist())
            states: dict[State, pa.RecordBatch] = {
                "snapshot": updates.expected_rows(batch, ordering),
                "base": updates.base_rows(batch),
            }
            for state, expected in states.items():
                rows[state] += expected.num_rows
                if state in writers:
                    writers[state].write_batch(expected)
    groups = Groups(frozenset(base), frozenset(changed), frozenset(replaced))
    return Expectation(groups, rows)


def digest_parquet(path: Path, table: str, ts: int | None = None, *, with_ts: bool = False) -> str:
    """Digest of a table's rows in a Parquet file or a folder of them, in TPC-H's types.

    `ts` is the value of a column to be added to the stored rows; `with_ts`: the rows end with that
    column, stored or added.
    """
    schema = TABLES[table].schema
    if with_ts:
        schema = schema.append(pa.field("ts", pa.int64()))
    sql = ExpectedTable(table, path, ts, 0, "").sql
    with _quiet() as con:
        return digest_table(con, f"({sql})", schema)


def _quiet() -> duckdb.DuckDBPyConnection:
    """A connection that draws no progress bar of its own over ours."""
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    return con


def connect(dataset: Dataset, state: State = "snapshot") -> duckdb.DuckDBPyConnection:
    """Open a DuckDB connection with the eight tables as the oracle expects them, as views."""
    con = _quiet()
    for name, table in dataset.expected(state).items():
        con.execute(f'CREATE VIEW "{name}" AS {table.sql}')
    return con


@dataclass(frozen=True)
class Answer:
    """Result of a query over the expected rows."""

    columns: tuple[tuple[str, str], ...]  # name and DuckDB type of each column
    # the rows in the query's order, as Python values (Decimal, date, int, float, str, None)
    rows: tuple[tuple[Any, ...], ...]
    digest: str  # digest of the rows, whatever their order


def answer(dataset: Dataset, name: str, sql: str, state: State = "snapshot") -> Answer:
    """Answer a query (DuckDB's SQL) over the expected rows of a state; `name` is for messages."""
    with connect(dataset, state) as con:
        try:
            relation = con.sql(sql)
            columns = tuple(
                (column, str(kind))
                for column, kind in zip(relation.columns, relation.types, strict=True)
            )
            rows = tuple(relation.fetchall())
            return Answer(columns, rows, digest_table(con, f"({sql.rstrip().rstrip(';')})"))
        except duckdb.Error as error:
            raise UsageError(f"query {name}: {str(error).splitlines()[0]}") from error
