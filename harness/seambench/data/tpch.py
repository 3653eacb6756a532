"""The eight TPC-H tables: what they look like, how many rows they have, and how to generate them.

Rows come from `tpchgen-cli`, which yields the same bytes as TPC-H's dbgen and can make part i of n
of a table by itself, so that Spark tasks (or a single process) make the same rows. The workload is
derived from TPC-H and not comparable with published TPC-H results.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from seambase.errors import SeambenchError, UnavailableError, UsageError

_TYPES = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "text": pa.string(),
    "date": pa.date32(),
    "money": pa.decimal128(15, 2),
}

# Rows of a part: large enough that starting the generator costs little, small enough for memory.
_ROWS_PER_PART = 1_500_000


@dataclass(frozen=True)
class TableFacts:
    """One TPC-H table."""

    name: str
    keys: tuple[str, ...]  # columns of the primary key, in the order TPC-H gives them
    schema: pa.Schema
    rows: int  # rows at scale 1
    scales: bool = True  # whether the number of rows grows with the scale


def _facts(name: str, keys: str, rows: int, columns: str, *, scales: bool = True) -> TableFacts:
    """Facts of a table whose columns are written as in SQL."""
    pairs = (column.split() for column in columns.split(", "))
    schema = pa.schema([(column, _TYPES[kind]) for column, kind in pairs])
    return TableFacts(name, tuple(keys.split()), schema, rows, scales)


# Columns and cardinalities: TPC-H specification, revision 3, clauses 1.4.1 and 4.2.5.
TABLES: dict[str, TableFacts] = {
    facts.name: facts
    for facts in (
        _facts(
            "region",
            "r_regionkey",
            5,
            "r_regionkey bigint, r_name text, r_comment text",
            scales=False,
        ),
        _facts(
            "nation",
            "n_nationkey",
            25,
            "n_nationkey bigint, n_name text, n_regionkey bigint, n_comment text",
            scales=False,
        ),
        _facts(
            "supplier",
            "s_suppkey",
            10_000,
            "s_suppkey bigint, s_name text, s_address text, s_nationkey bigint, s_phone text, "
            "s_acctbal money, s_comment text",
        ),
        _facts(
            "customer",
            "c_custkey",
            150_000,
            "c_custkey bigint, c_name text, c_address text, c_nationkey bigint, c_phone text, "
            "c_acctbal money, c_mktsegment text, c_comment text",
        ),
        _facts(
            "part",
            "p_partkey",
            200_000,
            "p_partkey bigint, p_name text, p_mfgr text, p_brand text, p_type text, p_size int, "
            "p_container text, p_retailprice money, p_comment text",
        ),
        _facts(
            "partsupp",
            "ps_partkey ps_suppkey",
            800_000,
            "ps_partkey bigint, ps_suppkey bigint, ps_availqty int, ps_supplycost money, "
            "ps_comment text",
        ),
        _facts(
            "orders",
            "o_orderkey",
            1_500_000,
            "o_orderkey bigint, o_custkey bigint, o_orderstatus text, o_totalprice money, "
            "o_orderdate date, o_orderpriority text, o_clerk text, o_shippriority int, "
            "o_comment text",
        ),
        _facts(
            "lineitem",
            "l_orderkey l_linenumber",
            6_001_215,
            "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, "
            "l_quantity money, l_extendedprice money, l_discount money, l_tax money, "
            "l_returnflag text, l_linestatus text, l_shipdate date, l_commitdate date, "
            "l_receiptdate date, l_shipinstruct text, l_shipmode text, l_comment text",
        ),
    )
}

# lineitem's size is no multiple of the scale: dbgen's counts, which every dbgen run prints.
_LINEITEM_ROWS = {
    "0.01": 60_175,
    "0.1": 600_572,
    "1": 6_001_215,
    "10": 59_986_052,
    "100": 600_037_902,
}


def format_scale(scale: float) -> str:
    """Write a scale as it stands in folder names and on the generator's command line."""
    if not 0 < scale < 1e6:
        raise UsageError(f"scale {scale!r} is not a positive number below 1000000")
    return f"{scale:.10g}"


def expected_row_count(table: str, scale: float) -> int | None:
    """Rows the specification asks for, or None where it gives no count (lineitem at odd scales)."""
    facts = TABLES[table]
    if not facts.scales:
        return facts.rows
    if table == "lineitem":
        return _LINEITEM_ROWS.get(format_scale(scale))
    count = facts.rows * scale
    return round(count) if abs(count - round(count)) < 1e-6 else None


def part_count(table: str, scale: float, cores: int) -> int:
    """Into how many parts to split the generation of a table on so many cores."""
    facts = TABLES[table]
    rows = facts.rows * scale
    if not facts.scales or rows < 100_000:
        return 1
    return max(cores, -int(-rows // _ROWS_PER_PART))


def generator_path() -> str:
    """Find `tpchgen-cli`: beside the running Python first, then on PATH."""
    beside = Path(sys.executable).parent / "tpchgen-cli"
    if os.access(beside, os.X_OK):
        return str(beside)
    found = shutil.which("tpchgen-cli")
    if found is None:
        raise UnavailableError(
            f"tpchgen-cli is neither beside {sys.executable} nor on PATH: "
            "install it with `pip install tpchgen-cli`"
        )
    return found


def generator_version() -> str:
    """Version line of `tpchgen-cli`, e.g. `tpchgen-cli 4.0.0`."""
    return _run_generator(["--version"]).strip()


def _run_generator(arguments: list[str]) -> str:
    done = subprocess.run(
        [generator_path(), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        reason = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no message"]
        raise SeambenchError(
            f"tpchgen-cli {' '.join(arguments)} ended with code {done.returncode}: {reason[0]}"
        )
    return done.stdout


def generate_single_process(scale: float, folder: Path, tables: tuple[str, ...]) -> None:
    """Write each table as one file `<folder>/<table>.parquet` in one process, without Spark."""
    arguments = ["parquet", "-s", format_scale(scale), "-q", "--no-progress", "-n", "1"]
    _run_generator([*arguments, f"--output-dir={folder}", f"--tables={','.join(tables)}"])


def generate_part(table: str, scale: float, part: int, parts: int) -> Iterator[pa.RecordBatch]:
    """Generate part `part` (from 1) of `parts` of a table, in batches of the table's schema."""
    schema = TABLES[table].schema
    with tempfile.TemporaryDirectory(prefix="seambench-tpch-") as folder:
        _run_generator(
            ["parquet", "-s", format_scale(scale), "-q", "--no-progress", "-n", "1"]
            + [f"--output-dir={folder}", f"--tables={table}"]
            + ([f"--parts={parts}", f"--part={part}"] if parts > 1 else [])
        )
        for path in sorted(Path(folder).rglob("*.parquet")):
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(batch_size=65_536):
                    yield batch.cast(schema)


def part_reader(
    table: str, scale: float, parts: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Build the function that `DataFrame.mapInArrow` runs over rows (part number from 0)."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in batch.column(0).to_pylist():
                yield from generate_part(table, scale, part + 1, parts)

    return read
