"""Paimon's own core in a JVM of the process: it plans and reads a table, and writes one.

Rows that are read cross in off-heap tables, as behind a JNI connector, so times have a conversion
in them that a program in Java does not need. Values that are written cross each by itself.
"""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seambench.contracts.common import Kind
from seambench.contracts.peers.catalogue import stated
from seambench.contracts.peers.environments import version_inside
from seambench.contracts.scan import Scanner, ScanRequest
from seambench.contracts.table_writer import WriterStep
from seambench_impl.jni.paimon import FETCH_SIZE, SCANNER, VERSIONS, paimon_loader
from seambench_impl.peers import XFAILS
from seambench_impl.peers.peer_scan import PeerScan, check_request, select_columns
from seambench_impl.peers.peer_writer import PeerWriter
from seamkit.core.memory import TrackedAllocator
from seamkit.jvm.machine import java_failure
from seamkit.offheap.connector.parameters import join_names
from seamkit.offheap.engine.schema import EngineSchema
from seamkit.offheap.jni.scanner import JniScanner
from seamkit.tables.paimon.metadata.schemas import parse_fields

#: The end of the year 9999, in milliseconds.
_FOREVER = 253_402_300_799_000


def check_paimon_request(reader: Scanner, request: ScanRequest) -> None:
    """Hold a request to what a reader of Paimon tables offers; nothing is opened."""
    check_request(reader, request)
    if request.changes_alone or request.row_kinds:
        raise RefusedError(f"{reader.name} hands out neither changes alone nor their kinds")


def paimon_options(request: ScanRequest) -> dict[str, str]:
    """The options of a table by which Paimon reads what a request means."""
    if request.query == "incremental":
        if request.as_of is not None:
            raise UsageError("a query incremental has begin and end, not as_of")
        return _between(request)
    if request.begin is not None or request.end is not None:
        raise UsageError(f"a query {request.query} has neither begin nor end")
    point = request.as_of
    if point is None:
        return {}
    if point.isascii() and point.isdigit():
        return {"scan.snapshot-id": point}
    millis = _millis(point)
    return {"scan.tag-name": point} if millis is None else {"scan.timestamp-millis": millis}


def _between(request: ScanRequest) -> dict[str, str]:
    """The options for a window: two times, or two snapshots or tags."""
    begin, end = request.begin, request.end
    times = [None if point is None else _millis(point) for point in (begin, end)]
    if any(times):
        if any(given and not time for given, time in zip((begin, end), times, strict=True)):
            raise RefusedError(f"{begin} to {end}: Paimon takes two times or none")
        return {"incremental-between-timestamp": f"{times[0] or 0},{times[1] or _FOREVER}"}
    last = _newest(Path(request.table)) if end is None else end
    return {"incremental-between": f"{begin or 0},{last}"}


def _newest(table: Path) -> int:
    """Number of the newest snapshot; 0 if nothing was ever written."""
    names = (path.name.removeprefix("snapshot-") for path in table.glob("snapshot/snapshot-*"))
    return max((int(name) for name in names if name.isdigit()), default=0)


def _millis(point: str) -> str | None:
    """Milliseconds since 1970 of a time in ISO 8601, as a text; None for anything else."""
    if point.isascii() and point.isdigit():
        return None
    try:
        moment = dt.datetime.fromisoformat(point)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return str(int(moment.timestamp() * 1000))


_MAIN = ""


class PaimonCoreReader:
    """The main branch of a table by `org.apache.paimon:paimon-bundle`, split after split."""

    name = "paimon-java"
    #: What conformance is known to find in it.
    xfails = XFAILS / "paimon-java.toml"
    kind: Kind = "peer"

    def __init__(self) -> None:
        self.version = version_inside(self.name) or VERSIONS[0]
        self.capabilities: Mapping[str, bool] = stated("scan", self.name, self.version)
        self._loader = paimon_loader(self.version)

    def open(self, request: ScanRequest) -> PeerScan:
        """Let the core plan the read."""
        check_paimon_request(self, request)
        if "://" in request.table or request.storage_options:
            raise RefusedError(f"{request.table}: {self.name} is given local folders here")
        plan, declared = self._planned(request)
        fields = parse_fields(declared["fields"], f"{request.table}: the core's schema")
        whole = pa.schema([pa.field(own.name, own.type) for own in fields])

        def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
            # Without columns one is enough to count rows.
            schema = select_columns(whole, names or whole.names[:1])
            for number in range(plan.size()):
                yield from self._read(plan, number, schema, request)

        return PeerScan(self, request, select_columns(whole, request.columns), batches)

    def _planned(self, request: ScanRequest) -> tuple[Any, dict[str, Any]]:
        classes = self._loader.classes
        texts = classes.jpype.JArray(classes.jpype.JString)
        path = str(Path(request.table).absolute())
        with classes.inside():
            try:
                plans = classes.java_class("seambench.paimon.PaimonPlan")
                options = paimon_options(request)
                given = texts([text for pair in options.items() for text in pair])
                optimized = request.query == "read-optimized"
                plan = plans(path, _MAIN, given, request.as_of is not None, optimized)
                return plan, json.loads(str(plan.schema()))
            except classes.jpype.JException as error:
                raise self._failed(request, error) from error

    def _read(
        self, plan: Any, number: int, schema: pa.Schema, request: ScanRequest
    ) -> Iterator[pa.RecordBatch]:
        classes = self._loader.classes
        with classes.inside():
            try:
                table, split = str(plan.table()), str(plan.split(number))
            except classes.jpype.JException as error:
                raise self._failed(request, error) from error
        parameters = {
            "native_table": table,
            "split_info": split,
            "required_fields": join_names(schema.names),
            "retracts": "drop",
        }
        rows, allocator = min(request.batch_rows or FETCH_SIZE, FETCH_SIZE), TrackedAllocator()
        with JniScanner(self._loader, SCANNER, rows, parameters, allocator) as scanner:
            scanner.open()
            yield from scanner.batches(EngineSchema(schema, scanner.schema().types))

    def _failed(self, request: ScanRequest, error: BaseException) -> InputError:
        return InputError(f"{self.name}: {request.table}: {java_failure(error)}")


#: Methods of Paimon's `PredicateBuilder` for tests, and of its `DataTypes` for types without parts.
_TESTS: Mapping[str, str] = {
    "=": "equal",
    "<>": "notEqual",
    "<": "lessThan",
    "<=": "lessOrEqual",
    ">": "greaterThan",
    ">=": "greaterOrEqual",
}
_PLAIN: Mapping[pa.DataType, str] = {
    pa.bool_(): "BOOLEAN",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.binary(): "BYTES",
    pa.date32(): "DATE",
}
_BOXES: Mapping[pa.DataType, str] = {
    pa.bool_(): "Boolean",
    pa.int32(): "Integer",
    pa.int64(): "Long",
    pa.float32(): "Float",
    pa.float64(): "Double",
}


class PaimonCoreWriter(PeerWriter):
    """The core as a writer of tables in folders, without a catalog.

    A delete and an update are rows that are read, and written with their kind.
    """

    name, package, extra = "paimon-java", "jpype1", "jvm"
    format = "paimon"
    more = ("keys", "partitions")

    def released(self) -> str:
        """Its version, where there is what a JVM is started by."""
        super().released()
        return VERSIONS[0]

    @cached_property
    def _core(self) -> _Core:
        return _Core(paimon_loader(self.version).classes)

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does; rows of tables with keys are replaced by key."""
        return {
            "create": self._create,
            "open": self._take_up,
            "append": self._append,
            "upsert": self._append,
            "overwrite": self._append,
            "delete": self._change,
            "update": self._change,
            "compact": self._compact,
            "tag": lambda step: self._core.table(step.table).createTag(step.name),
            **dict.fromkeys(_EVOLVED, self._evolve),
        }

    def step(self, step: WriterStep) -> None:
        """See `seambench.contracts.table_writer.TableWriter`."""
        try:
            with self._core.classes.inside():
                self.steps()[step.do](step)
        except self._core.classes.jpype.JException as error:
            raise RefusedError(f"{self.name}: {java_failure(error)}") from error

    def _create(self, step: WriterStep) -> None:
        schema = self._core.java("schema.Schema").newBuilder()
        for field in step.rows.schema:
            schema.column(field.name, self._core.type_of(field.type))
        keys = dict.fromkeys((*step.partitions, *step.keys)) if step.keys else ()
        options = ({"bucket": "2"} if step.keys else {}) | dict(step.properties)
        schema.partitionKeys(self._core.classes.list(step.partitions))
        schema.primaryKey(self._core.classes.list(keys))
        for option in options.items():
            schema.option(*option)
        self._core.schemas(step.table).createTable(schema.build())

    def _take_up(self, step: WriterStep) -> None:
        self.taken_up = self._core.table(step.table)

    def _append(self, step: WriterStep) -> None:
        with self._writing(step) as (_, write):
            for row in self._core.rows(step.rows):
                write.write(row)

    def _change(self, step: WriterStep) -> None:
        """Delete rows, or write them with new values."""
        with self._writing(step) as (table, write):
            keys = {str(key) for key in table.primaryKeys()}
            if not keys:
                raise RefusedError(f"{self.name}: a table without keys takes no {step.do}")
            if changed := keys & {*step.assign}:
                raise RefusedError(f"{self.name}: the key {min(changed)} cannot change")
            schema = step.rows.schema
            new = {
                schema.get_field_index(name): self._core.value(value, schema.field(name).type)
                for name, value in step.assign.items()
            }
            for row in self._core.met(table, step):
                if step.do == "delete":
                    row.setRowKind(self._core.java("types.RowKind").DELETE)
                    write.write(row)
                else:
                    write.write(self._core.changed(row, table.rowType(), new))

    def _compact(self, step: WriterStep) -> None:
        with self._writing(step) as (table, write):
            if not table.primaryKeys():
                raise RefusedError(f"{self.name}: without keys a job of an engine compacts")
            for entry in table.newSnapshotReader().bucketEntries():
                write.compact(entry.partition(), entry.bucket(), True)

    @contextmanager
    def _writing(self, step: WriterStep) -> Iterator[tuple[Any, Any]]:
        """A table and what writes it; what was written is committed, unless it fails."""
        # By itself an overwrite takes the rows of those partitions alone that new rows are in.
        options = self._core.jclass("java.util.HashMap")({"dynamic-partition-overwrite": "false"})
        table = self.state(lambda: self._core.table(step.table)).copy(options)
        builder = table.newBatchWriteBuilder()
        builder = builder.withOverwrite() if step.do == "overwrite" else builder
        with (
            tempfile.TemporaryDirectory(prefix="seambench-") as spilled,
            closing(builder.newWrite()) as write,
            closing(builder.newCommit()) as commit,
        ):
            write.withIOManager(self._core.java("disk.IOManager").create(spilled))
            yield table, write
            commit.commit(write.prepareCommit())

    def _evolve(self, step: WriterStep) -> None:
        changes = self._core.java("schema.SchemaChange")
        change = _EVOLVED[step.do](changes, step, self._core)
        self._core.schemas(step.table).commitChanges(self._core.classes.list([change]))


#: Changes of columns, by the step: of Paimon's `SchemaChange`, the step and the core.
_EVOLVED: Mapping[str, Callable[[Any, WriterStep, _Core], Any]] = {
    "add-column": lambda changes, step, core: changes.addColumn(
        step.column, core.type_of(step.type)
    ),
    "drop-column": lambda changes, step, _: changes.dropColumn(step.column),
    "rename-column": lambda changes, step, _: changes.renameColumn(step.column, step.to),
    "widen-column": lambda changes, step, core: changes.updateColumnType(
        step.column, core.type_of(step.type)
    ),
}


class _Core:
    """Paimon's classes, and values as they want them."""

    def __init__(self, classes: Any) -> None:
        self.classes = classes
        self.jclass = classes.jpype.JClass

    def java(self, name: str) -> Any:
        """A class of Paimon's."""
        return self.classes.java_class(f"org.apache.paimon.{name}")

    def _folder(self, table: Path) -> tuple[Any, Any]:
        files = self.java("fs.local.LocalFileIO").create()
        return files, self.java("fs.Path")(str(table.absolute()))

    def schemas(self, table: Path) -> Any:
        """The schemas of the table in a folder."""
        return self.java("schema.SchemaManager")(*self._folder(table))

    def table(self, table: Path) -> Any:
        """The table in a folder, as it is now."""
        return self.java("table.FileStoreTableFactory").create(*self._folder(table))

    def type_of(self, kind: Any) -> Any:
        """Paimon's type for one of Arrow's."""
        types = self.java("types.DataTypes")
        if pa.types.is_decimal(kind):
            return types.DECIMAL(kind.precision, kind.scale)
        if pa.types.is_timestamp(kind):
            return (
                types.TIMESTAMP(6) if kind.tz is None else types.TIMESTAMP_WITH_LOCAL_TIME_ZONE(6)
            )
        if pa.types.is_map(kind):
            return types.MAP(self.type_of(kind.key_type), self.type_of(kind.item_type))
        if pa.types.is_list(kind):
            return types.ARRAY(self.type_of(kind.value_type))
        if pa.types.is_struct(kind):
            field = self.java("types.DataField")
            fields = [field(n, one.name, self.type_of(one.type)) for n, one in enumerate(kind)]
            return self.java("types.RowType")(self.classes.list(fields))
        return getattr(types, _PLAIN[kind])()

    def rows(self, rows: pa.Table) -> Iterator[Any]:
        """Rows as Paimon's."""
        whole = pa.struct(rows.schema)
        for row in rows.to_pylist(maps_as_pydicts="strict"):
            yield self.value(row, whole)

    def value(self, value: Any, kind: Any) -> Any:
        """A value as Paimon holds it: an object."""
        if value is None:
            return None
        if pa.types.is_struct(kind):
            row = self.java("data.GenericRow")(len(kind))
            for at, field in enumerate(kind):
                row.setField(at, self.value(value[field.name], field.type))
            return row
        if pa.types.is_map(kind):
            held = self.jclass("java.util.LinkedHashMap")()
            for key, item in value.items():
                held.put(self.value(key, kind.key_type), self.value(item, kind.item_type))
            return self.java("data.GenericMap")(held)
        if pa.types.is_list(kind):
            items = [self.value(item, kind.value_type) for item in value]
            jpype = self.classes.jpype
            return self.java("data.GenericArray")(jpype.JArray(jpype.JObject)(items))
        return self._flat(value, kind)

    def _flat(self, value: Any, kind: pa.DataType) -> Any:
        if pa.types.is_string(kind):
            return self.java("data.BinaryString").fromString(value)
        if pa.types.is_binary(kind):
            return self.classes.jpype.JArray(self.classes.jpype.JByte)(value)
        if pa.types.is_decimal(kind):
            exact = self.jclass("java.math.BigDecimal")(str(value))
            return self.java("data.Decimal").fromBigDecimal(exact, kind.precision, kind.scale)
        if pa.types.is_date(kind):
            return self._boxed("Integer", pa.scalar(value, kind).value)
        if pa.types.is_timestamp(kind):
            return self.java("data.Timestamp").fromMicros(pa.scalar(value, kind).value)
        return self._boxed(_BOXES[kind], value)

    def _boxed(self, name: str, value: Any) -> Any:
        return self.jclass(f"java.lang.{name}")(value)

    def met(self, table: Any, step: WriterStep) -> Iterator[Any]:
        """The rows of a table that meet a step's tests."""
        builder = table.newReadBuilder()
        predicates = self.java("predicate.PredicateBuilder")
        tests = predicates(table.rowType())
        schema = step.rows.schema
        for column, how, value in step.where:
            at, kind = tests.indexOf(column), schema.field(column).type
            if how == "null":
                builder.withFilter(tests.isNull(at))
            elif how == "in":
                values = self.classes.list(self.value(one, kind) for one in value)
                builder.withFilter(tests.in_(at, values))  # JPype's name of `in`
            else:
                builder.withFilter(getattr(tests, _TESTS[how])(at, self.value(value, kind)))
        read = builder.newRead().executeFilter()
        with closing(read.createReader(builder.newScan().plan()).toCloseableIterator()) as rows:
            yield from rows

    def changed(self, row: Any, kind: Any, new: Mapping[int, Any]) -> Any:
        """A row with new values at some places."""
        rows, fields = self.java("data.InternalRow"), kind.getFieldTypes()
        changed = self.java("data.GenericRow")(fields.size())
        for at, one in enumerate(fields):
            old = rows.createFieldGetter(one, at).getFieldOrNull(row)
            changed.setField(at, new.get(at, old))
        return changed
