"""The exchange seam: rows move between the workers of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import pyarrow as pa

from seambase.encodings import plain_schema
from seambase.errors import UsageError
from seambase.values import SortKey
from seambench.contracts.common import Kind

PartitionKind = Literal["hash", "bucket", "broadcast", "random", "single"]


Order = Literal["none", "sender", "merge"]


@dataclass(frozen=True)
class ExchangeRequest:
    """One exchange: senders on one side, receivers on the other, each with one or more drivers.

    A part is `receiver * drivers + driver`. Each row goes to one part; with `broadcast` to one
    driver of every receiver.

    Attributes:
        schema: of the rows that are written.
        partition: `hash` (by `keys`), `bucket` (by `keys`, to whoever has the bucket), `broadcast`,
            `random` (anywhere, evenly; to receivers of the sender's process alone if
            `pass_through` finds some) or `single`.
        keys: names of the columns that are hashed, in order, or of what is `computed`.
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
            With 0, nothing has arrived before it is read.
        options: of the format, as `SerdeRequest` has them.
        writers: drivers of each sender. They share its buffer, and its end is sent once, after the
            last of them.
        pass_through: receivers in the sender's own process are handed batches; the transport
            carries what is for the others.
        computed: keys that are no columns: a name, and how it comes to be as
            `[FUNCTION, ARGUMENT, ...]`: a function of `pyarrow.compute`, whose arguments are names
            of columns, or numbers.
        output_columns: names of the columns that travel, in their order; empty for all.
        buckets: for `bucket` the receiver that has each, -1 for none.
        bucket_drivers: the driver of each bucket at its receiver; empty where the hash chooses it.
        unused_buckets: what becomes of rows of a bucket that nobody has: `refuse` them, which ends
            the exchange, or `drop`, and count them.
        knobs: of the engine, by the names of its configuration; see the capabilities.
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
    writers: int = 1
    pass_through: bool = False
    computed: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    output_columns: Sequence[str] = ()
    buckets: Sequence[int] = ()
    bucket_drivers: Sequence[int] = ()
    unused_buckets: Literal["refuse", "drop"] = "refuse"
    knobs: Mapping[str, Any] = field(default_factory=dict)

    def carried(self) -> pa.Schema:
        """The schema of what travels, to which both sides are held.

        It has the output columns; where rows are dealt (`hash`, `bucket`), dictionaries and runs
        are the values they stand for, and views large texts. What goes whole keeps its encodings.

        Raises:
            UsageError: an output column that is not there.
        """
        schema = self.schema
        if unknown := [name for name in self.output_columns if name not in schema.names]:
            raise UsageError(f"there is no column {unknown[0]!r} to send")
        if self.output_columns:
            schema = pa.schema([schema.field(name) for name in self.output_columns])
        return plain_schema(schema) if self.partition in ("hash", "bucket") else schema


class ExchangeSender(Protocol):
    """One sending side. Each of its drivers is of use to one thread at a time."""

    def write(self, batch: pa.RecordBatch, driver: int = 0) -> None:
        """Send the rows of a batch on their way; waits while receivers cannot take more.

        Raises:
            seambase.errors.SeambenchError: the exchange has failed, by whoever's fault.
        """

    def finish(self, driver: int = 0) -> None:
        """Nothing more follows of a driver.

        For the last one it returns when every receiver has everything.

        Raises:
            seambase.errors.SeambenchError: the exchange has failed.
        """

    def cancel(self, reason: str) -> None:
        """End without an end: receivers must not take what they have for all there is."""


@runtime_checkable
class Counted(Protocol):
    """A side that says what became of its rows and how long that took."""

    def counters(self) -> Mapping[str, int]:
        """Counts by name, and nanoseconds by names that end in `_time`.

        `bytes_pass_through`, `bytes_sent` and `rows_of_unused_buckets` of a sender mean the same
        for all who have them. Times of several sides and threads are added up, but for
        `network_time` and `overall_time` of senders, of which the longest counts.
        """


class ExchangeReceiver(Protocol):
    """One receiving side. Each driver is of use to one thread at a time."""

    def read(self, driver: int = 0, timeout: float | None = None) -> pa.RecordBatch | None:
        """The next batch for a driver; None, then and ever after, when all senders have ended.

        Args:
            driver: which reader.
            timeout: seconds after which waiting is an error.

        Raises:
            seambase.errors.SeambenchError: a sender was lost or cancelled, or time ran out.
        """

    def cancel(self, reason: str) -> None:
        """Give up: senders get `reason`."""


class OpenExchange(Protocol):
    """An exchange whose sides are ready."""

    senders: Sequence[ExchangeSender]
    receivers: Sequence[ExchangeReceiver]

    def close(self) -> None:
        """End what still runs and release everything. Repeatable."""


class Exchange(Protocol):
    """Moves rows from senders to receivers.

    `capabilities` maps words to True: `partitions.hash`, `partitions.broadcast`, ...;
    `functions.fnv`, ...; `drivers` (more than one behind a receiver); `orders.sender`,
    `orders.merge`; `formats.arrow`, ...; `transports.pass-through`, ...; `types.map`, ... (words of
    Spark's types); `encodings.dictionary`, `encodings.run`, `encodings.view`, `encodings.large`
    (batches may come so); `cancel`; `writers`; `mixed`; `keys.computed`; `output-columns`;
    `partitions.bucket`, `buckets.drivers`, `buckets.unused`; `knobs.NAME`; of an implementation
    that can be paired with another over a wire (`seambench.seams.exchange.pairs`) `sender`,
    `receiver` and `wires.NAME`. An implementation may also offer `live_blocks() -> int`, blocks of
    memory still held.
    """

    name: str
    version: str
    kind: Kind
    capabilities: Mapping[str, bool]

    def open(self, request: ExchangeRequest) -> OpenExchange:
        """Get both sides ready.

        Raises:
            seambase.errors.UsageError: keys that are no columns, a contradictory request.
            seambase.errors.RefusedError: legal, but not supported.
            seambase.errors.UnavailableError: this machine lacks what the transport needs.
        """


class ListeningReceiver(ExchangeReceiver, Protocol):
    """One receiving side that senders of any process find by its address."""

    address: str

    def close(self) -> None:
        """Release everything; who still sends learns of it. Repeatable."""


class RemoteSender(ExchangeSender, Protocol):
    """One sending side that is connected to every receiver of its exchange."""

    def close(self) -> None:
        """Release everything; receivers take a sender that did not finish for lost. Repeatable."""


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
            seambase.errors.SeambenchError: as `Exchange.open` does.
        """

    def connect(
        self, request: ExchangeRequest, sender: int, addresses: Sequence[str]
    ) -> RemoteSender:
        """Get one sending side ready.

        Args:
            request: the whole exchange, as its receivers were given it.
            sender: which of its senders this is.
            addresses: of its receivers, in their order.

        Raises:
            seambase.errors.SeambenchError: as `Exchange.open` does, and where nobody listens.
        """
