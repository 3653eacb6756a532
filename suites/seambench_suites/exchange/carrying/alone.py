"""What a transfer is made of, each step by itself and in one thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from seambench_suites.exchange.carrying.load import RULE, Load
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
