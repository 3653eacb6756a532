"""Times that Hive turned into instants by its machine's zone, as the clock there showed them.

A timestamp of Hive has no zone, but INT96 in Parquet and `timestamp-millis` in Avro are instants.
From 3.1.3 on Hive names in the file the zone by which it made them (`writer.time.zone`), and goes
by it when it reads. Files without a word of it are read as the clock in UTC shows their instants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambase.errors import RefusedError
from seamkit.files.clocks import UTC
from seamkit.files.footers.calendars import OFFSETS_DAY, check_int96
from seamkit.files.footers.chunks import is_by_parquet_mr
from seamkit.files.promotion import inner_of, with_inner


@dataclass(frozen=True)
class WriterZone:
    """The zone of a file's writer."""

    name: str  # of the zone
    # instants were made by offsets as Java once had them, which are others before 1900
    is_old: bool

    def walls(self, column: pa.Array, name: str, where: str) -> pa.Array:
        """What the zone's clock showed, of times that UTC's shows, at any depth of a column."""
        if self.is_old:
            check_int96(column, OFFSETS_DAY, name, where)
        try:
            return self._walls(column)
        except pa.ArrowInvalid as error:
            raise RefusedError(
                f"{where}: column {name} has times by the zone {self.name!r}, which is not known "
                f"here ({error})"
            ) from error

    def _walls(self, column: pa.Array) -> pa.Array:
        kind = column.type
        if pa.types.is_timestamp(kind):
            return pc.local_timestamp(pc.cast(column, pa.timestamp(kind.unit, self.name)))
        if not pa.types.is_nested(kind):
            return column
        return with_inner(column, kind, [self._walls(part) for part in inner_of(column)])


def zone_of(words: Mapping[bytes, bytes]) -> WriterZone | None:
    """The zone that a file's own words name; None where that is UTC, or none is named."""
    name = words.get(b"writer.time.zone", b"").decode("utf-8", "replace")
    is_old = words.get(b"writer.zone.conversion.legacy", b"").lower() == b"true"
    return None if name in UTC else WriterZone(name, is_old)


def zone_of_int96(footer: pq.FileMetaData, where: str) -> WriterZone | None:
    """That of a Parquet file's times of INT96; Hive goes by it in files of Java's library."""
    del where
    return zone_of(footer.metadata or {}) if is_by_parquet_mr(footer) else None
