"""Filters as Arrow expressions: the columns they read, and rows of a stream tested exactly.

`pyarrow.dataset` imports pandas where it is installed, so it is imported when a filter is there.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import UsageError
from seambase.wording import filter_problem


def filter_columns(expression: pc.Expression | None, schema: pa.Schema) -> list[str]:
    """Names of the columns that a filter reads, in the order of `schema`."""
    if expression is None:
        return []
    problem = _deadly_null(schema, expression) or _binding_problem(schema, expression)
    names = _read_by(expression, schema) if problem is None else []
    problem = problem or _kernel_problem([schema.field(name) for name in names], expression)
    if problem is not None:
        reason = filter_problem(problem, schema.names)
        raise UsageError(f"the filter {filter_text(expression)} does not fit the columns: {reason}")
    return names


def _read_by(expression: pc.Expression, schema: pa.Schema) -> list[str]:
    """The columns without which an expression that binds no longer does: it lists them nowhere."""
    # A table may have thousands. Its text names those that it reads, and maybe others.
    text = filter_text(expression)
    named = [name for name in schema.names if name in text]
    found = {name for name in named if _needed([name], schema, expression)}
    known = set(named)
    found.update(_needed([n for n in schema.names if n not in known], schema, expression))
    return [name for name in schema.names if name in found]


def _needed(names: Sequence[str], schema: pa.Schema, expression: pc.Expression) -> list[str]:
    """Those of some columns without which an expression does not bind, by halves."""
    out = set(names)
    rest = pa.schema([field for field in schema if field.name not in out])
    if _binding_problem(rest, expression) is None:
        return []
    if len(names) == 1:
        return [*names]
    middle = len(names) // 2
    halves = names[:middle], names[middle:]
    return [name for half in halves for name in _needed(half, schema, expression)]


def all_of(*parts: pc.Expression | None) -> pc.Expression | None:
    """What holds where some conditions all do, those aside that are None; None for none at all."""
    known = [part for part in parts if part is not None]
    return functools.reduce(operator.and_, known) if known else None


def filter_text(expression: pc.Expression) -> str:
    """A filter in Arrow's words, which cut long texts of lists, maybe within a character."""
    try:
        return str(expression)
    except UnicodeDecodeError:
        return "is_in(...)"


@contextmanager
def values_fit(expression: pc.Expression | None) -> Iterator[None]:
    """An error of Arrow's of a value, such as one that a cast does not fit, names the filter."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        shown = "" if expression is None else filter_text(expression)
        reason = str(error).splitlines()[0]
        raise UsageError(f"the filter {shown} does not fit the values: {reason}") from error


def apply_filter(
    reader: pa.RecordBatchReader, expression: pc.Expression | None, columns: Sequence[str]
) -> pa.RecordBatchReader:
    """Filter a stream exactly and project it to `columns`, one batch at a time.

    It has at least these and what the filter reads, and is drained. No column may be wanted: the
    rows are counted then.
    """
    names = list(columns)
    if expression is None and names == reader.schema.names:
        return reader
    schema = pa.schema([reader.schema.field(name) for name in names], reader.schema.metadata)
    return pa.RecordBatchReader.from_batches(schema, _filtered(reader, expression, names))


def _filtered(
    reader: pa.RecordBatchReader, expression: pc.Expression | None, names: list[str]
) -> Iterator[pa.RecordBatch]:
    # Filtered here and now: a scanner of Arrow's would read ahead in threads of its own, which go
    # on calling the reader after an engine has stopped asking.
    with reader:
        for batch in reader:
            if expression is None:
                yield batch.select(names)
                continue
            with values_fit(expression):
                kept = pa.Table.from_batches([batch]).filter(expression)
            for part in kept.to_batches():
                yield part.select(names)


def _kernel_problem(fields: Sequence[pa.Field], expression: pc.Expression) -> str | None:
    """What is wrong as soon as values are compared: a row of nulls is enough for it."""
    if not fields:
        return None
    nulls = pa.table([pa.nulls(1, field.type) for field in fields], [f.name for f in fields])
    try:
        nulls.filter(expression)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        if "timestamp with timezone" in str(error):
            return (
                "a time with a zone and one without do not compare; give the datetime a tzinfo if "
                "the column has a zone, and none if it has none"
            )
        return str(error).splitlines()[0]
    if "is_in(" in filter_text(expression):
        return _list_problem(fields, expression)
    return None


def _list_problem(fields: Sequence[pa.Field], expression: pc.Expression) -> str | None:
    """What Arrow says of a list of values only where it holds them against a file's bounds."""
    # It casts texts to days for a row, and refuses to compare them then.
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    known = all_of(*(place >= pa.nulls(1, kind)[0] for place, kind in _bounded(fields)))
    format_, nowhere = ds.ParquetFileFormat(), LocalFileSystem()
    fragment = format_.make_fragment("", nowhere, known)
    planned = ds.FileSystemDataset([fragment], pa.schema(fields), format_, nowhere)
    try:
        list(planned.get_fragments(filter=expression))
    except pa.ArrowNotImplementedError as error:
        return str(error).splitlines()[0]
    except pa.ArrowException:  # of a bound's value, not of its type
        return None
    return None


def _deadly_null(schema: pa.Schema, expression: pc.Expression) -> str | None:
    """That Arrow would cast a null of 64-bit offsets to a column's type: the process dies of it."""
    # Arrow's text of a filter tells the type of a null, and puts texts into quotes.
    text = re.sub(r'"(?:[^"\\]|\\.)*"', "", filter_text(expression))
    found = re.search(r"\bnull\[(large_(?:string|binary))\]", text)
    if found is None or all(str(field.type) == found[1] for field in schema if field.name in text):
        return None
    return f"Arrow compares no null of the type {found[1]}; give one of the column's own type"


def _bounded(
    fields: Iterable[pa.Field], above: tuple[str, ...] = ()
) -> Iterator[tuple[pc.Expression, pa.DataType]]:
    """What files have bounds of: columns, and the fields of structs."""
    for field in fields:
        if pa.types.is_struct(field.type):
            yield from _bounded(field.type, (*above, field.name))
        else:
            yield pc.field(*above, field.name), field.type


def _binding_problem(schema: pa.Schema, expression: pc.Expression) -> str | None:
    import pyarrow.dataset as ds

    nothing = pa.RecordBatchReader.from_batches(schema, [])
    try:
        ds.Scanner.from_batches(nothing, filter=expression)
    except (pa.ArrowException, TypeError, ValueError, KeyError) as error:
        if "Precision is not great enough" in str(error):
            return (
                "Arrow compares decimals with no plain int; write decimal.Decimal('5') for 5, or "
                "the filter in SQL"
            )
        return str(error).splitlines()[0]
    return None
