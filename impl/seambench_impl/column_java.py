"""Off-heap columns that Java writes, as the suites see them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seambase.errors import InputError
from seambench import __version__
from seambench.contracts.column import ColumnChunk, ColumnRequest
from seambench.contracts.common import Kind
from seambench_impl.column import KINDS, chunk_of, column_type
from seamkit.core.memory import TrackedAllocator
from seamkit.jvm.machine import JavaClasses
from seamkit.jvm.sources import compiled_package
from seamkit.offheap.connector.selected import prune_columns
from seamkit.offheap.jni.scanner import JniLoader, JniScanner, connector_classes

_JAVA = Path(__file__).parent / "jni" / "java" / "cases"
_SCANNER = "seambench.CaseScanner"
_CASE = "seambench.Case"
_numbers = itertools.count()


@functools.cache
def case_classes() -> JavaClasses:
    """The Java side of the connector seam, and with it what hands a scanner the rows of a case."""
    return compiled_package("seambench.connector", _JAVA, connector_classes())


class JavaColumns:
    """Implements `contracts.column.ColumnTable` by the classes of `seamkit.offheap`.

    A scanner in Java appends value by value; C drives it, and its meta chain is followed here. The
    scanner, our own by default, takes its rows from `seambench.Case`.
    """

    name = "java"
    version = __version__
    kind: Kind = "reference"
    capabilities: Mapping[str, bool] = {f"kinds.{kind}": True for kind in KINDS} | {
        "missing-columns": True,
        "pruning": True,
        "text-form": True,
        "type-strings": True,
        "type-strings.lenient": True,
    }

    def __init__(self, loader: JniLoader | None = None, scanner: str = _SCANNER) -> None:
        self._allocator = TrackedAllocator()
        self._java = case_classes()
        self._loader = loader or JniLoader(self._java)
        self._scanner = scanner

    def chunks(self, request: ColumnRequest) -> list[ColumnChunk]:
        """Have Java append the rows, and read every chunk through its meta chain."""
        columns = dict(zip(request.fields, map(column_type, request.types), strict=True))
        types = prune_columns(columns, request.required_fields, request.nested_fields or ())
        parameters = {"case": self._put(request), "value_form": request.form}
        with JniScanner(
            self._loader, self._scanner, request.fetch_size, parameters, self._allocator
        ) as scanner:
            scanner.open()
            return [
                chunk_of(scanner.next_chain(), request.required_fields, types)
                for _ in request.chunk_rows
            ]

    def _put(self, request: ColumnRequest) -> str:
        """Leave a request with the scanner's class; the name by which it is found."""
        jpype, name = self._java.jpype, f"case-{next(_numbers)}"
        texts = jpype.JArray(jpype.JString)
        self._java.java_class(_CASE).put(
            name,
            texts(list(request.fields)),
            texts(list(request.types)),
            texts(list(request.required_fields)),
            texts(list(request.nested_fields or ())),
            _to_java(jpype, request.rows),
            _to_java(jpype, request.chunk_rows),
        )
        return name

    def parse_type(self, text: str) -> dict[str, Any]:
        """What Java makes of a type string as StarRocks reads it."""
        column_types = self._java.java_class("seamkit.offheap.ColumnType")
        try:
            return _tree(column_types.parseLeniently(_text(self._java.jpype, text)))
        except self._java.java_class("seamkit.offheap.TypeStringException") as error:
            failure = _TypeStringError(str(error.getMessage()))
            failure.reason = None if error.reason is None else str(error.reason)
            failure.token = None if error.token is None else str(error.token)
            raise failure from error

    def live_blocks(self) -> int:
        """Blocks of off-heap memory still held."""
        return self._allocator.counters().live_blocks


class _TypeStringError(InputError):
    """How StarRocks' parser gives up; see `contracts.column.ColumnTable`."""

    reason: str | None = None
    token: str | None = None


def _tree(column: Any) -> dict[str, Any]:
    kind = column.kind
    tree: dict[str, Any] = {"kind": str(kind.name())}
    if kind.isDecimal():
        tree["scale"] = int(column.scale)
    if column.children():
        pairs = zip(column.names(), column.children(), strict=True)
        tree["children"] = [{"name": str(name)} | _tree(child) for name, child in pairs]
    return tree


def _text(jpype: Any, text: str) -> Any:
    """A Java text of the same characters; halves of characters stay halves."""
    points = jpype.JArray(jpype.JInt)([ord(sign) for sign in text])
    return jpype.java.lang.String(points, 0, len(text))


def _to_java(jpype: Any, value: Any) -> Any:
    """Lists, texts, numbers and truths as Java's; whole numbers of any size."""
    if value is None:
        return None
    if isinstance(value, bool):
        return jpype.java.lang.Boolean(value)
    if isinstance(value, int):
        return jpype.java.math.BigInteger(str(value))
    if isinstance(value, float):
        return jpype.java.lang.Double(value)
    if isinstance(value, str):
        return _text(jpype, value)
    out = jpype.java.util.ArrayList()
    for item in value:
        out.add(_to_java(jpype, item))
    return out
