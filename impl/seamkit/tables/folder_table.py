"""What tables of all formats share: moments, arguments of scans, plans as scans, descriptions."""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Self, get_args

import pyarrow.compute as pc

from seambase.description import TableDescription
from seambase.errors import InputError, RefusedError, UsageError
from seambase.scan import Query
from seamkit.files.storage import Storage
from seamkit.scan.arguments import (
    Filter,
    ScanOptions,
    check_choice,
    chosen_columns,
    filtered_scan,
)
from seamkit.scan.scan import Scan
from seamkit.scan.unit_scan import ReadRows, UnitScan
from seamkit.scan.units import ReadPlan
from seamkit.tables.table import Moment, Table, TableState, described_units, plan_of, utc_time

__all__ = ["FolderTable", "Moment", "described", "micros", "parsed_moment", "too_early"]

_CHANGES = ("incremental", "cdc")

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def parsed_moment(value: Moment, name: str, meant: str) -> int | dt.datetime:
    """The number that a moment is, or the time; `name` and `meant` are for messages."""
    if isinstance(value, str):
        if value.isascii() and value.isdigit():
            return int(value)
        try:
            value = dt.datetime.fromisoformat(value)
        except ValueError as error:
            raise UsageError(f"{name} is {value!r}: {meant} is meant") from error
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    if isinstance(value, bool) or not isinstance(value, int | dt.datetime):
        raise UsageError(f"{name} is {' '.join(repr(value)[:60].split())}: {meant} is meant")
    return value if isinstance(value, int) or value.tzinfo else value.replace(tzinfo=dt.UTC)


def too_early(what: str, moment: dt.datetime, oldest: tuple[int, int] | None) -> UsageError:
    """A moment before any state of which `what` tells, beside the oldest: its number, its time."""
    told = f"; the oldest, {oldest[0]}, is of {utc_time(oldest[1])}" if oldest else ""
    return UsageError(f"{what} is as old as {moment}{told}")


def micros(time: dt.datetime) -> int:
    """Microseconds from 1970 to a time."""
    return (time - _EPOCH) // dt.timedelta(microseconds=1)


class FolderTable(Table):
    """A table that is a folder on some storage.

    Attributes:
        title: of its format, in sentences.
        queries: those that its tables answer.
    """

    title: ClassVar[str]
    queries: ClassVar[Sequence[Query]]

    _storage: Storage

    def _view(self, query: Query, options: ScanOptions, **moments: object) -> Self:
        """The table for a read, once it is sure that the read makes sense.

        `moments` are `as_of`, which changes do not have, or `begin` and `end`, which they alone
        have; None where one was not given.
        """
        check_choice("query", query, get_args(Query))
        if query not in self.queries:
            raise RefusedError(
                f"{self._storage.root}: {query} queries of {self.title} tables are not supported"
            )
        for name, value in moments.items():
            if isinstance(value, TableState):
                raise UsageError(f"{name} is a TableState: give its name, {name}={value.name!r}")
            if value is not None and (name == "as_of") == (query in _CHANGES):
                others = [one for one in self.queries if (one in _CHANGES) != (query in _CHANGES)]
                raise UsageError(
                    f"a query {query} has no {name}: it goes with {' or '.join(others)}"
                )
        return self._within(options)

    def _scan(
        self,
        plan: ReadPlan,
        columns: Sequence[str] | None,
        filter: Filter | None,  # noqa: A002  (pyarrow's name for it)
        options: ScanOptions,
        *,
        shown: Sequence[str] | None = None,
        rows: pc.Expression | None = None,
        narrowed: Callable[[pc.Expression | None], ReadPlan] | None = None,
        read_by: tuple[str, ReadRows] | None = None,
    ) -> Scan:
        """A scan of what was planned; a strict one has nothing to warn of.

        `shown` are the columns handed out unless `columns` tells others, `rows` what every row must
        meet besides the filter; `narrowed` plans anew under a condition, and `read_by` says how
        units are read where that is not a snapshot's way (`UnitScan.read_by`).
        """
        every = plan.schema.names if shown is None else shown
        names = chosen_columns(columns, plan.schema, every, self._storage.root)

        def make(columns: list[str], condition: pc.Expression | None) -> Scan:
            own = plan if narrowed is None else narrowed(condition)
            if options.strict and own.warnings:
                raise InputError(f"{own.warnings[0].file}: {own.warnings[0].reason}")
            whole = condition if rows is None or condition is None else rows & condition
            scan = UnitScan(own, columns, rows if condition is None else whole, options)
            return scan if read_by is None else scan.read_by(*read_by)

        return filtered_scan(make, names, filter, plan.schema)

    def _within(self, options: ScanOptions) -> Self:
        """The same table for a read with a limit of memory, or a strict one, of its files."""
        if options.memory_limit_bytes is None and not options.strict:
            return self
        other = copy.copy(self)
        other._storage = self._storage.within(options.memory_limit_bytes, strict=options.strict)
        other._moved()
        return other

    def _moved(self) -> None:
        """Makes anew what holds the storage, which is another one now."""


def described(
    scan: Scan,
    *,
    format_name: str,
    version: str,
    state: str,
    key: Sequence[str] = (),
    unit_word: str = "file",
    properties: Mapping[str, str] = MappingProxyType({}),
) -> TableDescription:
    """Describe the table of a scan of all columns without a filter; `key` tells rows apart."""
    plan = plan_of(scan)
    return TableDescription(
        table=plan.table,
        format=format_name,
        version=version,
        state=state,
        key=list(key),
        units=described_units(plan),
        unit_word=unit_word,
        properties=dict(properties),
        warnings=list(plan.warnings),
    )
