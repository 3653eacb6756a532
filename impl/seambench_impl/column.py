"""Off-heap columns as the suites see them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa

from seambase.errors import InputError
from seambench import __version__
from seambench.contracts.column import BatchKind, ColumnChunk, ColumnRequest, ColumnSlot, Step
from seambench.contracts.common import Kind, Stage
from seambench_impl.stages.connector import row_stages
from seambench_impl.stages.engine import append_stage, engine_stages
from seamkit.core.memory import TrackedAllocator
from seamkit.gluten.handles import HandleRegistry, through_kinds
from seamkit.offheap.columns.decode import slots
from seamkit.offheap.columns.lenient_types import parse_leniently
from seamkit.offheap.columns.table import Chain, OffHeapTable
from seamkit.offheap.columns.types import ColumnType, arrow_type, parse
from seamkit.offheap.connector.rows import RowScanner
from seamkit.offheap.connector.value import PlainValue
from seamkit.offheap.engine.columns import EngineSchema, fill

#: Kinds of columns, as capabilities name them.
KINDS = (
    *("boolean", "tinyint", "short", "int", "bigint", "float", "double"),
    *("date", "time", "timestamp", "decimal", "string", "binary"),
    *("array", "map", "struct", "variant"),
)


class OffHeapColumns:
    """Implements `contracts.column.ColumnTable` through the connector: one value at a time."""

    name = "offheap"
    version = __version__
    kind: Kind = "reference"
    capabilities: Mapping[str, bool] = {f"kinds.{kind}": True for kind in KINDS} | {
        "missing-columns": True,
        "pruning": True,
        "type-strings": True,
        "type-strings.lenient": True,
        "batches": True,
    }

    def __init__(self) -> None:
        self._allocator = TrackedAllocator()
        self._batches = HandleRegistry(self._allocator)
        self._steps: Counter[Step] = Counter()

    def chunks(self, request: ColumnRequest) -> list[ColumnChunk]:
        """Append the rows and read every chunk back through its meta chain."""
        scanner = _CaseScanner(request, list(map(column_type, request.types)), self._allocator)
        found = []
        with scanner:
            scanner.open()
            for _ in request.chunk_rows:
                chain = scanner.get_next_off_heap_chunk()
                if request.kinds:
                    with self._turned(scanner, chain, request.kinds) as table:
                        found.append(chunk_of(table.chain(), scanner.fields, scanner.types))
                else:
                    found.append(chunk_of(chain, scanner.fields, scanner.types))
                scanner.release_table()
        return found

    def _turned(
        self, scanner: _CaseScanner, chain: Chain, kinds: Sequence[BatchKind]
    ) -> OffHeapTable:
        """A table of the rows of a chunk after they went through kinds of batches."""
        columns = zip(scanner.fields, scanner.types, strict=True)
        schema = pa.schema([pa.field(name, arrow_type(column)) for name, column in columns])
        rows = through_kinds(
            self._batches, fill(chain, EngineSchema(schema), self._allocator), kinds
        )
        table = OffHeapTable(scanner.types, rows.num_rows, self._allocator)
        try:
            table.append_batch(rows)
        except BaseException:
            table.release()
            raise
        return table

    def batch_steps(self) -> Mapping[Step, int]:
        """How often a batch of one kind became one of another since this was asked last."""
        before, self._steps = self._steps, Counter(self._batches.counters().conversions)
        return self._steps - before

    def live_handles(self) -> int:
        """Native batches that nobody has released."""
        return self._batches.counters().live

    def parse_type(self, text: str) -> dict[str, Any]:
        """What StarRocks makes of a type string: kind, a decimal's scale, children by name."""
        return _tree(parse_leniently(text))

    def stages(self, batch: pa.RecordBatch) -> Sequence[Stage]:
        """The seam's steps over a batch."""
        allocator = self._allocator
        rows, engine = row_stages(batch, allocator), engine_stages(batch, allocator)
        return [*rows, append_stage(batch, allocator), *engine]

    def live_blocks(self) -> int:
        """Blocks of off-heap memory still held."""
        return self._allocator.counters().live_blocks


def chunk_of(chain: Chain, fields: Sequence[str], types: Sequence[ColumnType]) -> ColumnChunk:
    """What a meta chain tells of columns of these names and types."""
    rows, parts = slots(chain.address, types, as_text=chain.as_text)
    return ColumnChunk(
        rows,
        [
            ColumnSlot(part.kind, ".".join((fields[part.column], *part.path)), part.content)
            for part in parts
        ],
    )


def column_type(text: str) -> ColumnType:
    """What StarRocks reads: where the strict parser has an answer, it is the same."""
    try:
        return parse(text)
    except InputError:
        return parse_leniently(text)


def _tree(column: ColumnType) -> dict[str, Any]:
    tree: dict[str, Any] = {"kind": column.kind.name}
    if column.kind.is_decimal:
        tree["scale"] = column.scale
    if column.children:
        pairs = zip(column.names, column.children, strict=True)
        tree["children"] = [{"name": name} | _tree(child) for name, child in pairs]
    return tree


class _CaseValue(PlainValue):
    """A value as the golden tables spell it: mostly text, which is Java's."""

    __slots__ = ()

    def get_string_bytes(self) -> bytes:
        return str(self.item).encode("utf-8", "replace")  # Java writes `?` for half a character

    def get_long(self) -> int:
        return int(self.item)

    def get_double(self) -> float:
        return float(self.item)

    get_float = get_double

    def get_bytes(self) -> bytes:
        return bytes.fromhex(self.item)

    def get_variant(self) -> tuple[bytes, bytes]:
        metadata, value = map(bytes.fromhex, self.item)
        return metadata, value

    def get_date(self) -> int:
        return _days(self.item)

    def get_datetime(self) -> int:
        day, clock = self.item.split(" ")
        hour, minute, rest = clock.split(":")
        second, _, fraction = rest.partition(".")
        seconds = ((_days(day) * 24 + int(hour)) * 60 + int(minute)) * 60 + int(second)
        return seconds * 1_000_000 + int(fraction[:6].ljust(6, "0"))

    def get_decimal(self, scale: int) -> int:
        return PlainValue(Decimal(self.item)).get_decimal(scale)


def _days(text: str) -> int:
    """Days since 1970-01-01. Python has no years like 0, -44, 10000: they move by 400 at a time."""
    year, month, day = map(int, text.rsplit("-", 2))
    cycles = (year - 1) // 400
    moved = date(year - 400 * cycles, month, day)
    return moved.toordinal() - date(1970, 1, 1).toordinal() + cycles * 146097


class _CaseScanner(RowScanner):
    """Chunks of the sizes that a case states."""

    values = _CaseValue

    def __init__(
        self, request: ColumnRequest, types: Sequence[ColumnType], allocator: TrackedAllocator
    ) -> None:
        super().__init__(
            request.fields,
            types,
            request.rows,
            request.fetch_size,
            required=request.required_fields,
            nested=request.nested_fields or (),
            allocator=allocator,
        )
        self._sizes: Iterator[int] = iter(request.chunk_rows)

    def chunk_rows(self) -> int:
        return next(self._sizes)
