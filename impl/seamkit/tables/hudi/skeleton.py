"""Base files of bootstrapped tables: two files read in step, row by row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import pyarrow as pa

from seambase.errors import InputError
from seamkit.core.arrow_data import batch_of
from seamkit.files.reader import FileReader, OneGroup
from seamkit.files.statistics import FileStatistics

__all__ = ["SkeletonReader"]


class SkeletonReader(OneGroup):
    """A skeleton and the file outside the table: one `FileReader`.

    Args:
        skeleton: the meta columns.
        outside: the other columns of the same rows.
        values: what folders say of columns that both files lack.

    Raises:
        InputError: the files have not the same number of rows.
    """

    def __init__(
        self,
        skeleton: FileReader,
        outside: FileReader,
        values: Mapping[str, str | None],
    ) -> None:
        self.name = skeleton.name
        self.num_rows = skeleton.num_rows
        self._skeleton = skeleton
        self._outside = outside
        own = set(skeleton.schema.names) | set(outside.schema.names)
        self._values = {name: text for name, text in values.items() if name not in own}
        if skeleton.num_rows != outside.num_rows:
            raise InputError(
                f"{skeleton.name}: {skeleton.num_rows} rows, but {outside.name}, which holds their "
                f"other columns, has {outside.num_rows}"
            )

    @property
    def schema(self) -> pa.Schema:
        """The columns of both files; those that folders tell are texts."""
        told = [pa.field(name, pa.string()) for name in self._values]
        return pa.schema([*self._skeleton.schema, *self._outside.schema, *told])

    def batches(
        self,
        schema: pa.Schema,
        batch_rows: int,
        *,
        use_threads: bool,
        encoded: Collection[str] = (),
        row_groups: Sequence[int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """See `FileReader.batches`; texts come as they are.

        Raises:
            InputError: a file is broken, a type does not promote, or a folder's name is no value of
                its column.
        """
        del encoded, row_groups
        inside = set(self._skeleton.schema.names)
        keys = pa.schema([field for field in schema if field.name in inside])
        rest = pa.schema([f for f in schema if f.name not in inside and f.name not in self._values])
        told = {n: self._told(schema.field(n)) for n in self._values if n in schema.names}
        pieces = _in_step(
            self._skeleton.batches(keys, batch_rows, use_threads=use_threads),
            self._outside.batches(rest, batch_rows, use_threads=use_threads),
        )
        for first, second in pieces:
            n = first.num_rows
            found = {**_columns(first), **_columns(second)}
            found |= {name: pa.repeat(value, n) for name, value in told.items()}
            yield batch_of([found[name] for name in schema.names], schema, n)

    def _told(self, field: pa.Field) -> pa.Scalar:
        text = self._values[field.name]
        try:
            return pa.scalar(text, pa.string()).cast(field.type)
        except pa.ArrowException as error:
            raise InputError(
                f"{self._outside.name}: the folder's value {text!r} of column '{field.name}' is no "
                f"{field.type} ({error})"
            ) from error

    def greatest(self, name: str, kind: pa.DataType) -> int | None:
        """What the file that has the column tells; see `FileReader.greatest`."""
        inside = name in self._skeleton.schema.names
        return (self._skeleton if inside else self._outside).greatest(name, kind)

    def statistics(self, schema: pa.Schema) -> FileStatistics:
        """What the two files tell of their own columns; see `FileReader.statistics`."""
        inside = set(self._skeleton.schema.names)
        keys = pa.schema([field for field in schema if field.name in inside])
        rest = pa.schema([f for f in schema if f.name not in inside and f.name not in self._values])
        both = self._skeleton.statistics(keys), self._outside.statistics(rest)
        return FileStatistics(both[0].rows, {**both[0].columns, **both[1].columns})


def _columns(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def _in_step(
    first: Iterator[pa.RecordBatch], second: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Batches of the same rows, whatever row groups cut each file's; both have as many rows."""
    left, right = next(first, None), next(second, None)
    while left is not None and right is not None:
        rows = min(left.num_rows, right.num_rows)
        yield left.slice(0, rows), right.slice(0, rows)
        left = left.slice(rows) if rows < left.num_rows else next(first, None)
        right = right.slice(rows) if rows < right.num_rows else next(second, None)
