"""Batches, ends and certificates for tests of the exchange."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import trustme

from seambase.errors import UnavailableError
from seamkit.exchange.formats.formats import ChunkFormat, chunk_format
from seamkit.exchange.logic.channel import Channel
from seamkit.exchange.logic.messages import Answer, Chunk, Request
from seamkit.exchange.logic.options import ReceiverOptions
from seamkit.exchange.sink import ExchangeSink, Routing
from seamkit.exchange.source import ExchangeSource, SourceRegistry
from seamkit.exchange.transports.address import ClientTls, ServerTls

PATIENCE = 20.0
EXCHANGE = 7


def sample_batch(start: int, rows: int) -> pa.RecordBatch:
    """Rows that say which they are."""
    numbers = range(start, start + rows)
    return pa.record_batch(
        {
            "k": pa.array(numbers, pa.int64()),
            "name": pa.array([None if i % 4 == 0 else f"name {i}" for i in numbers], pa.string()),
            "price": pa.array([Decimal(i) for i in numbers], pa.decimal128(15, 2)),
            "tags": pa.array([[i, None] * (i % 3) for i in numbers], pa.list_(pa.int32())),
        }
    )


SCHEMA = sample_batch(0, 1).schema
STREAMS = chunk_format("arrow", SCHEMA)


def until(condition: Callable[[], object]) -> None:
    """Wait until it holds, as long as our patience lasts."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.001)


def known(
    senders: int = 1, queues: int = 1, format_: ChunkFormat | None = STREAMS, **limits: Any
) -> tuple[SourceRegistry, ExchangeSource]:
    """The source of the exchange, and a registry that knows it."""
    registry = SourceRegistry()
    source = ExchangeSource(senders, queues, format_, ReceiverOptions(**limits))
    registry.register(EXCHANGE, source)
    return registry, source


def sink_to(*ways: Channel, routing: Routing | None = None, **options: Any) -> ExchangeSink:
    """A sink of sample batches, which go to a single receiver as Arrow's streams."""
    options = {"be_number": 0, "format": STREAMS, **options}
    return ExchangeSink(SCHEMA, ways, routing or Routing("single"), **options)


def send(sink: ExchangeSink, *batches: pa.RecordBatch) -> None:
    """Write batches by a driver of their own, and wait until all have arrived."""
    driver = sink.driver()
    for batch in batches:
        driver.write(batch)
    driver.finish()
    sink.wait_finished(PATIENCE)


class Way:
    """A channel that keeps requests, and answers them unless told otherwise.

    Args:
        gate: how many may leave; more do when it is released.
        pass_through: whether batches are handed over as they are.
        answers: whether each is answered.
        refuses: whether nobody is there when it is opened.
    """

    most_bytes: int | None = None

    def __init__(
        self,
        gate: int = 1000,
        *,
        pass_through: bool = False,
        answers: bool = True,
        refuses: bool = False,
    ) -> None:
        self.pass_through, self.answers, self.refuses = pass_through, answers, refuses
        self.sent: list[Request] = []
        self.gate, self.closed = threading.Semaphore(gate), False
        self.on_answer: Any = None

    def open(self, on_answer: Any, on_failure: Any, be_number: int | None = None) -> None:
        """See `Channel`."""
        del on_failure, be_number
        if self.refuses:
            raise UnavailableError("nobody is there")
        self.on_answer = on_answer

    def send(self, request: Request) -> None:
        """See `Channel`."""
        self.gate.acquire(timeout=PATIENCE)
        self.sent.append(request)
        if self.answers:
            self.on_answer(Answer(request.be_number, request.sequence))

    def close(self) -> None:
        """See `Channel`."""
        self.closed = True
        self.gate.release(1000)

    @property
    def chunks(self) -> list[Chunk]:
        """All that came."""
        return [chunk for request in self.sent for chunk in request.chunks]


def addresses_of(batch: pa.RecordBatch) -> list[int]:
    """Where the buffers of a batch lie."""
    buffers = [buffer for column in batch.columns for buffer in column.buffers()]
    return [buffer.address for buffer in buffers if buffer is not None]


@dataclass(frozen=True)
class Certificates:
    """Of an authority, a server for 127.0.0.1, a client, and an authority that nobody trusts."""

    roots: Path
    server: Path
    client: Path
    strange_roots: Path

    @property
    def server_tls(self) -> ServerTls:
        """What the server shows."""
        return ServerTls(self.server, self.server)

    @property
    def client_tls(self) -> ClientTls:
        """What a client without a certificate believes."""
        return ClientTls(self.roots)


def make_certificates(folder: Path) -> Certificates:
    """Write PEM files; those of server and client hold the key and the chain."""
    made = Certificates(*(folder / f"{name}.pem" for name in ("roots", "server", "client", "odd")))
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(made.roots))
    for path, name in ((made.server, "127.0.0.1"), (made.client, "client.example")):
        both = authority.issue_cert(name).private_key_and_cert_chain_pem
        both.write_to_path(str(path))
    trustme.CA().cert_pem.write_to_path(str(made.strange_roots))
    return made
