"""Sections of Paimon tables by Paimon's own core in a JVM: the path that a JNI connector takes.

What to read was planned natively. Paimon's core plans the same snapshot once more, for the objects
that stand for its files, out of which each unit's split is made.

Of a condition it gets what may rule out rows of a unit, as a small JSON. The scan tests all rows
exactly afterwards, so that may keep rows that the condition would not, never the other way round.
Values are compared where Arrow and Paimon order them alike: whole numbers, decimals, dates, texts,
booleans.
"""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seambench_impl.jni.jars import fetch_jars
from seamkit.files.expressions import Call, Column, Literal, Part, parts_of
from seamkit.jvm.machine import java_failure, spark_jars
from seamkit.jvm.sources import compiled_package
from seamkit.offheap.connector.parameters import join_names
from seamkit.offheap.engine.schema import EngineSchema
from seamkit.offheap.jni.scanner import JniLoader, JniScanner, scanner_classes
from seamkit.scan.pruning import settled_columns
from seamkit.scan.units import ReadContext, ReadUnit, Runs

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


_COMPARISONS = {
    "equal": "equal",
    "not_equal": "notEqual",
    "less": "lessThan",
    "less_equal": "lessOrEqual",
    "greater": "greaterThan",
    "greater_equal": "greaterOrEqual",
}
_TURNED = {
    "lessThan": "greaterThan",
    "lessOrEqual": "greaterOrEqual",
    "greaterThan": "lessThan",
    "greaterOrEqual": "lessOrEqual",
}
_EPOCH = dt.date(1970, 1, 1)
_Test = list[Any]


def ruling_out(condition: pc.Expression | None, columns: pa.Schema) -> str | None:
    """A test that every row passes which meets a condition.

    It is as `PaimonPredicates.java` takes it, by columns by which rows may be ruled out; None where
    nothing of the condition is left.
    """
    root = None if condition is None else parts_of(condition)
    test = None if root is None else _test(root, columns)
    return None if test is None else json.dumps(test)


def _test(part: Part, columns: pa.Schema) -> _Test | None:
    if not isinstance(part, Call):
        return None
    if part.name in ("and", "and_kleene"):
        known = [side for one in part.arguments if (side := _test(one, columns)) is not None]
        return ["and", *known] if len(known) > 1 else known[0] if known else None
    if part.name in ("or", "or_kleene"):
        sides = [_test(one, columns) for one in part.arguments]
        return None if None in sides else ["or", *sides]
    if part.name == "if_else" and part.arguments[2:] == [Literal(None)]:
        return _test(part.arguments[1], columns)  # where the test is of no null, else null
    if part.name in ("is_null", "is_valid"):
        return _null_test(part, columns)
    if part.name == "is_in":
        return _listed(part, columns)
    return _compared(part, columns) if part.name in _COMPARISONS else None


def _kind(part: Part, columns: pa.Schema) -> pa.DataType | None:
    """The type of a column by whose values rows may be ruled out."""
    if isinstance(part, Column) and part.name in columns.names:
        return columns.field(part.name).type
    return None


def _null_test(part: Call, columns: pa.Schema) -> _Test | None:
    [side] = part.arguments
    kind = _kind(side, columns)
    if kind is None or pa.types.is_floating(kind):  # NaN may count as null
        return None
    assert isinstance(side, Column)
    return ["isNull" if part.name == "is_null" else "isNotNull", side.name]


def _listed(part: Call, columns: pa.Schema) -> _Test | None:
    side, kind = part.arguments[0], _kind(part.arguments[0], columns)
    listed = part.options.get("value_set") if isinstance(part.options, dict) else None
    if kind is None or not listed:
        return None
    assert isinstance(side, Column)
    texts = [_text(value, kind) for value in listed]
    return None if None in texts else ["in", side.name, *texts]


def _compared(part: Call, columns: pa.Schema) -> _Test | None:
    left, right = part.arguments
    word = _COMPARISONS[part.name]
    if isinstance(left, Literal):
        left, right, word = right, left, _TURNED.get(word, word)
    kind = _kind(left, columns)
    text = _text(right.value, kind) if isinstance(right, Literal) and kind is not None else None
    if text is None:
        return None
    assert isinstance(left, Column)
    return [word, left.name, text]


def _text(value: Any, kind: pa.DataType) -> str | None:
    """A value as one of a column's type; None where it is none, or not compared alike."""
    for holds, written in _WRITTEN:
        if holds(kind):
            try:
                return written(value, kind)
            except (pa.ArrowException, ArithmeticError, TypeError, ValueError):
                return None
    return None


def _whole(value: Any, kind: pa.DataType) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return str(pa.scalar(value, kind).as_py())  # fails where the type is too narrow


def _decimal(value: Any, kind: pa.DataType) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | decimal.Decimal):
        return None
    return format(pa.scalar(decimal.Decimal(value), kind).as_py(), "f")


def _date(value: Any, _: pa.DataType) -> str | None:
    exact = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    return str((value - _EPOCH).days) if exact else None


def _of_texts(value: Any, _: pa.DataType) -> str | None:
    return value if isinstance(value, str) else None


def _truth(value: Any, _: pa.DataType) -> str | None:
    return str(value).lower() if isinstance(value, bool) else None


_WRITTEN: tuple[
    tuple[Callable[[pa.DataType], bool], Callable[[Any, pa.DataType], str | None]], ...
] = (
    (pa.types.is_signed_integer, _whole),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_date32, _date),
    (pa.types.is_string, _of_texts),
    (pa.types.is_boolean, _truth),
)
