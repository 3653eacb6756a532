"""Filters typed as text, one DuckDB expression over a table's columns; and columns by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seambase.extras import needs
from seambase.wording import no_column

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Filter:
    """A filter that binds.

    Attributes:
        sql: the expression in parentheses.
        columns: names of the columns it reads.
    """

    sql: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"DuckDB: {self._shown}"

    @property
    def _shown(self) -> str:
        """The expression as it was given: without the line break before the last parenthesis."""
        return f"{self.sql[:-1].rstrip()})"

    def keep(self, batch: pa.RecordBatch) -> pa.Array:
        """For each row whether the filter is true; NULL where that is not known.

        Raises:
            UsageError: it fails on a value.
        """
        with self.test() as keep:
            return keep(batch)

    @contextmanager
    def test(self) -> Iterator[Callable[[pa.RecordBatch], pa.Array]]:
        """`keep` for many batches, one at a time: to connect takes longer than to test a batch."""
        duckdb = _duckdb()
        query = f"SELECT {self.sql} AS keep FROM rows"  # noqa: S608 - bound and checked

        def keep(batch: pa.RecordBatch) -> pa.Array:
            # A condition that names no column still has a row to be true of.
            rows = batch.select(self.columns) if self.columns else _rows_alone(batch.num_rows)
            connection.register("rows", rows)
            try:
                found = connection.sql(query).to_arrow_table().column("keep")
            except duckdb.Error as error:
                raise UsageError(
                    f"the filter {self._shown} fails on a row: {_first_line(error)}"
                ) from error
            finally:
                connection.unregister("rows")
            return found.combine_chunks()

        with filter_engine() as connection:
            yield keep


@contextmanager
def filter_engine() -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB for conditions: a time without a zone is one of UTC, wherever the machine is."""
    with _duckdb().connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def require_columns(names: Sequence[str], known: Sequence[str], what: str) -> None:
    """Check that columns exist, case-sensitively; close names are suggested."""
    for name in names:
        if name not in known:
            raise UsageError(f"{what}: {no_column(name, known)}")


def require_c_names(schema: pa.Schema) -> None:
    """Check that engines see the names of all columns: they take them as C's strings."""
    for name in schema.names:
        if "\0" in name:
            raise RefusedError(
                f"column {name!r}: engines would see a name that ends at its NUL; leave the column "
                "out, or read with to_table() or to_reader()"
            )


def fields_alike(kind: pa.DataType) -> tuple[str, str] | None:
    """Two fields of a struct, at any depth of a type, whose names differ in case alone."""
    fields = [kind.field(n) for n in range(kind.num_fields)] if pa.types.is_nested(kind) else []
    names: dict[str, str] = {}
    for field in fields:
        if (other := names.setdefault(field.name.lower(), field.name)) != field.name:
            return other, field.name
    return next(filter(None, (fields_alike(field.type) for field in fields)), None)


def _rows_alone(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(rows, pa.int8())], ["nothing"])


def _duckdb() -> ModuleType:
    with needs("duckdb", "a filter in SQL"):
        import duckdb
    return duckdb


def parse_filter(
    text: str,
    schema: pa.Schema,
    what: str = "--filter",
    connection: duckdb.DuckDBPyConnection | None = None,
) -> Filter:
    """Read one SQL expression of DuckDB and bind it to a table's columns.

    `what` is where it was given, for messages. A connection of `filter_engine` saves time: to
    connect takes longer than to read a condition. What is no single expression, reads anything but
    the columns, or is no condition is refused.
    """
    duckdb = _duckdb()
    try:
        # Tells an expression from a list of them, and from one that breaks out of parentheses.
        duckdb.SQLExpression(text)
    except duckdb.Error as error:
        raise UsageError(f"{what} {text!r}: {_first_line(error)}") from error
    # The line break ends a comment that the text may end with.
    sql = f"({text}\n)"
    with filter_engine() if connection is None else nullcontext(connection) as con:
        columns = _columns(con, f"{what} {text!r}", sql, schema)
        empty = pa.Table.from_batches([], schema)
        con.register("rows", empty)
        try:
            kinds = con.sql(f"SELECT {sql} AS condition FROM rows").types  # noqa: S608 - that is what a filter is
            con.execute(f"SELECT 1 FROM rows WHERE {sql}").fetchall()  # noqa: S608 - as above
        except duckdb.Error as error:
            raise UsageError(f"{what} {text!r}: {_first_line(error)}") from error
        finally:
            con.unregister("rows")
    _require_apart(f"{what} {text!r}", columns, schema)
    if [str(kind) for kind in kinds] != ["BOOLEAN"]:
        given = ", ".join(map(str, kinds))
        raise UsageError(f"{what} {text!r} is no condition, true or false: it gives {given}")
    return Filter(sql, columns)


def _require_apart(where: str, columns: Sequence[str], schema: pa.Schema) -> None:
    """DuckDB takes names that differ only in case for one: the filter could read the wrong one."""
    for name in columns:
        if pair := fields_alike(schema.field(name).type):
            raise UsageError(
                f"{where}: the fields {pair[0]!r} and {pair[1]!r} in column {name!r} differ only "
                "in case, which DuckDB does not tell apart"
            )
        for other in schema.names:
            if other != name and other.lower() == name.lower():
                raise UsageError(
                    f"{where}: the columns {name!r} and {other!r} differ only in case, "
                    "which DuckDB does not tell apart"
                )


def _columns(
    con: duckdb.DuckDBPyConnection, where: str, sql: str, schema: pa.Schema
) -> tuple[str, ...]:
    [(serialized,)] = con.execute(
        "SELECT json_serialize_sql(?)",
        [f"SELECT 1 FROM rows WHERE {sql}"],  # noqa: S608 - parsed, not run
    ).fetchall()
    tree = json.loads(serialized)
    if tree.get("error"):
        raise UsageError(f"{where}: {tree.get('error_message', 'no expression')}")
    nodes = list(_nodes(tree))
    classes = {node.get("class") for node in nodes}
    for kind, word in (
        ("SUBQUERY", "a query"),
        ("PARAMETER", "a parameter"),
        ("STAR", "a pattern of columns"),
    ):
        if kind in classes:
            raise UsageError(f"{where} holds {word}: only the table's columns can be named")
    names = [node["column_names"][0] for node in nodes if node.get("class") == "COLUMN_REF"]
    # A lambda names its own parameters, which only DuckDB's binder can tell from columns.
    if "LAMBDA" not in classes:
        require_columns(names, schema.names, where)
    return tuple(dict.fromkeys(name for name in names if name in schema.names))


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from _nodes(part)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
