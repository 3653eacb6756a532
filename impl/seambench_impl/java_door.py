"""Scanners in Java that users bring: `java:com.example.MyScanner`, found on a class path.

They extend `seamkit.offheap.ConnectorScanner`, or are of any package and have StarRocks' five
methods, as whatever extends `com.starrocks.jni.connector.ConnectorScanner` has; or the class is a
factory of such a class.

The class path is the variable `CLASSPATH`: jars, folders of classes, or folders of sources, which
are compiled here. What a scanner states lies in the file `com.example.MyScanner.seambench.json`, in
one of these folders or beside one of these jars; see `seambench.conformance.doors.facts`.

    python -m seambench_impl.java_door       # the class path of what scanners extend, for javac
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError, UnavailableError, UsageError
from seambench.conformance.doors.facts import Facts, read_facts
from seambench.contracts.common import Kind
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.column_java import JavaColumns, case_classes
from seambench_impl.jni.hive import HiveFiles
from seambench_impl.jni.hudi import HudiSlices
from seambench_impl.peers.peer_scan import PeerScan
from seambench_impl.scan_jni import JniReader, local_folder
from seamkit.core.memory import TrackedAllocator
from seamkit.jvm.machine import JavaClasses, spark_classes
from seamkit.jvm.sources import compiled_package
from seamkit.offheap.connector.parameters import join_names
from seamkit.offheap.engine.schema import EngineSchema
from seamkit.offheap.jni.scanner import JniLoader, JniScanner
from seamkit.scan.unit_tasks import ReadRows

_SCANNER = "seamkit.offheap.ConnectorScanner"
_FACTORY = "seamkit.offheap.ScannerFactory"
#: A scanner of any package, and a factory that names the class of one.
_FOUND_BY_NAME = {"getNextOffHeapChunk", "getScannerClass"}
_FETCH_SIZE = 4096


def _class_path() -> list[Path]:
    text = os.environ.get("CLASSPATH", "")
    parts = [Path(part) for part in text.split(os.pathsep) if part]
    if not parts:
        raise UsageError("a scanner in Java needs a class path: --classpath, or CLASSPATH")
    for part in parts:
        if not part.exists():
            raise UsageError(f"class path: {part} does not exist")
    return parts


def _loader(name: str, parts: list[Path]) -> JniLoader:
    classes = JavaClasses(name, parts, case_classes())
    for part in parts:
        compiled = any(part.rglob("*.class")) if part.is_dir() else True
        if not compiled and any(part.rglob("*.java")):
            classes = _from_sources(part, classes)
    jpype = classes.jpype
    try:
        scanner_class = jpype.JClass("java.lang.Class").forName(name, True, classes.loader)
    except jpype.JException as error:
        path = os.pathsep.join(map(str, parts))
        raise UsageError(f"java:{name}: no such class is on the class path {path}") from error
    methods = {str(method.getName()) for method in scanner_class.getMethods()}
    if not methods & _FOUND_BY_NAME:
        raise UsageError(
            f"java:{name} does not extend {_SCANNER}, nor has it StarRocks' methods "
            f"({' or '.join(sorted(_FOUND_BY_NAME))})"
        )
    return JniLoader(classes)


def _from_sources(folder: Path, parent: JavaClasses) -> JavaClasses:
    spark_classes()  # where the compiler is: that it is missing is nobody's mistake
    try:
        return compiled_package("users-scanners", folder, parent)
    except UnavailableError as error:
        raise UsageError(f"{folder}: {error}") from error


def _loaded(name: str) -> tuple[JniLoader, Facts]:
    """What finds a scanner's class on the class path, and what it states."""
    parts = _class_path()
    return _loader(name, parts), _facts(name, parts)


def _facts(name: str, parts: list[Path]) -> Facts:
    """What a scanner states; nothing, where no file does."""
    for part in parts:
        beside = (part if part.is_dir() else part.parent) / name
        if beside.with_name(f"{name}.seambench.json").exists():
            return read_facts(beside)
    return Facts(name)


class _StatedColumns(JavaColumns):
    """Columns by a scanner that states less than ours."""

    kind: Kind = "peer"

    def __init__(self, name: str) -> None:
        loader, facts = _loaded(name)
        super().__init__(loader, name)
        self.name, self.version = f"java:{name}", facts.version
        # Type strings are read by the classes that it extends, which are ours.
        self.capabilities: Mapping[str, bool] = {
            word: stated
            for word, stated in facts.capabilities.items()
            if not word.startswith("type-strings")
        }


def java_columns(name: str) -> JavaColumns:
    """The column seam by a user's scanner, which takes its rows from `seambench.Case`."""
    return _StatedColumns(name)


def java_reader(name: str) -> JavaReader | BoundReader:
    """The scan seam by a user's scanner: one of ours as it is, one of another package by units."""
    loader, facts = _loaded(name)
    class_ = loader.classes.java_class(name).class_
    ours = (loader.classes.java_class(one).class_ for one in (_SCANNER, _FACTORY))
    reader = JavaReader if any(one.isAssignableFrom(class_) for one in ours) else BoundReader
    return reader(name, loader, facts)


class BoundReader(JniReader):
    """Units of Hudi and Hive tables by a scanner of another package: StarRocks' readers are such.

    We plan, as StarRocks' frontend does; the scanner is handed a slice or a file in StarRocks'
    words, and reads it. The class, or a factory of it, is found by the loader.
    """

    xfails = None
    kind: Kind = "peer"

    def __init__(self, name: str, loader: JniLoader, facts: Facts) -> None:
        super().__init__()
        self._class, self._loader = name, loader
        self.name, self.version = f"java:{name}", facts.version
        self.capabilities = dict(facts.capabilities)

    def _reads(self, format_: str, request: ScanRequest) -> ReadRows:
        if format_ == "hudi":
            return HudiSlices(self._loader, self._class).read
        if format_ == "hive":
            return HiveFiles(local_folder(request), self._loader, self._class).read
        raise RefusedError(
            f"{self.name}: tables of {format_} are read by objects of its version, which a scanner "
            "of another package is not handed here"
        )


class JavaReader:
    """The scan seam by a user's scanner: tables as it reads them, snapshots alone.

    Its parameters are `base_path`, the table's folder; `required_fields`, absent where all columns
    are asked for; and `instant_time` where a version is named.
    """

    kind: Kind = "peer"

    def __init__(self, name: str, loader: JniLoader, facts: Facts) -> None:
        self._class, self._loader = name, loader
        self.name, self.version = f"java:{name}", facts.version
        self.capabilities: Mapping[str, bool] = facts.capabilities

    def open(self, request: ScanRequest) -> Scan:
        """Have the scanner say its columns; see `seambench.contracts.scan.Scanner.open`."""
        if request.query != "snapshot" or request.where is not None or request.strict:
            raise RefusedError(f"{self.name} takes no other query than a snapshot, no filter")
        with self._scanner(request, request.columns) as scanner:
            scanner.open()
            schema = scanner.schema().schema
        return PeerScan(self, request, schema, functools.partial(self._batches, request))

    def _batches(self, request: ScanRequest, names: list[str]) -> Iterator[pa.RecordBatch]:
        with self._scanner(request, names) as scanner:
            scanner.open()
            yield from scanner.batches(_named(scanner.schema(), names, self.name))

    def _scanner(self, request: ScanRequest, names: Any) -> JniScanner:
        parameters = {"base_path": request.table}
        if names is not None:
            parameters["required_fields"] = join_names(names)
        if request.as_of is not None:
            parameters["instant_time"] = request.as_of
        rows = min(request.batch_rows or _FETCH_SIZE, _FETCH_SIZE)
        allocator = TrackedAllocator(request.memory_limit_bytes or 0)
        return JniScanner(self._loader, self._class, rows, parameters, allocator)


def _named(schema: EngineSchema, names: list[str], reader: str) -> EngineSchema:
    """A scanner's columns, which must be those that it was asked for."""
    if schema.schema.names != names:
        raise RefusedError(f"{reader} names the columns {schema.schema.names}, not {names}")
    return schema


if __name__ == "__main__":
    from seamkit.offheap.jni.scanner import connector_classes

    found = (*case_classes().loader.getURLs(), *connector_classes().loader.getURLs())
    sys.stdout.write(os.pathsep.join(str(url.getPath()).rstrip("/") for url in found) + "\n")
