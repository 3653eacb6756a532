"""The work that is timed: each kernel makes its own data, does one thing, and checks its rows.

Two drivers share them: the `bench_*` modules beside this one (asv, by commit) and
`seambench_suites.bench` (pytest-benchmark, in a checkout). A driver calls `prepare` before every
call of `run`, because a run uses up what it is given.
"""

from __future__ import annotations

import importlib
import io
import json
import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

#: What modules were called before, newest first; of several entries the longest name counts.
_FORMER: dict[str, tuple[str, ...]] = {
    "seambase.serde": ("seambench.seams",),
    "seambase.type_fields": ("seambench.serde_fields",),
    "seamkit": ("seambench_impl",),
    "seamkit.avro.decoder": ("seamkit.avro", "seambench_impl.avro"),
    "seamkit.core.border": ("seamkit.core.arrow_data", "seambench_impl.arrow_c"),
    "seamkit.core.memory": ("seambench_impl.memory",),
    "seamkit.offheap.columns": ("seambench_impl.columns",),
    "seamkit.offheap.connector": ("seambench_impl.connector",),
    "seamkit.offheap.engine.columns": ("seambench_impl.columns.engine",),
    "seamkit.scan.arguments": ("seamkit.scan.options",),
    "seamkit.serde.rows.serde": (
        "seamkit.serde.rows.compact_row",
        "seambench_impl.serde.rows.compact_row",
    ),
    "seamkit.scan.core_merges": (
        "seamkit.scan.merging.log_index",
        "seamkit.scan.merging.assembly",
        "seamkit.scan.merge",
        "seambench_impl.merge",
        "seamkit.scan.merging.run_merge",
        "seamkit.scan.run_merge",
    ),
}


def feature(module: str, *names: str) -> Any:
    """A module of the package under test, if this commit has it with these names.

    Looked up by name, because old commits lack parts of it, and because suites otherwise know no
    implementation: these kernels are about the history of ours.
    """
    for found in filter(None, map(_imported, (module, *_former(module)))):
        if all(hasattr(found, name) for name in names):
            return found
    raise NotImplementedError(f"this commit has no {module} with {', '.join(names) or 'anything'}")


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        return None


def _former(module: str) -> Iterator[str]:
    """The module's names in older commits, newest first."""
    begins = [name for name in _FORMER if module == name or module.startswith(f"{name}.")]
    longest = max(begins, key=len, default="")
    for name in _FORMER.get(longest, ()):
        yield name + module.removeprefix(longest)


@lru_cache
def kernel(kind: Callable[..., Any], *arguments: str) -> Any:
    """A kernel, made and checked once a process: drivers ask for it before every call."""
    return kind(*arguments)


class Timed:
    """What asv times of a kernel: a driver names the kernel, and a method `run` by its own name."""

    version = "1"
    number = 1
    timeout: float | None = None
    param_names: tuple[str, ...] = ()
    params: tuple[list[str], ...] = ()
    kernel_type: Any

    def setup(self, *arguments: str) -> None:
        """Make and check the kernel once a process; what a run uses up is made anew."""
        self.kernel = kernel(self.kernel_type, *arguments)
        self.kernel.prepare()

    def run(self, *_arguments: str) -> None:
        """All that the kernel does, once."""
        self.kernel.run()


def timed(
    kernel_type: type[Kernel],
    *names: str,
    version: str = Timed.version,
    timeout: float | None = None,
    **params: list[str],
) -> type[Timed]:
    """A kernel as asv times it, by those names, for all choices of what it is made with."""
    about = {
        "__doc__": kernel_type.__doc__,
        "kernel_type": kernel_type,
        "version": version,
        "timeout": timeout,
        "param_names": tuple(params),
        "params": tuple(params.values()),
    }
    return type(kernel_type.__name__, (Timed,), about | dict.fromkeys(names, Timed.run))


class Kernel:
    """Work that is timed: a subclass has `run`."""

    def prepare(self) -> None:
        """Make anew what a run uses up; by default that is nothing."""


class AvroDecode(Kernel):
    """An Avro data block of 20,000 records with 8 fields, 10 times, into all columns or into two.

    The block's bytes come from fastavro.
    """

    rows, loops = 20_000, 10

    def __init__(self, columns: str) -> None:
        avro = feature("seamkit.avro.decoder", "AvroDecoder")
        schema, self._block, self._expected = _avro_block(self.rows)
        wanted = self._expected.schema
        if columns == "two":
            wanted = pa.schema([wanted.field("ratio"), wanted.field("ts")])
        self._decoder = avro.AvroDecoder(schema, wanted)
        first = self.run().slice(0, self.rows)
        if not first.equals(self._expected.select(wanted.names)):
            raise AssertionError("decoded rows differ from those that were encoded")

    def run(self) -> pa.RecordBatch:
        """Decode the block again and again into one batch."""
        for _ in range(self.loops):
            self._decoder.decode(self._block)
        batch: pa.RecordBatch = self._decoder.finish()
        return _counted(batch, self.rows * self.loops)


class Merge(Kernel):
    """524,288 base rows of 6 columns in 4 batches meet 105,000 log events: index, probe, assemble.

    100,000 events replace a row of every fifth key, 5,000 delete a row.
    """

    base_rows, batch_rows, updates, deletes = 524_288, 131_072, 100_000, 5_000

    def __init__(self) -> None:
        self._index = feature("seamkit.scan.core_merges", "LogIndex")
        self._assembly = feature("seamkit.scan.core_merges", "assemble")
        self._arrow = feature("seamkit.core.border", "ExportedBatch")
        memory = feature("seamkit.core.memory", "TrackedAllocator")
        self._allocator = memory.TrackedAllocator()
        self._keys, self._rows, self._ordering, self._log = self._events()
        self.prepare()
        amount = sum(batch.column("amount").to_numpy().sum() for batch in self.run())
        if amount != self._expected_amount():
            raise AssertionError(f"merged amounts add up to {amount}")

    def prepare(self) -> None:
        """Base rows anew: assembly changes them in place where it can, as with decoded Parquet."""
        rows = _base_rows(self.base_rows)
        starts = range(0, self.base_rows, self.batch_rows)
        self._base = [
            rows.take(pa.array(np.arange(i, i + self.batch_rows)))  # a copy, which a slice is not
            for i in starts
        ]

    def run(self) -> list[pa.RecordBatch]:
        """Fold the events, then merge batch by batch."""
        index = self._index.LogIndex(self._keys, self._rows, self._ordering, None, self._allocator)
        exported = self._arrow.ExportedBatch(self._log)
        merged = []
        for batch in self._base:
            sources = index.probe(batch.select(["k"]), batch.select(["ts"]))
            merged.append(
                self._assembly.assemble(batch, self._log, exported, sources, self._allocator)
            )
        rows = sum(batch.num_rows for batch in merged)
        if rows != self.base_rows - self.deletes:
            raise AssertionError(f"{rows} rows merged")
        return merged

    def _events(self) -> tuple[pa.RecordBatch, Any, pa.RecordBatch, pa.RecordBatch]:
        updated = np.arange(self.updates, dtype=np.int64) * 5
        deleted = np.arange(self.deletes, dtype=np.int64) * 100 + 1
        log = merge_rows(updated, 2000)
        keys = pa.RecordBatch.from_pydict({"k": np.concatenate([updated, deleted])})
        rows = np.concatenate([np.arange(self.updates), np.full(self.deletes, -1)]).astype(np.int32)
        times = np.full(self.updates + self.deletes, 2000, dtype=np.int64)
        return keys, rows, pa.RecordBatch.from_pydict({"ts": times}), log

    def _expected_amount(self) -> int:
        before = sum(range(self.base_rows))
        gone = sum(100 * i + 1 for i in range(self.deletes))
        return before - gone + (2000 - 1000) * self.updates + 1000 * (self.base_rows - self.deletes)


class OffHeapFill(Kernel):
    """100,000 rows of 6 columns to an off-heap table and on into engine columns, 5 times."""

    rows, loops = 100_000, 5

    def __init__(self) -> None:
        self._types = feature("seamkit.offheap.columns.types", "from_arrow")
        self._table = feature("seamkit.offheap.columns.table", "OffHeapTable")
        self._engine = feature("seamkit.offheap.engine.columns", "EngineSchema", "fill")
        memory = feature("seamkit.core.memory", "TrackedAllocator")
        self._allocator = memory.TrackedAllocator()
        self._batch = merge_rows(np.arange(self.rows, dtype=np.int64), 1000)
        if not self.run().equals(self._batch):
            raise AssertionError("the engine's columns differ from what was appended")

    def run(self) -> pa.RecordBatch:
        """Append, chain, fill; again and again."""
        for _ in range(self.loops):
            filled = self._once()
        return filled

    def _once(self) -> pa.RecordBatch:
        types = [self._types.from_arrow(field.type) for field in self._batch.schema]
        with self._table.OffHeapTable(types, self.rows, self._allocator) as table:
            table.append_batch(self._batch)
            expected = self._engine.EngineSchema(self._batch.schema)
            filled: pa.RecordBatch = self._engine.fill(table.chain(), expected, self._allocator)
        return _counted(filled, self.rows)


def _counted(batch: pa.RecordBatch, rows: int) -> pa.RecordBatch:
    if batch.num_rows != rows:
        raise AssertionError(f"{batch.num_rows} rows, not {rows}")
    return batch


def merge_rows(keys: np.ndarray[Any, np.dtype[np.int64]], time: int) -> pa.RecordBatch:
    """Rows that are a function of key and time; pyarrow owns the buffers, as after decoding."""
    return pa.RecordBatch.from_pydict(
        {
            "k": pa.array(keys.tolist(), pa.int64()),
            "amount": pa.array((keys + time).tolist(), pa.int64()),
            "ratio": pa.array((keys / 8).tolist(), pa.float64()),
            "grade": pa.array((keys % 1000).tolist(), pa.int32()),
            "note": pa.array([f"note {k} at {time}" for k in keys.tolist()], pa.string()),
            "ts": pa.array([time] * len(keys), pa.int64()),
        }
    )


@lru_cache(maxsize=1)
def _base_rows(rows: int) -> pa.RecordBatch:
    return merge_rows(np.arange(rows, dtype=np.int64), 1000)


@lru_cache(maxsize=1)
def _avro_block(rows: int) -> tuple[str, bytes, pa.RecordBatch]:
    """A writer schema, a data block as Hudi frames it, and the rows that are in it."""
    try:
        import fastavro
    except ModuleNotFoundError as error:
        raise NotImplementedError("this environment has no fastavro") from error

    kinds: dict[str, Any] = {
        "k": "long", "grade": ["null", "int"], "ratio": "double", "flag": "boolean",
        "note": ["null", "string"], "mode": "string", "raw": "bytes", "ts": "long",
    }  # fmt: skip
    schema = {
        "type": "record",
        "name": "row",
        "fields": [{"name": name, "type": kind} for name, kind in kinds.items()],
    }
    records = [
        {
            "k": k * 7919, "grade": None if k % 7 == 0 else k % 1000, "ratio": k / 8,
            "flag": k % 3 == 0, "note": None if k % 11 == 0 else f"note of row {k}",
            "mode": ("AIR", "RAIL", "SHIP")[k % 3], "raw": bytes((k % 256, 0, 255)), "ts": 1000 + k,
        }
        for k in range(rows)
    ]  # fmt: skip
    parsed = fastavro.parse_schema(schema)
    block = io.BytesIO()
    block.write(struct.pack(">ii", 3, rows))
    for record in records:
        datum = io.BytesIO()
        fastavro.schemaless_writer(datum, parsed, record)
        block.write(struct.pack(">i", datum.tell()))
        block.write(datum.getvalue())
    types: list[Any] = [pa.int64(), pa.int32(), pa.float64(), pa.bool_()]
    types += [pa.string(), pa.string(), pa.binary(), pa.int64()]
    arrow = pa.schema(list(zip(kinds, types, strict=True)))
    return json.dumps(schema), block.getvalue(), pa.RecordBatch.from_pylist(records, schema=arrow)
