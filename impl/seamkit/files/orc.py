"""Files in ORC: rows as batches of the table's types, through pyarrow.

A timestamp is kept as the clock on the wall showed it in the writer's zone, which the footer of
each stripe names (ORC specification v1, "Stripe Footer" and "Timestamp Columns").
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from seambase.errors import InputError
from seamkit.core.arrow_data import batch_of
from seamkit.files.orc_zones import stripe_zones
from seamkit.files.parquet import check_names
from seamkit.files.promotion import LOSSLESS, TypeRules, resolve_batch
from seamkit.files.reader import OneGroup
from seamkit.files.statistics import FileStatistics
from seamkit.files.storage import Storage

__all__ = ["OrcReader"]

_UTC = frozenset(("", "UTC", "GMT", "Etc/UTC", "Etc/GMT", "Z"))


class OrcReader(OneGroup):
    """One open ORC file: a `FileReader`.

    Args:
        storage: the table's folder.
        path: the file below it.
        rules: which types of the file become which of the table.

    Raises:
        InputError: the file is missing, truncated, or no ORC file.
    """

    def __init__(self, storage: Storage, path: str, rules: TypeRules = LOSSLESS) -> None:
        self._rules = rules
        self.name = storage.full(path)
        self._content = storage.open(path)
        try:
            self._file = orc.ORCFile(self._content)
            names = self._file.schema.names
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise InputError(f"{self.name}: not readable as ORC ({error})") from error
        check_names(names, self.name)
        self.num_rows: int = self._file.nrows
        self._names = set(names)

    @property
    def schema(self) -> pa.Schema:
        """The file's own columns."""
        return self._file.schema.remove_metadata()

    def statistics(self, schema: pa.Schema) -> FileStatistics:
        """The rows, as the footer tells; pyarrow does not show what ORC knows of columns."""
        del schema
        return FileStatistics(self.num_rows)

    def batches(
        self,
        schema: pa.Schema,
        batch_rows: int,
        *,
        use_threads: bool,
        encoded: Collection[str] = (),
        row_groups: Sequence[int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """See `FileReader.batches`; stripes are decoded one by one, texts as they are.

        Raises:
            InputError: a stripe is broken, rows are missing, or a type does not promote.
            RefusedError: timestamps are wanted, and their zone cannot be found out.
        """
        del use_threads, encoded, row_groups
        present = [name for name in schema.names if name in self._names]
        timed = any(_has_timestamps(self._file.schema.field(name).type) for name in present)
        zones = stripe_zones(self._file, self._content, self.name) if timed else []
        rows = 0
        for number, stripe in enumerate(self._stripes(present)):
            rows += stripe.num_rows
            zone = zones[number] if number < len(zones) else ""
            for begin in range(0, stripe.num_rows, batch_rows):
                batch = stripe.slice(begin, batch_rows)
                yield self._resolved(batch, schema, zone)
        if rows != self.num_rows:
            raise InputError(f"{self.name}: {rows} rows, but its footer says {self.num_rows}")

    def _stripes(self, present: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not present:  # a count, or columns that the file lacks
            yield batch_of([], pa.schema([]), self.num_rows)
            return
        for number in range(self._file.nstripes):
            try:
                yield self._file.read_stripe(number, columns=list(present))
            except (OSError, pa.ArrowException) as error:
                raise InputError(f"{self.name}: stripe {number} is broken ({error})") from error

    def _resolved(self, batch: pa.RecordBatch, schema: pa.Schema, zone: str) -> pa.RecordBatch:
        if batch.num_columns == 0:
            columns = [pa.nulls(batch.num_rows, field.type) for field in schema]
            return batch_of(columns, schema, batch.num_rows)
        return resolve_batch(
            batch, schema, self._rules, self.name, lambda c, want: _logical(c, want, zone)
        )


def _has_timestamps(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_has_timestamps(kind.field(i).type) for i in range(kind.num_fields))
    return bool(pa.types.is_timestamp(kind))


def _logical(column: pa.Array, want: pa.DataType, zone: str) -> pa.Array:
    """Values in the type that ORC has no word for; others as they are."""
    have = column.type
    if pa.types.is_timestamp(have) and pa.types.is_timestamp(want):
        # Nanoseconds, which ORC always has; those below the table's unit are cut off.
        walls = pc.cast(column, pa.timestamp(want.unit, have.tz), safe=False)
        if want.tz is None or have.tz is not None:
            return pc.cast(walls, want)
        if zone not in _UTC:
            walls = pc.assume_timezone(walls, zone, ambiguous="earliest", nonexistent="latest")
        return pc.cast(walls, want)
    if pa.types.is_binary(have) and pa.types.is_fixed_size_binary(want):
        return pc.cast(column, want)
    return column
