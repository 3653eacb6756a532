"""A scanner over rows that are Python tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from seambench.errors import InputError
from seambench_impl.columns.types import UNKNOWN, ColumnType, parse
from seambench_impl.connector.scanner import ConnectorScanner
from seambench_impl.memory import TrackedAllocator

__all__ = ["RowScanner"]


class RowScanner(ConnectorScanner):
    """Appends tuples of ordinary Python values, one value at a time.

    Args:
        fields: names of the columns in each row.
        types: their type strings.
        rows: the rows; each as long as `fields`. Values: bool, int, float, Decimal, str, bytes,
            datetime.date, datetime.datetime, datetime.time or milliseconds, None.
        fetch_size: rows per chunk.
        required: columns asked for, in order; one not in `fields` is missing (NULL in every row).
            By default all.
        allocator: where all memory comes from; a new one without limit by default.
        on_close: called once the scanner closes, for what stands behind `rows`.

    Raises:
        seambench.errors.RefusedError: a type that is not supported.
        seambench.errors.InputError: a type string that is none, or (from `get_next`) a value that
            its column cannot hold.
    """

    def __init__(
        self,
        fields: Sequence[str],
        types: Sequence[str],
        rows: Iterable[Sequence[Any]],
        fetch_size: int = 4096,
        *,
        required: Sequence[str] | None = None,
        allocator: TrackedAllocator | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        known = dict(zip(fields, map(parse, types), strict=True))
        wanted = list(fields if required is None else required)
        chosen: list[ColumnType] = [known.get(name, UNKNOWN) for name in wanted]
        super().__init__(wanted, chosen, fetch_size, allocator)
        self.rows: Iterator[Sequence[Any]] = iter(rows)
        self.row_number = 0
        self._on_close = on_close
        self._width = len(fields)
        self._sources = None
        if required is not None:
            positions = {name: i for i, name in enumerate(fields)}
            self._sources = [positions[name] for name in wanted if name in positions]

    def open(self) -> None:
        """Nothing to do: the rows are there."""

    def close(self) -> None:
        """Tell whoever stands behind the rows, once."""
        call, self._on_close = self._on_close, None
        if call is not None:
            call()

    def chunk_rows(self) -> int:
        """Most rows of the chunk to come; never 0, which would tell the end."""
        return max(self.fetch_size, 1)

    def get_next(self) -> int:
        """Append the next rows, as many as fit a chunk."""
        appenders = self.appenders
        value: Any = self.values()
        count = 0
        put: Any = None
        item: Any = None
        # Outside the try: an error of the source is not one of a value.
        chunk = list(islice(self.rows, self.chunk_rows()))
        try:
            for row in self._pick(chunk):
                for put, item in zip(appenders, row, strict=True):
                    if item is None:
                        put(None)
                    else:
                        value.item = item
                        put(value)
                count += 1
        except (InputError, TypeError, ValueError, AttributeError, ArithmeticError) as reason:
            raise self._wrong(chunk[count], count, put, item, reason) from reason
        self.row_number += count
        return count

    def _pick(self, rows: list[Sequence[Any]]) -> Iterable[Sequence[Any]]:
        sources = self._sources
        if sources is None:
            return rows
        return ([row[source] for source in sources] for row in rows if self._checked(row))

    def _checked(self, row: Sequence[Any]) -> bool:
        if len(row) != self._width:
            raise ValueError
        return True

    def _wrong(
        self, row: Sequence[Any], count: int, put: Any, item: Any, reason: Exception
    ) -> InputError:
        at = f"row {self.row_number + count}"
        if len(row) != self._width:
            return InputError(f"{at} has {len(row)} values for {self._width} columns")
        known = [
            (name, column)
            for name, column in zip(self.fields, self.types, strict=True)
            if column is not UNKNOWN
        ]
        name, column = known[self.appenders.index(put)]
        return InputError(f"{at}, column '{name}': {item!r} is no {column} ({reason})")
