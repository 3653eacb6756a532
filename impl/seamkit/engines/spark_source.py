"""A scan as a DataFrame of Spark, and as a data source into which queries push columns and filters.

Spark 3.5 has no data sources in Python, so a few classes of Java stand between. They are compiled
in the driver by Janino, which is among Spark's jars, and go to the executors as a jar. A task
starts a worker of Python as it does for any function, and asks it for some parts. Where a part has
a file of which most rows stay as they are, the worker says which are gone; Spark's own reader reads
the others, with the columns and filters of the query. All other rows come from the worker, as
Arrow vectors.

Spark applies every filter again, so a condition may keep rows that the filter would not, never the
other way round. Comparisons are taken over where Spark and Arrow order values alike: whole
numbers, decimals, dates, text. What is not taken over is left to Spark.

For a DataFrame the driver plans. Files without changes are read by Spark's own vectorised reader;
the parts of all others by tasks. Each is handed a plan of some as JSON (docs/plans.md) and reads
them as they would be read here; its batches come back as Arrow, with the columns and rows that a
query asks for. So workers need this package in the Python that Spark starts (PYSPARK_PYTHON), and
see the table under the same path as the driver.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import operator
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.encodings import spark_type
from seambase.errors import RefusedError, UsageError
from seambase.filters import all_of
from seambase.foreign_arrow import stream_of
from seamkit.core.border import repeated
from seamkit.engines.files import EngineFiles, EnginePlan, MaskedPart, Rest
from seamkit.files.file_cache import KEPT, keep_likewise
from seamkit.files.promotion import has_within

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import Column, DataFrame, SparkSession


def spark_frame(plan: EnginePlan, session: SparkSession) -> DataFrame:
    """The rows of a plan: files by Spark's own reader, all others by tasks with ours.

    Types become those that Spark's own readers have: times of day are integers, fixed binaries are
    binaries, milliseconds are microseconds.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    target = pa.schema([pa.field(f.name, spark_type(f.type, f.name)) for f in plan.schema])
    types = from_arrow_schema(target, prefer_timestamp_ntz=True)
    parts = [_read_parquet(files, types, session) for files in plan.files]
    if plan.rest is not None:
        parts.append(frame_of_parts(plan, target, types, session))
    if not parts:
        return session.createDataFrame([], types)
    return reduce(lambda whole, part: whole.unionAll(part), parts)


def _read_parquet(files: EngineFiles, types: Any, session: SparkSession) -> DataFrame:
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import from_arrow_schema

    # A file's column may be that of several of the table's.
    own = {
        one.name: pa.field(one.name, spark_type(one.type, one.name))
        for one in files.stored.values()
    }
    # Folders with "=" in their names are no partitions here, and days are as they stand.
    stored = from_arrow_schema(pa.schema(list(own.values())), prefer_timestamp_ntz=True)
    reader = session.read.schema(stored)
    reader = reader.option("recursiveFileLookup", "true")
    # Whatever the session says: no file is left out because it is damaged, or has gone meanwhile.
    reader = reader.options(ignoreCorruptFiles="false", ignoreMissingFiles="false")
    # With their scheme: the file system of a cluster's paths without one is not this machine's.
    paths = [f"file:{Path(path).absolute()}" for path in files.paths]
    rows = reader.option("datetimeRebaseMode", "CORRECTED").parquet(*paths)
    columns = []
    for field in types:
        if field.name in files.values:
            column = f.lit(_constant(files.values[field.name]))
        else:
            one = files.stored[field.name]
            column = _without_filters(rows[_quoted(one.name)], one.type)
        columns.append(column.cast(field.dataType).alias(field.name))
    return rows.select(*columns)


def _without_filters(column: Column, kind: pa.DataType) -> Column:
    """A column for whose milliseconds and floats, at any depth, Spark gives its files no filter."""
    # Of the value of a filter it cuts digits off before it tests row groups of milliseconds by it,
    # and in dictionaries it takes -0.0 for another number than 0.0.
    from pyspark.sql import functions as f

    if pa.types.is_timestamp(kind) and kind.unit == "ms":
        return column + f.expr("INTERVAL '0' SECOND")
    if pa.types.is_floating(kind):
        return column * f.expr("1F" if kind.bit_width == 32 else "1D")
    if pa.types.is_struct(kind):
        whole = column
        for inner in kind:
            if has_within(_is_unfiltered, inner.type):
                own = _without_filters(whole.getField(inner.name), inner.type)
                column = column.withField(_quoted(inner.name), own)
    return column


def _is_unfiltered(kind: pa.DataType) -> bool:
    is_ms = pa.types.is_timestamp(kind) and kind.unit == "ms"
    return bool(is_ms or pa.types.is_floating(kind))


def _constant(value: pa.Scalar) -> Any:
    """A value that all rows have, as what Spark casts to the column's type."""
    # Days and moments go as text: on the way to Java those of early years are lost. Times of day go
    # as the integers that they are there.
    if not value.is_valid:
        return None
    if pa.types.is_time(value.type):
        return value.cast(spark_type(value.type, "")).as_py()
    if pa.types.is_timestamp(value.type):
        zone = None if value.type.tz is None else "UTC"
        return value.cast(pa.timestamp("us", zone)).cast(pa.string()).as_py()
    return value.cast(pa.string()).as_py() if pa.types.is_date(value.type) else value.as_py()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


_COMPARISONS: dict[str, Callable[[pc.Expression, pc.Expression], pc.Expression]] = {
    "EqualTo": operator.eq,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
}


def condition_of(filters: str, schema: pa.Schema) -> pc.Expression | None:
    """A condition that every row passes which passes all filters; None if none could be taken over.

    The filters are as `java/FilterText.java` writes them.
    """
    return _all(json.loads(filters), schema)


def _all(filters: Iterable[Any], schema: pa.Schema) -> pc.Expression | None:
    parts = [part for one in filters if (part := _condition(one, schema)) is not None]
    return all_of(*parts)


def _name_of(attribute: str) -> str | None:
    """A column's name as Spark quotes it where need be; None for a field of a struct."""
    if attribute.startswith("`"):
        inner = attribute[1:-1].replace("``", "")
        return None if "`" in inner else attribute[1:-1].replace("``", "`")
    return None if "." in attribute else attribute


def _condition(one: Any, schema: pa.Schema) -> pc.Expression | None:
    if one is None:
        return None
    kind, *held = one
    if kind == "And":
        return _all(held, schema)
    if kind == "Or":
        left, right = (_condition(side, schema) for side in held)
        return None if left is None or right is None else left | right
    name = _name_of(held[0])
    if name is None or name not in schema.names:
        return None
    column = pc.field(name)
    if kind == "IsNotNull":
        return column.is_valid()
    known = [_scalar(value, schema.field(name).type) for value in held[1:]]
    scalars = [scalar for scalar in known if scalar is not None]
    if len(scalars) < len(known):
        return None
    if kind == "In":
        return column.isin(pa.array([s.as_py() for s in scalars], schema.field(name).type))
    return _COMPARISONS[kind](column, pc.scalar(scalars[0]))


def _scalar(text: str | None, kind: pa.DataType) -> pa.Scalar | None:
    """A value of Java's as one of a column's type; None where the two may compare otherwise."""
    if text is None:
        return None
    if pa.types.is_integer(kind):
        return pa.scalar(int(text), kind)
    if pa.types.is_string(kind):
        return pa.scalar(text, kind)
    try:
        if pa.types.is_decimal(kind):
            return pa.scalar(decimal.Decimal(text), kind)
        if pa.types.is_date32(kind):
            return pa.scalar(dt.date.fromisoformat(text), kind)
    except (ValueError, ArithmeticError):  # a year beyond Python's, more digits than the column has
        return None
    return None


_JAVA = Path(__file__).with_name("java")

FILTER_TEXT = _JAVA / "FilterText.java"
"""What writes the filters of a query, for other sources that need it."""

_CLASSES = ("PartColumns", "PartFiles", "PartSource")
_SOURCES = (FILTER_TEXT, *(_JAVA / f"{name}.java" for name in _CLASSES))
_SOURCE = "seamkit.PartSource"

_TASK_BYTES = 512 << 20
"""Of files, which a task reads at most, if there are more parts than cores."""

KEPT_BYTES = "spark.seamkit.keptBytes"
"""Setting of a session: what each worker keeps of files from one query to the next."""

_KEPT_BYTES = 256 << 20


def frame_of_parts(
    plan: EnginePlan, target: pa.Schema, types: Any, session: SparkSession
) -> DataFrame:
    """The rows of a plan that stay with our reader, each part read by a task as a plan in JSON.

    `target` are the columns as Spark takes them from Arrow, `types` the same as a type of Spark's.
    """
    from pyspark.rdd import _wrap_function
    from pyspark.serializers import NoOpSerializer
    from pyspark.sql import DataFrame

    context = session.sparkContext
    rest = plan.rest
    assert rest is not None
    tasks, open_task = _tasks(rest, context)
    kept_bytes, on_disk = _kept_bytes(session), KEPT.on_disk

    def read(_: int, request: Iterator[bytes]) -> Iterator[bytes | memoryview]:
        keep_likewise(kept_bytes, on_disk)
        task, names, filters, masks = (bytes(text).decode() for text in request)
        columns = json.loads(names)
        condition = condition_of(filters, plan.schema)
        schema = pa.schema([target.field(column) for column in columns])
        scan, numbers = open_task(task)
        for number in numbers:
            if masks == "true":
                part = scan.masked_part(number, columns, condition)
                yield from _file_of(part, schema)
                rows = part.rows
            else:
                rows = scan.part(number, columns, condition)
            for batch in rows.to_reader():
                yield _stream(batch if batch.schema == schema else batch.cast(schema))
            yield b""

    function = _wrap_function(context, read, NoOpSerializer(), NoOpSerializer())
    frame = _source(session).frame(
        session._jsparkSession,
        types.json(),
        tasks,
        -1 if plan.rest_bytes is None else plan.rest_bytes,
        -1 if plan.rest_rows is None else plan.rest_rows,
        sorted(rest.part_values),
        function,
    )
    return DataFrame(frame, session)


def _kept_bytes(session: SparkSession) -> int:
    text = session.conf.get(KEPT_BYTES, str(_KEPT_BYTES))
    if text is None or not text.isdecimal():
        raise UsageError(f"the setting {KEPT_BYTES} is {text!r}: a number of bytes is meant")
    return int(text)


def _tasks(
    rest: Rest, context: SparkContext
) -> tuple[list[str], Callable[[str], tuple[Rest, Iterable[int]]]]:
    """What each task is handed, and what makes of it a scan and the numbers of parts to read."""
    # That is a plan in JSON. A scan that has none is broadcast, pickled, and a task is handed the
    # numbers of its parts.
    groups = rest.groups(_task_count(rest, context.defaultParallelism))
    try:
        plans, open_plan = rest.plans(groups)
    except RefusedError:
        whole = context.broadcast(rest)
        return list(map(json.dumps, groups)), lambda task: (whole.value, json.loads(task))

    def planned(task: str) -> tuple[Rest, Iterable[int]]:
        scan = open_plan(task)
        return scan, range(scan.n_parts)

    return plans, planned


def _task_count(rest: Rest, cores: int) -> int:
    """As many as cores, or as several times cores: a worker takes long to begin a task."""
    return cores * max(1, math.ceil(sum(rest.part_bytes()) / (cores * _TASK_BYTES)))


def _file_of(part: MaskedPart, schema: pa.Schema) -> Iterator[bytes | memoryview]:
    """Where the file lies and what differs of it: see `java/PartSource.java`."""
    if part.file is None:
        yield b""
        return
    (path,) = part.file.paths
    yield Path(path).absolute().as_uri().encode()
    stored, wanted = part.file.stored, part.file.schema
    yield b"w" if any(stored[n].type != wanted.field(n).type for n in stored) else b""
    yield np.packbits(part.gone, bitorder="little").tobytes()
    known = pa.schema([field for field in schema if field.name in part.file.values])
    if known.names:
        values = [repeated(part.file.values[f.name], 1).cast(f.type) for f in known]
        yield _stream(pa.record_batch(values, known))


def _stream(batch: pa.RecordBatch) -> memoryview:
    return memoryview(stream_of([batch], batch.schema))


def _source(session: SparkSession) -> Any:
    """The class that makes frames, known to this session and to its executors."""
    loader = session._jsparkSession.sharedState().jarClassLoader()
    try:
        return loader.loadClass(_SOURCE).newInstance()
    except Exception as error:
        if "ClassNotFoundException" not in str(error):
            raise
    # Executors fetch it when they first need it: it stays as long as the session.
    jar = Path(session.sparkContext._temp_dir) / "seamkit-parts.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for path, content in _compiled(session, loader).items():
            archive.writestr(path, content)
    session._jsparkSession.sessionState().resourceLoader().addJar(str(jar))
    return loader.loadClass(_SOURCE).newInstance()


def _compiled(session: SparkSession, loader: Any) -> Mapping[str, bytes]:
    """The classes by their paths in a jar."""
    found: dict[str, bytes] = {}
    for source in _SOURCES:
        compiler = session.sparkContext._jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(loader)
        # With line numbers, so that a Java stack trace tells where it went wrong.
        compiler.setDebuggingInformation(True, True, False)
        compiler.cook(source.name, source.read_text(encoding="utf-8"))
        for name, content in compiler.getBytecodes().items():
            found[name.replace(".", "/") + ".class"] = bytes(content)
        loader = compiler.getClassLoader()
    return found
