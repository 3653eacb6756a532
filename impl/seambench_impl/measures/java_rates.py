"""What scanners written in Java cost, and what a JNI connector adds to the reader behind it.

    seambench data --scale 1 --layout mor-v9-event-avro-u20-s20
    seambench kernels seambench_impl.measures.java_rates --set table=data/sf1/mor-v9-.../lineitem

Java appends rows that cost nothing to make, a million of them: two sets of columns, and eight
columns of a kind in either form, as numbers and as formatted texts (`java/form/date/text`). With
`table`, a Hudi table, one slice without logs and one with are read, of all columns and of four: by
Hudi's reader alone, which hands its records to nobody, and the whole way into Arrow's columns.
These have the processor seconds of their thread for samples.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambench.bench.apart import Task
from seambench.bench.kernels import Kernel, Kernels
from seambench.bench.measure import Competitor
from seambench.contracts.scan import ScanRequest
from seambench.records.model import Moved, Rows
from seambench.records.verdicts import Arrived
from seambench.records.writer import Sample
from seambench_impl.jni.hudi import SCANNER, java_loader, slice_parameters
from seambench_impl.scan_jni import JniReader
from seamkit.core.memory import TrackedAllocator
from seamkit.jvm.sources import compiled_package
from seamkit.offheap.engine.schema import EngineSchema
from seamkit.offheap.jni.scanner import JniLoader, JniScanner, connector_classes
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import ReadUnit

_FIXED = ["int", "bigint", "double", "date", "timestamp", "bigint", "int", "double"]
#: The kinds of lineitem's columns, and one more.
_LINEITEM = [
    *["bigint"] * 3,
    "int",
    *["decimal(15,2)"] * 4,
    *["string"] * 2,
    *["date"] * 3,
    *["string"] * 3,
    "bigint",
]
#: Kinds that have a text form.
_FORMED = {"date": "date", "datetime": "timestamp", "decimal": "decimal(15,2)"}
_FOUR = ("l_orderkey", "l_quantity", "l_extendedprice", "l_shipdate")
_CHUNK = 4096


def kernels(folder: Path, rows: int = 1_000_000, table: str = "") -> Kernels:
    """Appending, and the slices of a table if one is named."""
    del folder
    made = Rows(name=f"{rows} rows that cost nothing", scale=0)
    listed = [
        Kernel(f"java/append/{name}", Task(_appending, (types, rows)), made, "step")
        for name, types in (("fixed-width", _FIXED), ("lineitem", _LINEITEM))
    ]
    for name, type_ in _FORMED.items():
        for form in ("binary", "text"):
            task = Task(_appending, ([type_] * 8, rows, form))
            listed.append(Kernel(f"java/form/{name}/{form}", task, made, "step"))
    for kind in ("base-alone", "with-logs") if table else ():
        for few in (False, True):
            over = Rows(name=f"slice {kind}, {'four' if few else 'all'} columns", scale=0)
            for way in ("reader-alone", "whole"):
                case = f"java/{kind}/{'four' if few else 'all'}/{way}"
                task = Task(_reading, (way, table, kind, few))
                listed.append(Kernel(case, task, over, "step"))
    return Kernels("scan", "jni", listed)


def _appending(types: Sequence[str], rows: int, form: str = "binary") -> Competitor:
    """In a process of its own: Java appends rows, and they come out as Arrow."""
    source = Path(__file__).parent / "java" / "generator"
    loader = JniLoader(compiled_package("seambench.generator", source, connector_classes()))
    parameters = {"rows": str(rows), "types": "#".join(types), "value_form": form}
    scanner = "seambench.generator.GeneratorScanner"

    def opened() -> JniScanner:
        scan = JniScanner(loader, scanner, _CHUNK, parameters, TrackedAllocator())
        scan.open()
        return scan

    def run() -> int:
        with opened() as scan:
            return sum(batch.num_rows for batch in scan.batches(scan.schema()))

    with opened() as scan:  # what is timed is what is asked for
        assert scan.next_chain().as_text == (form == "text")
    return Competitor(run, lambda came: _arrived(rows, came))


def _reading(way: str, table: str, kind: str, few: bool) -> Competitor:
    """In a process of its own: one slice, by one of the two ways."""
    scan = JniReader().open(ScanRequest(table))
    assert isinstance(scan, UnitScan)
    unit = next(u for u in scan.plan.units if bool(u.changed_by) == (kind == "with-logs"))
    schema = pa.schema([scan.schema.field(n) for n in (_FOUR if few else scan.schema.names)])
    expected, _ = _whole(unit, schema)
    read = _alone if way == "reader-alone" else _whole

    def clock(_: Callable[[], Any]) -> tuple[int, Sample]:
        rows, seconds = read(unit, schema)
        return rows, Sample(seconds, seconds)

    return Competitor(lambda: None, lambda came: _arrived(expected, came), clock)


def _arrived(sent: int, came: int) -> Arrived:
    return Arrived(Moved(unit="rows", sent=sent, arrived=came), came)


def _alone(unit: ReadUnit, schema: pa.Schema) -> tuple[int, float]:
    """Records of Hudi's reader over a slice, and its seconds, opening left out."""
    classes = java_loader().classes
    parameters = classes.jpype.JClass("java.util.LinkedHashMap")()
    for name, value in slice_parameters(unit, schema).items():
        parameters.put(name, value)
    scanner: Any = classes.java_class(SCANNER)(_CHUNK, parameters)
    with classes.inside():
        scanner.open()
        begin = time.thread_time()
        records = int(scanner.drain())
        seconds = time.thread_time() - begin
        scanner.close()
    return records, seconds


def _whole(unit: ReadUnit, schema: pa.Schema) -> tuple[int, float]:
    """The same by the whole path."""
    parameters, expected = slice_parameters(unit, schema), EngineSchema(schema)
    with JniScanner(java_loader(), SCANNER, _CHUNK, parameters, TrackedAllocator()) as scanner:
        scanner.open()
        begin = time.thread_time()
        rows = sum(batch.num_rows for batch in scanner.batches(expected))
        return rows, time.thread_time() - begin
