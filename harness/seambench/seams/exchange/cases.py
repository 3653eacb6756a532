"""Cases of the exchange seam: what is sent, how it is dealt, and where it must arrive.

    level = "must"
    requirement = "a NULL key goes where its hash says, not to a part of its own"
    threads = ["StarRocks/starrocks#43403"]     # where the rule was found broken
    fields = ["k", "v"]
    types = ["int", "string"]                   # Spark's words
    rows = '''[[1, "a"], [null, "b"]]'''        # JSON as golden files spell values; or how many
    encodings = ["plain", "dictionary"]         # how columns come; a case for each
    text_times = 1                              # how often each text and binary stands end to end
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

Further keys of `[exchange]`: `writers` (a list), `pass_through`, `elsewhere` (a list: how many of
the receivers are in other processes), `computed`, `output_columns`, `buckets`, `bucket_drivers`,
`unused_buckets` (rows of such buckets have part -1) and `knobs` (a list of tables), all as
`ExchangeRequest` has them. Without `parts`, rows with equal keys must meet, and every row must
arrive once. Row i is written by sender i modulo their number; for `order = "merge"` each sender's
rows are sorted first. With `fault` something goes wrong on purpose, and nobody may take the rest
for all there is. With `[expect] refused` the exchange must be refused instead.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import UsageError
from seambase.types import SerdeType, arrow_type, parse_spark
from seambase.values import SortKey
from seambase.wording import counted
from seambench.conformance.answered import engine_of
from seambench.contracts.data_files import CaseFile, case_files, read_case_file
from seambench.contracts.exchange import ExchangeRequest, Order, PartitionKind
from seambench.contracts.seam import Case
from seambench.seams.exchange.rows import Encoding, encoded, generated, sorted_rows
from seambench.seams.serde.values import arrow_array, from_golden, longer

Fault = Literal["none", "sender-cancels", "receiver-cancels"]

#: Column that every case has besides its own: the number of the row.
ROW = "row_"


@dataclass(frozen=True)
class _Exchange:
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
    writers: Sequence[int] = (1,)
    pass_through: bool = False
    elsewhere: Sequence[int] = (0,)
    computed: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    output_columns: Sequence[str] = ()
    buckets: Sequence[int] = ()
    bucket_drivers: Sequence[int] = ()
    unused_buckets: Literal["refuse", "drop"] = "refuse"
    knobs: Sequence[Mapping[str, Any]] = ({},)


@dataclass(frozen=True)
class _Expect:
    parts: Sequence[int] | None = None
    refused: Sequence[str] = ()
    says: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class _CaseFile(CaseFile):
    fields: Sequence[str]
    types: Sequence[str]
    rows: int | str
    exchange: _Exchange
    expect: _Expect = field(default_factory=_Expect)
    encodings: Sequence[Encoding] = ("plain",)
    text_times: int = 1
    batch_rows: int = 4096
    distinct: int | None = None
    fault: Fault = "none"


@dataclass(frozen=True)
class Shape:
    """How many there are: of senders, of their drivers, of receivers, of their drivers."""

    senders: int
    writers: int
    receivers: int
    drivers: int
    elsewhere: int  # receivers in other processes, the last ones


@dataclass(frozen=True)
class ExchangeCase(Case):
    """One case: an entry of each list of its file."""

    file: Path
    root: Path
    encoding: Encoding
    shape: Shape
    transport: str
    format: str
    knobs: Mapping[str, Any] = field(default_factory=dict, hash=False)

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
    def witness(self) -> str:
        """See `Case`: recorded answers are the parts of the rows, as a list."""
        return engine_of(self.root, self.id)

    @property
    def expect(self) -> _Expect:
        """What must come of it."""
        return _load(self.file).expect

    @property
    def fault(self) -> Fault:
        """What goes wrong on purpose."""
        return _load(self.file).fault

    @cached_property
    def request(self) -> ExchangeRequest:
        """What is asked of the implementation."""
        spec, shape = _load(self.file).exchange, self.shape
        return ExchangeRequest(
            schema=self.batch().schema,
            partition=spec.partition,
            keys=spec.keys,
            function=spec.function,
            senders=shape.senders,
            receivers=shape.receivers,
            drivers=shape.drivers,
            order=spec.order,
            sort=[SortKey(**key) for key in spec.sort],
            format=self.format,
            transport=self.transport,
            chunk_rows=spec.chunk_rows,
            buffer_bytes=spec.buffer_bytes,
            options=spec.options,
            writers=shape.writers,
            pass_through=spec.pass_through,
            computed=spec.computed,
            output_columns=(*spec.output_columns, ROW) if spec.output_columns else (),
            buckets=spec.buckets,
            bucket_drivers=spec.bucket_drivers,
            unused_buckets=spec.unused_buckets,
            knobs=self.knobs,
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

    def sent(self) -> pa.RecordBatch:
        """The columns that travel, without an encoding."""
        columns = self.request.output_columns
        return self.plain().select(list(columns)) if columns else self.plain()

    def key(self, name: str) -> pa.Array:
        """The values of a key, of which some are computed."""
        computed, plain = self.request.computed, self.plain()
        if name not in computed:
            return plain[name]
        function, *arguments = computed[name]
        values = [plain[one] if isinstance(one, str) else pa.scalar(one) for one in arguments]
        return pc.call_function(function, values)

    def batches(self, sender: int) -> Iterator[pa.RecordBatch]:
        """What a sender writes; a batch without rows is the second and the last."""
        request, size = self.request, _load(self.file).batch_rows
        numbers = list(range(sender, self.batch().num_rows, request.senders))
        if request.order == "merge":
            numbers = sorted_rows(self.plain(), numbers, request.sort)
        spans = [numbers[at : at + size] for at in range(0, len(numbers), size)]
        for rows in [*spans[:1], [], *spans[1:], []]:
            yield encoded(self.plain().take(pa.array(rows, pa.int64())), self.encoding)


def needs_of(case: ExchangeCase) -> list[str]:
    """Capabilities that a case needs."""
    request = case.request
    needs = [f"partitions.{request.partition}", f"transports.{request.transport}"]
    if request.transport not in ("pass-through", "local"):
        needs.append(f"formats.{request.format}")
    if request.function is not None:
        needs.append(f"functions.{request.function}")
    claims = {
        "drivers": request.drivers > 1,
        "orders.drivers": request.drivers > 1 and request.order != "none",
        "writers": request.writers > 1,
        "mixed": request.pass_through,
        "keys.computed": bool(request.computed),
        "output-columns": bool(request.output_columns),
        "buckets.drivers": bool(request.bucket_drivers),
        "buckets.unused": -1 in request.buckets,
    }
    needs += [word for word, is_needed in claims.items() if is_needed]
    if not case.expect.refused:
        needs += [f"knobs.{name}" for name in request.knobs]
    if request.order != "none":
        needs.append(f"orders.{request.order}")
    encoding = case.encoding.removeprefix("sliced-")
    if encoding not in ("plain", "sliced"):
        needs.append(f"encodings.{encoding}")
    if case.fault != "none":
        needs.append("cancel")
    bare = (re.sub(r"[\w ]+:", "", type_.text) for type_ in case.types)  # no names of fields
    kinds = {word for text in bare for word in re.findall("[a-z_]+", text)}
    return [*needs, *(f"types.{kind}" for kind in sorted(kinds))]


def exchange_cases(root: Path, begins: Sequence[str] = ("",)) -> list[ExchangeCase]:
    """The cases below a root; see `Seam.cases`."""
    files = case_files(root, "exchange", begins)
    return [case for name, file in files for case in _expand(name, file, root)]


def _expand(name: str, file: Path, root: Path) -> Iterator[ExchangeCase]:
    read = _load(file)
    spec = read.exchange
    lists: list[tuple[str, Sequence[Any]]] = [
        ("", read.encodings),
        ("{} senders", spec.senders),
        ("{} receivers", spec.receivers),
        ("{} drivers", spec.drivers),
        ("", spec.transports),
        ("", spec.formats),
        ("{} writers", spec.writers),
        ("{} elsewhere", spec.elsewhere),
        ("", spec.knobs),
    ]
    for chosen in itertools.product(*(values for _, values in lists)):
        words = [
            (text or "{}").format(_word(value)).replace(" ", "-")
            for (text, values), value in zip(lists, chosen, strict=True)
            if len(values) > 1
        ]
        encoding, senders, receivers, drivers, transport, format_, writers, away, knobs = chosen
        shape = Shape(senders, writers, receivers, drivers, away)
        id_ = "/".join([name, *words])
        yield ExchangeCase(
            *(id_, read.level, read.requirement, file, root),
            *(encoding, shape, transport, format_, knobs),
        )


def _word(value: Any) -> Any:
    """A value as a part of a case's name."""
    if not isinstance(value, Mapping):
        return value
    return ",".join(f"{name}={one}" for name, one in value.items()) or "usual"


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
            generated(type_, count, read.distinct, f"{file.stem}:{name}")
            for name, type_ in zip(read.fields, types, strict=True)
        ]
    if read.expect.parts is not None and len(read.expect.parts) != count:
        raise UsageError(
            f"{file}: {counted(count, 'row')}, but {counted(len(read.expect.parts), 'part')}"
        )
    arrays = [
        *(
            arrow_array(longer(values, read.text_times), arrow_type(type_))
            for values, type_ in zip(columns, types, strict=True)
        ),
        pa.array(range(count), pa.int64()),
    ]
    fields = [
        pa.field(name, array.type) for name, array in zip((*read.fields, ROW), arrays, strict=True)
    ]
    return encoded(pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields)), encoding)
