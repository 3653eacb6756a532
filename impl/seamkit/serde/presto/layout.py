"""What Arrow cannot hold of a page, kept in the metadata of the batch that was read from it.

Null flags without a null, hash tables, bare nulls in place of a type's own encoding, and the 24
bytes that say where a dictionary comes from: with them a batch becomes the same page again.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from seambase.errors import InputError

_MARKS = b"seambench.presto.marks"
_SOURCES = b"seambench.presto.sources"
# A mark has five bits.
_DIGITS = "0123456789abcdefghijklmnopqrstuv"
SOURCE_BYTES = 24
"""Bytes that say where a dictionary comes from."""


@dataclass(frozen=True)
class Layout:
    """Marks of every column in a page and sources of its dictionaries, in the page's order.

    Attributes:
        marks: bits of the core's enum seam_presto_mark, a byte each.
        sources: 24 bytes for each dictionary.
    """

    marks: bytes
    sources: bytes


def with_layout(schema: pa.Schema, layout: Layout) -> pa.Schema:
    """The schema with a layout in its metadata."""
    metadata = dict(schema.metadata or {})
    metadata[_MARKS] = "".join(_DIGITS[mark] for mark in layout.marks).encode()
    metadata[_SOURCES] = layout.sources.hex().encode()
    return schema.with_metadata(metadata)


def layout_of(schema: pa.Schema) -> Layout | None:
    """The layout in a schema's metadata, or None."""
    metadata = schema.metadata or {}
    if _MARKS not in metadata:
        return None
    try:
        marks = bytes(_DIGITS.index(digit) for digit in metadata[_MARKS].decode())
        sources = bytes.fromhex(metadata.get(_SOURCES, b"").decode())
    except ValueError as error:
        raise InputError(f"metadata {_MARKS.decode()} of the batch is damaged: {error}") from error
    if len(sources) % SOURCE_BYTES:
        raise InputError(f"metadata {_SOURCES.decode()} of the batch is not in groups of 24 bytes")
    return Layout(marks, sources)
