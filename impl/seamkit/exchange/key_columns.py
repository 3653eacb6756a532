"""What rows are dealt by, and what is dealt: keys by name or computed; columns that travel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.acero as acero
import pyarrow.compute as pc

from seambase.errors import UsageError

#: The name of a column, or an expression over columns.
Key: TypeAlias = "str | pc.Expression"


def column_index(schema: pa.Schema, name: str, what: str) -> int:
    """The number of a key column."""
    found = schema.get_all_field_indices(name)
    if not found:
        raise UsageError(f"there is no column '{name}' {what}")
    if len(found) > 1:
        raise UsageError(f"more than one column is called '{name}'")
    return int(found[0])


class KeyColumns:
    """Batches as the core deals them: the columns that travel first, then keys that do not.

    `keys` are in the order in which they are hashed, and `indexes` says where they are in `schema`,
    that of the arranged batches, of which the first `dealt` columns travel.
    """

    def __init__(
        self, schema: pa.Schema, keys: Sequence[Key], columns: Sequence[str] | None = None
    ) -> None:
        if columns is not None and not columns:
            raise UsageError("at least one column travels")
        self._computed = [key for key in keys if not isinstance(key, str)]
        travel = (
            list(range(len(schema)))
            if columns is None
            else [column_index(schema, name, "to send") for name in columns]
        )
        named = [column_index(schema, key, "to partition by") for key in keys if type(key) is str]
        behind = [index for index in dict.fromkeys(named) if index not in travel]
        self._taken = [*travel, *behind]
        self.dealt = len(travel)
        self._is_identity = self._taken == list(range(len(schema))) and not self._computed
        self.schema = schema
        if not self._is_identity:
            self.schema = self.arrange(_no_rows(schema)).schema
        found, computed = iter(named), iter(range(len(self._taken), len(self.schema)))
        self.indexes = [
            self._taken.index(next(found)) if isinstance(key, str) else next(computed)
            for key in keys
        ]

    def arrange(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch with its columns in order, and its computed keys."""
        if self._is_identity:
            return batch
        fields = [batch.schema.field(index) for index in self._taken]
        arrays = [batch.column(index) for index in self._taken]
        for number, array in enumerate(self._compute(batch)):
            fields.append(pa.field(f"key {number}", array.type))
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, batch.schema.metadata))

    def _compute(self, batch: pa.RecordBatch) -> list[pa.Array]:
        if not self._computed:
            return []
        names = [str(number) for number in range(len(self._computed))]
        source = acero.TableSourceNodeOptions(pa.Table.from_batches([batch]))
        steps = [
            acero.Declaration("table_source", source),
            acero.Declaration("project", acero.ProjectNodeOptions(self._computed, names)),
        ]
        try:
            table = acero.Declaration.from_sequence(steps).to_table(use_threads=False)
        except (pa.ArrowException, KeyError, TypeError) as error:
            raise UsageError(f"rows cannot be dealt by {self._computed}: {error}") from error
        return [_one_array(column) for column in table.combine_chunks().columns]


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    # Not of `empty_table`, which knows no types of extensions.
    arrays = [pa.nulls(0, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)
