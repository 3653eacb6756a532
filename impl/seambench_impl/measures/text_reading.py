"""How fast text is parsed: lineitem as a Hive table of text, beside pyarrow and DuckDB.

    seambench kernels seambench_impl.measures.text_reading

All have one thread, and each must hand out what pyarrow's table has.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

import seamkit
from seambench.bench.apart import Task
from seambench.bench.kernels import Kernel, Kernels
from seambench.bench.measure import Competitor
from seambench.data.tpch import generate_single_process, generator_version
from seambench.engines.digest import digest_reader
from seambench.records.model import Origin, Rows
from seambench.records.verdicts import ExpectedRows, Finding
from seambench_impl.peers.peer_scan import plain_table

_COLUMNS = {
    "l_orderkey": "bigint",
    "l_partkey": "bigint",
    "l_suppkey": "bigint",
    "l_linenumber": "int",
    "l_quantity": "decimal(15,2)",
    "l_extendedprice": "decimal(15,2)",
    "l_discount": "decimal(15,2)",
    "l_tax": "decimal(15,2)",
    "l_returnflag": "string",
    "l_linestatus": "string",
    "l_shipdate": "date",
    "l_commitdate": "date",
    "l_receiptdate": "date",
    "l_shipinstruct": "string",
    "l_shipmode": "string",
    "l_comment": "string",
}
_FEW = ["l_orderkey", "l_extendedprice", "l_shipdate"]


def _by_seamkit(folder: Path, names: list[str]) -> pa.Table:
    table = seamkit.HiveTable(str(folder), columns=_COLUMNS, properties={"field.delim": "|"})
    return table.scan(names, threads=1).to_table()


def _by_pyarrow(folder: Path, names: list[str]) -> pa.Table:
    kinds = seamkit.HiveTable(str(folder), columns=_COLUMNS).schema
    return csv.read_csv(
        folder / "lineitem.tbl",
        csv.ReadOptions(column_names=list(_COLUMNS), use_threads=False),
        csv.ParseOptions(delimiter="|", quote_char=False),
        csv.ConvertOptions(column_types=kinds, include_columns=names),
    )


def _by_duckdb(folder: Path, names: list[str]) -> pa.Table:
    connection = duckdb.connect(config={"threads": 1})
    relation = connection.read_csv(
        str(folder / "lineitem.tbl"), sep="|", header=False, columns=_COLUMNS, quotechar=""
    )
    return relation.project(", ".join(names)).to_arrow_table()


_READERS: dict[str, Callable[[Path, list[str]], pa.Table]] = {
    "seamkit": _by_seamkit,
    "pyarrow": _by_pyarrow,
    "duckdb": _by_duckdb,
}


def generated_lineitem(folder: Path, scale: float) -> pa.Table:
    """The generator's rows, made in a folder that is left as it was, in plain Arrow types."""
    made = folder / "made"
    generate_single_process(scale, made, ("lineitem",))
    rows = plain_table(pq.read_table(made / "lineitem.parquet"))
    shutil.rmtree(made)
    return rows


def _write(folder: Path, scale: float) -> None:
    whole = generated_lineitem(folder, scale)
    options = csv.WriteOptions(include_header=False, delimiter="|", quoting_style="none")
    csv.write_csv(whole, folder / "lineitem.tbl", options)


def kernels(folder: Path, scale: float = 0.1) -> Kernels:
    """All columns and three of sixteen, by each reader."""
    _write(folder, scale)
    rows = _by_pyarrow(folder, _FEW).num_rows
    over = Rows(name=f"lineitem as text, {rows} rows", scale=scale)
    found = []
    for title, names in (("all", list(_COLUMNS)), ("three", _FEW)):
        table = _by_pyarrow(folder, names)
        expected = ExpectedRows(digest_reader(table), table.schema)
        for reader in _READERS:
            task = Task(_reading, (reader, folder, names, expected))
            found.append(Kernel(f"text/{title}/{reader}", task, over))
    origin = Origin("tpch-derived", scale, generator_version(), {"lineitem": rows})
    return Kernels("scan", "auto", found, origin)


def _reading(reader: str, folder: Path, names: list[str], expected: ExpectedRows) -> Competitor:
    """In a process of its own."""
    read = _READERS[reader]

    def judge(table: pa.Table) -> Finding:
        return expected.judge(plain_table(table).cast(expected.schema))

    return Competitor(lambda: read(folder, names), judge)
