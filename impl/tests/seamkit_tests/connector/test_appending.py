"""Every way into a column leaves the same bytes: items, getters, Arrow's scalars, whole columns."""

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.decode import Slot, slots
from seamkit.offheap.columns.types import ColumnType, Kind, arrow_type, parse
from seamkit.offheap.connector.foreign_values import ArrowValue
from seamkit.offheap.connector.generator import GeneratorScanner
from seamkit.offheap.connector.rows import RowScanner
from seamkit.offheap.connector.scanner import ConnectorScanner, stream
from seamkit.offheap.connector.selected import prune_columns
from seamkit.offheap.connector.value import PlainValue
from seamkit_tests.samples.column_values import column_values
from seamkit_tests.samples.nested_samples import array_of, columns

Found = tuple[int, list[Slot]]


class _OneColumn(ConnectorScanner):
    """A column `c`, appended by a function that is given the scanner."""

    def __init__(
        self,
        source: ColumnType,
        paths: list[str],
        append: Callable[[ConnectorScanner], int],
        zone: Any = None,
    ) -> None:
        (column,) = prune_columns({"c": source}, ["c"], paths)
        options = {} if zone is None else {"zone": zone}
        super().__init__(["c"], [column], 3, sources=[source], **options)
        self._append = append

    def open(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""

    def get_next(self) -> int:
        """As the function does it."""
        return self._append(self)

    def found(self) -> Found:
        """The chunk, word by word."""
        with self:
            return slots(self.get_next_off_heap_chunk().address, self.types)


class _Getters(PlainValue):
    """Read through its getters, one value at a time."""

    __slots__ = ()

    def is_null(self) -> bool:
        return False


def _by_items(items: list[Any], values: type[PlainValue] = PlainValue) -> Any:
    def append(scanner: ConnectorScanner) -> int:
        scanner.values = values
        scanner.appenders = [scanner._bind(0)]
        for item in items:
            scanner.appenders[0].put(item)
        return len(items)

    return append


def _by_columns(array: Any, cut: int) -> Any:
    def append(scanner: ConnectorScanner) -> int:
        pieces = [array[:cut], array[cut:]]
        return sum(
            scanner.append_batch(pa.RecordBatch.from_arrays([piece], ["c"])) for piece in pieces
        )

    return append


def _paths(column: ColumnType, name: str = "c") -> list[str]:
    """Paths to every part of a type, and to fields that structs lack."""
    parts = (Kind.ARRAY, Kind.MAP, Kind.STRUCT)
    if column.kind not in parts:
        return []
    found = [f"{name}.lost"] if column.kind is Kind.STRUCT else []
    for child_name, child in zip(column.names, column.children, strict=True):
        found += [f"{name}.{child_name}", *_paths(child, f"{name}.{child_name}")]
    return found


@st.composite
def _samples(draw: st.DrawFn) -> tuple[ColumnType, list[Any], list[str]]:
    source, rows = draw(columns())
    paths = _paths(source)
    chosen = draw(st.lists(st.sampled_from(paths), max_size=4)) if paths else []
    return source, rows, chosen


def _whole_variants(column: ColumnType, value: Any) -> Any:
    """Variants without the NULL parts that only Arrow's structs have room for."""
    if value is None:
        return None
    if column.kind is Kind.VARIANT:
        return {name: part or b"" for name, part in value.items()}
    if column.kind is Kind.ARRAY:
        return [_whole_variants(column.children[0], item) for item in value]
    if column.kind is Kind.MAP:
        return [tuple(map(_whole_variants, column.children, pair)) for pair in value]
    if column.children:
        parts = zip(column.names, column.children, strict=True)
        return {name: _whole_variants(child, value[name]) for name, child in parts}
    return value


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(sample=_samples(), cut=st.integers(0, 12))
def test_rows_and_columns_leave_the_same_bytes(
    sample: tuple[ColumnType, list[Any], list[str]], cut: int
) -> None:
    """Whatever the type, its nulls and the parts asked for: one table, buffer for buffer."""
    source, rows, paths = sample
    items = [_whole_variants(source, row) for row in rows]
    array = array_of(source, items)
    plain = _OneColumn(source, paths, _by_items(items)).found()
    for append in (
        _by_columns(array, min(cut, len(items))),
        _by_items(items, _Getters),
        _by_items(list(array), ArrowValue),
    ):
        assert _OneColumn(source, paths, append).found() == plain


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(sample=_samples())
def test_parts_are_those_of_the_whole(sample: tuple[ColumnType, list[Any], list[str]]) -> None:
    """A part that is asked for holds what the whole column holds there."""
    source, rows, paths = sample
    items = [_whole_variants(source, row) for row in rows]
    scanner = _OneColumn(source, paths, _by_items(items))
    count, pruned = scanner.found()
    _, whole = _OneColumn(source, [], _by_items(items)).found()
    values = column_values(count, source, whole)
    expected = [_part(source, scanner.types[0], value) for value in values]
    assert column_values(count, scanner.types[0], pruned) == expected


def _part(source: ColumnType, column: ColumnType, value: Any) -> Any:
    if value is None or source == column:
        return value
    if column.kind is Kind.ARRAY:
        return [_part(source.children[0], column.children[0], item) for item in value]
    if column.kind is Kind.MAP:
        halves = (column.child("$0"), column.child("$1"))
        return [
            tuple(
                None if half is None else _part(own, half, item)
                for half, own, item in zip(halves, source.children, pair, strict=True)
            )
            for pair in value
        ]
    found = {}
    for name, child in zip(column.names, column.children, strict=True):
        own = source.child(name)
        found[name] = None if own is None else _part(own, child, value[name])
    return found


def test_clocks_elsewhere_are_not_called_utc() -> None:
    """What clocks of another zone show must not leave as timestamps in UTC."""
    scanner = RowScanner(["t"], ["timestamp-micros"], [], zone=_PARIS)
    with pytest.raises(UsageError, match="clocks of Europe/Paris show is no timestamp"):
        next(stream(scanner, pa.schema([("t", pa.timestamp("us", "UTC"))])))


_PARIS = ZoneInfo("Europe/Paris")


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "Asia/Shanghai"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_clocks_are_read_alike_as_rows_and_columns(zone: str, unit: str) -> None:
    """A timestamp with a zone is what the clock shows, before 1970 and around summer time too."""
    moments = [0, -1, 1_711_846_800, 1_729_990_800, 1_729_994_400, -2_208_988_800]
    factor = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    whole = pa.array([moment * factor for moment in moments], pa.int64())
    array = pa.array([*whole.view(pa.timestamp(unit, "America/New_York")), None])
    source = parse("timestamp-micros")
    clock = ZoneInfo(zone)
    by_columns = _OneColumn(source, [], _by_columns(array, 2), clock).found()
    assert _OneColumn(source, [], _by_items(list(array), ArrowValue), clock).found() == by_columns
    assert _OneColumn(source, [], _by_items(array.to_pylist()), clock).found() == by_columns


def test_clocks_inside_nested_columns_are_read() -> None:
    """A zone is seen to on every level."""
    inner = pa.timestamp("us", "UTC")
    data_type = pa.struct([("l", pa.list_(inner)), ("m", pa.map_(inner, inner))])
    items = [{"l": [10**15, None], "m": [(1, 2)]}, None]
    array = pa.array(items, data_type)
    source = parse("struct<l:array<timestamp-micros>,m:map<timestamp-micros,timestamp-micros>>")
    by_columns = _OneColumn(source, [], _by_columns(array, 1), _PARIS).found()
    assert _OneColumn(source, [], _by_items(array.to_pylist()), _PARIS).found() == by_columns


def test_plain_timestamps_are_left_alone() -> None:
    """Without a zone a timestamp is a clock's reading already, wherever that clock hangs."""
    array = pa.array([0, 10**15], pa.int64()).view(pa.timestamp("us"))
    source = parse("timestamp")
    there = _OneColumn(source, [], _by_columns(array, 1), _PARIS).found()
    assert there == _OneColumn(source, [], _by_columns(array, 1)).found()
    assert there == _OneColumn(source, [], _by_items(array.to_pylist()), _PARIS).found()


def test_the_generator_appends_rows_or_columns() -> None:
    """Rows that are made up are the same row by row and by column, chunk for chunk."""
    names = {
        "a": parse("int"),
        "s": parse("string"),
        "n": parse("struct<x:array<decimal(9,2)>,y:map<string,timestamp>>"),
        "v": parse("variant"),
    }

    def chunks(append: Any) -> list[Found]:
        scanner = GeneratorScanner(names, 25, 10, append=append, null_percent=30)
        found: list[Found] = []
        with scanner:
            scanner.open()
            while not found or found[-1][0]:
                found.append(slots(scanner.get_next_off_heap_chunk().address, scanner.types))
        return found

    by_rows = chunks("rows")
    assert [count for count, _ in by_rows] == [10, 10, 5, 0]
    assert by_rows == chunks("columns")


@pytest.mark.parametrize("values", [["x"], [2**40]])
def test_columns_of_other_types_are_refused(values: list[Any]) -> None:
    """An Arrow column of another type is refused by name; nothing stays behind."""
    scanner = _OneColumn(parse("int"), [], _by_columns(pa.array(values), 0))
    with pytest.raises(RefusedError, match="column 'c'"):
        scanner.found()


def test_a_batch_has_a_column_for_each_that_the_source_has() -> None:
    """Another number of columns is refused."""
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["c", "d"])
    scanner = _OneColumn(parse("bigint"), [], lambda scanner: scanner.append_batch(batch))
    with pytest.raises(InputError, match="2 columns cannot fill 1"):
        scanner.found()


@pytest.mark.parametrize(
    ("text", "items", "path", "row"),
    [
        ("array<int>", [[1], [2, "x"]], "c.$0", 1),
        ("array<array<int>>", [[[1], []], [], [[3], [4, 5, "x"]]], "c.$0.$0", 2),
        ("array<int>", [None, [1], 7], "c", 2),
        ("array<int>", [[1], "text"], "c", 1),
        ("map<string,int>", [{"a": 1}, {"b": 2, "c": "x"}], "c.$1", 1),
        ("map<string,int>", [{"a": 1}, {3: 2}], "c.$0", 1),
        ("map<string,int>", [None, [("a", 1, 2)]], "c", 1),
        ("map<string,int>", [["ab"]], "c", 0),
        ("struct<a:int,b:string>", [{"a": 1, "b": "x"}, {"a": 1}], "c", 1),
        ("struct<a:int,b:string>", [(1, "x"), (1,)], "c", 1),
        ("struct<a:int,b:string>", [(1, "x"), ("y", "z")], "c.a", 1),
        ("struct<a:int,b:int>", [(1, 2), (3, "late"), ("early", 4)], "c.b", 1),
        ("struct<a:array<struct<x:date>>>", [None, {"a": [{"x": None}, {"x": 1}]}], "c.a.$0.x", 1),
        ("variant", [(b"", b""), (b"m", "text")], "c", 1),
        ("variant", [(b"", b""), b"mv"], "c", 1),
        ("byte", [None, 1], "c", 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("values", [PlainValue, _Getters])
def test_a_bad_part_is_named_with_its_row(
    text: str, items: list[Any], path: str, row: int, values: type[PlainValue]
) -> None:
    """An item that a column does not take is named by the row and the path; nothing stays."""
    good = [item for at, item in enumerate(items) if at < row]
    scanner = _OneColumn(parse(text), [], _by_items([*good, *items[row:]], values))
    with pytest.raises(InputError) as caught:
        scanner.found()
    assert str(caught.value).startswith(f"row {row}, column '{path}': ")


def test_what_was_there_stays_when_a_batch_of_items_fails() -> None:
    """Appending gathered items is all or nothing, also in the children."""
    allocator = TrackedAllocator()
    kinds = ["array<string>", "struct<a:int,b:array<int>>"]
    first = [(["a", None], (1, [1])), (None, None)]
    scanner = RowScanner(["l", "s"], kinds, [], allocator=allocator)
    with scanner:
        scanner.get_next_off_heap_chunk()
        scanner.appenders = [scanner._bind(0), scanner._bind(1)]
        scanner.append_rows(first)
        scanner._flush()
        assert scanner.table is not None
        scanner.table.num_rows = 2
        before = slots(scanner.table.chain().address, scanner.types)
        for bad in (([5], (1, [1])), (["b"], (1, ["x"]))):
            scanner.append_rows([(["x", "y"], (7, [7])), bad])
            with pytest.raises(InputError, match="row 3, column"):
                scanner._flush()
            for appender in scanner.appenders:
                appender.items.clear()
        assert slots(scanner.table.chain().address, scanner.types) == before


def test_arrow_types_of_parts_need_not_exist() -> None:
    """A map without its keys has no Arrow type, and is appended all the same."""
    source = parse("map<string,struct<a:int,b:int>>")
    array = pa.array([[("x", {"a": 1, "b": 2})], None, []], arrow_type(source))
    scanner = _OneColumn(source, ["c.$1.b"], _by_columns(array, 1))
    count, found = scanner.found()
    values = column_values(count, scanner.types[0], found)
    assert values == [[(None, {"b": 2})], None, []]
