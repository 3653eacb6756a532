"""Where rows go: hashes of key columns, parts of hashes, chunks of parts, and a sink's channels.

What rows are dealt by, and what is dealt: keys by name or computed; columns that travel.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.encodings import plain_schema, plain_type
from seambase.errors import UsageError
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import (
    ExportedBatch,
    address,
    batch_without_views,
    call,
    exported_schema,
    made,
    new_array,
    no_rows,
)
from seamkit.core.memory import TrackedAllocator
from seamkit.core.payloads import ArrowPieces
from seamkit.exchange.formats.chunk_layout import table_type
from seamkit.offheap.columns.types import ColumnType, CTypes

Function = Literal["fnv", "crc32", "xxh3", "spark", "presto", "velox"]
Reduce = Literal["multiply", "modulo", "signed", "own"]

#: Number of a function in the core, and how its hashes are reduced by default.
FUNCTIONS: dict[str, tuple[int, Reduce]] = {
    "fnv": (lib.SEAM_HASH_FNV, "multiply"),
    "crc32": (lib.SEAM_HASH_CRC32, "modulo"),
    "xxh3": (lib.SEAM_HASH_XXH3, "multiply"),
    "spark": (lib.SEAM_HASH_MURMUR3, "signed"),
    "presto": (lib.SEAM_HASH_PRESTO, "own"),
    "velox": (lib.SEAM_HASH_VELOX, "own"),
}
_REDUCES = {
    "multiply": lib.SEAM_REDUCE_MULTIPLY,
    "modulo": lib.SEAM_REDUCE_MODULO,
    "signed": lib.SEAM_REDUCE_SIGNED,
    "own": lib.SEAM_REDUCE_OWN,
}


@dataclass(frozen=True)
class PartitionRule:
    """How rows find their part."""

    # names of the key columns, or expressions over columns, in the order in which they are hashed
    keys: Sequence[Key]
    channels: int  # destinations
    drivers: int = 1  # drivers behind each; a part is `channel * drivers + driver`
    # `fnv` (StarRocks, hash-partitioned), `crc32` (StarRocks, bucket shuffle), `xxh3` (StarRocks,
    # hash function version 1), `spark` (Spark SQL's HashPartitioning), `presto` (0.296:
    # InterpretedHashGenerator between tasks, LocalPartitionGenerator within, whose drivers are a
    # power of two) or `velox` (HashPartitionFunction, one driver a channel)
    function: Function = "fnv"
    # how a hash becomes a number below n; None for what goes with the function
    reduce: Reduce | None = None
    # column types of the keys, where Arrow's do not say enough; None to derive them
    types: Sequence[ColumnType] | None = None
    chunk_rows: int = 4096  # a chunk that would have more rows is finished first
    # names of those that are dealt, in their order, keys among them or not; None for all
    columns: Sequence[str] | None = None


@dataclass
class _Bound:
    """A rule for one schema, as the core's structure; `kept` is what that borrows from."""

    struct: Any
    columns: KeyColumns
    kept: list[Any] = field(default_factory=list)


def _bind(rule: PartitionRule, schema: pa.Schema) -> _Bound:
    if rule.function not in FUNCTIONS:
        known = ", ".join(FUNCTIONS)
        raise UsageError(f"unknown partition function {rule.function!r}; there are {known}")
    columns = KeyColumns(schema, rule.keys, rule.columns)
    indexes = columns.indexes
    types = rule.types or [
        table_type(plain_type(columns.schema.field(index).type)) for index in indexes
    ]
    if len(types) != len(indexes):
        raise UsageError(
            f"{counted(len(indexes), 'key column', 'have')} {counted(len(types), 'type')}"
        )
    function, usual = FUNCTIONS[rule.function]
    keys, structs = ffi.new("int32_t[]", indexes), CTypes(types)
    struct = ffi.new("struct seam_partition_rule *")
    struct.function, struct.reduce = function, _REDUCES[rule.reduce or usual]
    struct.channels, struct.drivers = rule.channels, rule.drivers
    struct.keys, struct.types, struct.n_keys = keys, structs.pointer, len(indexes)
    struct.chunk_rows, struct.n_columns = rule.chunk_rows, columns.dealt
    return _Bound(struct, columns, [keys, structs])


def hash_rows(batch: pa.RecordBatch, rule: PartitionRule) -> npt.NDArray[Any]:
    """Each row's hash over the rule's keys: of 64 bits for `presto` and `velox`, else of 32."""
    batch = batch_without_views(batch)
    bound = _bind(rule, batch.schema)
    exported = ExportedBatch(bound.columns.arrange(batch))
    wide = FUNCTIONS[rule.function][1] == "own"
    hashes = np.empty(batch.num_rows, dtype=np.uint64 if wide else np.uint32)
    call(
        lib.seam_partition_wide_hash if wide else lib.seam_partition_hash,
        TrackedAllocator().pointer,
        bound.struct,
        exported.schema,
        exported.array,
        ffi.cast("uint64_t *" if wide else "uint32_t *", hashes.ctypes.data),
    )
    return hashes


def parts_of(
    hashes: npt.NDArray[np.uint32], channels: int, drivers: int = 1, reduce: Reduce = "multiply"
) -> npt.NDArray[np.uint32]:
    """The part of each hash: its channel, and by the same hash, turned, the driver behind it."""
    if channels < 1 or drivers < 1:
        raise UsageError("rows go to at least one channel of one driver")
    if reduce == "own":
        raise UsageError("hashes of 64 bits are reduced by a Partitioner: no rule to reduce 32")
    hashes = np.ascontiguousarray(hashes, dtype=np.uint32)
    parts = np.empty_like(hashes)
    lib.seam_partition_parts(
        ffi.cast("uint32_t *", hashes.ctypes.data),
        len(hashes),
        _REDUCES[reduce],
        channels,
        drivers,
        ffi.cast("uint32_t *", parts.ctypes.data),
    )
    return parts


class DealtChunk:
    """Rows of one part that are nobody's batch yet: of use once, as a batch or as pieces.

    Attributes:
        part: whose rows they are.
        bytes: of their values, offsets and null bitmaps.
    """

    __slots__ = ("_allocator", "_array", "_schema", "bytes", "part", "schema")

    def __init__(
        self,
        part: int,
        size_bytes: int,
        array: Any,
        schema: pa.Schema,
        in_c: Any,
        allocator: TrackedAllocator,
    ) -> None:
        self.part = part
        self.bytes = size_bytes
        self.schema = schema
        self._array = array
        self._schema = in_c
        self._allocator = allocator

    @property
    def rows(self) -> int:
        """How many rows they are, before they are used."""
        return int(self._array.length)

    def batch(self) -> pa.RecordBatch:
        """The rows as a batch."""
        return pa.RecordBatch._import_from_c(address(self._array), self.schema)

    def pieces(self) -> ArrowPieces:
        """The rows as a message of Arrow's IPC format, their columns where they lie."""
        return ArrowPieces(self._allocator, self._schema, self._array)


class Partitioner:
    """Deals the rows of batches to parts and hands out their chunks.

    Memory is the allocator's: what waits here, and chunks until Arrow lets go of them. A
    partitioner belongs to one thread at a time; the work is done without the interpreter's lock.

    Args:
        schema: of the batches. Dictionaries and runs come out as what they stand for.
        rule: how rows find their part.
        allocator: where memory comes from; a new one without limit by default.
    """

    def __init__(
        self, schema: pa.Schema, rule: PartitionRule, allocator: TrackedAllocator | None = None
    ) -> None:
        self.schema = schema
        self.allocator = allocator or TrackedAllocator()
        self.parts = rule.channels * rule.drivers
        self._bound = _bind(rule, schema)
        dealt = list(self._bound.columns.schema)[: self._bound.columns.dealt]
        #: Of the chunks.
        self.plain = plain_schema(pa.schema(dealt, schema.metadata))
        self._plain_in_c = exported_schema(self.plain)
        self._schema_in_c: Any = None  # of batches, once there was one
        make, free = lib.seam_partitioner_new, lib.seam_partitioner_free
        given = self.allocator.pointer, self._bound.struct
        self._pointer = made(ffi.new("struct seam_partitioner **"), make, free, *given)

    def append(self, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Deal the rows of a batch; chunks that are full come back with their part.

        After the allocator's limit the partitioner is of no use.
        """
        return _batches(self.deal(batch))

    def deal(self, batch: pa.RecordBatch) -> Iterator[DealtChunk]:
        """The same, for who can do without batches; see `append`."""
        schema, array = self._exported(batch)
        call(lib.seam_partitioner_append, self._pointer, schema, array)
        return self._ready()

    def split(self, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
        """The rows of one batch by part, at once; parts without rows are left out.

        The batches are slices of one copy, which lives as long as any of them: for who deals with
        all of them right away. What waits in the parts has nothing to do with it.
        """
        schema, array = self._exported(batch)
        starts, out = ffi.new("int32_t[]", self.parts + 1), ffi.new("struct ArrowArray *")
        call(lib.seam_partitioner_split, self._pointer, schema, array, starts, out)
        whole = pa.RecordBatch._import_from_c(address(out), self.plain)
        ends = itertools.pairwise(ffi.unpack(starts, self.parts + 1))
        return [
            (part, whole.slice(begin, end - begin))
            for part, (begin, end) in enumerate(ends)
            if end > begin
        ]

    def flush(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """What is left, by part."""
        return _batches(self.rest())

    def rest(self, part: int = -1) -> Iterator[DealtChunk]:
        """The same, for who can do without batches; of one part, or of all."""
        call(lib.seam_partitioner_flush, self._pointer, part)
        return self._ready()

    def rows(self, part: int) -> int:
        """Rows that wait in a part."""
        return int(lib.seam_partitioner_rows(self._pointer, part))

    def bytes(self, part: int) -> int:
        """Bytes that wait in a part."""
        return int(lib.seam_partitioner_bytes(self._pointer, part))

    def _exported(self, batch: pa.RecordBatch) -> tuple[Any, Any]:
        """A batch as C structures; what they say of its schema is the same for all."""
        if not batch.schema.equals(self.schema):
            raise UsageError(f"a batch of another schema:\n{batch.schema}")
        batch = self._bound.columns.arrange(batch_without_views(batch))
        array = new_array()
        if self._schema_in_c is None:
            self._schema_in_c = exported_schema(batch.schema)
        batch._export_to_c(address(array))
        return self._schema_in_c, array

    def _ready(self) -> Iterator[DealtChunk]:
        part, size, array = ffi.new("int32_t *"), ffi.new("int64_t *"), new_array()
        while lib.seam_partitioner_next(self._pointer, part, size, array):
            yield DealtChunk(part[0], size[0], array, self.plain, self._plain_in_c, self.allocator)
            array = new_array()


def _batches(chunks: Iterator[DealtChunk]) -> Iterator[tuple[int, pa.RecordBatch]]:
    return ((chunk.part, chunk.batch()) for chunk in chunks)


#: The name of a column, or an expression over columns.
Key: TypeAlias = "str | pc.Expression"


def column_index(schema: pa.Schema, name: str, what: str) -> int:
    """The number of a key column."""
    places = schema.get_all_field_indices(name)
    if not places:
        raise UsageError(f"there is no column '{name}' {what}")
    if len(places) > 1:
        raise UsageError(f"more than one column is called '{name}'")
    return int(places[0])


class KeyColumns:
    """Batches as the core deals them: the columns that travel first, then keys that do not.

    `keys` are in the order in which they are hashed, and `indexes` says where they are in `schema`,
    that of the arranged batches, of which the first `dealt` columns travel.
    """

    def __init__(
        self, schema: pa.Schema, keys: Sequence[Key], columns: Sequence[str] | None = None
    ) -> None:
        if columns is not None and not columns:
            raise UsageError("at least one column travels")
        self._computed = [key for key in keys if not isinstance(key, str)]
        travel = (
            list(range(len(schema)))
            if columns is None
            else [column_index(schema, name, "to send") for name in columns]
        )
        named = [column_index(schema, key, "to partition by") for key in keys if type(key) is str]
        behind = [index for index in dict.fromkeys(named) if index not in travel]
        self._taken = [*travel, *behind]
        self.dealt = len(travel)
        self._is_identity = self._taken == list(range(len(schema))) and not self._computed
        self.schema = schema
        if not self._is_identity:
            self.schema = self.arrange(no_rows(schema)).schema
        places, computed = iter(named), iter(range(len(self._taken), len(self.schema)))
        self.indexes = [
            self._taken.index(next(places)) if isinstance(key, str) else next(computed)
            for key in keys
        ]

    def arrange(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch with its columns in order, and its computed keys."""
        if self._is_identity:
            return batch
        fields = [batch.schema.field(index) for index in self._taken]
        arrays = [batch.column(index) for index in self._taken]
        for number, array in enumerate(self._compute(batch)):
            fields.append(pa.field(f"key {number}", array.type))
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, batch.schema.metadata))

    def _compute(self, batch: pa.RecordBatch) -> list[pa.Array]:
        if not self._computed:
            return []
        # With it comes pandas where that is installed: half of the time that a process starts in.
        from pyarrow import acero

        names = [str(number) for number in range(len(self._computed))]
        source = acero.TableSourceNodeOptions(pa.Table.from_batches([batch]))
        steps = [
            acero.Declaration("table_source", source),
            acero.Declaration("project", acero.ProjectNodeOptions(self._computed, names)),
        ]
        try:
            table = acero.Declaration.from_sequence(steps).to_table(use_threads=False)
        except (pa.ArrowException, KeyError, TypeError) as error:
            raise UsageError(f"rows cannot be dealt by {self._computed}: {error}") from error
        return [_one_array(column) for column in table.combine_chunks().columns]


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


@dataclass(frozen=True)
class Buckets:
    """Where the buckets of a table are, for rows that come to them (StarRocks' BUCKET_SHUFFLE).

    Attributes:
        channels: of each bucket the number of the channel to the instance that has it; None where
            nobody has it.
        drivers: of each bucket the driver there that reads it; None where the row's hash, turned by
            xorshift32, chooses one of the rule's drivers.
        unused: what becomes of rows of a bucket that nobody has. `refuse`: the first of them ends
            the exchange; `drop`: they are counted, and gone, as in StarRocks.
    """

    channels: Sequence[int | None]
    drivers: Sequence[int] | None = None
    unused: Literal["refuse", "drop"] = "refuse"

    def place(self, part: int, drivers: int) -> tuple[int, int] | None:
        """Channel and driver of a part of the rule; None where nobody has its bucket."""
        bucket, driver = divmod(part, drivers)
        channel = self.channels[bucket]
        if channel is None:
            return None
        return channel, driver if self.drivers is None else self.drivers[bucket]


@dataclass(frozen=True)
class Routing:
    """Which channel a row goes to."""

    # `hash` (by `rule`), `bucket` (by `rule`, whose channels are buckets, and `buckets`),
    # `broadcast` (every row to every channel, encoded once), `random` (whole chunks, in turns) or
    # `single`
    kind: Literal["hash", "bucket", "broadcast", "random", "single"]
    rule: PartitionRule | None = None  # for `hash` its channels are those of the sink
    buckets: Buckets | None = None  # for `bucket`
    # `random` sends to no other while there are channels that pass rows through
    local_first: bool = True

    def check(self, channels: int) -> None:
        """Whether a sink of so many channels can go by it."""
        if (self.kind in ("hash", "bucket")) != (self.rule is not None):
            raise UsageError("hash and bucket routing, and only these, go by a partition rule")
        if (self.kind == "bucket") != (self.buckets is not None):
            raise UsageError("bucket routing, and only that, goes by a map of buckets")
        if self.kind == "single" and channels != 1:
            raise UsageError(f"single routing has one channel, not {channels}")
        if self.buckets is not None and self.rule is not None:
            _check_buckets(self.buckets, self.rule, channels)
        elif self.rule is not None and self.rule.channels != channels:
            raise UsageError(
                f"the rule deals to {counted(self.rule.channels, 'channel')}, not {channels}"
            )

    def placement(self) -> list[tuple[int, int] | None]:
        """Channel and driver of every part of the rule; None for those that nobody has."""
        if self.rule is None:
            return []
        parts = range(self.rule.channels * self.rule.drivers)
        if self.buckets is not None:
            return [self.buckets.place(part, self.rule.drivers) for part in parts]
        return [divmod(part, self.rule.drivers) for part in parts]


def _check_buckets(buckets: Buckets, rule: PartitionRule, channels: int) -> None:
    count = len(buckets.channels)
    if rule.channels != count:
        raise UsageError(
            f"the rule deals to {counted(rule.channels, 'bucket')}, the map has {count}"
        )
    if any(channel is not None and not 0 <= channel < channels for channel in buckets.channels):
        raise UsageError(f"a bucket belongs to one of {counted(channels, 'channel')}, or to nobody")
    if buckets.drivers is None:
        return
    if rule.drivers != 1:
        raise UsageError("where buckets are bound to drivers, the rule has none to choose from")
    if len(buckets.drivers) != count or min(buckets.drivers, default=0) < 0:
        raise UsageError(f"{counted(count, 'bucket', 'have')} a driver each, 0 or more")
