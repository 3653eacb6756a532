"""Exchanges between hosts (network namespaces) whose wire delays, loses and limits packets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from seambase.errors import SeambenchError, UnavailableError
from seambench.bench.exchange.cluster import Cluster, Way
from seambench.bench.exchange.oracle import Oracle
from seambench.bench.exchange.plans import PLANS
from seambench_suites.meta.exchange.hosts import Hosts, Wire

_SECONDS = 120.0


@contextlib.contextmanager
def _hosts(count: int, wire: Wire) -> Iterator[tuple[Hosts, Cluster]]:
    """Hosts and a worker on each; what this machine lacks is said."""
    with contextlib.ExitStack() as stack:
        try:
            hosts = stack.enter_context(Hosts(count, wire))
        except UnavailableError as error:
            pytest.skip(f"unavailable: {error}")
        workers = Cluster("seambench", [1] * count, prefixes=hosts.prefixes, timeout=_SECONDS)
        yield hosts, stack.enter_context(workers)


def _shuffle(folder: Path, wire: Wire, transports: list[str], count: int = 2) -> int:
    """Shuffle over each transport; packets that were lost."""
    oracle = Oracle(PLANS["shuffle"], folder)
    with _hosts(count, wire) as (hosts, cluster):
        cluster.prepare("shuffle", folder)
        for transport in transports:
            way = Way(transport, "presto", 512, address=hosts.address)
            assert oracle.judge(cluster.run(way).outcomes).wrong is None
        return hosts.lost


def test_delay_and_loss_cost_time_and_no_rows(folder: Path) -> None:
    """TCP repeats what the wire lost; every row arrives once."""
    assert _shuffle(folder, Wire(delay_seconds=0.002, loss=0.02), ["sockets"]) > 0


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize(
    "wire",
    [
        Wire(),
        Wire(delay_seconds=0.02),
        Wire(delay_seconds=0.002, loss=0.02),
        Wire(bytes_per_second=5e6, queue_bytes=1 << 17),
    ],
    ids=["plain", "delay", "loss", "limit"],
)
def test_every_transport_bears_a_bad_wire(folder: Path, wire: Wire, count: int) -> None:
    """Delay, loss and too little room, between two and four hosts."""
    _shuffle(folder, wire, ["sockets", "grpc", "flight"], count)


@pytest.mark.slow
def test_a_host_that_vanishes_is_noticed(folder: Path) -> None:
    """All packets are lost from some moment on: an error, in bounded time."""
    with _hosts(2, Wire()) as (hosts, cluster):
        cluster.prepare("shuffle", folder)
        way = Way("sockets", "presto", 512, address=hosts.address)
        cluster.run(way)
        hosts.cut()
        with pytest.raises(SeambenchError, match=r"cannot be reached|lost|failed"):
            cluster.run(way)
