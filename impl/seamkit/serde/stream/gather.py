"""Rows of many small batches as one page: what an exchange sends instead of a page for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seambase.serde import SerdeField
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.stream.arena import StreamArena
from seamkit.serde.stream.presto import PrestoVectorSerde


class Gatherer:
    """A serializer of Presto pages with an arena of its own; of use to one thread at a time."""

    def __init__(
        self, fields: Sequence[SerdeField], options: Mapping[str, Any], allocator: TrackedAllocator
    ) -> None:
        self._arena = StreamArena(allocator)
        self._serializer = PrestoVectorSerde(allocator).iterative(fields, options, self._arena)

    @property
    def rows(self) -> int:
        """Rows that wait."""
        return self._serializer.num_rows

    @property
    def size_bytes(self) -> int:
        """Bytes of the page that `take` would give now, before compression."""
        return self._serializer.max_serialized_size

    def append(self, batch: Any) -> None:
        """Add the rows of a `pyarrow.RecordBatch`; see `PrestoIterativeSerializer.append`."""
        self._serializer.append(batch)

    def take(self) -> memoryview:
        """The rows as one page; none wait afterwards."""
        page = self._serializer.page()
        self._serializer.clear()
        self._arena.clear()
        return page
