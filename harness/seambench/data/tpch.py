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

_BIGINT, _INT, _TEXT, _DATE = pa.int64(), pa.int32(), pa.string(), pa.date32()
_MONEY = pa.decimal128(15, 2)

# Rows of a part: large enough that starting the generator costs little, small enough for memory.
_ROWS_PER_PART = 1_500_000


@dataclass(frozen=True)
class TableFacts:
    """One TPC-H table.

    Attributes:
        keys: columns of the primary key, in the order TPC-H gives them.
        rows: rows at scale 1.
        scales: whether the number of rows grows with the scale.
    """

    name: str
    keys: tuple[str, ...]
    schema: pa.Schema
    rows: int
    scales: bool = True


def _facts(
    name: str, keys: str, rows: int, columns: list[tuple[str, pa.DataType]], *, scales: bool = True
) -> TableFacts:
    return TableFacts(name, tuple(keys.split(",")), pa.schema(columns), rows, scales)


# Columns and cardinalities: TPC-H specification, revision 3, clauses 1.4.1 and 4.2.5.
TABLES: dict[str, TableFacts] = {
    facts.name: facts
    for facts in (
        _facts(
            "region",
            "r_regionkey",
            5,
            [("r_regionkey", _BIGINT), ("r_name", _TEXT), ("r_comment", _TEXT)],
            scales=False,
        ),
        _facts(
            "nation",
            "n_nationkey",
            25,
            [
                ("n_nationkey", _BIGINT),
                ("n_name", _TEXT),
                ("n_regionkey", _BIGINT),
                ("n_comment", _TEXT),
            ],
            scales=False,
        ),
        _facts(
            "supplier",
            "s_suppkey",
            10_000,
            [
                ("s_suppkey", _BIGINT),
                ("s_name", _TEXT),
                ("s_address", _TEXT),
                ("s_nationkey", _BIGINT),
                ("s_phone", _TEXT),
                ("s_acctbal", _MONEY),
                ("s_comment", _TEXT),
            ],
        ),
        _facts(
            "customer",
            "c_custkey",
            150_000,
            [
                ("c_custkey", _BIGINT),
                ("c_name", _TEXT),
                ("c_address", _TEXT),
                ("c_nationkey", _BIGINT),
                ("c_phone", _TEXT),
                ("c_acctbal", _MONEY),
                ("c_mktsegment", _TEXT),
                ("c_comment", _TEXT),
            ],
        ),
        _facts(
            "part",
            "p_partkey",
            200_000,
            [
                ("p_partkey", _BIGINT),
                ("p_name", _TEXT),
                ("p_mfgr", _TEXT),
                ("p_brand", _TEXT),
                ("p_type", _TEXT),
                ("p_size", _INT),
                ("p_container", _TEXT),
                ("p_retailprice", _MONEY),
                ("p_comment", _TEXT),
            ],
        ),
        _facts(
            "partsupp",
            "ps_partkey,ps_suppkey",
            800_000,
            [
                ("ps_partkey", _BIGINT),
                ("ps_suppkey", _BIGINT),
                ("ps_availqty", _INT),
                ("ps_supplycost", _MONEY),
                ("ps_comment", _TEXT),
            ],
        ),
        _facts(
            "orders",
            "o_orderkey",
            1_500_000,
            [
                ("o_orderkey", _BIGINT),
                ("o_custkey", _BIGINT),
                ("o_orderstatus", _TEXT),
                ("o_totalprice", _MONEY),
                ("o_orderdate", _DATE),
                ("o_orderpriority", _TEXT),
                ("o_clerk", _TEXT),
                ("o_shippriority", _INT),
                ("o_comment", _TEXT),
            ],
        ),
        _facts(
            "lineitem",
            "l_orderkey,l_linenumber",
            6_001_215,
            [
                ("l_orderkey", _BIGINT),
                ("l_partkey", _BIGINT),
                ("l_suppkey", _BIGINT),
                ("l_linenumber", _INT),
                ("l_quantity", _MONEY),
                ("l_extendedprice", _MONEY),
                ("l_discount", _MONEY),
                ("l_tax", _MONEY),
                ("l_returnflag", _TEXT),
                ("l_linestatus", _TEXT),
                ("l_shipdate", _DATE),
                ("l_commitdate", _DATE),
                ("l_receiptdate", _DATE),
                ("l_shipinstruct", _TEXT),
                ("l_shipmode", _TEXT),
                ("l_comment", _TEXT),
            ],
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
