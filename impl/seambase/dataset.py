"""A stream of batches dressed as a `pyarrow.dataset.Dataset`.

DuckDB and Polars query any subclass of `Dataset` and hand the columns and the filter they need to
its `scanner(columns=, filter=)`. DuckDB does not apply a filter again that it handed over, so what
comes back must be filtered exactly, rows whose filter is NULL left out. Two classes do that:

- `ScanDataset` asks a callback for an already projected and filtered stream: for readers that can
  push columns and filters down themselves.
- `StreamDataset` wraps any `seambench.contracts.scan.Scanner`: it opens the reader with the columns
  that are needed and filters its batches here.

A schema with string or binary views switches DuckDB's push-down off (and pyarrow cannot filter
views), so `ScanDataset` refuses them and `StreamDataset` casts them to plain strings.

A filter means what Arrow means by it: a comparison with NaN is false. DuckDB and Polars take NaN
for equal to itself and greater than all numbers. DuckDB says so in the filter; Polars does not, so
what it asks of floating-point columns is refused.

`pyarrow.dataset` imports pandas where it is installed: import this module where a dataset is asked
for, not before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from seambase.errors import RefusedError, SeambenchError, UsageError
from seambase.filters import filter_columns, filter_text
from seambase.where import require_c_names
from seambase.wording import no_column

Open = Callable[[list[str], pc.Expression | None], pa.RecordBatchReader]


def without_views(schema: pa.Schema) -> pa.Schema:
    """The schema with string and binary views as plain strings and binaries (top level only)."""
    return pa.schema(
        [field.with_type(_plain_type(field.type)) for field in schema], metadata=schema.metadata
    )


def has_floats(kind: pa.DataType) -> bool:
    """Whether values of a type are floating-point numbers or hold some, so that one may be NaN."""
    if pa.types.is_dictionary(kind):
        return has_floats(kind.value_type)
    if pa.types.is_nested(kind):
        return any(has_floats(kind.field(number).type) for number in range(kind.num_fields))
    return bool(pa.types.is_floating(kind))


class StreamScanner:
    """One scan of a `ScanDataset`: what engines use of `pyarrow.dataset.Scanner`, over one stream.

    It reads nothing ahead and has no threads, so that a query that stops early leaves nothing
    running. It can be read once; `scanner()` gives a fresh one.
    """

    def __init__(self, reader: pa.RecordBatchReader, dataset_schema: pa.Schema) -> None:
        self._reader = reader
        self.dataset_schema = dataset_schema
        self.projected_schema = reader.schema

    def to_reader(self) -> pa.RecordBatchReader:
        """The stream itself."""
        return self._reader

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The batches."""
        with self._reader as reader:
            yield from reader

    def to_table(self) -> pa.Table:
        """All rows."""
        with self._reader as reader:
            return reader.read_all()

    def head(self, num_rows: int) -> pa.Table:
        """The first rows; the rest is not read."""
        kept: list[pa.RecordBatch] = []
        left = num_rows
        with self._reader as reader:
            while left > 0:
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    break
                kept.append(batch.slice(0, left))
                left -= kept[-1].num_rows
        return pa.Table.from_batches(kept, schema=self.projected_schema)

    def count_rows(self) -> int:
        """Number of rows of the stream."""
        return sum(batch.num_rows for batch in self.to_batches())

    def take(self, indices: Any) -> pa.Table:
        """Rows by their number."""
        return self.to_table().take(indices)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._reader.__arrow_c_stream__(requested_schema)


class ScanDataset(ds.Dataset):  # type: ignore[misc]  # pyarrow comes without types
    """A dataset over a callback that opens a projected, exactly filtered stream.

    Each scan calls the callback anew, so a query may read the dataset several times. Everything a
    `Dataset` offers through its scanner works (`to_table`, `to_batches`, `head`, `count_rows`,
    `take`, `filter`); what needs fragments is refused.

    Attributes:
        failure: the last exception the callback or its stream raised, which engines replace by one
            of their own; `original_errors` raises it again.
    """

    def __init__(self, schema: pa.Schema, open_stream: Open) -> None:
        """Make a dataset of all columns that may be read, without views.

        `open_stream` is called with the names wanted (possibly none) and the filter or None, both
        checked against the schema; it hands back a stream of exactly these columns in this order,
        holding exactly the rows for which the filter is true. A view, which would switch push-down
        off, or a name that engines would not see whole, is refused.
        """
        require_c_names(schema)
        for field in schema:
            if field.type != _plain_type(field.type):
                raise RefusedError(
                    f"column {field.name!r} is a {field.type}: a dataset shows strings or "
                    "dictionaries, since engines push no filter into views"
                )
        self._shown = schema
        self._open_stream = open_stream
        self.failure: BaseException | None = None

    def __repr__(self) -> str:
        columns = ", ".join(f"{field.name}: {field.type}" for field in self._shown)
        return f"<{type(self).__name__} of {columns or 'no column'}>"

    @property
    def schema(self) -> pa.Schema:
        """All columns that may be read."""
        return self._shown

    def scanner(
        self,
        *,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002 - the name engines use
        batch_size: int | None = None,
        fragment_scan_options: object = None,
        **_tuning: Any,
    ) -> StreamScanner:
        """Open one scan of columns, in the order wanted.

        Rows for which the filter is false or NULL are left out. There are no fragments, so any of
        their options is refused, and nothing to tune by pyarrow's knobs for files (read-ahead,
        threads, pools).
        """
        if fragment_scan_options is not None:
            self._refuse("fragment_scan_options")
        names = self._names(columns)
        filter_columns(filter, self._shown)
        try:
            reader = self._open_stream(names, filter)
        except BaseException as error:
            self.failure = error
            raise
        if reader.schema.names != names:
            raise SeambenchError(
                f"asked for columns {names}, a stream of {reader.schema.names} came"
            )
        watched = pa.RecordBatchReader.from_batches(
            reader.schema, self._watched(reader, batch_size)
        )
        return StreamScanner(watched, self._shown)

    def to_batches(self, **request: Any) -> Iterator[pa.RecordBatch]:
        """The batches of one `scanner`; `pl.scan_pyarrow_dataset` reads through this call.

        Polars' filters over floating-point columns are refused: its words for them leave out that
        NaN equals itself and is greatest, so rows would be lost.
        """
        condition = request.get("filter")
        by_polars = sys._getframe(1).f_globals.get("__name__", "").startswith("polars.")
        if by_polars and condition is not None:
            for name in filter_columns(condition, self._shown):
                if has_floats(self._shown.field(name).type):
                    raise RefusedError(
                        f"Polars asks for {filter_text(condition)}, which loses NaN of column "
                        f"{name!r}: filter a scan's lazy(), or pass allow_pyarrow_filter=False"
                    )
        return self.scanner(**request).to_batches()

    def filter(self, expression: pc.Expression) -> ScanDataset:
        """A dataset over the rows for which `expression` is true, besides any later filter."""

        def open_filtered(columns: list[str], inner: pc.Expression | None) -> pa.RecordBatchReader:
            both = expression if inner is None else expression & inner
            return self._open_stream(columns, both)

        filter_columns(expression, self._shown)
        return ScanDataset(self._shown, open_filtered)

    def _names(self, columns: Sequence[str] | None) -> list[str]:
        if columns is None:
            return list(self._shown.names)
        if isinstance(columns, (dict, str)):
            raise UsageError("columns of a scan are given as a list of names, not as expressions")
        for name in columns:
            if self._shown.get_field_index(name) < 0:
                raise UsageError(no_column(name, self._shown.names))
        return list(columns)

    def _watched(
        self, reader: pa.RecordBatchReader, batch_size: int | None
    ) -> Iterator[pa.RecordBatch]:
        """The batches; an error on the way is kept, because engines hide it behind their own."""
        try:
            with reader:
                for batch in reader:
                    step = batch_size or max(batch.num_rows, 1)
                    for start in range(0, max(batch.num_rows, 1), step):
                        yield batch.slice(start, step)
        except GeneratorExit:
            raise
        except BaseException as error:
            # A Ctrl-C too: DuckDB would tell it as a fault of the stream.
            self.failure = error
            raise

    def _refuse(self, what: str) -> NoReturn:
        raise RefusedError(
            f"{what} is not offered by a dataset over a stream; use scanner() instead"
        )

    def count_rows(self, filter: pc.Expression | None = None, **tuning: Any) -> int:  # noqa: A002
        """Number of rows, with no column read that neither counting nor the filter needs."""
        return self.scanner(columns=[], filter=filter, **tuning).count_rows()

    # The base class holds no C++ dataset here: these would read through a null pointer.

    def get_fragments(self, filter: pc.Expression | None = None) -> NoReturn:  # noqa: A002, ARG002
        """Refused: there are no fragments."""
        self._refuse("get_fragments")

    def replace_schema(self, schema: pa.Schema) -> NoReturn:  # noqa: ARG002
        """Refused: the schema is the table's."""
        self._refuse("replace_schema")

    def sort_by(self, *_: object, **__: object) -> NoReturn:
        """Refused: sort the table that `to_table` gives."""
        self._refuse("sort_by")

    def join(self, *_: object, **__: object) -> NoReturn:
        """Refused: join the table that `to_table` gives."""
        self._refuse("join")

    def join_asof(self, *_: object, **__: object) -> NoReturn:
        """Refused: join the table that `to_table` gives."""
        self._refuse("join_asof")

    @property
    def partition_expression(self) -> pc.Expression:
        """Nothing is known of all rows."""
        return pc.scalar(True)

    def __reduce__(self) -> NoReturn:
        self._refuse("pickling")


@contextmanager
def original_errors(*datasets: ds.Dataset) -> Iterator[None]:
    """Raise what a dataset's reader raised, in place of the engine's error about it.

    Use around a query over the datasets: DuckDB and Arrow turn any exception of a stream into one
    of their own, which no longer tells a refused table from a fault.
    """
    watched = [dataset for dataset in datasets if isinstance(dataset, ScanDataset)]
    for dataset in watched:
        dataset.failure = None
    try:
        yield
    except SeambenchError:
        raise
    except Exception as error:
        if str(error) == "Query interrupted":
            # So DuckDB tells of a Ctrl-C that comes while it runs.
            raise KeyboardInterrupt from error
        for dataset in watched:
            if dataset.failure is not None:
                raise dataset.failure from error
        raise


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    return kind
