"""A digest of rows that does not depend on their order: equal rows, equal digest.

The value is `duckdb2:COUNT:SUM:XOR`: the number of rows, then the sum modulo 2^64 and the exclusive
or of DuckDB's `hash()` over each row, as 16 hexadecimal digits each. NULLs, repeated rows and the
order of the columns matter; the order of the rows and how Arrow encodes a column do not. DuckDB
promises no release the `hash()` of another, so a release is asked for that of values of every kind
(`_WITNESS_SQL`), and refused where it differs: its digests would match nothing on record.

Equal digests say nothing about types: `1` as int and as bigint hash alike. Types are checked
separately by `seambench.records.compare.schema_difference`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import duckdb
import pyarrow as pa

from seambase.errors import RefusedError, UsageError

_PREFIX = "duckdb2"
# Every kind of value that answers have, short and long texts, NULL by kind, and how hashes combine.
# The value is that of DuckDB 1.5.2, 2.0.0 and 2.0.1.
_WITNESS_SQL = """SELECT hash(
true, -7::TINYINT, 7::SMALLINT, 42::INTEGER, -42::BIGINT, 1::UTINYINT, 2::USMALLINT, 3::UINTEGER,
4::UBIGINT, 5::HUGEINT, 0.5::FLOAT, -0.25::DOUBLE, '-0'::DOUBLE, 'nan'::DOUBLE, 1.5::DECIMAL(4,2),
1.5::DECIMAL(9,2), 1.5::DECIMAL(15,2), 1.5::DECIMAL(38,2), 'short', 'longer than twelve bytes',
'bytes'::BLOB, DATE '2024-02-29', TIME '01:02:03', TIMESTAMP '2024-02-29 01:02:03.000004',
TIMESTAMP_NS '2024-02-29 01:02:03.000000004', '2024-02-29 01:02:03+00'::TIMESTAMPTZ,
INTERVAL 1 MONTH, UUID '00000000-0000-0000-0000-00000000002a', [1, NULL, 3], [[1], []],
{'a': 1, 'b': 'x'}, MAP {'k': 1}, NULL::DATE, NULL::VARCHAR, NULL::INTEGER[])"""
_WITNESS = 9069163607409248532
_state = threading.local()


def quote(name: str) -> str:
    """A column or table name as a SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def rows_of(digest: str) -> int:
    """Number of rows that a digest stands for."""
    parts = digest.split(":")
    if len(parts) != 4 or parts[0] != _PREFIX:
        raise UsageError(f"{digest!r} is no digest of the form {_PREFIX}:COUNT:SUM:XOR")
    return int(parts[1])


def union(digests: Iterable[str]) -> str:
    """Digest of all rows that some digests stand for, each as often as it is there."""
    count = total = mixed = 0
    for digest in digests:
        count += rows_of(digest)
        total += int(digest.split(":")[2], 16)
        mixed ^= int(digest.split(":")[3], 16)
    return f"{_PREFIX}:{count}:{total % 2**64:016x}:{mixed:016x}"


def digest_table(
    con: duckdb.DuckDBPyConnection, relation: str, schema: pa.Schema | None = None
) -> str:
    """Digest of a table, view or query in parentheses that `con` can read.

    Nothing is created in it. The schema has names and types to cast to, in the order that is
    hashed, by default the relation's own; columns that it does not name are left out.
    """
    _require_hash_on_record(con)
    if schema is None:
        columns = [quote(name) for name in _column_names(con, relation)]
    else:
        columns = _casts(con, relation, schema)
    # A relation without columns still has a number of rows.
    hashed = f"hash({', '.join(columns)})" if columns else "hash(0)"
    [row] = con.execute(
        "SELECT count(*), coalesce(sum(h), 0), coalesce(bit_xor(h), 0) "  # noqa: S608 - names are quoted
        f"FROM (SELECT {hashed} AS h FROM {relation} AS source)"
    ).fetchall()
    count, total, mixed = (int(value) for value in row)
    return f"{_PREFIX}:{count}:{total % 2**64:016x}:{mixed:016x}"


def digest_reader(
    rows: pa.RecordBatchReader | pa.Table | pa.RecordBatch, schema: pa.Schema | None = None
) -> str:
    """Digest of a stream or table of Arrow batches; a stream is drained, one batch at a time.

    Strings may come as string, large string, view or dictionary. The schema has names and types to
    cast to, in the order that is hashed.
    """
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        con.execute("SET enable_progress_bar = false")
        if not rows.schema.names:
            return _digest_of_no_columns(con, rows)
        con.register("rows", rows)
        try:
            return digest_table(con, "rows", rows.schema if schema is None else schema)
        finally:
            con.unregister("rows")


def _digest_of_no_columns(
    con: duckdb.DuckDBPyConnection, rows: pa.RecordBatchReader | pa.Table
) -> str:
    """DuckDB cannot read an Arrow table without columns, yet such a table has rows."""
    count = rows.num_rows if isinstance(rows, pa.Table) else sum(batch.num_rows for batch in rows)
    each = int(con.execute("SELECT hash(0)").fetchall()[0][0])
    mixed = each if count % 2 else 0
    return f"{_PREFIX}:{count}:{each * count % 2**64:016x}:{mixed:016x}"


def _casts(con: duckdb.DuckDBPyConnection, relation: str, schema: pa.Schema) -> list[str]:
    """One cast per column of `schema`; a stream is not touched by asking for its columns."""
    present = set(_column_names(con, relation))
    missing = [name for name in schema.names if name not in present]
    if missing:
        raise UsageError(
            f"digest: column {missing[0]!r} is not among the columns {sorted(present)} of the rows"
        )
    types = types_in_duckdb(con, schema) if schema.names else []
    return [
        f"CAST(source.{quote(name)} AS {kind})"
        for name, kind in zip(schema.names, types, strict=True)
    ]


def types_in_duckdb(con: duckdb.DuckDBPyConnection, schema: pa.Schema) -> list[Any]:
    """The types that DuckDB gives to columns of Arrow."""
    # Not of `empty_table`, which knows no types of extensions.
    return con.from_arrow(pa.Table.from_batches([], schema)).types


def _column_names(con: duckdb.DuckDBPyConnection, relation: str) -> list[str]:
    described = con.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()  # noqa: S608 - the caller's own relation
    return [str(row[0]) for row in described]


def _require_hash_on_record(con: duckdb.DuckDBPyConnection) -> None:
    """Refuse a DuckDB whose `hash()` differs: its digests would match nothing on record."""
    if getattr(_state, "checked", False):
        return
    if int(con.execute(_WITNESS_SQL).fetchall()[0][0]) != _WITNESS:
        raise RefusedError(
            f"DuckDB {duckdb.__version__} hashes rows differently from 2.0.0, by which digests are "
            "on record; install duckdb==2.0.0 to compute digests"
        )
    _state.checked = True
