"""A scanner over rows that are Python sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, tzinfo
from itertools import islice
from operator import itemgetter
from typing import Any

from seambase.errors import InputError, UsageError
from seambase.wording import counted
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.types import ColumnType, parse
from seamkit.offheap.connector.scanner import ConnectorScanner
from seamkit.offheap.connector.selected import prune_columns


class RowScanner(ConnectorScanner):
    """Appends rows of ordinary Python values, whatever `PlainValue` takes.

    Args:
        fields: names of the items in each row.
        types: their types, or type strings.
        rows: the rows; each as long as `fields`.
        fetch_size: rows per chunk.
        required: columns asked for, in order; one not in `fields` is missing (NULL in every row).
            By default all.
        nested: dotted paths of the parts asked for; by default all.
        zone: of the clocks that show timestamps with a zone.
        allocator: where all memory comes from; a new one without limit by default.
    """

    def __init__(
        self,
        fields: Sequence[str],
        types: Sequence[str | ColumnType],
        rows: Iterable[Sequence[Any]],
        fetch_size: int = 4096,
        *,
        required: Sequence[str] | None = None,
        nested: Sequence[str] = (),
        zone: tzinfo = UTC,
        allocator: TrackedAllocator | None = None,
    ) -> None:
        trees = [parse(kind) if isinstance(kind, str) else kind for kind in types]
        known = dict(zip(fields, trees, strict=True))
        if len(known) < len(fields):
            twice = next(name for i, name in enumerate(fields) if name in fields[:i])
            raise UsageError(f"the field '{twice}' comes twice")
        wanted = list(fields if required is None else required)
        chosen = prune_columns(known, wanted, nested)
        sources = [known.get(name, column) for name, column in zip(wanted, chosen, strict=True)]
        super().__init__(wanted, chosen, fetch_size, allocator, sources=sources, zone=zone)
        self.rows: Iterator[Sequence[Any]] = iter(rows)
        self._width = len(fields)
        places = {name: i for i, name in enumerate(fields)}
        self._places = [places[name] for name in wanted if name in places]
        self._all = self._places == list(range(self._width))

    def open(self) -> None:
        """Nothing to do: the rows are there."""

    def close(self) -> None:
        """Nothing to do: whoever made the rows has what stands behind them."""

    def chunk_rows(self) -> int:
        """Most rows of the chunk to come; never 0, which would tell the end."""
        return max(self.fetch_size, 1)

    def get_next(self) -> int:
        """Append the next rows, as many as fit a chunk."""
        chunk = list(islice(self.rows, self.chunk_rows()))
        self.counters.raw_rows += len(chunk)
        self.append_rows(self._pick(chunk))
        return len(chunk)

    def _pick(self, rows: list[Sequence[Any]]) -> Sequence[Sequence[Any]]:
        """The items asked for."""
        if self._all:
            return rows
        if set(map(len, rows)) - {self._width}:
            at, row = next((i, r) for i, r in enumerate(rows) if len(r) != self._width)
            raise InputError(
                f"row {self.row_number + at} has {counted(len(row), 'value')} for "
                f"{counted(self._width, 'column')}"
            )
        if len(self._places) > 1:
            return list(map(itemgetter(*self._places), rows))
        return [tuple(row[place] for place in self._places) for row in rows]
