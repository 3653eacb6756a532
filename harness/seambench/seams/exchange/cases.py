"""Cases of the exchange seam: what is sent, how it is dealt, and where it must arrive.

    level = "must"
    requirement = "a NULL key goes where its hash says, not to a part of its own"
    threads = ["StarRocks/starrocks#43403"]     # where the rule was found broken
    fields = ["k", "v"]
    types = ["int", "string"]                   # Spark's words
    rows = '''[[1, "a"], [null, "b"]]'''        # JSON as golden files spell values; or how many
    encodings = ["plain", "dictionary"]         # how columns come; a case for each
    batch_rows = 3                              # rows of each batch that is written

    [exchange]
    partition = "hash"
    function = "fnv"
    keys = ["k"]
    senders = [1, 4]                            # a case for each of these lists' entries
    receivers = [3]
    drivers = [4]
    transports = ["pass-through", "sockets"]
    formats = ["arrow"]

    [expect]
    parts = [0, 5]                              # receiver * drivers + driver of each row

Without `parts`, rows with equal keys must meet, and every row must arrive once. Row i is written by
sender i modulo their number; for `order = "merge"` each sender's rows are sorted first. With
`fault` something goes wrong on purpose, and nobody may take the rest for all there is. With
`[expect] refused` the exchange must be refused instead.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from seambase.errors import UsageError
from seambase.sorting import SortKey
from seambase.types import SerdeType, arrow_type, parse_spark
from seambench.conformance.strict import CaseFile, case_files, read_case_file
from seambench.contracts.exchange import ExchangeRequest, Order, PartitionKind
from seambench.contracts.seam import Case
from seambench.seams.serde.values import arrow_array, from_golden

__all__ = ["ROW", "Encoding", "ExchangeCase", "Fault", "exchange_cases", "needs_of"]

Encoding = Literal["plain", "dictionary", "run", "view", "large", "sliced"]
Fault = Literal["none", "sender-cancels", "receiver-cancels"]

#: Column that every case has besides its own: the number of the row.
ROW = "row_"


@dataclass(frozen=True)
class _Exchange:
    """What is asked of the exchange."""

    partition: PartitionKind
    function: str | None = None
    keys: Sequence[str] = ()
    senders: Sequence[int] = (1,)
    receivers: Sequence[int] = (1,)
    drivers: Sequence[int] = (1,)
    order: Order = "none"
    sort: Sequence[Mapping[str, Any]] = ()
    transports: Sequence[str] = ("pass-through",)
    formats: Sequence[str] = ("arrow",)
    chunk_rows: int = 4096
    buffer_bytes: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Expect:
    parts: Sequence[int] | None = None
    refused: Sequence[str] = ()
    says: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class _CaseFile(CaseFile):
    """The keys of a case's file."""

    fields: Sequence[str]
    types: Sequence[str]
    rows: int | str
    exchange: _Exchange
    expect: _Expect = field(default_factory=_Expect)
    encodings: Sequence[Encoding] = ("plain",)
    batch_rows: int = 4096
    distinct: int | None = None
    fault: Fault = "none"


@dataclass(frozen=True)
class ExchangeCase(Case):
    """One case: an entry of each list of its file.

    Attributes:
        file: where it is written down.
        encoding: how columns come.
        shape: senders, receivers and drivers.
        transport: how rows travel.
        format: as what.
    """

    file: Path
    encoding: Encoding
    shape: tuple[int, int, int]
    transport: str
    format: str

    @property
    def needs(self) -> Sequence[str]:
        """See `Case`."""
        return [*needs_of(self), *_load(self.file).needs]

    @property
    def refused(self) -> Sequence[str]:
        """See `Case`."""
        return self.expect.refused

    @property
    def says(self) -> Sequence[str]:
        """See `Case`."""
        return self.expect.says

    @property
    def expect(self) -> _Expect:
        """What must come of it."""
        return _load(self.file).expect

    @property
    def fault(self) -> Fault:
        """What goes wrong on purpose."""
        return _load(self.file).fault

    @property
    def request(self) -> ExchangeRequest:
        """What is asked of the implementation."""
        read, (senders, receivers, drivers) = _load(self.file), self.shape
        asked = read.exchange
        return ExchangeRequest(
            schema=self.batch().schema,
            partition=asked.partition,
            keys=asked.keys,
            function=asked.function,
            senders=senders,
            receivers=receivers,
            drivers=drivers,
            order=asked.order,
            sort=[SortKey(**key) for key in asked.sort],
            format=self.format,
            transport=self.transport,
            chunk_rows=asked.chunk_rows,
            buffer_bytes=asked.buffer_bytes,
            options=asked.options,
        )

    @property
    def types(self) -> Sequence[SerdeType]:
        """Types of the columns, without `row_`."""
        return [parse_spark(text) for text in _load(self.file).types]

    def batch(self) -> pa.RecordBatch:
        """All rows in one batch, numbered by `row_`, in the case's encoding."""
        return _batch(self.file, self.encoding)

    def plain(self) -> pa.RecordBatch:
        """The same without an encoding."""
        return _batch(self.file, "plain")

    def batches(self, sender: int) -> Iterator[pa.RecordBatch]:
        """What a sender writes."""
        request, size = self.request, _load(self.file).batch_rows
        numbers = list(range(sender, self.batch().num_rows, request.senders))
        if request.order == "merge":
            numbers = sorted_rows(self.plain(), numbers, request.sort)
        for at in range(0, len(numbers), size):
            yield _encoded(self.plain().take(numbers[at : at + size]), self.encoding)


def needs_of(case: ExchangeCase) -> list[str]:
    """Capabilities that a case needs."""
    request = case.request
    needs = [f"partitions.{request.partition}", f"transports.{request.transport}"]
    if request.transport not in ("pass-through", "local"):
        needs.append(f"formats.{request.format}")
    if request.function is not None:
        needs.append(f"functions.{request.function}")
    if request.drivers > 1:
        needs.append("drivers")
    if request.order != "none":
        needs.append(f"orders.{request.order}")
    if case.encoding not in ("plain", "sliced"):
        needs.append(f"encodings.{case.encoding}")
    if case.fault != "none":
        needs.append("cancel")
    kinds = {word for type_ in case.types for word in re.findall("[a-z_]+", _bare(type_.text))}
    return [*needs, *(f"types.{kind}" for kind in sorted(kinds))]


def _bare(text: str) -> str:
    """A type without the names of fields."""
    return re.sub(r"[\w ]+:", "", text)


def sorted_rows(batch: pa.RecordBatch, rows: Sequence[int], keys: Sequence[SortKey]) -> list[int]:
    """Row numbers ordered by keys; equal ones stay as they were.

    NaN comes after every other number, as engines have it.
    """
    order = list(rows)
    for key in reversed(keys):
        values = batch[key.column].to_pylist()
        there = [row for row in order if values[row] is not None]
        nulls = [row for row in order if values[row] is None]
        there.sort(key=lambda row: _sortable(values[row]), reverse=key.descending)
        order = nulls + there if key.nulls_first else there + nulls
    return order


def _sortable(value: Any) -> Any:
    """A key that compares: NaN greatest; texts by their UTF-8 bytes."""
    if isinstance(value, float):
        return (value != value, 0.0 if value != value else value)
    return value.encode() if isinstance(value, str) else value


def exchange_cases(root: Path) -> list[ExchangeCase]:
    """The cases below a root.

    Raises:
        UsageError: a broken case file.
    """
    return [case for name, file in case_files(root, "exchange") for case in _expand(name, file)]


def _expand(name: str, file: Path) -> Iterator[ExchangeCase]:
    read = _load(file)
    asked = read.exchange
    lists: list[tuple[str, Sequence[Any]]] = [
        ("", read.encodings),
        ("{} senders", asked.senders),
        ("{} receivers", asked.receivers),
        ("{} drivers", asked.drivers),
        ("", asked.transports),
        ("", asked.formats),
    ]
    for chosen in itertools.product(*(values for _, values in lists)):
        words = [
            (text or "{}").format(value).replace(" ", "-")
            for (text, values), value in zip(lists, chosen, strict=True)
            if len(values) > 1
        ]
        encoding, senders, receivers, drivers, transport, format_ = chosen
        shape = (senders, receivers, drivers)
        id_ = "/".join([name, *words])
        yield ExchangeCase(
            id_, read.level, read.requirement, file, encoding, shape, transport, format_
        )


@cache
def _load(file: Path) -> _CaseFile:
    read = read_case_file(_CaseFile, file)
    if len(read.fields) != len(read.types):
        raise UsageError(f"{file}: there is a type for each field")
    if ROW in read.fields:
        raise UsageError(f"{file}: {ROW!r} is the number of the row, no field of a case")
    if read.expect.parts is not None and isinstance(read.rows, int):
        raise UsageError(f"{file}: parts belong to given rows")
    return read


@cache
def _batch(file: Path, encoding: Encoding) -> pa.RecordBatch:
    read = _load(file)
    types = [parse_spark(text) for text in read.types]
    if isinstance(read.rows, str):
        rows = json.loads(read.rows)
        columns = [[from_golden(row[at], type_) for row in rows] for at, type_ in enumerate(types)]
        count = len(rows)
    else:
        count = read.rows
        columns = [
            _generated(type_, count, read.distinct, f"{file.stem}:{name}")
            for name, type_ in zip(read.fields, types, strict=True)
        ]
    if read.expect.parts is not None and len(read.expect.parts) != count:
        raise UsageError(f"{file}: {count} rows, but {len(read.expect.parts)} parts")
    arrays = [
        *(arrow_array(v, arrow_type(t)) for v, t in zip(columns, types, strict=True)),
        pa.array(range(count), pa.int64()),
    ]
    fields = [
        pa.field(name, array.type) for name, array in zip((*read.fields, ROW), arrays, strict=True)
    ]
    return _encoded(pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields)), encoding)


def _encoded(batch: pa.RecordBatch, encoding: Encoding) -> pa.RecordBatch:
    """The rows with every column in an encoding, as far as its type has one."""
    if encoding == "sliced":
        around = pa.concat_batches([batch.slice(0, 1), batch, batch.slice(0, 1)])
        return around.slice(min(batch.num_rows, 1), batch.num_rows)
    arrays = [_column(column, encoding) for column in batch.columns[:-1]]
    return pa.RecordBatch.from_arrays([*arrays, batch.columns[-1]], batch.schema.names)


def _column(array: pa.Array, encoding: Encoding) -> pa.Array:
    kinds = pa.types
    if encoding == "dictionary" and not kinds.is_nested(array.type):
        return array.dictionary_encode()
    if encoding == "run" and not kinds.is_nested(array.type):
        ends = pa.array(range(1, len(array) + 1), pa.int32())
        return pa.RunEndEncodedArray.from_arrays(ends, array)
    if encoding in ("view", "large"):
        for test, view, large in (
            (kinds.is_string, pa.string_view(), pa.large_string()),
            (kinds.is_binary, pa.binary_view(), pa.large_binary()),
        ):
            if test(array.type):
                return array.cast(view if encoding == "view" else large)
    return array


def _generated(type_: SerdeType, count: int, distinct: int | None, seed: str) -> list[Any]:
    """Values of any type, about every eighth of them null on each level."""
    dice = random.Random(f"{seed}:{type_.text}")
    values = [_value(type_, dice) for _ in range(count if distinct is None else distinct)]
    return values if distinct is None else [dice.choice(values) for _ in range(count)]


def _value(type_: SerdeType, dice: random.Random) -> Any:
    if dice.random() < 0.125:
        return None
    kind = type_.kind
    if kind == "struct":
        return tuple(_value(child, dice) for child in type_.children)
    if kind == "array":
        return [_value(type_.children[0], dice) for _ in range(dice.randrange(4))]
    if kind == "map":
        size = dice.randrange(4)
        keys = [dice.randrange(100) * size + at for at in range(size)]
        return [
            (_of_number(type_.children[0], key), _value(type_.children[1], dice)) for key in keys
        ]
    return _of_number(type_, dice.getrandbits(62) - 2**61)


_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def _of_number(type_: SerdeType, number: int) -> Any:
    """A value of a flat type, by a number."""
    kind = type_.kind
    if kind in _BITS:
        return number % (1 << (_BITS[kind] - 1)) * (-1 if number < 0 else 1)
    if kind == "boolean":
        return number % 2 == 0
    if kind in ("string", "binary"):
        text = f"é{number % 10 ** (number % 18)}" * (number % 3)
        return text if kind == "string" else text.encode()
    if kind in ("float", "double"):
        return float(number % 2**20) / 8
    if kind == "decimal":
        return Decimal(number % 10**type_.precision).scaleb(-type_.scale)
    if kind == "date":
        return number % 40_000 - 10_000
    if kind in ("timestamp", "timestamp_ntz"):
        return number % 4 * 10**15 - 10**15 + number % 10**9
    raise UsageError(f"no values are generated for type {type_.text}")
