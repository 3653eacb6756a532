"""Requests and answers as the protobuf messages that cross a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seambase.errors import InputError
from seambase.extras import needs
from seambase.wording import counted
from seamkit.core.payloads import flat
from seamkit.exchange.formats.protobuf import PARAMS, RESULT
from seamkit.exchange.logic.messages import Answer, Bound, Chunk, QueryStatistics, Request

with needs("seamkit[exchange]", "the exchange"):
    from google.protobuf.message import DecodeError

_LOW_HALF = (1 << 64) - 1


def _halves(number: int) -> tuple[int, int]:
    """128 bits as two signed numbers of 64, the high half first."""
    both = (number >> 64, number & _LOW_HALF)
    high, low = (half - (1 << 64) if half >> 63 else half for half in both)
    return high, low


def encode_request(exchange: int, request: Request, *, inline: bool) -> tuple[bytes, list[Any]]:
    """A request as a message, and the payloads that are not in it.

    Its chunks' payloads are bytes (see `payloads`). `inline` puts them into the message; otherwise
    only their sizes. `exchange` is its number at the receiver (`node_id`).
    """
    message = PARAMS(
        node_id=exchange,
        sender_id=request.sender_id,
        be_number=request.be_number,
        eos=request.eos,
        sequence=request.sequence,
    )
    if request.finst_id:
        message.finst_id.hi, message.finst_id.lo = _halves(request.finst_id)
    if request.pipeline_level_shuffle is not None:
        message.is_pipeline_level_shuffle = request.pipeline_level_shuffle
    if request.statistics is not None:
        message.query_statistics.scan_rows = request.statistics.rows
        message.query_statistics.mem_cost_bytes = request.statistics.memory_bytes
    if request.bound is not None:
        message.bound = request.bound.key
    payloads = []
    for chunk in request.chunks:
        part = message.chunks.add(data_size=chunk.bytes)
        message.driver_sequences.append(chunk.driver_sequence)
        if inline:
            part.data = bytes(flat(chunk.payload))
        else:
            payloads.append(chunk.payload)
    return message.SerializeToString(), payloads


def decode_request(message: bytes, attachment: memoryview | None) -> tuple[int, Request]:
    """The exchange's number and the request; payloads are cut out of `attachment`, if any."""
    params = _params(message)
    if attachment is None:
        return _request(params, [part.data for part in params.chunks])
    payloads, at = [], 0
    for part in params.chunks:
        payloads.append(attachment[at : at + max(part.data_size, 0)])
        at += part.data_size
    exchange, request = _request(params, payloads)
    if at != len(attachment):
        raise InputError(
            f"chunks of {counted(at, 'byte')} came with an attachment of {len(attachment)}"
        )
    return exchange, request


def attachment_bytes(message: bytes) -> int:
    """Bytes of the payloads that are to follow a request's message."""
    sizes = [part.data_size for part in _params(message).chunks]
    if any(size < 0 for size in sizes):
        raise InputError(f"a chunk of {counted(min(sizes), 'byte')} is announced")
    return sum(sizes)


def decode_request_with(message: bytes, payloads: Sequence[memoryview]) -> tuple[int, Request]:
    """The same, with the payload of each chunk beside the message."""
    return _request(_params(message), payloads)


def _params(message: bytes) -> Any:
    try:
        params = PARAMS.FromString(message)
    except DecodeError as error:
        raise InputError(f"not a PTransmitChunkParams: {error}") from error
    if len(params.driver_sequences) != len(params.chunks):
        raise InputError(
            f"{counted(len(params.chunks), 'chunk', 'have')} "
            f"{counted(len(params.driver_sequences), 'driver sequence')}"
        )
    return params


def _request(params: Any, payloads: Sequence[Any]) -> tuple[int, Request]:
    if len(payloads) != len(params.chunks):
        raise InputError(
            f"{counted(len(params.chunks), 'chunk')} came with {counted(len(payloads), 'payload')}"
        )
    chunks = []
    for part, driver, payload in zip(params.chunks, params.driver_sequences, payloads, strict=True):
        if len(payload) != part.data_size:
            raise InputError(
                f"a chunk of {counted(part.data_size, 'byte')} came with {len(payload)}"
            )
        chunks.append(Chunk(payload, part.data_size, driver))
    if params.use_pass_through and chunks:
        raise InputError("chunks that came over a network are said to have been passed through")
    shuffled = params.HasField("is_pipeline_level_shuffle")
    request = Request(
        params.be_number,
        params.sender_id,
        tuple(chunks),
        params.eos,
        params.sequence,
        finst_id=(params.finst_id.hi & _LOW_HALF) << 64 | params.finst_id.lo & _LOW_HALF,
        use_pass_through=params.use_pass_through,
        pipeline_level_shuffle=params.is_pipeline_level_shuffle if shuffled else None,
        statistics=_statistics(params),
        bound=Bound(params.bound) if params.bound else None,
    )
    return params.node_id, request


def _statistics(params: Any) -> QueryStatistics | None:
    if not params.HasField("query_statistics"):
        return None
    said = params.query_statistics
    return QueryStatistics(said.scan_rows, said.mem_cost_bytes)


def encode_answer(answer: Answer) -> bytes:
    """An answer as a message."""
    message = RESULT(be_number=answer.be_number, sequence=answer.sequence)
    message.receiver_post_process_time = answer.receiver_ns
    message.status.SetInParent()  # required by StarRocks; and so no answer is of no bytes
    if answer.error is not None:
        message.status.status_code = 6  # internal error
        message.status.error_msgs.append(answer.error)
    encoded: bytes = message.SerializeToString()
    return encoded


#: An answer to no request: the receiver lives.
BEAT = encode_answer(Answer(0, -1))


def decode_answer(message: bytes) -> Answer:
    """The answer in a message."""
    try:
        result = RESULT.FromString(message)
    except DecodeError as error:
        raise InputError(f"not a PTransmitChunkResult: {error}") from error
    if not result.HasField("status"):
        raise InputError("an answer without a status")
    if result.status.status_code == 0:
        spent = result.receiver_post_process_time
        return Answer(result.be_number, result.sequence, receiver_ns=spent)
    reasons = "; ".join(result.status.error_msgs) or "no reason given"
    return Answer(result.be_number, result.sequence, reasons)
