"""What a request of the exchange seam means for sink, source and chunk format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pyarrow.compute as pc

from seambase.errors import RefusedError, UsageError
from seambench.contracts.exchange import ExchangeRequest
from seamkit.core.memory import TrackedAllocator
from seamkit.exchange.formats.formats import ChunkFormat, chunk_format
from seamkit.exchange.key_columns import Key
from seamkit.exchange.logic.options import ReceiverOptions, SinkOptions
from seamkit.exchange.partition import PartitionRule
from seamkit.exchange.routing import Buckets, Routing
from seamkit.exchange.transports.by_name import TRANSPORTS

#: Transports by which rows stay in their process.
WITHIN = "pass-through"
THREADS = "local"

_BATCHED = "max_transmit_batched_bytes"
_LOCAL_FIRST = "random_local_first"
_PARTS = "rpc_http_min_size"
_DECIDED = ("keep_order", "pipeline_level_shuffle", "drivers")
_SINK = {field.name for field in fields(SinkOptions)} - {*_DECIDED}
_RECEIVER = {field.name for field in fields(ReceiverOptions)} - {*_DECIDED}
#: What `knobs` of a request may name.
KNOBS = (*sorted(_SINK), *sorted(_RECEIVER), _BATCHED, _LOCAL_FIRST, _PARTS)


def check_request(request: ExchangeRequest) -> None:
    """Refuse what cannot be before anything is opened."""
    if min(request.senders, request.receivers, request.drivers, request.writers) < 1:
        raise UsageError("an exchange has a sender, a receiver, and a driver of each at least")
    if request.order != "none" and request.writers > 1:
        raise RefusedError("drivers of one sender that share its buffer keep no order")
    if (request.order == "merge") != bool(request.sort):
        raise UsageError("a merge, and only that, goes by keys to sort by")
    _check_dealing(request)
    if request.transport not in (WITHIN, THREADS, *TRANSPORTS):
        known = ", ".join((WITHIN, THREADS, *TRANSPORTS))
        raise UsageError(f"unknown transport {request.transport!r}; there are {known}")
    if unknown := [name for name in request.knobs if name not in KNOBS]:
        raise UsageError(f"there is no knob {unknown[0]!r}; there are {', '.join(KNOBS)}")
    if request.transport == THREADS:
        _check_local(request)


def _check_local(request: ExchangeRequest) -> None:
    if request.partition == "bucket":
        raise RefusedError("a local exchange knows no buckets")
    if request.output_columns or request.computed:
        raise RefusedError("a local exchange hands on whole rows, dealt by columns")
    if request.knobs or request.pass_through:
        raise RefusedError("a local exchange has no sink whose knobs could be turned")


def _check_dealing(request: ExchangeRequest) -> None:
    by_keys = request.partition in ("hash", "bucket")
    if by_keys and not request.keys:
        raise UsageError("rows are hashed by one key column at least")
    if request.partition == "single" and request.receivers > 1:
        raise UsageError(f"single partitioning has one receiver, not {request.receivers}")
    if not by_keys and (request.keys or request.computed):
        raise UsageError(f"{request.partition} partitioning goes by no keys")
    if (request.partition == "bucket") != bool(request.buckets):
        raise UsageError("bucket partitioning, and only that, goes by buckets")
    if request.bucket_drivers and max(request.bucket_drivers) >= request.drivers:
        raise UsageError(f"a bucket is bound to one of {request.drivers} drivers")
    if unknown := [name for name in request.computed if name not in request.keys]:
        raise UsageError(f"{unknown[0]!r} is computed, but it is no key")


def _key(request: ExchangeRequest, name: str) -> Key:
    if name not in request.computed:
        return name
    function, *arguments = request.computed[name]
    if function not in pc.list_functions():
        raise UsageError(f"key {name!r} is computed by no function of pyarrow.compute: {function}")
    values = [pc.field(each) if isinstance(each, str) else pc.scalar(each) for each in arguments]
    return pc.Expression._call(function, values)


def format_of(request: ExchangeRequest, owner: TrackedAllocator) -> ChunkFormat | None:
    """The format of an exchange of which rows become bytes."""
    if request.transport == WITHIN:
        return None
    return chunk_format(request.format, request.carried(), request.options, owner)


def rule_of(request: ExchangeRequest) -> PartitionRule | None:
    """By which rows are dealt, if they are."""
    if request.partition not in ("hash", "bucket"):
        return None
    buckets = request.partition == "bucket"
    return PartitionRule(
        keys=[_key(request, name) for name in request.keys],
        channels=len(request.buckets) if buckets else request.receivers,
        drivers=1 if request.bucket_drivers else request.drivers,
        function=request.function or ("crc32" if buckets else "fnv"),  # type: ignore[arg-type] # checked by the rule
        chunk_rows=request.chunk_rows,
        columns=request.output_columns or None,
    )


def routing_of(request: ExchangeRequest) -> Routing:
    """Which receiver a row goes to."""
    buckets = None
    if request.partition == "bucket":
        channels = [None if number == -1 else number for number in request.buckets]
        buckets = Buckets(channels, request.bucket_drivers or None, request.unused_buckets)
    local_first = bool(request.knobs.get(_LOCAL_FIRST, True))
    return Routing(request.partition, rule_of(request), buckets, local_first)


def sink_settings(request: ExchangeRequest) -> Mapping[str, Any]:
    """Arguments of the sink that knobs decide."""
    known = {name: value for name, value in request.knobs.items() if name in _SINK}
    found: dict[str, Any] = {
        "options": SinkOptions(keep_order=request.order != "none", **known),
    }
    if _BATCHED in request.knobs:
        found[_BATCHED] = request.knobs[_BATCHED]
    return found


def channel_settings(request: ExchangeRequest) -> Mapping[str, Any]:
    """Options of channels over a network that knobs decide."""
    return {_PARTS: request.knobs[_PARTS]} if _PARTS in request.knobs else {}


def receiver_options(request: ExchangeRequest) -> ReceiverOptions:
    """Of the receiver; its window is as wide as the senders' at least."""
    known = {name: value for name, value in request.knobs.items() if name in _RECEIVER}
    if request.buffer_bytes is not None:
        known["exchg_node_buffer_size_bytes"] = request.buffer_bytes
    usual = ReceiverOptions().window
    known.setdefault("window", max(usual, request.knobs.get("pipeline_sink_brpc_dop", usual)))
    ordered = request.order != "none"
    return ReceiverOptions(keep_order=ordered, drivers=request.drivers if ordered else 1, **known)
