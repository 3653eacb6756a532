"""What a table whose columns changed costs engines, beside the same files under their first schema.

    seambench kernels seambench_impl.measures.evolved

Both tables of a format have the same rows in the same files. Of one a column was renamed, a decimal
and an integer became wider, one column is new, another gone; Iceberg's has one at another place,
too. The queries read the columns that changed.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import DecimalType, LongType, StringType

import seamkit
from seambench.bench.apart import Task
from seambench.bench.kernels import Kernel, Kernels
from seambench.bench.measure import Competitor
from seambench.data.tpch import generator_version
from seambench.engines.digest import digest_reader
from seambench.records.model import Origin, Rows
from seambench.records.verdicts import ExpectedRows, Finding
from seambench_impl.measures.text_reading import generated_lineitem
from seambench_impl.peers.peer_scan import plain_table

#: What the renamed column is called in either table.
_TABLES = {"plain": "discount", "changed": "rebate"}
_QUERIES = {
    "sums": "SELECT returnflag, sum(quantity), sum(extendedprice), max({c}), count(*) FROM t "
    "WHERE shipdate <= DATE '1998-09-02' GROUP BY returnflag ORDER BY returnflag",
    "filter": "SELECT sum(extendedprice) FROM t WHERE shipdate >= DATE '1994-01-01' "
    "AND shipdate < DATE '1995-01-01' AND {c} BETWEEN 0.05 AND 0.07 AND quantity < 24",
    "groups": "SELECT linenumber, count(*) FROM t WHERE commitdate < receiptdate "
    "GROUP BY linenumber ORDER BY linenumber",
    "key": "SELECT orderkey, quantity, {c} FROM t WHERE orderkey = 97",
}


def _iceberg(folder: Path, rows: pa.Table) -> dict[str, str]:
    """Both tables' addresses."""
    catalogue = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder / "iceberg"))
    catalogue.create_namespace("n")
    found = {}
    for name in _TABLES:
        table = catalogue.create_table(f"n.{name}", rows.schema)
        table.append(rows)
        if name == "changed":
            with table.update_schema() as change:
                change.rename_column("discount", "rebate")
                change.update_column("quantity", DecimalType(16, 2))
                change.update_column("linenumber", LongType())
                change.add_column("note", StringType())
                change.delete_column("comment")
                change.move_first("shipdate")
        found[name] = table.metadata_location.removeprefix("file://")
    return found


def _delta(folder: Path, rows: pa.Table) -> dict[str, str]:
    """Both tables' addresses. Only Spark changes columns so: its commit is written as it does."""
    found = {}
    for name in _TABLES:
        found[name] = str(folder / "delta" / name)
        write_deltalake(found[name], rows)
    table = DeltaTable(found["changed"])
    metadata, own = table.metadata(), json.loads(table.schema().to_json())["fields"]
    note = {"name": "note", "type": "string", "nullable": True, "metadata": {}}
    columns = enumerate([*own, note], 1)
    fields = [_mapped(*column) for column in columns if column[1]["name"] != "comment"]
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["columnMapping", "typeWidening"],
        "writerFeatures": ["columnMapping", "typeWidening"],
    }
    changed = {
        "id": str(metadata.id),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {
            "delta.columnMapping.mode": "name",
            "delta.columnMapping.maxColumnId": str(len(own) + 1),
            "delta.enableTypeWidening": "true",
        },
        "createdTime": metadata.created_time,
    }
    commit = Path(found["changed"], "_delta_log", f"{1:020}.json")
    commit.write_text(
        f"{json.dumps({'protocol': protocol})}\n{json.dumps({'metaData': changed})}\n"
    )
    return found


def _mapped(number: int, field: dict[str, Any]) -> dict[str, Any]:
    """A column of the changed table: by its name in the files, with its new name and type."""
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": field["name"]}
    wider = {"quantity": "decimal(16,2)", "linenumber": "long"}.get(field["name"])
    if wider:
        metadata["delta.typeChanges"] = [{"fromType": field["type"], "toType": wider}]
    name = "rebate" if field["name"] == "discount" else field["name"]
    return {**field, "name": name, "type": wider or field["type"], "metadata": metadata}


def _by_duckdb(address: str) -> Callable[[str], pa.Table]:
    connection = duckdb.connect()
    seamkit.register(connection, "t", address)
    return lambda query: connection.sql(query).to_arrow_table()


def _by_polars(address: str) -> Callable[[str], pa.Table]:
    context = pl.SQLContext(t=seamkit.open_table(address).scan().lazy())
    return lambda query: context.execute(query, eager=True).to_arrow()


_ENGINES = {"duckdb": _by_duckdb, "polars": _by_polars}
_FORMATS = {"iceberg": _iceberg, "delta": _delta}


def kernels(folder: Path, scale: float = 0.5) -> Kernels:
    """Queries of both tables of each format by each engine."""
    rows = generated_lineitem(folder, scale)
    rows = rows.rename_columns([name.removeprefix("l_") for name in rows.schema.names])
    own = duckdb.connect()
    own.register("t", rows)
    found = []
    for kind, write in _FORMATS.items():
        addresses = write(folder, rows)
        for engine, (title, query) in itertools.product(_ENGINES, _QUERIES.items()):
            answer = own.sql(query.format(c="discount")).to_arrow_table()
            for name, column in _TABLES.items():
                task = Task(_querying, (engine, addresses[name], query.format(c=column), answer))
                over = Rows(name=f"lineitem, {kind}, {name}", scale=scale)
                found.append(Kernel(f"evolved/{engine}/{title}", task, over))
    origin = Origin("tpch-derived", scale, generator_version(), {"lineitem": len(rows)})
    return Kernels("scan", "auto", found, origin)


def _querying(engine: str, address: str, query: str, answer: pa.Table) -> Competitor:
    """In a process of its own."""
    ask = _ENGINES[engine](address)
    expected = ExpectedRows(digest_reader(answer), answer.schema)

    def judge(table: pa.Table) -> Finding:
        table = plain_table(table).rename_columns(answer.schema.names)
        return expected.judge(table.cast(answer.schema))

    return Competitor(partial(ask, query), judge)
