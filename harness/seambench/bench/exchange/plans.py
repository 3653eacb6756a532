"""What workers of a query do with exchanges: shuffles, broadcasts, and two queries of TPC-H.

Each worker holds a part of some tables and runs the same plan; what it computes by itself, DuckDB
computes. Derived from TPC-H and not comparable with published TPC-H results.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import duckdb
import numpy as np
import pyarrow as pa

from seambase.errors import UsageError
from seambench.contracts.exchange import PartitionKind
from seambench.data.tpch import TABLES

#: Exponent of the skewed keys' distribution: the first of them has about a third of all rows.
_ZIPF = 1.5
_ZIPF_KEYS_AT_MOST = 1_000_000


@dataclass(frozen=True)
class Step:
    """One exchange of a plan."""

    name: str  # unique in the plan
    schema: pa.Schema
    # `single`: all rows go to the first worker; otherwise every worker receives
    partition: PartitionKind
    keys: tuple[str, ...] = ()  # of `hash` and `bucket`
    buckets: int = 0  # how many there are; worker i has buckets i, i + workers, ...


class Worker(Protocol):
    """What a plan sees of the worker that runs it."""

    def table(self, name: str) -> pa.Table:
        """This worker's part of a table."""

    def exchange(self, step: str, rows: pa.Table) -> pa.Table:
        """Send rows through an exchange; what this worker receives, when nothing more comes."""


@dataclass(frozen=True)
class Plan:
    """A plan and what must come of it."""

    name: str
    tables: tuple[str, ...]  # what each worker holds a part of
    steps: tuple[Step, ...]
    run: Callable[[Worker], list[pa.Table]]  # what a worker does; its part of the outcome
    # the query of the TPC-H suite whose answer the first worker then has; None where the outcome
    # are the tables themselves, anywhere
    number: int | None = None
    copies: bool = False  # every worker has all of the outcome, not a part
    # changes a table before it is dealt to workers
    derive: Mapping[str, Callable[[pa.Table], pa.Table]] = field(default_factory=dict)
    # the worker of each row of a table, where it lies in buckets; others lie anywhere
    place: Mapping[str, Callable[[pa.Table, int], np.ndarray]] = field(default_factory=dict)


def query(sql: str, **tables: pa.Table) -> pa.Table:
    """What DuckDB makes of some tables, in one thread."""
    with duckdb.connect(config={"threads": "1"}) as con:
        con.execute("SET TimeZone = 'UTC'")
        con.execute("SET enable_progress_bar = false")
        for name, table in tables.items():
            con.register(name, table)
        return con.sql(sql).to_arrow_table()


def plan_named(name: str) -> Plan:
    """A plan by its name."""
    if name not in PLANS:
        raise UsageError(f"unknown plan {name!r}; there are {', '.join(PLANS)}")
    return PLANS[name]


def _whole(name: str, partition: PartitionKind, *keys: str) -> Step:
    return Step(name, TABLES[name].schema, partition, keys)


def _through(*names: str) -> Callable[[Worker], list[pa.Table]]:
    """Tables go through the exchange of their name."""
    return lambda worker: [worker.exchange(name, worker.table(name)) for name in names]


# ---- skew ----------------------------------------------------------------------------------------

_SKEWED = TABLES["lineitem"].schema.append(pa.field("skewed", pa.int64()))


def _one_key(lineitem: pa.Table) -> pa.Table:
    keys = pa.repeat(pa.scalar(42, pa.int64()), lineitem.num_rows)
    return lineitem.append_column(_SKEWED.field("skewed"), keys)


def _zipf_keys(lineitem: pa.Table) -> pa.Table:
    """Ranks that follow from the row's key alone, so that whoever makes a row makes its rank."""
    order, line = (
        lineitem[name].to_numpy().astype(np.uint64) for name in ("l_orderkey", "l_linenumber")
    )
    mixed = (order * np.uint64(8) + line) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    uniform = ((mixed >> np.uint64(11)).astype(np.float64) + 1.0) / 2.0**53
    ranks = np.minimum(uniform ** (-1.0 / (_ZIPF - 1.0)), _ZIPF_KEYS_AT_MOST).astype(np.int64)
    return lineitem.append_column(_SKEWED.field("skewed"), pa.array(ranks))


def _skewed(name: str, derive: Callable[[pa.Table], pa.Table]) -> Plan:
    step = Step("lineitem", _SKEWED, "hash", ("skewed",))
    return Plan(name, ("lineitem",), (step,), _through("lineitem"), derive={"lineitem": derive})


# ---- width ---------------------------------------------------------------------------------------


def _columns(count: int) -> Plan:
    """Lineitem's first columns, so many of its sixteen."""
    schema = pa.schema(list(TABLES["lineitem"].schema)[:count])
    step = Step("lineitem", schema, "hash", ("l_orderkey",))
    derive = {"lineitem": lambda table: table.select(schema.names)}
    return Plan(f"columns-{count}", ("lineitem",), (step,), _through("lineitem"), derive=derive)


# ---- queries -------------------------------------------------------------------------------------

_Q1_PARTIAL = """
    SELECT l_returnflag, l_linestatus,
        sum(l_quantity) AS quantity, sum(l_extendedprice) AS price,
        sum(l_extendedprice * (1 - l_discount)) AS discounted,
        sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS charge,
        sum(l_discount) AS discount, count(*) AS orders
    FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL 90 DAY
    GROUP BY l_returnflag, l_linestatus"""
_Q1_FINAL = """
    SELECT l_returnflag, l_linestatus, sum(quantity) AS sum_qty, sum(price) AS sum_base_price,
        sum(discounted) AS sum_disc_price, sum(charge) AS sum_charge,
        CAST(sum(quantity) AS DOUBLE) / sum(orders) AS avg_qty,
        CAST(sum(price) AS DOUBLE) / sum(orders) AS avg_price,
        CAST(sum(discount) AS DOUBLE) / sum(orders) AS avg_disc,
        CAST(sum(orders) AS BIGINT) AS count_order
    FROM partial GROUP BY l_returnflag, l_linestatus"""


_FLAGS = {"l_returnflag": pa.string(), "l_linestatus": pa.string()}
_CENTS, _WIDE = pa.decimal128(38, 2), {4: pa.decimal128(38, 4), 6: pa.decimal128(38, 6)}
_Q1_GROUPS = pa.schema(
    _FLAGS
    | {"quantity": _CENTS, "price": _CENTS, "discounted": _WIDE[4], "charge": _WIDE[6]}
    | {"discount": _CENTS, "orders": pa.int64()}
)
_Q1_ANSWER = pa.schema(
    _FLAGS
    | {"sum_qty": _CENTS, "sum_base_price": _CENTS, "sum_disc_price": _WIDE[4]}
    | {"sum_charge": _WIDE[6]}
    | dict.fromkeys(("avg_qty", "avg_price", "avg_disc"), pa.float64())
    | {"count_order": pa.int64()}
)


def _run_q1(worker: Worker) -> list[pa.Table]:
    """Groups of each worker's rows, then groups of groups, then all of them at one worker."""
    partial = query(_Q1_PARTIAL, lineitem=worker.table("lineitem")).cast(_Q1_GROUPS)
    mine = worker.exchange("groups", partial)
    whole = query(_Q1_FINAL, partial=mine).cast(_Q1_ANSWER)
    gathered = worker.exchange("answer", whole)
    return [query("FROM rows ORDER BY l_returnflag, l_linestatus", rows=gathered)]


_Q3_CUSTOMER = "SELECT c_custkey FROM customer WHERE c_mktsegment = 'BUILDING'"
_Q3_ORDERS = """
    SELECT o_orderkey, o_custkey, o_orderdate, o_shippriority FROM orders
    WHERE o_orderdate < DATE '1995-03-15'"""
_Q3_LINEITEM = """
    SELECT l_orderkey, l_extendedprice, l_discount FROM lineitem
    WHERE l_shipdate > DATE '1995-03-15'"""
_Q3_TOP = "ORDER BY revenue DESC, o_orderdate, l_orderkey LIMIT 10"
_Q3_JOIN = """
    SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate,
        o_shippriority
    FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
    GROUP BY l_orderkey, o_orderdate, o_shippriority """


def _some(table: str, *columns: str) -> pa.Schema:
    return pa.schema([TABLES[table].schema.field(column) for column in columns])


_Q3_ORDERS_ROWS = _some("orders", "o_orderkey", "o_custkey", "o_orderdate", "o_shippriority")
_Q3_LINEITEM_ROWS = _some("lineitem", "l_orderkey", "l_extendedprice", "l_discount")
_Q3_STEPS = (
    Step("customer", _some("customer", "c_custkey"), "broadcast"),
    Step("orders", _Q3_ORDERS_ROWS, "hash", ("o_orderkey",)),
    Step("lineitem", _Q3_LINEITEM_ROWS, "hash", ("l_orderkey",)),
    Step(
        "answer",
        pa.schema(
            [
                ("l_orderkey", pa.int64()),
                ("revenue", pa.decimal128(38, 4)),
                ("o_orderdate", pa.date32()),
                ("o_shippriority", pa.int32()),
            ]
        ),
        "single",
    ),
)


def _run_q3(worker: Worker) -> list[pa.Table]:
    """Customers everywhere, orders and their lines by key, the best ten of each worker's ten."""
    here = {}
    for step, sql in zip(_Q3_STEPS, (_Q3_CUSTOMER, _Q3_ORDERS, _Q3_LINEITEM), strict=False):
        rows = query(sql, **{step.name: worker.table(step.name)}).cast(step.schema)
        here[step.name] = worker.exchange(step.name, rows)
    return _best_of_q3(worker, here)


def _best_of_q3(worker: Worker, here: Mapping[str, pa.Table]) -> list[pa.Table]:
    best = query(_Q3_JOIN + _Q3_TOP, **here).cast(_Q3_STEPS[-1].schema)
    gathered = worker.exchange("answer", best)
    return [query(f"FROM rows {_Q3_TOP}", rows=gathered)]


# ---- a join of tables of which one lies in buckets -----------------------------------------------

_BUCKETS = 48


def _worker_of_order(orders: pa.Table, workers: int) -> np.ndarray:
    """Where the bucket of each order is: CRC-32 by zlib, not by an exchange."""
    keys = orders["o_orderkey"].to_numpy().astype("<i8").view("V8")
    hashes = np.fromiter((zlib.crc32(key) for key in keys), np.uint32, len(keys))
    return hashes % _BUCKETS % workers


_BUCKET_STEPS = (
    _Q3_STEPS[0],
    Step("lineitem", _Q3_LINEITEM_ROWS, "bucket", ("l_orderkey",), _BUCKETS),
    _Q3_STEPS[-1],
)


def _run_q3_in_buckets(worker: Worker) -> list[pa.Table]:
    """Orders stay where their buckets are, and their lines come there."""
    sql = {"customer": _Q3_CUSTOMER, "lineitem": _Q3_LINEITEM}
    here = {"orders": query(_Q3_ORDERS, orders=worker.table("orders")).cast(_Q3_ORDERS_ROWS)}
    for step in _BUCKET_STEPS[:-1]:
        rows = query(sql[step.name], **{step.name: worker.table(step.name)}).cast(step.schema)
        here[step.name] = worker.exchange(step.name, rows)
    return _best_of_q3(worker, here)


#: Plans by name.
PLANS: Mapping[str, Plan] = {
    plan.name: plan
    for plan in (
        Plan(
            "shuffle",
            ("orders", "lineitem"),
            (_whole("orders", "hash", "o_orderkey"), _whole("lineitem", "hash", "l_orderkey")),
            _through("orders", "lineitem"),
        ),
        Plan(
            "broadcast",
            ("region", "nation", "supplier"),
            tuple(_whole(name, "broadcast") for name in ("region", "nation", "supplier")),
            _through("region", "nation", "supplier"),
            copies=True,
        ),
        Plan(
            "q01",
            ("lineitem",),
            (
                Step("groups", _Q1_GROUPS, "hash", ("l_returnflag", "l_linestatus")),
                Step("answer", _Q1_ANSWER, "single"),
            ),
            _run_q1,
            number=1,
        ),
        Plan("q03", ("customer", "orders", "lineitem"), _Q3_STEPS, _run_q3, number=3),
        Plan(
            "q03-buckets",
            ("customer", "orders", "lineitem"),
            _BUCKET_STEPS,
            _run_q3_in_buckets,
            number=3,
            place={"orders": _worker_of_order},
        ),
        Plan("random", ("lineitem",), (_whole("lineitem", "random"),), _through("lineitem")),
        *map(_columns, (1, 4, 16)),
        _skewed("one-key", _one_key),
        _skewed("zipf", _zipf_keys),
    )
}
