"""The column seam: rows cross a language border in off-heap columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from seambench.contracts.common import Kind

#: Where the rows of a batch lie: behind a handle of native memory, in Arrow columns, or in the C
#: structures of Arrow's C Data Interface.
BatchKind = Literal["native", "arrow", "arrow-c"]
#: A batch of one kind that became one of another.
Step = tuple[BatchKind, BatchKind]
#: Dates, datetimes and decimals as numbers, or as formatted texts (StarRocks before 2024).
ValueForm = Literal["binary", "text"]


@dataclass(frozen=True)
class ColumnRequest:
    """Rows to be put into off-heap tables, one value at a time or by column.

    Attributes:
        fields: names of the source's columns.
        types: their type strings, in the order of `fields`.
        rows: the rows, each a list of plain values as the golden tables spell them.
        required_fields: columns asked for, in that order; a name not in `fields` is missing.
        nested_fields: dotted paths of the parts asked for, or None for whole columns.
        fetch_size: rows for which each table has room before anything is appended.
        chunk_rows: number of rows of each chunk to make, in order.
        kinds: for capability `batches`: the kinds of batch that each chunk goes through, first
            and last `arrow`; what the last one holds is the chunk.
        form: `text` for capability `text-form` alone.
    """

    fields: Sequence[str]
    types: Sequence[str]
    rows: Sequence[Sequence[Any]]
    required_fields: Sequence[str]
    nested_fields: Sequence[str] | None
    fetch_size: int
    chunk_rows: Sequence[int]
    kinds: Sequence[BatchKind] = ()
    form: ValueForm = "binary"


@dataclass(frozen=True)
class ColumnSlot:
    """One word of a meta chain, and a copy of what it points at (None for a word of 0)."""

    kind: Literal["nulls", "data", "offsets", "bytes", "unknown"]
    column: str
    content: bytes | None


@dataclass(frozen=True)
class ColumnChunk:
    """One off-heap table as its meta chain tells it."""

    num_rows: int
    slots: Sequence[ColumnSlot]


class ColumnTable(Protocol):
    """An implementation of off-heap columns.

    `capabilities` names the kinds it holds: `kinds.int`, `kinds.decimal`, `kinds.string`,
    `kinds.array`, ..., and `pruning`, `missing-columns`, `text-form`, which takes requests with
    that `form`. With `type-strings` it has a method
    `parse_type`, which takes a type string and returns the tree that golden files draw or raises;
    with `type-strings.lenient`, too, that method does with every string what StarRocks does, and
    its exceptions tell `reason` and `token` as golden files do. With `batches` it takes requests
    with `kinds`, and has a method `batch_steps`, which tells how often a batch of one kind became
    one of another since it was asked last, and a method `live_handles`: native batches that nobody
    has released.
    """

    name: str
    version: str
    kind: Kind
    capabilities: Mapping[str, bool]

    def chunks(self, request: ColumnRequest) -> list[ColumnChunk]:
        """Append the rows and read every chunk back through its meta chain.

        Raises:
            seambase.errors.RefusedError: a type of the request is not supported.
            seambase.errors.InputError: a type string or value is wrong.
        """

    def live_blocks(self) -> int:
        """Blocks of off-heap memory still held; 0 once every chunk is released."""
