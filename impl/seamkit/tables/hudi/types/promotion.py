"""Hudi's type rules: what a column of a file may become in the table (docs/hudi.md, "Schema")."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from seamkit.tables.hudi.types.java_casts import becomes, cast_as_java
from seamkit.tables.hudi.types.java_text import java_text

__all__ = ["HUDI_ORC_TYPES", "HUDI_TYPES", "HudiOrcTypes", "HudiTypes"]


class HudiTypes:
    """The promotions of Hudi 1.2.0: a `seamkit.files.promotion.TypeRules`."""

    floats_by_text = True

    def promotes(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether Hudi reads values of one type, not a nested one, as values of another."""
        if becomes(have, want):
            return True
        if pa.types.is_integer(have):
            wider = pa.types.is_integer(want) and want.bit_width >= have.bit_width
            return bool(wider or pa.types.is_floating(want) or pa.types.is_string(want))
        if pa.types.is_float32(have):
            return bool(pa.types.is_float64(want) or pa.types.is_string(want))
        if pa.types.is_float64(have) or pa.types.is_date32(have):
            return bool(pa.types.is_string(want))
        if pa.types.is_decimal(have) and pa.types.is_string(want):
            return True
        if pa.types.is_decimal(have) and pa.types.is_decimal(want):
            whole = want.precision - want.scale >= have.precision - have.scale
            return bool(whole and want.scale >= have.scale)
        if pa.types.is_timestamp(have) and pa.types.is_timestamp(want):
            # What pyarrow gives nanoseconds without a zone is INT96: an instant, as Spark wrote it.
            zone = want.tz if have.tz is None and have.unit == "ns" else have.tz
            return bool(zone == want.tz and have.unit in ("ms", "ns") and want.unit == "us")
        return _is_text(have) and _is_text(want)

    def promote(self, column: pa.Array, want: pa.DataType) -> pa.Array:
        """The column in the table's type.

        Raises:
            ValueError: a text is no number or date, or a value does not fit.
        """
        have = column.type
        if pa.types.is_string(want) and not _is_text(have):
            return java_text(column)
        if becomes(have, want):
            return cast_as_java(column, want)
        if pa.types.is_float32(have) and pa.types.is_float64(want):
            # Hudi widens a float by its decimal text: 0.3f becomes 0.3.
            return pc.cast(pc.cast(column, pa.string()), want)
        if pa.types.is_integer(have) and pa.types.is_floating(want):
            return pc.cast(column, want, safe=False)  # as Java rounds, beyond 2**53 (2**24) too
        if pa.types.is_timestamp(have):
            return pc.cast(pc.cast(column, pa.timestamp(want.unit, have.tz), safe=False), want)
        return pc.cast(column, want)

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether a file's numbers are the table's, under a label that older writers put wrongly.

        Hudi before 1.1 wrote milliseconds as microseconds, and local timestamps as plain longs;
        Hudi 1.2.0 believes the table's schema in just these cases (`HoodieSchemaRepair`).
        """
        if not pa.types.is_timestamp(want):
            return False
        if pa.types.is_timestamp(have):
            return bool(have.tz == want.tz and (have.unit, want.unit) == ("us", "ms"))
        return bool(pa.types.is_int64(have) and want.tz is None)


class HudiOrcTypes(HudiTypes):
    """Those of base files in ORC, which has no words for some of Avro's types.

    Hudi 1.2.0 writes the numbers of times and local timestamps (`AvroOrcUtils`). It loses the
    milliseconds of timestamps when it writes them (2000-07-01 12:00:00.123456 becomes
    12:00:00.000456), and what is gone stays gone.
    """

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Also integers that stand for times of the same width."""
        of_time = pa.types.is_time(want) or pa.types.is_timestamp(want)
        if of_time and pa.types.is_integer(have) and have.bit_width == want.bit_width:
            return True
        return super().relabels(have, want)


HUDI_TYPES = HudiTypes()
HUDI_ORC_TYPES = HudiOrcTypes()


def _is_text(kind: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string)
    return any(test(kind) for test in tests)
