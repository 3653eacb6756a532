"""Parts of a scan as a data source of Spark's own: queries push columns and filters into it.

Spark 3.5 has no data sources in Python, so a few classes of Java stand between. They are compiled
in the driver by Janino, which is among Spark's jars, and go to the executors as a jar. A task
starts a worker of Python as it does for any function, and asks it for some parts. Where a part has
a file of which most rows stay as they are, the worker says which are gone; Spark's own reader reads
the others, with the columns and filters of the query. All other rows come from the worker, as
Arrow vectors.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seamkit.engines.files import EnginePlan, MaskedPart, Rest
from seamkit.engines.spark_filters import condition_of
from seamkit.files.kept import keep_at_most

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

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
    """The rows of a plan that stay with our reader, each part read by a task.

    Args:
        plan: has such rows; each task is handed its parts of them as a plan in JSON.
        target: the columns as Spark takes them from Arrow.
        types: the same as a type of Spark's.
        session: whose tasks read.
    """
    from pyspark.rdd import _wrap_function
    from pyspark.serializers import NoOpSerializer
    from pyspark.sql import DataFrame

    context = session.sparkContext
    rest = plan.rest
    assert rest is not None
    tasks, open_task = _tasks(rest, context)
    kept_bytes = _kept_bytes(session)

    def read(_: int, asked: Iterator[bytes]) -> Iterator[bytes | memoryview]:
        keep_at_most(kept_bytes)
        task, names, filters, masks = (bytes(text).decode() for text in asked)
        columns = json.loads(names)
        condition = condition_of(filters, target)
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
    """What each task is handed, and what makes of it a scan and the numbers of parts to read.

    That is a plan in JSON. A scan that has none is broadcast, pickled, and a task is handed the
    numbers of its parts.
    """
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
    """Where the file lies, a bit for each row that is gone, and the values that all rows have."""
    if part.file is None:
        yield b""
        return
    (path,) = part.file.paths
    yield Path(path).absolute().as_uri().encode()
    yield np.packbits(part.gone, bitorder="little").tobytes()
    known = pa.schema([field for field in schema if field.name in part.file.values])
    if known.names:
        values = [pa.repeat(part.file.values[f.name], 1).cast(f.type) for f in known]
        yield _stream(pa.record_batch(values, known))


def _stream(batch: pa.RecordBatch) -> memoryview:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return memoryview(sink.getvalue())


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
