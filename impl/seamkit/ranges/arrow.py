"""Arrow's types, schemas, values and conditions in text: base64 of what Arrow itself writes.

A schema is Arrow's IPC message of it, a type that of a schema with one field, a value a stream of
one batch with one row. A condition is what Arrow makes of one to send it to another process, behind
the SHA-256 of it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib

import pyarrow as pa
import pyarrow.compute as pc

_FIELD = "value"
_DIGEST = 32
_KINDS = ("type", "schema", "value", "condition")


def arrow_text(value: object) -> tuple[str, str] | None:
    """Which of Arrow's things a value is, and its text; None where it is none of them."""
    if isinstance(value, pa.DataType):
        return "type", _text(pa.schema([(_FIELD, value)]).serialize())
    if isinstance(value, pa.Schema):
        return "schema", _text(value.serialize())
    if isinstance(value, pa.Scalar):
        sink = pa.BufferOutputStream()
        batch = pa.record_batch([pa.array([value], value.type)], [_FIELD])
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return "value", _text(sink.getvalue())
    if isinstance(value, pc.Expression):
        _, (content,) = value.__reduce__()
        own = content.to_pybytes()
        return "condition", _text(hashlib.sha256(own).digest() + own)
    return None


def read_arrow(kind: str, text: object) -> object:
    """What a text of `arrow_text` stands for."""
    if kind not in _KINDS or not isinstance(text, str):
        raise ValueError(f"{kind!r} is none of {', '.join(_KINDS)}, or has no text")
    try:
        content = pa.py_buffer(base64.b64decode(text, validate=True))
        if kind == "condition":
            return _condition(content.to_pybytes())
        if kind == "value":
            return _value(content)
        schema = pa.ipc.read_schema(content)
    except (pa.ArrowException, binascii.Error, OSError, IndexError, StopIteration) as error:
        raise ValueError(f"no {kind} of Arrow's: {str(error).splitlines()[0]}") from error
    if kind == "schema":
        return schema
    if schema.names != [_FIELD]:
        raise ValueError("no type of Arrow's: it has other fields")
    return schema.field(0).type


def _condition(content: bytes) -> pc.Expression:
    """A condition. Arrow believes its bytes, so they must be those that were written."""
    digest, own = content[:_DIGEST], content[_DIGEST:]
    if hashlib.sha256(own).digest() != digest:
        raise ValueError("no condition of Arrow's: its digest is another")
    return pc.Expression._deserialize(pa.py_buffer(own))


def _value(content: pa.Buffer) -> pa.Scalar:
    with pa.ipc.open_stream(content) as reader:
        batch = reader.read_next_batch()
    batch.validate(full=True)
    if batch.schema.names != [_FIELD] or batch.num_rows != 1:
        raise ValueError("no value of Arrow's: it is no batch of one row")
    return batch.column(0)[0]


def _text(content: pa.Buffer) -> str:
    return base64.b64encode(content).decode("ascii")
