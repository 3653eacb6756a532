"""Rows that arrive in pieces, down to single bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seambase.serde import SerdeField
from seambase.wording import counted
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.rows.codec import Buffer, whole_rows
from seamkit.serde.rows.framing import GROUP_HEADER
from seamkit.serde.rows.serde import RowOptions, deserialize

_BATCH_BYTES = 1 << 20
_LENGTH = struct.Struct(">i")


def read_rows(
    format_: str,
    chunks: Iterable[Buffer],
    fields: Sequence[SerdeField],
    options: Mapping[str, Any] | None = None,
    *,
    batch_bytes: int = _BATCH_BYTES,
    allocator: TrackedAllocator | None = None,
) -> Iterator[pa.RecordBatch]:
    """Batches of a stream of rows, as its bytes come in.

    Args:
        format_: `unsaferow` or `compactrow`.
        chunks: the stream, cut anywhere.
        fields: its columns, with types in Spark's words.
        options: see `RowOptions`; packed rows need what comes beside them and are no stream.
        batch_bytes: a batch is made once so many bytes of whole rows, or groups, are there.
        allocator: owner of the batches; None: one of its own for each.

    Raises:
        InputError: the bytes break the format, or end within a row or group; the message says
            where the batch's part of the stream begins, from where its offset counts.
        RefusedError: a type that the format does not have, a limit, or a row beyond it.
        UsageError: an option or a type that is none.
    """
    chosen = RowOptions.of(options)
    if chosen.framing == "packed":
        raise UsageError("packed rows are no stream: read them whole, with their lengths")
    measure = _whole_groups if chosen.framing == "velox-group" else whole_rows
    held, done = bytearray(), 0
    for chunk in chunks:
        held += chunk
        if len(held) < batch_bytes:
            continue
        whole = measure(held)
        _check_next(held, whole, chosen, done)
        if whole:
            yield _batch(format_, bytes(held[:whole]), fields, options, allocator, done)
            del held[:whole]
            done += whole
    if held or not done:
        yield _batch(format_, bytes(held), fields, options, allocator, done)


def _batch(
    format_: str,
    data: bytes,
    fields: Sequence[SerdeField],
    options: Mapping[str, Any] | None,
    allocator: TrackedAllocator | None,
    done: int,
) -> pa.RecordBatch:
    try:
        return deserialize(format_, data, fields, options, allocator=allocator)
    except InputError as error:
        if not done:
            raise
        raise InputError(
            f"in the part of the stream that begins at byte {done}: {error}"
        ) from error


def _whole_groups(data: bytearray) -> int:
    """Bytes at the front of a piece of a stream that are whole groups."""
    at = 0
    while len(data) - at >= GROUP_HEADER.size:
        _, packed, _ = GROUP_HEADER.unpack_from(data, at)
        end = at + GROUP_HEADER.size + packed
        if packed < 0 or end > len(data):
            break
        at = end
    return at


def _check_next(held: bytearray, at: int, options: RowOptions, done: int) -> None:
    """Refuse a length that more bytes cannot make right, before they are waited for."""
    if options.framing == "velox-group":
        if len(held) - at < GROUP_HEADER.size:
            return
        size, packed, _ = GROUP_HEADER.unpack_from(held, at)
        size = min(size, packed) if min(size, packed) < 0 else max(size, packed)
    elif len(held) - at < _LENGTH.size:
        return
    else:
        (size,) = _LENGTH.unpack_from(held, at)
    if size < 0:
        raise InputError(
            f"a row or group of {counted(size, 'byte')} is announced (at byte {done + at})"
        )
    if size > options.size_limit:
        raise RefusedError(
            f"a row or group of {counted(size, 'byte')} is beyond "
            f"the size limit of {options.size_limit} "
            f"(at byte {done + at})"
        )
