"""Paimon's own core in a JVM of the process: it plans a table, and reads the splits of its plan.

Rows cross in off-heap tables, as behind a JNI connector, so times have a conversion in them that a
program in Java does not need.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seambench.contracts.common import Kind
from seambench.contracts.peers.catalogue import stated
from seambench.contracts.peers.environments import version_inside
from seambench.contracts.scan import Scanner, ScanRequest
from seambench_impl.jni.paimon import FETCH_SIZE, SCANNER, VERSIONS, paimon_loader
from seambench_impl.peers import XFAILS
from seambench_impl.peers.peer_scan import PeerScan, check_request, select_columns
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
