"""Read tables of lakes as engines see them: merged, exact, without a JVM.

A Hudi, Delta, Iceberg, Paimon or Hive table becomes Arrow batches, with logs and runs merged and
deleted rows left out:

    >>> import seamkit
    >>> table = seamkit.open_table("trips")
    >>> table.scan().count_rows()
    8

Columns, filters and rows of an earlier moment, or those that changed since:

    >>> table.scan(columns=["k", "v"], filter="ts > 6").to_table().to_pylist()
    [{'k': 'reinserted', 'v': 'log3'}, {'k': 'twice', 'v': 'log1'}]
    >>> table.scan(query="incremental", begin="2020-01-01").count_rows()
    8

The same one after the other, each a scan of its own; and the states that can be read:

    >>> table.scan().filter([("ts", ">", 6)]).select("k").limit(1).count_rows()
    1
    >>> [state.operation for state in table.history(limit=2)]
    ['UPSERT', 'DELETE']

DuckDB, Polars and whatever else reads Arrow take a scan as it is; they push columns and filters
down where they are given its dataset:

    >>> import duckdb
    >>> trips = table.scan().dataset()
    >>> duckdb.sql("SELECT count(*) FROM trips WHERE ts > 5").fetchall()
    [(3,)]

Fastest in DuckDB is a name for the table: what needs no merge is then read by DuckDB itself
(`Scan.relation`; `Scan.lazy` in Polars, `Scan.spark_frame` in Spark):

    >>> connection = duckdb.connect()
    >>> seamkit.register(connection, "journeys", table)
    >>> connection.sql("SELECT max(ts) FROM journeys").fetchall()
    [(9,)]

`open_table(path, storage_options=None)` looks into the folder, local or wherever fsspec reaches; of
a folder that is a table of several formats, `format="delta"` says which is meant. The classes
(`DeltaTable(path)`, ...) open tables of a known format: type checkers know which queries and
keywords these have. `open_catalog(address)` opens tables by their names in a Hive metastore, an
Iceberg catalog or a folder of databases, and gives all of them names in DuckDB or Spark. A table
has `schema`, `columns`, `history()` (versions, snapshots or instants, branches and tags with their
times; `as_of` takes a `name`), `files()` or `files(as_of)` (with rows, bytes, and what changes
them), `describe()`, and `scan(...)`, whose options are

- `columns`: names, in the order wanted;
- `filter`: SQL as text (that needs DuckDB; a time without a zone is one of UTC), an expression of
  `pyarrow.compute`, one of Polars that tests each row by itself, or tuples as pyarrow takes them:
  `[("ts", ">", 6), ("k", "in", ks)]`;
- `query`: `snapshot`; of Hudi and Paimon tables `read-optimized`; rows that came between `begin`
  and `end`: `incremental` (Hudi, Iceberg, Paimon); or what was inserted, updated and deleted
  then: `cdc` (Hudi, Delta, Iceberg, Paimon);
- `as_of`: the table as it was at an instant, on a day, in a version, or under a branch or tag;
- `batch_rows`, `threads`, `memory_limit_bytes`: how it is read;
- `strict`: refuse what the format's own reader would skip with a warning, and look closer.

`to_arrow`, `to_pandas`, `to_polars`, `count_rows` and, behind a number of rows, `head` of a table
take the same; whatever reads Arrow takes all of it. `scan_table(path, ...)` opens and scans at
once. (`seamkit.scan` is a package: Python could be made to call it, but no type checker would
believe it.)

A scan has `schema`, `to_table` (or `to_arrow`), `to_reader`, `to_batches`, `to_pandas`,
`to_polars`, `head`, `count_rows`, `dataset`, `relation`, `lazy`, `spark_frame`, and `explain`,
which tells how each part of the table is read and why. Each call reads anew. `filter`, `select` and
`limit` give another scan: conditions are joined by AND, and what stands behind a `limit` is for the
rows within it. `filter` and `select` may name any column of the table until then. A filter that
`scan` is given also leaves manifests of Iceberg unread.

Whatever cannot be read exactly is refused with one sentence that names the file and the reason:
`UsageError` for wrong arguments, `InputError` for a broken or missing file, `RefusedError` for what
is legal and not supported, `UnavailableError` for what this machine lacks, `NativeMemoryError`
where `memory_limit_bytes` is too little; each is a `SeambenchError`.

What the format's own reader skips with a warning, damaged blocks of a log for example, or what
contradicts itself so that rows may be missing, is skipped with one, too: whichever way rows leave,
each file is told once a scan through Python's `warnings`, as a `TableWarning` with the reason, and
`report` lists them afterwards. `warnings.simplefilter("error", seamkit.TableWarning)` ends such a
read, `strict=True` refuses it with an `InputError`. A strict read also holds every value of a
Parquet file against the bounds that its footer tells, which finds most of what a flipped bit makes
of pages without a checksum, and costs time.

What takes all rows at once (`to_table` and its like, `count_rows`) says on a terminal's standard
error how far it is, from its third second on, unless the environment has `SEAMKIT_PROGRESS=0`.

Off-heap columns (`seamkit.offheap`), serdes of pages and rows (`seamkit.serde`) and the exchange
(`seamkit.exchange`) are packages of their own; the last two need extras of the installation.
`scan_to_json(scan)` writes a planned scan as data, `scan_from_json(text)` reads it, or some of its
units, in another process (docs/plans.md).
`connector_scanner(name, fetch_size, parameters)` makes the scanner of a name, as an engine asks for
it, which hands out off-heap tables; `TableStream` makes an Arrow stream of such tables.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seambase.errors import (
        InputError,
        RefusedError,
        SeambenchError,
        UnavailableError,
        UsageError,
    )
    from seambase.scan import ScanReport, ScanWarning, TableWarning
    from seamkit.core.border import NativeMemoryError
    from seamkit.files.file_cache import keep_at_most, keep_on_disk
    from seamkit.offheap.connector.factory import connector_scanner
    from seamkit.offheap.engine.stream import TableStream
    from seamkit.ranges.plan_file import scan_from_json, scan_to_json
    from seamkit.scan.scan import Scan
    from seamkit.tables.catalog import Catalog, open_catalog
    from seamkit.tables.delta.table import DeltaTable
    from seamkit.tables.hive.table import HiveTable
    from seamkit.tables.hudi.table import HudiTable
    from seamkit.tables.iceberg.table import IcebergTable
    from seamkit.tables.opening import open_table, scan_table
    from seamkit.tables.paimon.table import PaimonTable
    from seamkit.tables.registering import register
    from seamkit.tables.table import Table, TableFile, TableState

    __version__: str

__all__ = [
    "Catalog",
    "DeltaTable",
    "HiveTable",
    "HudiTable",
    "IcebergTable",
    "InputError",
    "NativeMemoryError",
    "PaimonTable",
    "RefusedError",
    "Scan",
    "ScanReport",
    "ScanWarning",
    "SeambenchError",
    "Table",
    "TableFile",
    "TableState",
    "TableStream",
    "TableWarning",
    "UnavailableError",
    "UsageError",
    "__version__",
    "connector_scanner",
    "keep_at_most",
    "keep_on_disk",
    "open_catalog",
    "open_table",
    "register",
    "scan_from_json",
    "scan_table",
    "scan_to_json",
]

#: Where each name lies; imported when it is first asked for.
_HOMES = {
    "open_catalog": "seamkit.tables.catalog",
    "Catalog": "seamkit.tables.catalog",
    "open_table": "seamkit.tables.opening",
    "scan_table": "seamkit.tables.opening",
    "keep_at_most": "seamkit.files.file_cache",
    "keep_on_disk": "seamkit.files.file_cache",
    "register": "seamkit.tables.registering",
    "scan_from_json": "seamkit.ranges.plan_file",
    "scan_to_json": "seamkit.ranges.plan_file",
    "HiveTable": "seamkit.tables.hive.table",
    "HudiTable": "seamkit.tables.hudi.table",
    "DeltaTable": "seamkit.tables.delta.table",
    "IcebergTable": "seamkit.tables.iceberg.table",
    "PaimonTable": "seamkit.tables.paimon.table",
    "Scan": "seamkit.scan.scan",
    "Table": "seamkit.tables.table",
    "TableFile": "seamkit.tables.table",
    "TableState": "seamkit.tables.table",
    "TableStream": "seamkit.offheap.engine.stream",
    "connector_scanner": "seamkit.offheap.connector.factory",
    "ScanReport": "seambase.scan",
    "ScanWarning": "seambase.scan",
    "TableWarning": "seambase.scan",
    "InputError": "seambase.errors",
    "NativeMemoryError": "seamkit.core.border",
    "RefusedError": "seambase.errors",
    "SeambenchError": "seambase.errors",
    "UnavailableError": "seambase.errors",
    "UsageError": "seambase.errors",
}


_OPEN = "call open_table(path), or scan_table(path, ...)"
_CATALOG = "call open_catalog(address)"
#: Names that others have, and what does the same here.
_INSTEAD = {
    "catalog": _CATALOG,
    "load_catalog": _CATALOG,
    "connect": "call register(connection, name, table) with a connection of DuckDB",
    "load_table": _OPEN,
    "open": _OPEN,
    "read": _OPEN,
    "read_delta": _OPEN,
    "read_iceberg": _OPEN,
    "read_table": _OPEN,
    "scan": _OPEN,
    "scan_delta": _OPEN,
    "scan_iceberg": _OPEN,
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("seamkit")
    if name not in _HOMES:
        from seamkit.scan.hints import did_you_mean

        hint = "" if name.startswith("_") else did_you_mean(name, __all__, _INSTEAD)
        raise AttributeError(f"module 'seamkit' has no attribute {name!r}{hint}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
