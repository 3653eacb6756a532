"""Paimon's own core in a JVM of the process: it plans a table, and reads the splits of its plan.

Rows cross in off-heap tables, as behind a JNI connector, so times have a conversion in them that a
program in Java does not need.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.peers.catalogue import stated
from seambench.contracts.peers.environments import version_inside
from seambench.contracts.scan import ScanRequest
from seambench_impl.connector.paimon_java import FETCH_SIZE, SCANNER, VERSIONS, paimon_loader
from seambench_impl.peers.paimon_options import paimon_options
from seambench_impl.peers.peer_scan import PeerScan, select_columns
from seambench_impl.peers.snapshot_reader import XFAILS
from seamkit.core.memory import TrackedAllocator
from seamkit.jvm.machine import java_failure
from seamkit.offheap.connector.parameters import join_names
from seamkit.offheap.engine.schema import EngineSchema
from seamkit.offheap.jni.scanner import JniScanner
from seamkit.tables.paimon.metadata.schemas import parse_fields

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
        if f"query.{request.query}" not in self.capabilities:
            raise RefusedError(f"{self.name}: {request.query} queries are not offered here")
        if request.where is not None or request.strict:
            raise RefusedError(f"{self.name} takes neither a filter as text nor strict")
        if request.changes_alone or request.row_kinds:
            raise RefusedError(f"{self.name} hands out neither changes alone nor their kinds")
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
