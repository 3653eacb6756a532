"""A scan as a lazy frame of Polars."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import UnavailableError, UsageError
from seambase.where import require_c_names
from seamkit.engines.files import EngineFiles, EnginePlan

if TYPE_CHECKING:
    import polars as pl
    import pyarrow.dataset as ds


def frame_of(rows: pa.Table | pa.RecordBatch) -> pl.DataFrame:
    """Rows of Arrow's as a frame with the same names, the empty one among them."""
    import polars as pl
    import polars.selectors as cs

    require_c_names(rows.schema)
    if not rows.schema.names:  # which Arrow's way to Polars leaves without its rows
        frame = pl.select(pl.repeat(0, rows.num_rows)).drop(cs.all())
        if frame.height != rows.num_rows:
            raise UnavailableError(
                f"Polars {pl.__version__} has no rows without columns, and would lose them: select "
                "a column beside their numbers, or pip install 'polars>=2.1'"
            )
        return frame
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)
    frame.columns = rows.schema.names
    return frame


_ROW = "number of a row of a file without a column that is read"


def polars_frame(plan: EnginePlan) -> pl.LazyFrame:
    """The rows of a plan: files by Polars' own reader, all others by ours."""
    import polars as pl

    from seambase.dataset import without_views

    if not plan.schema.names:
        raise UsageError("a lazy frame of Polars has at least one column: name some")
    # Types are those that Polars gives to our own columns, whoever reads the rows.
    shown = frame_of(pa.Table.from_batches([], without_views(plan.schema)))
    parts = [_scan_either(files, shown.schema) for files in plan.files]
    if plan.rest is not None:
        parts.append(_scan_rest(plan.rest.dataset(), shown.schema))
    return pl.concat(parts) if parts else shown.lazy()


def _scan_either(files: EngineFiles, types: pl.Schema) -> pl.LazyFrame:
    """Files by Polars' reader but for queries of columns that are ours, which are known later."""
    import polars as pl
    import polars.selectors as cs
    from polars.io.plugins import register_io_source

    if files.instead is None:
        return _scan_parquet(files, types)
    ours, instead = files.ours.keys(), files.instead
    own = _scan_parquet(files, pl.Schema({n: k for n, k in types.items() if n not in ours}))

    def rows(
        names: list[str] | None, condition: pl.Expr | None, most: int | None, _batch_rows: object
    ) -> Iterator[pl.DataFrame]:
        names = list(types) if names is None else names
        tested = [] if condition is None else condition.meta.root_names()
        if ours & {*names, *tested}:
            yield from _our_rows(instead, names, condition, most)
            return
        frame = own if most is None else own.head(most)
        frame = frame if condition is None else frame.filter(condition)
        # A selection of nothing would have no rows; for their numbers Polars asks for no column.
        some = names or own.collect_schema().names()[:1]
        for batch in frame.select(cs.by_name(*some)).collect_batches():
            yield batch if names else batch.drop(cs.all())

    return register_io_source(rows, schema=types)


def _scan_parquet(files: EngineFiles, types: pl.Schema) -> pl.LazyFrame:
    import polars as pl
    import polars.selectors as cs

    taken = {own.name for own in files.stored.values()}
    # A file may have columns that the scan does not hand out, and others of them not. Polars would
    # read one for the number of rows where all that is asked for is a value of ours.
    rows = pl.scan_parquet(
        list(files.paths),
        glob=False,
        hive_partitioning=False,
        extra_columns="ignore",
        row_index_name=None if taken else _ROW,
    ).select(cs.by_name(*(taken or [_ROW])))
    shown = {name: own.name for name, own in files.stored.items()}
    # Beside the file's columns: a selection of nothing but values would have one row.
    for number, (name, scalar) in enumerate(files.values.items()):
        value = scalar.as_py()
        shown[name] = next(n for n in _names_of_values(number, value) if n not in taken)
        rows = rows.with_columns(pl.lit(value).alias(shown[name]))
    # By selectors: the name of a plain column may be a pattern of many.
    return rows.select(
        cs.by_name(shown[name]).cast(kind).alias(name) for name, kind in types.items()
    )


def _names_of_values(number: int, value: object) -> Iterator[str]:
    """Names for a value beside the columns of files, which may call one of them so."""
    # That of a zero with a sign has one: Polars reads files of equal values as one, under the
    # first.
    sign = "-" if str(value) == "-0.0" else ""
    return (f"value {number}{sign}" + "'" * more for more in itertools.count())


def _scan_rest(dataset: ds.Dataset, types: pl.Schema) -> pl.LazyFrame:
    """What we read. Polars tests all rows by its own rules; we leave out what none can meet."""
    from polars.io.plugins import register_io_source

    def rows(
        names: list[str] | None, condition: pl.Expr | None, most: int | None, _batch_rows: object
    ) -> Iterator[pl.DataFrame]:
        names = list(types) if names is None else names
        yield from _our_rows(dataset, names, condition, most)

    return register_io_source(rows, schema=types)


def _our_rows(
    dataset: ds.Dataset,
    names: Sequence[str],
    condition: pl.Expr | None,
    most: int | None,
) -> Iterator[pl.DataFrame]:
    # What is to be tested are the first rows of all where their number is given.
    pushed = None if condition is None or most is not None else worded(condition, dataset.schema)
    tested = [] if condition is None else condition.meta.root_names()
    columns = list(dict.fromkeys([*names, *tested]))
    left = most
    for batch in dataset.scanner(columns=columns, filter=pushed).to_batches():
        if left is not None:
            batch = batch.slice(0, left)
            left -= batch.num_rows
        frame = frame_of(batch)
        if condition is not None:
            frame = frame.filter(condition)
        # No selection by name, which may be a pattern of many.
        yield frame if list(names) == columns else frame.drop(columns[len(names) :])
        if left == 0:
            return


def worded(condition: pl.Expr, schema: pa.Schema) -> pc.Expression | None:
    """What Arrow can test of a condition, so that each row which meets it passes.

    Polars words it for a dataset without rows. Parts that read floating-point numbers are left out:
    it takes NaN for equal to itself and greatest, Arrow does not.
    """
    import polars as pl

    from seambase.dataset import ScanDataset, has_floats
    from seambase.filters import all_of, filter_columns

    expressions: list[pc.Expression] = []

    def note(columns: list[str], expression: pc.Expression | None) -> pa.RecordBatchReader:
        if expression is not None and filter_columns(expression, schema):
            expressions.append(expression)
        few = pa.schema([schema.field(name) for name in columns])
        return pa.RecordBatchReader.from_batches(few, [])

    for part in _parts(condition):
        names = part.meta.root_names()
        if names and not any(has_floats(schema.field(name).type) for name in names):
            # Names that Polars reads in Arrow's way, which has none for an empty one.
            few = pa.schema([schema.field(name) for name in dict.fromkeys(names)])
            if all(few.names):
                pl.scan_pyarrow_dataset(ScanDataset(few, note)).filter(part).collect()
    return all_of(*expressions)


def _parts(condition: pl.Expr) -> Iterator[pl.Expr]:
    """What must all be true, a part after another."""
    try:
        is_and = json.loads(condition.meta.serialize(format="json"))["BinaryExpr"]["op"] == "And"
    except (ValueError, LookupError, TypeError):
        is_and = False  # another version's form, or no such expression
    if not is_and:
        yield condition
        return
    for part in condition.meta.pop():
        yield from _parts(part)
