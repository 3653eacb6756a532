"""Data files as read units: what each holds besides the rows that stand in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from seambase.errors import InputError
from seamkit.scan.units import DataFile, Mask, ReadUnit
from seamkit.tables.delta.data_files import open_data_file
from seamkit.tables.delta.log.actions import (
    VECTORS,
    WIDENING,
    AddFile,
    Protocol,
    TableFiles,
    has_feature,
)
from seamkit.tables.delta.log.folder import LOG
from seamkit.tables.delta.partition_values import partition_value
from seamkit.tables.delta.row_ids import RowTracking
from seamkit.tables.delta.schema import DeltaTypes, Field, TableSchema
from seamkit.tables.delta.stats import file_statistics, stated_rows
from seamkit.tables.delta.vectors import read_vector, stored_vector


@dataclass(frozen=True)
class Planner:
    """Makes read units of one version's files.

    Attributes:
        files: of the table.
        protocol: of the version.
        schema: of the version.
        tracking: where ids of rows are found; None in tables without.
    """

    files: TableFiles
    protocol: Protocol
    schema: TableSchema
    tracking: RowTracking | None = None
    _partitions: dict[object, Mapping[str, pa.Scalar]] = field(default_factory=dict)

    @property
    def root(self) -> str:
        """The table, for messages."""
        return self.files.storage.root

    def live(self, add: AddFile) -> ReadUnit:
        """The rows of a file that its deletion vector leaves."""
        reason = "" if add.vector is None else f"{add.vector.cardinality} rows are deleted"
        return self.unit(add, self.vector_mask(add), reason)

    def unit(
        self,
        add: AddFile,
        changes: Mask | None,
        reason: str = "",
        *,
        known: Mapping[str, pa.Scalar] | None = None,
        own: Sequence[Field] = (),
    ) -> ReadUnit:
        """Some rows of a file: all but those that `changes` leaves out.

        `known` are columns with one value for all rows, beside those of its partition; `own` are
        columns that the file has beside the table's.
        """
        schema = replace(self.schema, fields=[*self.schema.fields, *own]) if own else self.schema
        opened = partial(
            open_data_file,
            self.files,
            add,
            schema,
            DeltaTypes(has_feature(self.protocol, *WIDENING)),
            self.tracking,
        )
        rows, known_of = stated_rows(add), partial(file_statistics, add, self.schema.plain)
        place = self.files.place(add.path)
        return ReadUnit(
            name=add.path,
            files=[
                DataFile(
                    place,
                    add.size_bytes,
                    opened,
                    rows=rows,
                    statistics=known_of,
                )
            ],
            partition={**self._partition(add), **known} if known else self._partition(add),
            changes=changes,
            reason=reason,
            changed_by=[] if add.vector is None else [stored_vector(self.files, add.vector)],
            group="/".join(f"{name}={value}" for name, value in add.partition_values.items()),
        )

    def vector_mask(self, add: AddFile) -> Mask | None:
        """The deleted rows of a file."""
        if add.vector is None:
            return None
        if not has_feature(self.protocol, VECTORS):
            raise InputError(
                f"{self.root}/{LOG}: {add.path} has a deletion vector, and the "
                f"table's protocol lacks the feature {VECTORS!r}"
            )
        return Mask(partial(read_vector, self.files, add.vector), add.vector.cardinality)

    def _partition(self, add: AddFile) -> Mapping[str, pa.Scalar]:
        """The values of a file's partition: one object for all files of it."""
        key = tuple(add.partition_values.items())
        if key not in self._partitions:
            self._partitions[key] = self._values(add)
        return self._partitions[key]

    def _values(self, add: AddFile) -> Mapping[str, pa.Scalar]:
        columns = [self.schema.field(name) for name in self.schema.partition_columns]
        if others := add.partition_values.keys() - {column.physical for column in columns}:
            for field in self.schema.fields:
                if field.physical in others:
                    raise InputError(
                        f"{self.root}/{LOG}: {add.path}: the log has a partition value of "
                        f"{field.name!r}, which is none of metaData's partitionColumns"
                    )
        values = {}
        for column in columns:
            where = f"{self.root}/{LOG}: {add.path}, column {column.name!r}"
            if column.physical not in add.partition_values:
                raise InputError(f"{where}: the log has no partition value")
            values[column.name] = partition_value(
                add.partition_values[column.physical], column.type, where
            )
        return values
