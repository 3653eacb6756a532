"""The other process of an exchange: `python -m seamkit_tests.samples.exchange_peer ROLE`.

The first line of its input are settings as JSON. `read` serves an exchange, says its address, then
what it read; `gate` does so once it has another line; `hold` serves and never reads. `send` sends
one batch, says so, and never ends; `open` connects, says so, and sends nothing.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

from seamkit.exchange.formats.formats import chunk_format
from seamkit.exchange.logic.options import ReceiverOptions
from seamkit.exchange.sink import ExchangeSink, Routing
from seamkit.exchange.source import ExchangeSource, SourceRegistry
from seamkit.exchange.transports.by_name import connect, serve
from seamkit.exchange.transports.tls import ClientTls, ServerTls
from seamkit_tests.samples.exchange_samples import EXCHANGE, PATIENCE, SCHEMA, sample_batch


def _say(text: object) -> None:
    print(text, flush=True)  # noqa: T201 - how it talks to the test


def _paths(settings: dict[str, str]) -> dict[str, Any]:
    return {name: Path(path) for name, path in settings.items()}


def _serve(role: str, transport: str, address: str, options: dict[str, Any]) -> None:
    if "tls" in options:
        options["tls"] = ServerTls(**_paths(options["tls"]))
    stopped = ReceiverOptions(exchg_node_buffer_size_bytes=0, window=1 << 20)
    limits = None if role == "read" else stopped
    source = ExchangeSource(1, 1, chunk_format("arrow", SCHEMA), limits)
    registry = SourceRegistry()
    registry.register(EXCHANGE, source)
    server = serve(transport, registry, address, **options)
    _say(server.address)
    if role == "gate":
        sys.stdin.readline()
    if role != "hold":
        keys = [key for batch in source.batches(0, PATIENCE) for key in batch["k"].to_pylist()]
        _say(f"{len(keys)} rows, sum {sum(keys)}")
    sys.stdin.read()
    server.close()


def _send(role: str, transport: str, address: str, options: dict[str, Any]) -> None:
    if "tls" in options:
        options["tls"] = ClientTls(**_paths(options["tls"]))
    sink = ExchangeSink(
        SCHEMA,
        [connect(transport, address, EXCHANGE, **options)],
        Routing("single"),
        be_number=3,
        format=chunk_format("arrow", SCHEMA),
        max_transmit_batched_bytes=1,
    )
    if role == "send":
        sink.driver().write(sample_batch(0, 10))
    _say("sent" if role == "send" else "connected")
    threading.Event().wait()


def main() -> None:
    """Do what the role says."""
    role, settings = sys.argv[1], json.loads(sys.stdin.readline())
    transport, address = settings.pop("transport"), settings.pop("address")
    if role in ("send", "open"):
        _send(role, transport, address, settings)
    else:
        _serve(role, transport, address, settings)


if __name__ == "__main__":
    main()
