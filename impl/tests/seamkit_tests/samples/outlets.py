"""The ways in which users and engines filter a table, each as a function that gives its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import seamkit
from seamkit.scan.scan import Scan


@dataclass(frozen=True)
class Filter:
    """A condition in both ways in which a scan takes it."""

    sql: str
    expression: pc.Expression

    def __and__(self, other: Filter) -> Filter:
        return Filter(f"({self.sql} AND {other.sql})", self.expression & other.expression)

    def __or__(self, other: Filter) -> Filter:
        return Filter(f"({self.sql} OR {other.sql})", self.expression | other.expression)


def compare(name: str, sign: str, value: Any) -> Filter:
    """A column against a value; None asks for nulls."""
    field = pc.field(name)
    if value is None:
        return Filter(f'"{name}" IS NULL', field.is_null())
    ways = {"=": field == value, "<>": field != value, "<": field < value, ">=": field >= value}
    text = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
    return Filter(f'"{name}" {sign} {text}', ways[sign])


def comparable(kind: pa.DataType) -> bool:
    """Whether `compare` has words for values of a type."""
    tests = pa.types.is_integer, pa.types.is_string, pa.types.is_boolean
    return any(test(kind) for test in tests)


def bag(rows: pa.Table) -> Counter[str]:
    """Rows in no order, as text."""
    return Counter(map(repr, rows.to_pylist()))


Outlet = Callable[[Any, Filter, dict[str, Any]], pa.Table]
"""Rows of a table (of any format) that meet a filter; given further arguments of `scan`."""


def masked_parts(scan: Scan, condition: pc.Expression | None = None) -> pa.Table:
    """Part by part: the rows of its file that are left, by pyarrow, and those that come from us."""
    pieces = [scan.schema.empty_table()]
    for number in range(scan.n_parts):
        part = scan.masked_part(number, scan.schema.names, condition)
        pieces.append(part.rows.to_table())
        if part.file is not None:
            own = pq.ParquetFile(part.file.paths[0]).read()
            known = {name: value.as_py() for name, value in part.file.values.items()}
            columns = [
                own[f.name].cast(f.type)
                if f.name in part.file.stored
                else pa.array([known.get(f.name)] * len(own), f.type)
                for f in scan.schema
            ]
            rows = pa.table(columns, schema=scan.schema)
            pieces.append(rows.filter(pa.array(~part.gone)) if len(part.gone) else rows)
    return pa.concat_tables(pieces)


def _counted(rows: pa.Table, count: int) -> pa.Table:
    assert rows.num_rows == count
    return rows


def _by_table(table: Any, test: Filter, options: dict[str, Any]) -> pa.Table:
    scan = table.scan(filter=test.expression, **options)
    return _counted(scan.to_table(), scan.count_rows())


def _by_sql(table: Any, test: Filter, options: dict[str, Any]) -> pa.Table:
    return table.scan(filter=test.sql, **options).to_table()


def _by_dataset(table: Any, test: Filter, options: dict[str, Any]) -> pa.Table:
    dataset = table.scan(**options).dataset()
    rows = dataset.to_table(filter=test.expression)
    # Once more, when it is known which rows events replace.
    dataset.to_table()
    assert bag(dataset.to_table(filter=test.expression)) == bag(rows)
    return _counted(rows, dataset.count_rows(filter=test.expression))


def _by_duckdb(table: Any, test: Filter, options: dict[str, Any]) -> pa.Table:
    scan, con = table.scan(**options), duckdb.connect()
    con.register("rows", scan.dataset())
    return con.sql(f"FROM rows WHERE {test.sql}").to_arrow_table().cast(scan.schema)


def _by_relation(table: Any, test: Filter, options: dict[str, Any]) -> pa.Table:
    scan, con = table.scan(**options), duckdb.connect()
    seamkit.register(con, "rows", scan)
    rows = con.sql(f"FROM rows WHERE {test.sql}").to_arrow_table().cast(scan.schema)
    assert bag(scan.relation(con).filter(test.sql).to_arrow_table().cast(scan.schema)) == bag(rows)
    return rows


def _by_polars(table: Any, test: Filter, options: dict[str, Any]) -> pa.Table:
    scan = table.scan(**options)
    found = scan.lazy().filter(pl.sql_expr(test.sql)).collect().to_arrow()
    return found.cast(scan.schema)


def _by_masked_parts(table: Any, test: Filter, options: dict[str, Any]) -> pa.Table:
    rows = masked_parts(table.scan(**options), test.expression)
    return rows.filter(test.expression)


def _by_plans(table: Any, test: Filter, options: dict[str, Any]) -> pa.Table:
    scan = table.scan(filter=test.expression, **options)
    plans, read = scan.plans(scan.groups(2))
    none = [scan.schema.empty_table()]
    return pa.concat_tables([read(plan).to_table() for plan in plans] or none)


OUTLETS: dict[str, Outlet] = {
    "table": _by_table,
    "sql": _by_sql,
    "dataset": _by_dataset,
    "duckdb": _by_duckdb,
    "relation": _by_relation,
    "polars": _by_polars,
    "masked parts": _by_masked_parts,
    "plans": _by_plans,
}
