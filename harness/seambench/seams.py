"""What an implementation of each seam must offer. Protocols only: no code runs here.

A scanner hands a table's rows to an engine. It arrives as a Python object (`package.module:Class`),
as a command (`cmd:./reader`) or as a shared library (`lib:./reader.so`), and states what it can do
as data in `capabilities`: everything it does not name is "no".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import pyarrow as pa

if TYPE_CHECKING:
    # Brings pandas in, which takes longer than all else that a process for cases needs to start.
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

__all__ = [
    "META_COLUMNS",
    "ColumnChunk",
    "ColumnRequest",
    "ColumnSlot",
    "ColumnTable",
    "Distributed",
    "Exchange",
    "ExchangeReceiver",
    "ExchangeRequest",
    "ExchangeSender",
    "Kind",
    "ListeningReceiver",
    "OpenExchange",
    "Order",
    "Parted",
    "PartitionKind",
    "Query",
    "RemoteSender",
    "Scan",
    "ScanReport",
    "ScanRequest",
    "ScanWarning",
    "Scanner",
    "Serde",
    "SerdeField",
    "SerdeRequest",
    "SortKey",
    "Stage",
    "Staged",
]

Query = Literal["snapshot", "read-optimized", "incremental", "cdc"]
Kind = Literal["reference", "native", "peer", "variant"]
"""A variant is another way to run an implementation; suites ask it only where it is named."""
META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
"""Columns that Hudi adds to every table; they are read only when asked for."""


@dataclass(frozen=True)
class ScanRequest:
    """One read of one table.

    Attributes:
        table: folder of the table.
        query: which view of it. `cdc` has columns of its own: `op` (`i`, `u`, `d`), `ts_ms` (the
            write's requested instant), `before` and `after` (rows as structs).
        as_of: instant up to which changes count (`snapshot` and `read-optimized`), or None.
        begin: exclusive lower bound of an incremental or `cdc` query.
        end: inclusive upper bound of an incremental or `cdc` query.
        changes_alone: an incremental query merges what changed without the rows that it changed.
        columns: names in the order wanted; None for all columns without `_hoodie_*`.
        where: DuckDB SQL over the table's columns; only scanners that come in as commands or
            libraries see it, for objects the harness applies it over `Scan.dataset()`.
        batch_size: most rows in a batch, or None for the scanner's choice.
        threads: tasks at once, or None for one per core.
        memory_limit: bytes the scanner's own allocations may reach, or None.
        strict: refuse damage that the format's own reader would skip.
    """

    table: str
    query: Query = "snapshot"
    as_of: str | None = None
    begin: str | None = None
    end: str | None = None
    changes_alone: bool = False
    columns: Sequence[str] | None = None
    where: str | None = None
    batch_size: int | None = None
    threads: int | None = None
    memory_limit: int | None = None
    strict: bool = False
    storage_options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ScanWarning:
    """Something that was skipped because the format says so: never a silent loss.

    Attributes:
        file: what was not read, or not wholly.
        offset: byte at which what was skipped begins; -1 if all of it was left out.
        reason: a sentence.
    """

    file: str
    offset: int
    reason: str


@dataclass
class ScanReport:
    """What a finished scan did.

    Attributes:
        paths: how many slices each path served, e.g. `{"native": 6, "merge": 2}`.
        warnings: damage that was skipped as the format's own reader skips it.
        rows: rows handed out.
        peak_bytes: most bytes the scanner's own allocator held at once, if it counts.
    """

    paths: dict[str, int] = field(default_factory=dict)
    warnings: list[ScanWarning] = field(default_factory=list)
    rows: int = 0
    peak_bytes: int | None = None


@runtime_checkable
class Scan(Protocol):
    """An open scan. `to_reader` and `dataset` may be called again: each call reads anew."""

    @property
    def schema(self) -> pa.Schema:
        """Schema of the batches: the requested columns in the requested order."""
        ...

    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of batches. Batches of different slices may come in any order."""
        ...

    def dataset(self) -> ds.Dataset:
        """A dataset over all columns asked for, to which engines push columns and filters."""
        ...

    def report(self) -> ScanReport:
        """What the reads so far did (complete once a stream is drained)."""
        ...


@runtime_checkable
class Parted(Scan, Protocol):
    """A scan that can be cut, so that several processes or machines share it. It can be pickled."""

    @property
    def n_parts(self) -> int:
        """How many parts there are."""
        ...

    def part(self, number: int, columns: Sequence[str], condition: pc.Expression | None) -> Scan:
        """One part; all together give the scan's rows, each exactly once.

        Args:
            number: which one, from 0.
            columns: those to hand out; the scan's schema has them all.
            condition: further rows to leave out, over any columns of the scan.
        """
        ...


class Scanner(Protocol):
    """A reader of tables.

    `capabilities` maps words to True: `formats.hudi`, `formats.parquet`, `query.snapshot`,
    `query.read-optimized`, `query.incremental`, `query.cdc`, `as-of`, `merge.commit-time`,
    `merge.event-time`,
    `blocks.avro`, `blocks.parquet`, `blocks.delete`, `table-version.6`, `table-version.9`,
    `pushdown` (the dataset prunes columns and applies filters), `strict`, `types.decimal`, ...

    An implementation may also offer `explain(path)`, an iterator over
    `seambench.serde.cursor.Met` that tells what a table's folder (timeline, slices) or one of its
    logs (blocks, records, their offsets) says, and raises where it breaks.
    """

    name: str
    version: str
    kind: Kind
    capabilities: Mapping[str, bool]

    def open(self, request: ScanRequest) -> Scan:
        """Plan a read; no row is touched yet.

        Raises:
            seambench.errors.UsageError: unknown column, contradictory request.
            seambench.errors.InputError: the folder is no table, or a file of it is broken.
            seambench.errors.RefusedError: legal, but this scanner does not support it.
            seambench.errors.UnavailableError: this machine lacks what the scanner needs.
        """
        ...


@dataclass(frozen=True)
class ColumnRequest:
    """Rows to be put into off-heap tables, one value at a time or by column.

    Attributes:
        fields: names of the source's columns.
        types: their type strings, in the order of `fields`.
        rows: the rows, each a list of plain values as the golden tables spell them.
        required_fields: columns asked for, in that order; a name not in `fields` is missing.
        nested_fields: dotted paths of the parts asked for, or None for whole columns.
        fetch_size: rows for which each table has room before anything is appended.
        chunk_rows: number of rows of each chunk to make, in order.
    """

    fields: Sequence[str]
    types: Sequence[str]
    rows: Sequence[Sequence[Any]]
    required_fields: Sequence[str]
    nested_fields: Sequence[str] | None
    fetch_size: int
    chunk_rows: Sequence[int]


@dataclass(frozen=True)
class ColumnSlot:
    """One word of a meta chain, and a copy of what it points at (None for a word of 0)."""

    kind: Literal["nulls", "data", "offsets", "bytes", "unknown"]
    column: str
    content: bytes | None


@dataclass(frozen=True)
class ColumnChunk:
    """One off-heap table as its meta chain tells it."""

    num_rows: int
    slots: Sequence[ColumnSlot]


class ColumnTable(Protocol):
    """An implementation of off-heap columns.

    `capabilities` names the kinds it holds: `kinds.int`, `kinds.decimal`, `kinds.string`,
    `kinds.array`, ..., and `pruning`, `missing-columns`. With `type-strings` it has a method
    `parse_type`, which takes a type string and returns the tree that golden files draw or raises;
    with `type-strings.lenient`, too, that method does with every string what StarRocks does, and
    its exceptions tell `reason` and `token` as golden files do.
    """

    name: str
    version: str
    kind: Kind
    capabilities: Mapping[str, bool]

    def chunks(self, request: ColumnRequest) -> list[ColumnChunk]:
        """Append the rows and read every chunk back through its meta chain.

        Raises:
            seambench.errors.RefusedError: a type of the request is not supported.
            seambench.errors.InputError: a type string or value is wrong.
        """
        ...

    def live_blocks(self) -> int:
        """Blocks of off-heap memory still held; 0 once every chunk is released."""
        ...


@dataclass(frozen=True)
class SerdeField:
    """One column of what is turned into bytes or read from them.

    Attributes:
        name: the column's name; no format writes it.
        type: its type in the format's own words (`seambench.serde_types`): Presto's for pages,
            Spark's for rows.
        nullable: whether it may hold nulls.
    """

    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True)
class SerdeRequest:
    """What the bytes are: the format, the columns, and the settings both sides must share.

    Attributes:
        format: `presto` (SerializedPages), `unsaferow`, `compactrow` or `arrow` (IPC stream).
        fields: the columns, in order.
        options: what else decides bytes. Whoever does not know an option refuses it.

            presto: `dialect` (`presto`, `velox`), `codec` (`none`, `lz4`, `zstd`, `snappy`, `gzip`,
            `zlib`), `checksum` (bool), `min_compression_ratio` (float), `encodings` (`preserve`
            keeps dictionaries and runs, `flatten` writes and reads values), `nulls_first` (bool),
            `timestamps` (`millis`, `micros`, `lossless`); of those who state `re-encode`, `layout`
            (`preserve`: what Arrow cannot hold of a page rides with the batch from reading to
            writing).

            unsaferow: `writer` (`spark`, `velox`), `framing` (`be32`, `packed`, `velox-group`);
            with `packed` to be read, `lengths` of the rows, and `offsets` unless they follow from
            them; with `velox-group`, `codec`. compactrow: the same without `writer`.

            arrow: `types` (`presto`, `spark`), the language of the fields' types; `codec`.

            All but arrow, on reading, of those who state `limits`: `size_limit` (most bytes that
            what is read may take) and `depth_limit` (most levels of nested columns).
    """

    format: str
    fields: Sequence[SerdeField]
    options: Mapping[str, Any] = field(default_factory=dict)


class Serde(Protocol):
    """Turns record batches into bytes and back.

    `capabilities` maps words to True: `serialize`, `deserialize`; `formats.presto`,
    `formats.unsaferow`, `formats.compactrow`, `formats.arrow`; `types.map`, `types.decimal`, ...
    (the words of the format's types, without parameters); `codecs.lz4`, ...; `checksum`,
    `dialects.velox`, `nulls-first`, `timestamps.lossless`, ...; `encodings.dictionary`,
    `encodings.rle`; `writers.velox`, `framings.packed`, ...; `re-encode`, `strict` (damaged bytes
    are refused), `limits`.

    An implementation may also offer `explain(request, data)`, an iterator over
    `seambench.serde.cursor.Met` that names every field of the bytes and raises where they break;
    and `live_blocks() -> int`, blocks of memory still held for results handed out.
    """

    name: str
    version: str
    kind: Kind
    capabilities: Mapping[str, bool]

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """Bytes of batches: one page each (presto), or the rows of all one after the other.

        Raises:
            seambench.errors.UsageError: batches that do not fit the request, an unknown option.
            seambench.errors.RefusedError: legal, but this implementation does not support it.
        """
        ...

    def deserialize(
        self, request: SerdeRequest, data: bytes | bytearray | memoryview
    ) -> list[pa.RecordBatch]:
        """Batches of bytes: one for each page, or one for a whole stream of rows.

        Raises:
            seambench.errors.UsageError: an unknown option, types that are none.
            seambench.errors.InputError: the bytes break the format; the message names the offset.
            seambench.errors.RefusedError: legal, but not supported, or beyond a limit.
        """
        ...


PartitionKind = Literal["hash", "broadcast", "random", "single"]
Order = Literal["none", "sender", "merge"]


@dataclass(frozen=True)
class SortKey:
    """One key of an order: `nulls_first` says where its nulls stand, whatever the direction."""

    column: str
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class ExchangeRequest:
    """One exchange: senders on one side, receivers with one or more drivers each on the other.

    A part is `receiver * drivers + driver`. Each row goes to one part; with `broadcast` to one
    driver of every receiver.

    Attributes:
        schema: of the rows.
        partition: `hash` (by `keys`), `broadcast`, `random` (anywhere, evenly) or `single`.
        keys: names of the columns that are hashed, in order.
        function: `fnv`, `xxh3` (StarRocks, hash-partitioned), `crc32` (StarRocks, bucket shuffle),
            `spark`, `presto` or `velox`, each reduced to a part as its engine does; None for any,
            as long as equal keys meet.
        senders: sending sides, each a stream of batches.
        receivers: receiving sides.
        drivers: readers behind each receiver.
        order: what is promised of the rows that one driver reads: `none`; `sender`: those of one
            sender come as they were written; `merge`: each sender writes sorted rows, and they come
            sorted by `sort`.
        sort: keys of `merge`.
        format: how rows are carried where they become bytes: `arrow`, `presto`, `starrocks`,
            `unsaferow`.
        transport: `pass-through` (batches change hands within the process), `local` (the same
            between the threads of one local exchange, without sink and source), `sockets`, `grpc`,
            `flight`, or another that the implementation states.
        chunk_rows: most rows that travel together, unless a batch of more was written.
        buffer_bytes: bytes beyond which a receiver makes its senders wait; None for its choice.
        options: of the format, as `SerdeRequest` has them.
    """

    schema: pa.Schema
    partition: PartitionKind = "hash"
    keys: Sequence[str] = ()
    function: str | None = None
    senders: int = 1
    receivers: int = 1
    drivers: int = 1
    order: Order = "none"
    sort: Sequence[SortKey] = ()
    format: str = "arrow"
    transport: str = "pass-through"
    chunk_rows: int = 4096
    buffer_bytes: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class ExchangeSender(Protocol):
    """One sending side; of use to one thread at a time."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Send the rows of a batch on their way; waits while receivers cannot take more.

        Raises:
            seambench.errors.SeambenchError: the exchange has failed, by whoever's fault.
        """
        ...

    def finish(self) -> None:
        """Nothing more follows. Returns when every receiver has everything.

        Raises:
            seambench.errors.SeambenchError: the exchange has failed.
        """
        ...

    def cancel(self, reason: str) -> None:
        """End without an end: receivers must not take what they have for all there is."""
        ...


class ExchangeReceiver(Protocol):
    """One receiving side. Each driver is of use to one thread at a time."""

    def read(self, driver: int = 0, timeout: float | None = None) -> pa.RecordBatch | None:
        """The next batch for a driver; None, then and ever after, when all senders have ended.

        Args:
            driver: which reader.
            timeout: seconds after which waiting is an error.

        Raises:
            seambench.errors.SeambenchError: a sender was lost or cancelled, or time ran out.
        """
        ...

    def cancel(self, reason: str) -> None:
        """Give up: senders get `reason`."""
        ...


class OpenExchange(Protocol):
    """An exchange whose sides are ready."""

    senders: Sequence[ExchangeSender]
    receivers: Sequence[ExchangeReceiver]

    def close(self) -> None:
        """End what still runs and release everything. Repeatable."""
        ...


class Exchange(Protocol):
    """Moves rows from senders to receivers.

    `capabilities` maps words to True: `partitions.hash`, `partitions.broadcast`, ...;
    `functions.fnv`, ...; `drivers` (more than one behind a receiver); `orders.sender`,
    `orders.merge`; `formats.arrow`, ...; `transports.pass-through`, ...; `types.map`, ... (words of
    Spark's types); `encodings.dictionary`, `encodings.run`, `encodings.view`, `encodings.large`
    (batches may come so); `cancel`; of an implementation that can be paired with another over a
    wire (`seambench.exchange.pairs`) `sender`, `receiver` and `wires.NAME`. An implementation may
    also offer `live_blocks() -> int`, blocks of memory still held.
    """

    name: str
    version: str
    kind: Kind
    capabilities: Mapping[str, bool]

    def open(self, request: ExchangeRequest) -> OpenExchange:
        """Get both sides ready.

        Raises:
            seambench.errors.UsageError: keys that are no columns, a contradictory request.
            seambench.errors.RefusedError: legal, but not supported.
            seambench.errors.UnavailableError: this machine lacks what the transport needs.
        """
        ...


class ListeningReceiver(ExchangeReceiver, Protocol):
    """One receiving side that senders of any process find by its address."""

    address: str

    def close(self) -> None:
        """Release everything; who still sends is told. Repeatable."""
        ...


class RemoteSender(ExchangeSender, Protocol):
    """One sending side that is connected to every receiver of its exchange."""

    def close(self) -> None:
        """Release everything; receivers take a sender that did not finish for lost. Repeatable."""
        ...


@runtime_checkable
class Distributed(Protocol):
    """An implementation of the exchange seam whose sides may be in different processes."""

    name: str
    version: str
    kind: Kind
    capabilities: Mapping[str, bool]

    def listen(self, request: ExchangeRequest, address: str) -> ListeningReceiver:
        """Get one receiving side ready.

        Args:
            request: the whole exchange.
            address: `unix:PATH`, or `tcp:HOST:PORT` with port 0 for any. `pass-through` makes up an
                address of its own, which is good in this process.

        Raises:
            seambench.errors.SeambenchError: as `Exchange.open` does.
        """
        ...

    def connect(
        self, request: ExchangeRequest, sender: int, addresses: Sequence[str]
    ) -> RemoteSender:
        """Get one sending side ready.

        Args:
            request: the whole exchange, as its receivers were given it.
            sender: which of its senders this is.
            addresses: of its receivers, in their order.

        Raises:
            seambench.errors.SeambenchError: as `Exchange.open` does, and where nobody listens.
        """
        ...


@dataclass(frozen=True)
class Stage:
    """One step of a seam over one batch, ready to be timed in one thread.

    Attributes:
        name: the same word for the same work in every implementation, e.g. `presto/serialize` or
            `arrow-to-table`.
        run: does the step once and returns what came of it.
        rows: the rows that a result of `run` stands for, as batch or table; not timed. They are
            compared with those that went in.
        bytes: of the buffers that one pass moves, uncompressed. None: all buffers of the batch.
        passes: how often one run does the step; times are divided by it. For steps in another
            language, where a call from here would cost more than the step.
    """

    name: str
    run: Callable[[], Any]
    rows: Callable[[Any], pa.RecordBatch | pa.Table]
    bytes: int | None = None
    passes: int = 1


@runtime_checkable
class Staged(Protocol):
    """An implementation of any seam whose steps `seambench throughput` can time."""

    def stages(self, batch: pa.RecordBatch) -> Sequence[Stage]:
        """Get everything ready that is not part of the steps themselves.

        Raises:
            seambench.errors.RefusedError: a column of the batch is not supported.
            seambench.errors.UnavailableError: this machine lacks what the steps need.
        """
        ...
