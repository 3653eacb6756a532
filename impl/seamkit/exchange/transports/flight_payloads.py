"""Requests as Flight carries them: payloads as rows, where they lie; and where servers are."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, UnavailableError, UsageError
from seambase.foreign_arrow import sound
from seamkit.core.payloads import flat
from seamkit.exchange.transports.address import Address

#: Payload of one request, unless told otherwise.
FLIGHT_BYTES_AT_MOST = 256 << 20
SECONDS_TO_CLOSE = 2.0
SCHEMA = pa.schema([pa.field("payload", pa.binary_view(), nullable=False)])
_INLINE_BYTES = 12  # what a view holds by itself


def flight() -> Any:
    """The module of Flight, unless pyarrow was built without it."""
    try:
        import pyarrow.flight
    except ImportError as error:
        raise UnavailableError("this pyarrow was built without Flight: use its wheels") from error
    return pyarrow.flight


def pack(payloads: Sequence[Any]) -> pa.RecordBatch:
    """Payloads as rows; each longer one is a buffer of the array."""
    views: list[bytes] = []
    buffers: list[pa.Buffer] = []
    for payload in map(flat, payloads):
        view = memoryview(payload).cast("B")
        if len(view) <= _INLINE_BYTES:
            views.append(struct.pack("<i12s", len(view), bytes(view)))
        else:
            views.append(struct.pack("<i4sii", len(view), bytes(view[:4]), len(buffers), 0))
            buffers.append(pa.py_buffer(payload))
    array = pa.Array.from_buffers(
        pa.binary_view(), len(views), [None, pa.py_buffer(b"".join(views)), *buffers]
    )
    return pa.RecordBatch.from_arrays([array], schema=SCHEMA)


def unpack(batch: pa.RecordBatch) -> list[memoryview]:
    """The rows again, where they are."""
    if batch.schema.types != SCHEMA.types:
        raise InputError(f"a batch of {batch.schema.types} came, not of {SCHEMA.types}")
    array = sound(batch, "a request").column(0)
    if array.null_count:
        raise InputError(f"{array.null_count} payloads are null")
    _, views, *buffers = array.buffers()
    payloads = []
    for row in range(array.offset, array.offset + len(array)):
        view = memoryview(views)[row * 16 : row * 16 + 16]
        size, _, number, start = struct.unpack("<i4sii", view)
        if size <= _INLINE_BYTES:
            payloads.append(view[4 : 4 + size])
        else:
            payloads.append(memoryview(buffers[number])[start : start + size])
    return payloads


def location(where: Address, tls: bool) -> str:
    """The address as Flight writes it; TLS over a Unix socket is refused."""
    if where.path and tls:
        raise UsageError(f"{where}: Flight has no TLS over Unix sockets")
    if where.path:
        return f"grpc+unix://{where.path}"
    return f"grpc+{'tls' if tls else 'tcp'}://{where.host}:{where.port}"
