"""Types that a column may have had when a file was written, and still has there.

Iceberg widens int to long, float to double, and decimals to more digits before the point; version 3
adds dates that become timestamps. Old files keep the narrow type.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.files.promotion import LosslessTypes

__all__ = ["AVRO_TYPES", "ICEBERG_TYPES"]


class _IcebergTypes(LosslessTypes):
    """Type rules of an Iceberg table's files."""

    def promotes(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether values of a file's type are read as the table's."""
        kinds = pa.types
        if _is_bytes(have) and _is_bytes(want):
            return True  # writers differ in whether they mark texts as such
        if kinds.is_timestamp(have) and kinds.is_timestamp(want):
            return bool(have.tz == want.tz) and super().promotes(have, want)
        if kinds.is_decimal(have) and kinds.is_decimal(want):
            return bool(have.scale == want.scale and have.precision <= want.precision)
        if kinds.is_integer(have):
            return bool(kinds.is_integer(want) and super().promotes(have, want))
        return super().promotes(have, want)

    def promote(self, column: pa.Array, want: pa.DataType) -> pa.Array:
        """The values in the wider type."""
        if isinstance(column, pa.ExtensionArray):
            column = column.storage
        if pa.types.is_timestamp(want) and pa.types.is_timestamp(column.type):
            return pc.cast(column, want)
        return super().promote(column, want)

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """INT96 comes as microseconds without a zone, and is an instant."""
        return bool(have == pa.timestamp("us") and want == pa.timestamp("us", "UTC"))


def _is_bytes(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.UuidType):
        return True
    tests = (
        pa.types.is_string,
        pa.types.is_binary,
        pa.types.is_large_string,
        pa.types.is_fixed_size_binary,
    )
    return any(test(kind) for test in tests)


class _AvroTypes(_IcebergTypes):
    """Type rules of files in Avro, whose reader takes every point in time for one of UTC."""

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Points in time are the same numbers, with a zone or without; nanoseconds are plain."""
        if not pa.types.is_timestamp(want):
            return False
        return bool(have == pa.int64() if want.unit == "ns" else have == pa.timestamp("us", "UTC"))


ICEBERG_TYPES = _IcebergTypes()
AVRO_TYPES = _AvroTypes()
