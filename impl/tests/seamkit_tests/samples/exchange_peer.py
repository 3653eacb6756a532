"""The other process of an exchange, which talks to the test through a pipe."""

import os
import threading
from multiprocessing.connection import Connection
from typing import Any

from seamkit.exchange.transports.by_name import connect, serve
from seamkit_tests.samples.apart import APART
from seamkit_tests.samples.exchange_samples import EXCHANGE, PATIENCE, known, sample_batch, sink_to


def run(pipe: Connection, role: str, transport: str, address: str, options: dict[str, Any]) -> None:
    """`send` sends one batch, says so, and never ends; `open` connects alone, and says so.

    `read` serves an exchange, says its address, then what it read; `gate` does so once it is told
    to go on; `hold` serves and never reads.
    """
    if role in ("send", "open"):
        way = connect(transport, address, EXCHANGE, **options)
        sink = sink_to(way, be_number=3, max_transmit_batched_bytes=1)
        if role == "send":
            sink.driver().write(sample_batch(0, 10))
        pipe.send("sent" if role == "send" else "connected")
        threading.Event().wait()
    if role == "read":
        registry, source = known()
    else:
        registry, source = known(exchg_node_buffer_size_bytes=0, window=1 << 20)
    server = serve(transport, registry, address, **options)
    pipe.send(server.address)
    if role == "gate":
        pipe.recv()
    if role != "hold":
        keys = [key for batch in source.batches(0, PATIENCE) for key in batch["k"].to_pylist()]
        pipe.send(f"{len(keys)} rows, sum {sum(keys)}")
    pipe.recv()
    server.close()


class Peer:
    """A process that serves or sends as its role says, see `run`."""

    def __init__(self, role: str, transport: str, address: str, **options: Any) -> None:
        self.pipe, its_own = APART.Pipe()
        arguments = (its_own, role, transport, address, options)
        self.process = APART.Process(target=run, args=arguments, daemon=True)
        self.process.start()
        its_own.close()

    def line(self) -> str:
        """What it says next."""
        assert self.pipe.poll(PATIENCE)
        return str(self.pipe.recv())

    def signal(self, number: int) -> None:
        """Stop it or end it."""
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def end(self) -> None:
        """It is over, whatever it does."""
        self.process.kill()
        self.process.join(PATIENCE)
        self.process.close()
        self.pipe.close()
