"""What Spark's SQL has no word for, done by Iceberg's own Java API in the JVM of a Spark session.

Values reach Java as JSON in Iceberg's single-value form, which its own parser turns into records:
Py4J would make an `Integer` of every number that fits.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Rows = Sequence[Mapping[str, Any]]


def load(session: Any, name: str) -> Any:
    """Iceberg's `Table` of a name that Spark knows."""
    return _iceberg(session).spark.Spark3Util.loadIcebergTable(session._jsparkSession, name)


def equality_delete(
    session: Any,
    name: str,
    *,
    by: Sequence[str],
    rows: Rows,
    partition: Mapping[str, Any] | None = None,
    added: Rows = (),
    more: Sequence[str] = (),
    format: str = "parquet",  # noqa: A002 - Iceberg's word
    unpartitioned: bool = False,
) -> None:
    """Commit one equality delete file, and rows in a data file beside it.

    `by` are the columns that decide, `more` others that the delete file holds; the partition is by
    the names of the spec's fields. `unpartitioned` is under the table's unpartitioned spec, where
    it has a newer one.
    """
    table = load(session, name)
    spec = table.specs().get(0) if unpartitioned else table.spec()
    files = Files(session, table, spec, format, partition)
    delta = table.newRowDelta().addDeletes(files.equality(by, more, rows))
    if added:
        delta = delta.addRows(files.data(added))
    delta.commit()


def position_delete(
    session: Any,
    name: str,
    *,
    where: str,
    partition: Mapping[str, Any] | None = None,
    format: str = "parquet",  # noqa: A002 - Iceberg's word
    beyond: bool = False,
) -> None:
    """Commit one position delete file for the rows of a condition, last rows first, each twice.

    `beyond` also deletes a row that no data file has, and one of a file that is not there.
    """
    table = load(session, name)
    places = session.sql(f"SELECT _file, _pos FROM {name} WHERE {where}").collect()  # noqa: S608
    pairs = sorted([(row[0], row[1]) for row in places], reverse=True)
    if beyond:
        pairs += [(pairs[0][0], 5_000_000_000), (f"{pairs[0][0]}.gone", 0)]
    files = Files(session, table, table.spec(), format, partition)
    table.newRowDelta().addDeletes(files.positions([*pairs, *pairs])).commit()


def add_column(
    session: Any,
    name: str,
    *,
    column: str,
    type: str,  # noqa: A002 - Iceberg's word
    default: Any,
    parent: str | None = None,
) -> None:
    """Add a column whose value in older rows is a default (version 3).

    Types and paths are as Iceberg spells them: `parent` is the struct it lies in, with `element`,
    `key` and `value` in lists and maps.
    """
    table, iceberg = load(session, name), _iceberg(session)
    kind = iceberg.types.Types.fromPrimitiveString(type)
    literal = iceberg.expressions.Expressions.lit(default).to(kind)
    change = table.updateSchema()
    if parent is None:
        change.addColumn(column, kind, literal).commit()
    else:
        change.addColumn(parent, column, kind, literal).commit()


OPERATIONS: Mapping[str, Callable[..., None]] = {
    "equality-delete": equality_delete,
    "position-delete": position_delete,
    "add-column": add_column,
}


class Files:
    """Makes files of one partition of a table of Iceberg, by the names of the spec's fields."""

    def __init__(
        self, session: Any, table: Any, spec: Any, format_: str, partition: Mapping[str, Any] | None
    ) -> None:
        self._session = session
        self._iceberg = _iceberg(session)
        self._table = table
        self._spec = spec
        self._format = self._iceberg.FileFormat.fromString(format_)
        kind = spec.partitionType()
        self._partition = None if partition is None else self._record(kind, partition)

    def equality(self, by: Sequence[str], more: Sequence[str], rows: Rows) -> Any:
        """A file that deletes the keys of some rows."""
        schema, writer = self._equality_writer(by, more)
        for row in rows:
            writer.write(self._record(schema.asStruct(), row))
        writer.close()
        return writer.toDeleteFile()

    def equality_of(self, by: Sequence[str], rows: Any) -> Any:
        """A file that deletes the keys of all rows of another table with the same fields."""
        schema, writer = self._equality_writer(by, ())
        records = self._iceberg.data.IcebergGenerics.read(rows).project(schema).build()
        _write_all(self._session, writer, records)
        records.close()
        writer.close()
        return writer.toDeleteFile()

    def _equality_writer(self, by: Sequence[str], more: Sequence[str]) -> tuple[Any, Any]:
        """The columns of such a file, and what writes it."""
        names = self._session._jvm.java.util.ArrayList()
        for name in (*by, *more):
            names.add(name)
        schema = self._table.schema().select(names)
        ids = self._session.sparkContext._gateway.new_array(self._session._jvm.int, len(by))
        for i, name in enumerate(by):
            ids[i] = schema.findField(name).fieldId()
        writer = self._factory(ids, schema).newEqDeleteWriter(
            self._output("deletes"), self._format, self._partition
        )
        return schema, writer

    def data(self, rows: Rows) -> Any:
        """A data file."""
        writer = self._factory().newDataWriter(self._output("rows"), self._format, self._partition)
        for row in rows:
            writer.write(self._record(self._table.schema().asStruct(), row))
        writer.close()
        return writer.toDataFile()

    def positions(self, pairs: Sequence[tuple[str, int]]) -> Any:
        """A file that deletes rows by file and position."""
        writer = self._factory().newPosDeleteWriter(
            self._output("deletes"), self._format, self._partition
        )
        for path, at in pairs:
            # Iceberg's own number type: Py4J picks a method by it.
            writer.write(self._iceberg.deletes.PositionDelete.create().set(path, at, None))
        writer.close()
        return writer.toDeleteFile()

    def _factory(self, ids: Any = None, schema: Any = None) -> Any:
        make = self._iceberg.data.GenericAppenderFactory
        factory = make(self._table.schema(), self._spec, ids, schema, None)
        return factory.setAll(self._table.properties())

    def _output(self, word: str) -> Any:
        name = f"{word}-{self._session._jvm.java.util.UUID.randomUUID().toString()}"
        path = self._table.locationProvider().newDataLocation(self._format.addExtension(name))
        file = self._table.io().newOutputFile(path)
        return self._iceberg.encryption.EncryptedFiles.plainAsEncryptedOutput(file)

    def _record(self, kind: Any, row: Mapping[str, Any]) -> Any:
        """A record of Iceberg's, from values as TOML spells them."""
        stated, times = {}, {}
        for name, value in row.items():
            if isinstance(value, dt.date):
                times[name] = value
            else:
                stated[str(kind.field(name).fieldId())] = _single(kind.field(name).type(), value)
        record = self._iceberg.SingleValueParser.fromJson(kind, json.dumps(stated))
        for name, value in times.items():
            record.setField(name, self._time(value))
        return record

    def _time(self, value: dt.date) -> Any:
        time = self._session._jvm.java.time
        if not isinstance(value, dt.datetime):
            return time.LocalDate.parse(value.isoformat())
        kind = time.OffsetDateTime if value.tzinfo else time.LocalDateTime
        return kind.parse(value.isoformat())


def _write_all(session: Any, writer: Any, records: Any) -> None:
    """Write what an iterable of Java's has; Py4J takes the overload for one row, so it is named."""
    lang, gateway = session._jvm.java.lang, session.sparkContext._gateway
    kinds = gateway.new_array(lang.Class, 1)
    kinds[0] = lang.Class.forName("java.lang.Iterable")
    arguments = gateway.new_array(lang.Object, 1)
    arguments[0] = records
    writer.getClass().getMethod("write", kinds).invoke(writer, arguments)


def _single(kind: Any, value: Any) -> Any:
    """A value in Iceberg's single-value JSON: fields of structs by their ids."""
    if isinstance(value, Mapping):
        fields = {name: kind.asStructType().field(name) for name in value}
        return {
            str(fields[name].fieldId()): _single(fields[name].type(), inner)
            for name, inner in value.items()
        }
    return value


def _iceberg(session: Any) -> Any:
    return session._jvm.org.apache.iceberg
