"""Batches, certificates and processes for tests of the exchange."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import trustme

from seamkit.exchange.transports.tls import ClientTls, ServerTls

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


class Peer:
    """A process that serves or sends; see `exchange_peer`.

    Args:
        role: what it does.
        settings: of `exchange_peer`.
    """

    def __init__(self, role: str, **settings: Any) -> None:
        for key, value in settings.items():
            if isinstance(value, ServerTls | ClientTls):
                found = {name: str(path) for name, path in asdict(value).items() if path}
                settings[key] = found
        self.process = subprocess.Popen(
            [sys.executable, "-m", "seamkit_tests.samples.exchange_peer", role],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.say(json.dumps(settings))

    def line(self) -> str:
        """What it says next."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def say(self, line: str) -> None:
        """Tell it something."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """It is over, whatever it does."""
        self.process.kill()
        self.process.wait(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
