"""Files in ORC: rows as batches of the table's types, through pyarrow.

A timestamp is kept as the clock on the wall showed it in the writer's zone, which the footer of
each stripe names (ORC specification v1, "Stripe Footer" and "Timestamp Columns"); pyarrow does not
tell these. Nor does it look at the calendar by which days are numbered, which the footer states
("File Footer"). Hive and Spark go by it; the writers of table formats number days by the proleptic
one, whatever their library lets the footer say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from seambase.errors import InputError, RefusedError
from seamkit.files.clocks import UTC, check_age, shown, shown_by_java
from seamkit.files.footers.calendars import proleptic
from seamkit.files.footers.orc_footer import OrcFooter, is_instant, kinds
from seamkit.files.parquet import check_names
from seamkit.files.promotion import (
    LOSSLESS,
    TypeRules,
    cut_times,
    has_within,
    inner_of,
    is_text_or_bytes,
    resolve_batch,
    with_inner,
)
from seamkit.files.reader import FileReader, RowsWanted, check_rows, rows_of_nulls
from seamkit.files.statistics import ColumnRange, FileStatistics
from seamkit.files.storage import Storage, read_part

_JAVA, _CPP = "ORC_JAVA", "ORC_CPP"
_BEYOND_NANOSECONDS = "out of range for nanosecond resolution"
"""What pyarrow says, which has no other unit for ORC."""
_ZONE_NOT_KNOWN = "Time zone file"
"""What pyarrow says does not exist, of times that are no instants."""


class OrcReader(FileReader):
    """One open ORC file: a `FileReader`."""

    has_footer = True

    def __init__(
        self,
        storage: Storage,
        path: str,
        rules: TypeRules = LOSSLESS,
        *,
        by_calendar: bool = False,
        by_clock: bool = False,
    ) -> None:
        """Open a file.

        `by_calendar`: days are numbered by the calendar that its footer states.
        `by_clock`: an instant is that at which the writer's clock shows what the one of UTC should.
        """
        self._rules = rules
        self._by_calendar = by_calendar
        self._by_clock = by_clock
        self.name = storage.full(path)
        self._content = storage.open(path)
        self.size_bytes: int = self._content.size()
        try:
            self._file = orc.ORCFile(self._content)
            self.schema = self._file.schema.remove_metadata()
            self._names = set(self.schema.names)
            for field in self.schema:
                _check_texts(field.type)
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise InputError(f"{self.name}: not readable as ORC ({error})") from error
        check_names(self.schema.names, self.name)
        self.num_rows: int = self._file.nrows
        self._bound = storage.bound
        self._footer = OrcFooter(self._file, partial(read_part, self._content), self.name)

    @property
    def created_by(self) -> str:
        """See `FileReader.created_by`: `ORC_JAVA` of Java's own library."""
        return self._footer.writer

    def statistics(
        self, schema: pa.Schema, row_groups: Sequence[int] | None = None
    ) -> FileStatistics:
        """See `FileReader.statistics`; what the footer counts, those that it lacks are null."""
        del row_groups  # there is one
        lacked = {
            name: ColumnRange(self.num_rows) for name in schema.names if name not in self._names
        }
        ranges = self._footer.ranges(schema)
        if self._by_calendar:
            ranges = {
                name: (nulls, self._end(least), self._end(most))
                for name, (nulls, least, most) in ranges.items()
            }
        own = {
            name: ColumnRange(nulls, least, most, (self._is_value(least), self._is_value(most)))
            for name, (nulls, least, most) in ranges.items()
        }
        return FileStatistics(self.num_rows, {**lacked, **own})

    def _is_value(self, end: pa.Scalar | None) -> bool:
        """Whether an end of a range is a value; Trino cuts texts, and rounds the greatest up."""
        if end is None:
            return False
        return not pa.types.is_string(end.type) or self.created_by in (_JAVA, _CPP)

    def instants(self) -> Mapping[str, tuple[pa.Scalar, pa.Scalar]]:
        """Ranges of columns of instants by a clock, as its zone shows them, in milliseconds.

        Java's library names a zone only where some times are no instants; without one they are as
        they are stored. Of stripes in several zones nothing is said.
        """
        is_by_clock = self._by_clock and any(is_instant(field.type) for field in self.schema)
        zones = set(self._footer.zones()) if is_by_clock else set()
        if len(zones) != 1:
            return {}
        (zone,) = zones
        found = {}
        for name, ends in self._footer.instants().items():
            stored = pa.array(ends, pa.timestamp("ms", "UTC"))
            least, most = shown(stored, zone, f"{self.name}: column {name!r}")
            found[name] = least, most
        return found

    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """See `FileReader.read`; stripes are decoded one by one, texts as they are."""
        schema, batch_rows = wanted.schema, wanted.batch_rows
        present = [name for name in schema.names if name in self._names]
        if not present:
            yield from rows_of_nulls(schema, self.num_rows, batch_rows)
            return
        timed = any(
            has_within(pa.types.is_timestamp, self.schema.field(name).type) for name in present
        )
        zones = self._footer.zones() if timed else []
        stored = self._misread(schema, zones)
        if self._bound.is_stated:
            self._footer.check_sizes(present, self._bound)
        rows = 0
        for number, stripe in enumerate(self._stripes(present)):
            rows += stripe.num_rows
            zone = zones[number] if number < len(zones) else ""
            for name, (first, has_walls) in stored.items():
                place, where = stripe.schema.names.index(name), f"{self.name}: column {name!r}"
                column = stripe.column(place)
                values = self._restored(column, first, zone, where, has_walls=has_walls)
                stripe = stripe.set_column(place, stripe.schema.field(place), values)
            zone = "" if self._by_clock else zone
            logical = partial(_logical, zone=zone, rules=self._rules)
            for begin in range(0, stripe.num_rows, batch_rows):
                batch = stripe.slice(begin, batch_rows)
                yield resolve_batch(batch, schema, self._rules, self.name, logical)
        check_rows(rows, self.num_rows, self.name)

    def _misread(self, wanted: pa.Schema, zones: Sequence[str]) -> Mapping[str, tuple[int, bool]]:
        """Columns wanted whose values are others than pyarrow says, with ORC's numbers."""
        # And whether these are times that Java's clocks showed in one of some zones.
        found, number = {}, 1  # the first one is the row
        is_zoned = self.created_by == _JAVA and not UTC.issuperset(zones)
        for field in self.schema:
            own = range(number, number + len(list(kinds(field.type))))
            is_dated = self._by_calendar and has_within(pa.types.is_date, field.type)
            is_timed = self._by_clock and has_within(is_instant, field.type)
            has_texts = has_within(is_text_or_bytes, field.type)
            has_chars = has_texts and not self._footer.chars.isdisjoint(own)
            place = wanted.get_field_index(field.name)
            if place >= 0 and not self._footer.encrypted.isdisjoint((0, *own)):
                raise RefusedError(
                    f"{self.name}: column {field.name!r} is encrypted, which is not supported"
                )
            has_walls = (
                is_zoned
                and place >= 0
                and has_within(_is_wall, field.type)
                and not has_within(is_instant, wanted.field(place).type)
            )
            if place >= 0 and (is_dated or is_timed or has_chars or has_walls):
                found[field.name] = number, has_walls
            number = own.stop
        return found

    def _restored(
        self, column: pa.Array, number: int, zone: str, where: str, *, has_walls: bool
    ) -> pa.Array:
        """A column's days by the proleptic calendar, and texts of a length without its blanks."""
        # Instants of a clock are what that of a zone shows, as if it were UTC's, and times what it
        # showed to Java where `has_walls`.
        # Java's library fills these up as it writes, and takes all blanks at their end away as it
        # reads.
        kind = column.type
        if number in self._footer.chars and is_text_or_bytes(kind):
            return pc.ascii_rtrim(column, " ")
        if not pa.types.is_nested(kind):
            if self._by_clock and is_instant(kind) and zone not in UTC:
                check_age(column, zone, where)
                return pc.cast(shown(column, zone, where), kind)
            if has_walls and _is_wall(kind) and zone not in UTC:
                return shown_by_java(column, zone, where)
            is_date = self._by_calendar and pa.types.is_date(kind)
            return proleptic(column, self._footer.calendar, where) if is_date else column
        inner, number = [], number + 1
        for part in inner_of(column):
            inner.append(self._restored(part, number, zone, where, has_walls=has_walls))
            number += len(list(kinds(part.type)))
        return with_inner(column, kind, inner)

    def _end(self, end: pa.Scalar | None) -> pa.Scalar | None:
        """An end of a range; None where the calendar leaves a day open."""
        if end is None or not pa.types.is_date(end.type):
            return end
        try:
            number = pa.array([end.cast(pa.int32()).as_py()], pa.int32())
            return proleptic(number.cast(end.type), self._footer.calendar, "")[0]
        except RefusedError:
            return None

    def _stripes(self, present: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for number in range(self._file.nstripes):
            try:
                yield self._file.read_stripe(number, columns=list(present))
            except (OSError, pa.ArrowException) as error:
                if _BEYOND_NANOSECONDS in str(error):
                    raise RefusedError(
                        f"{self.name}: stripe {number} has a time before 1677-09-21 or after "
                        "2262-04-11, which is not supported in ORC"
                    ) from error
                if _ZONE_NOT_KNOWN in str(error):
                    raise RefusedError(
                        f"{self.name}: the zone of the writer of stripe {number} is not known"
                    ) from error
                raise InputError(f"{self.name}: stripe {number} is broken ({error})") from error


def least_without_blanks(least: pa.Scalar) -> pa.Scalar:
    """A bound of texts that may be of ORC's `CHAR`, from the least one as a writer filled it up.

    They are read without the blanks at their end; so none is less than what stands before the first
    character that is a blank or comes before it.
    """
    text = least.as_py()
    end = next((at for at, one in enumerate(text or "") if one <= " "), None)
    return least if end is None else pa.scalar(text[:end], least.type)


def _is_wall(kind: pa.DataType) -> bool:
    """Whether values are times of a clock, and no instants."""
    return bool(pa.types.is_timestamp(kind) and kind.tz is None)


def _check_texts(kind: pa.DataType) -> None:
    """Raise UnicodeDecodeError if a name within a type is no text: later it would come unnamed."""
    for number in range(kind.num_fields):
        field = kind.field(number)
        field.name  # noqa: B018 - decodes it
        _check_texts(field.type)


def _logical(column: pa.Array, want: pa.DataType, zone: str, rules: TypeRules) -> pa.Array:
    """Values in the type that ORC has no word for; others as they are."""
    # Times become instants by their writer's zone where the table's rules let them.
    have = column.type
    if pa.types.is_timestamp(have) and pa.types.is_timestamp(want):
        is_by_zone = want.tz is not None and have.tz is None and zone not in UTC
        if is_by_zone and not rules.promotes(have, want):
            return column
        walls = cut_times(column, want.unit)
        if is_by_zone:
            walls = pc.assume_timezone(walls, zone, ambiguous="earliest", nonexistent="latest")
        return pc.cast(walls, want)
    if pa.types.is_binary(have) and pa.types.is_fixed_size_binary(want):
        return pc.cast(column, want)
    return column
