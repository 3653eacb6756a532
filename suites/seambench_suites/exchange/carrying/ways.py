"""One way of carrying a load, as a competitor: its rows judged, or what arrived counted."""

from __future__ import annotations

import atexit
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import psutil
import pyarrow as pa

from seambench.bench.measure import Competitor
from seambench.engines.digest import digest_reader
from seambench.records.model import Moved
from seambench.records.verdicts import Arrived, Finding
from seambench.records.writer import Sample
from seambench_suites.exchange.carrying.load import RULE, Load
from seambench_suites.exchange.carrying.sending import Receiving, Send, sender_of, within
from seamkit.core.payloads import flat
from seamkit.exchange.formats.formats import ChunkFormat, chunk_format
from seamkit.exchange.partition import DealtChunk, Partitioner

#: Carries all passes of a load; the rows of its last pass.
Alone = Callable[[Load], Sequence[Any]]


def alone_of(step: str, name: str | None = None) -> Alone:
    """A step by name: `partition`, `payloads` (partition and encode, as a sink does) or `decode`.

    Args:
        step: which.
        name: of the chunk format, for the last two.
    """
    if step == "partition":
        return lambda load: _dealt(load, DealtChunk.batch)
    if step == "payloads":
        return lambda load: _payloads(load, chunk_format(str(name), load.schema))
    return lambda load: _decoded(load, str(name))


def _dealt(load: Load, use: Callable[[DealtChunk], Any]) -> list[Any]:
    partitioner = Partitioner(load.schema, RULE)
    last: deque[Any] = deque(maxlen=len(load.chunks))
    for _ in range(load.passes):
        for batch in load.batches:
            last.extend(map(use, partitioner.deal(batch)))
    last.extend(map(use, partitioner.rest()))
    return list(last)


def _payloads(load: Load, bound: ChunkFormat) -> list[Any]:
    def encode(chunk: DealtChunk) -> Any:
        return (
            bound.encode(chunk.batch()) if bound.encode_dealt is None else bound.encode_dealt(chunk)
        )

    made = _dealt(load, encode)
    # Who measures looks at many passes, who checks at one.
    return [bound.decode(flat(payload)) for payload in made] if load.passes == 1 else made


def _decoded(load: Load, name: str) -> list[Any]:
    bound, pages, last = chunk_format(name, load.schema), load.pages(name), []
    for _ in range(load.passes):
        last = [bound.decode(memoryview(page)) for page in pages]
    return last


FORMATS = ("presto", "arrow", "arrow-batch")
#: Ways within this process.
WITHIN: Mapping[str, Callable[[Load], Sequence[Any]]] = {
    **{f"{kind}/pass-through": partial(within, kind) for kind in ("transfer", "rows", "parallel")},
    "alone/partition": alone_of("partition"),
    **{
        f"alone/{step}+{name}": alone_of(step, name)
        for step in ("payloads", "decode")
        for name in FORMATS
    },
}


class Way:
    """One way, and the process that receives, if rows leave this one.

    Args:
        name: of the way.
        load: what a timed run carries.
    """

    def __init__(self, name: str, load: Load) -> None:
        self.name = name
        self._load = load
        self._receiving = None if name in WITHIN else Receiving(name)
        self._send: Send | None = None if name in WITHIN else sender_of(name, load)
        self._arrived: dict[str, Any] = {}

    def close(self) -> None:
        """End the other process."""
        if self._receiving is not None:
            self._receiving.close()

    def run(self) -> None:
        """Carry all passes; rows are let go as they come."""
        if self._receiving is None:
            WITHIN[self.name](self._load)
        else:
            self._arrived = self._carry(self._load)

    def _carry(self, load: Load) -> dict[str, Any]:
        assert self._receiving is not None
        assert self._send is not None
        self._receiving.expect(load.passes)
        self._send(load, self._receiving.address)
        return self._receiving.hear()

    def clock(self, run: Callable[[], Any]) -> tuple[Any, Sample]:
        """Seconds, and processor seconds of both processes."""
        mine, theirs, begin = time.process_time(), self._theirs(), time.perf_counter()
        run()
        wall = time.perf_counter() - begin
        spent = time.process_time() - mine + self._theirs() - theirs
        if self._receiving is not None:
            self._receiving.hear()
        return None, Sample(wall, spent)

    def _theirs(self) -> float:
        if self._receiving is None:
            return 0.0
        spent = psutil.Process(self._receiving.pid).cpu_times()
        return float(spent.user + spent.system)

    def judge(self, _: Any) -> Finding | Arrived:
        """Rows: of one pass by their digest, of the timed run by their number."""
        load = self._load
        if not decodes(self.name):
            amount = Moved(unit="bytes", sent=self._sent_bytes, arrived=self._arrived["bytes"])
            return Arrived(amount, load.rows, load.bytes)
        arrived = self._arrived.get("rows", load.rows)
        lost = None if arrived == load.rows else f"{load.rows} rows were sent, {arrived} arrived"
        return Finding(load.digest(1), self._digest_of_one_pass, lost, load.rows, load.bytes)

    @cached_property
    def _digest_of_one_pass(self) -> str:
        """Of the rows that arrive when one pass is carried, and kept."""
        once = Load(1)
        if self._receiving is None:
            return digest_reader(pa.Table.from_batches(WITHIN[self.name](once)))
        self._carry(once)
        return str(self._receiving.hear()["digest"])

    @property
    def _sent_bytes(self) -> int:
        """Bytes that leave where nothing decodes them."""
        if self.name.endswith("/grpc-calls"):
            return self._load.bytes // (256 << 10) * (256 << 10)
        pages = self._load.pages("presto")
        return self._load.passes * sum(memoryview(page).nbytes for page in pages)


def decodes(way: str) -> bool:
    """Whether a way's receiver makes rows of what comes; where not, bytes are counted."""
    return not way.startswith("wire/") and not way.endswith("/grpc-calls")


def carrying(name: str, passes: int) -> Competitor:
    """A way on the clock of both processes, in one that is its own."""
    way = Way(name, Load(passes))
    atexit.register(way.close)
    return Competitor(way.run, way.judge, way.clock)
