"""Rows of two readers beside each other: sums that do not depend on order, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from seambench.contracts.scan import Scan
from seambench.engines.digest import digest_reader, quote, types_in_duckdb

_SHOWN = 5


def digest(scan: Scan, schema: pa.Schema) -> str:
    """The digest of a scan's rows, cast to a schema's types; see `seambench.engines.digest`."""
    with scan.to_reader() as stream:
        return digest_reader(stream, schema)


def write_rows(scan: Scan, path: Path) -> None:
    """Write all rows of a scan, as they come, to an Arrow file."""
    with scan.to_reader() as stream, pa.ipc.new_file(path, stream.schema) as file:
        for batch in stream:
            file.write_batch(batch)


@dataclass(frozen=True)
class Differences:
    """Rows that one side has and the other lacks, repeated ones as often as they are lacking.

    Attributes:
        missing, added: how many the second lacks, and has more.
        some_missing, some_added: a few of them, ordered by their columns.
    """

    missing: int
    added: int
    some_missing: Sequence[Mapping[str, Any]]
    some_added: Sequence[Mapping[str, Any]]


def differences(first: Path, second: Path, schema: pa.Schema) -> Differences:
    """What two files of rows do not have in common, in the types of a schema."""
    with (
        pa.memory_map(str(first)) as one,
        pa.memory_map(str(second)) as two,
        duckdb.connect() as con,
    ):
        con.execute("SET TimeZone = 'UTC'")
        con.execute("SET enable_progress_bar = false")
        con.register("first", pa.ipc.open_file(one).read_all())
        con.register("second", pa.ipc.open_file(two).read_all())
        types = types_in_duckdb(con, schema)
        columns = ", ".join(
            f"CAST({quote(name)} AS {kind}) AS {quote(name)}"
            for name, kind in zip(schema.names, types, strict=True)
        )
        missing, some_missing = _except(con, columns, "first", "second")
        added, some_added = _except(con, columns, "second", "first")
    return Differences(missing, added, some_missing, some_added)


def _except(
    con: duckdb.DuckDBPyConnection, columns: str, left: str, right: str
) -> tuple[int, list[dict[str, Any]]]:
    lacking = f"SELECT {columns} FROM {left} EXCEPT ALL SELECT {columns} FROM {right}"  # noqa: S608 - names are quoted
    con.execute(f"CREATE OR REPLACE TEMP TABLE lacking AS {lacking}")
    [(count,)] = con.execute("SELECT count(*) FROM lacking").fetchall()
    con.execute("SELECT * FROM lacking ORDER BY ALL")
    names = [one[0] for one in con.description or ()]
    return int(count), [dict(zip(names, row, strict=True)) for row in con.fetchmany(_SHOWN)]


def condition_for(row: Mapping[str, Any], schema: pa.Schema) -> pc.Expression | None:
    """A condition that a row meets; None where it has no column that could be compared."""
    found: pc.Expression | None = None
    for field in schema:
        kind = field.type
        if pa.types.is_nested(kind) or pa.types.is_floating(kind):
            continue
        value, column = row[field.name], pc.field(field.name)
        one = column.is_null() if value is None else column == pa.scalar(value, kind)
        found = one if found is None else found & one
    return found
