"""A scanner that makes its rows up: for tests, and to time what comes after a reader."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from typing import Any, Literal, Self, cast, get_args

import pyarrow as pa

from seambase.errors import UsageError
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.types import ColumnType, Kind, arrow_type
from seamkit.offheap.connector.parameters import Common, Parameters, needed, number, split_columns
from seamkit.offheap.connector.scanner import ConnectorScanner
from seamkit.offheap.connector.selected import prune_columns

#: How rows are appended: one after the other, or as whole Arrow columns.
Append = Literal["rows", "columns"]


def check_append(append: str) -> Append:
    """The way of appending of that name."""
    for known in get_args(Append):
        if append == known:
            return cast("Append", known)
    raise UsageError(f"append is 'rows' or 'columns', not '{append}'")


class GeneratorScanner(ConnectorScanner):
    """Rows that are a function of a seed and the row's number, of any types.

    Args:
        columns: types of the source's columns by name.
        rows: how many there are.
        fetch_size: rows per chunk.
        seed: what the values are a function of.
        null_percent: how many of a hundred values are NULL, on every level.
        required: columns asked for, in order; by default all.
        nested: dotted paths of the parts asked for.
        zone: of the clocks that show timestamps with a zone; the values have none.
        append: how rows are appended.
        allocator: where all memory comes from.
    """

    def __init__(
        self,
        columns: Mapping[str, ColumnType],
        rows: int,
        fetch_size: int = 4096,
        *,
        seed: int = 0,
        null_percent: int = 10,
        required: Sequence[str] | None = None,
        nested: Sequence[str] = (),
        zone: tzinfo = UTC,
        append: Append = "rows",
        allocator: TrackedAllocator | None = None,
    ) -> None:
        wanted = list(columns if required is None else required)
        types = prune_columns(columns, wanted, nested)
        sources = [columns.get(name, column) for name, column in zip(wanted, types, strict=True)]
        super().__init__(wanted, types, fetch_size, allocator, sources=sources, zone=zone)
        if not 0 <= null_percent <= 100 or rows < 0:
            raise UsageError("null_percent is 0 to 100, and there are 0 rows or more")
        self._rows = rows
        self._recipe = (seed, null_percent)
        self._mode = check_append(append)
        self._next = 0

    @classmethod
    def from_parameters(
        cls, fetch_size: int, parameters: Parameters, allocator: TrackedAllocator | None = None
    ) -> Self:
        """From `column_names`, `column_types`, `rows`, `seed`, `null_percent` and `append`."""
        own = ("column_names", "column_types", "rows", "seed", "null_percent", "append")
        common = Common.read(parameters, own)
        columns = split_columns(
            needed(parameters, "column_names"),
            needed(parameters, "column_types"),
            "column_names and column_types",
        )
        append: Any = parameters.get("append", "rows")
        scanner = cls(
            columns,
            number(parameters, "rows", 0),
            fetch_size,
            seed=number(parameters, "seed", 0),
            null_percent=number(parameters, "null_percent", 10),
            required=common.required,
            nested=common.nested,
            zone=common.zone,
            append=append,
            allocator=allocator,
        )
        scanner.predicate = common.predicate
        return scanner

    def open(self) -> None:
        """Begin with the first row."""
        self._next = 0

    def close(self) -> None:
        """Nothing was taken."""

    def get_next(self) -> int:
        """Make the next rows up and append them."""
        rows = range(self._next, min(self._next + max(self.fetch_size, 1), self._rows))
        self._next = rows.stop
        known = [
            (self.fields[i], self.sources[i])
            for i, column in enumerate(self.types)
            if column.kind is not Kind.UNKNOWN
        ]
        items = [generated(source, name, rows, *self._recipe) for name, source in known]
        if self._mode == "columns" and rows:
            arrays = [
                pa.array(column, arrow_type(source))
                for column, (_, source) in zip(items, known, strict=True)
            ]
            self.append_batch(pa.RecordBatch.from_arrays(arrays, names=[n for n, _ in known]))
        else:
            for appender, column in zip(self.appenders, items, strict=True):
                for item in column:
                    appender.put(item)
        self.counters.raw_rows += len(rows)
        return len(rows)


def generated(
    column: ColumnType, name: str, rows: range, seed: int = 0, null_percent: int = 10
) -> list[Any]:
    """Items of a column as `PlainValue` takes them: the same whichever rows are asked for."""
    return [
        _item(column, random.Random(f"{seed}/{name}/{row}"), null_percent / 100) for row in rows
    ]


def _item(column: ColumnType, dice: random.Random, nulls: float) -> Any:
    kind, children = column.kind, column.children
    if dice.random() < nulls or kind is Kind.BYTE:  # which has no values
        return None
    if kind is Kind.ARRAY:
        return [_item(children[0], dice, nulls) for _ in range(dice.randrange(4))]
    if kind is Kind.MAP:
        # Arrow's maps take no NULL for a key.
        count = range(dice.randrange(4))
        return [(_item(children[0], dice, 0), _item(children[1], dice, nulls)) for _ in count]
    if kind is Kind.STRUCT:
        pairs = zip(column.names, children, strict=True)
        return {name: _item(child, dice, nulls) for name, child in pairs}
    if kind is Kind.VARIANT:
        return {"metadata": dice.randbytes(3), "value": dice.randbytes(dice.randrange(9))}
    if kind.is_decimal:
        digits = dice.randrange(10 ** dice.randint(1, column.precision))
        return Decimal((dice.randrange(2), tuple(map(int, str(digits))), -column.scale))
    return _MAKERS[kind](dice)


def _whole(bits: int) -> Callable[[random.Random], int]:
    return lambda dice: dice.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))


def _moment(dice: random.Random) -> datetime:
    start = datetime(1900, 1, 1)
    return start + timedelta(
        days=dice.randrange(100_000), microseconds=dice.randrange(86400 * 10**6)
    )


def _time(dice: random.Random) -> time:
    seconds, millis = dice.randrange(86400), dice.randrange(1000)
    return time(seconds // 3600, seconds // 60 % 60, seconds % 60, millis * 1000)


_SIGNS = string.ascii_letters + " éßЖ中文€😀"
_MAKERS: dict[Kind, Callable[[random.Random], Any]] = {
    Kind.BOOLEAN: lambda dice: dice.random() < 0.5,
    Kind.TINYINT: _whole(8),
    Kind.SHORT: _whole(16),
    Kind.INT: _whole(32),
    Kind.LONG: _whole(64),
    Kind.FLOAT: lambda dice: dice.randrange(-(2**24), 2**24) / 64,
    Kind.DOUBLE: lambda dice: dice.gauss(0, 1e6),
    Kind.STRING: lambda dice: "".join(dice.choices(_SIGNS, k=dice.randrange(20))),
    Kind.BINARY: lambda dice: dice.randbytes(dice.randrange(20)),
    Kind.DATE: lambda dice: date(1900, 1, 1) + timedelta(days=dice.randrange(100_000)),
    Kind.TIME: _time,
    Kind.DATETIME: _moment,
    Kind.DATETIME_MICROS: _moment,
    Kind.DATETIME_MILLIS: _moment,
}
