"""Sections of Paimon tables by Paimon's own core in a JVM: the path that a JNI connector takes.

What to read was planned natively. Paimon's core plans the same snapshot once more, for the objects
that stand for its files, out of which each unit's split is made.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seambench_impl.jni.jars import fetch_jars
from seambench_impl.jni.paimon_filters import ruling_out
from seamkit.jvm.machine import java_failure, spark_jars
from seamkit.jvm.sources import compiled_package
from seamkit.offheap.connector.parameters import join_names
from seamkit.offheap.engine.schema import EngineSchema
from seamkit.offheap.jni.classes import JniLoader, scanner_classes
from seamkit.offheap.jni.scanner import JniScanner
from seamkit.scan.units import ReadContext, ReadUnit, Runs, settled_columns

#: Of Paimon's core, the first by default.
VERSIONS = ("1.4.2", "0.9.0")

_JAVA = Path(__file__).parent / "java" / "paimon"
#: Over columns of these types the core 0.9.0 fails as it tests rows.
_NOT_IN_0_9 = (pa.int8(), pa.int16())
#: Rows of a batch at most.
FETCH_SIZE = 4096
#: The class that reads a split.
SCANNER = "seambench.paimon.PaimonSplitScanner"


@functools.cache
def paimon_loader(version: str = VERSIONS[0]) -> JniLoader:
    """The classes of Paimon's core, with those of Hadoop and others that come with pyspark."""
    bundle = fetch_jars([f"org.apache.paimon:paimon-bundle:{version}"], "Paimon's own core")
    engine = scanner_classes("Paimon", [*bundle, *spark_jars()])
    # A package a version: a class of one is an interface of the other.
    return JniLoader(compiled_package(f"seambench.paimon-{version}", _JAVA, engine))


class PaimonSplits:
    """Splits of one snapshot of a local table, and their rows; it can be pickled.

    The branch is empty for the main one; `point` is name and value of Paimon's option that chooses
    the snapshot. `travels`: the snapshot's schema counts, in place of the newest. The version is
    that of Paimon's core; `more` has further parameters of the scanner.
    """

    def __init__(
        self,
        table: str,
        branch: str,
        point: tuple[str, str],
        *,
        travels: bool,
        version: str = VERSIONS[0],
        more: Mapping[str, str] | None = None,
    ) -> None:
        self._more = dict(more or {})
        self._table, self._branch, self._point, self._travels = table, branch, point, travels
        self._version = version
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._planned: tuple[Any, str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """All but what belongs to this process."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_lock", "_planned")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def read(
        self, unit: ReadUnit, schema: pa.Schema, batch_rows: int, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a unit as Paimon's core gives them; see `UnitScan.read_by`."""
        loader = paimon_loader(self._version)
        parameters = {**self.parameters(unit, schema, context.condition), **self._more}
        rows = min(batch_rows, FETCH_SIZE)
        with JniScanner(loader, SCANNER, rows, parameters, context.allocator) as scanner:
            try:
                scanner.open()
                yield from scanner.batches(EngineSchema(schema, scanner.schema().types))
            finally:
                context.spent.extend(scanner.counters().spent)

    def parameters(
        self, unit: ReadUnit, schema: pa.Schema, condition: pc.Expression | None
    ) -> dict[str, str]:
        """What the scanner is handed for a unit: the table, its split, what rows are tested for.

        Columns of one value in all of the unit are none of `schema`: units are chosen by them.
        """
        settled = settled_columns(unit, schema.names)
        columns = pa.schema([field for field in schema if field.name in settled])
        classes = paimon_loader(self._version).classes
        jpype = classes.jpype
        texts = jpype.JArray(jpype.JString)
        refused = classes.java_class("seamkit.offheap.RefusedException")
        is_old = self._version == "0.9.0"
        if is_old:
            columns = pa.schema([field for field in columns if field.type not in _NOT_IN_0_9])
        tested = ruling_out(condition, columns)
        names = [file.name.rpartition("/")[2] for file in unit.files]
        with self._lock, classes.inside():
            try:
                if self._planned is None:
                    planner = classes.java_class("seambench.paimon.PaimonSplits")
                    point = texts(list(self._point))
                    splits = planner(self._table, self._branch, point, self._travels)
                    self._planned = splits, str(splits.table())
                splits, table = self._planned
                if is_old and not splits.haveSchemaOfTable(texts(names)):
                    tested = None  # it fails over columns that files have in another type
                raw = not isinstance(unit.changes, Runs)
                return {
                    "native_table": table,
                    "split_info": str(splits.split(texts(names), raw)),
                    "predicate_info": str(splits.predicates(tested)) if tested else "",
                    "required_fields": join_names(schema.names),
                }
            except refused as error:
                raise RefusedError(f"{self._table}: {java_failure(error)}") from error
            except jpype.JException as error:
                raise InputError(f"{self._table}: {java_failure(error)}") from error
