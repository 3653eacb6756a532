"""Statistics of a planned scan: what its plan and the footers of its files tell of its rows.

What a unit's files tell is exact where nothing changes its rows. Where rows are taken out, it
bounds what is left; of rows that are made of theirs it bounds the number alone. Where runs are
merged and one row of each key stays, there are at most all rows, with values that one of them has.
Where rows are replaced or added by events, or made of several, the files say nothing of values, and
the number of rows is a guess; an index of the table may bound the values of files and events.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from seambase.statistics import ColumnStatistics, Figure, Sureness, TableStatistics, V
from seamkit.core.tasks import each
from seamkit.files.statistics import ColumnRange, FileStatistics
from seamkit.scan.units import KeyMask, Mask, ReadUnit, Runs, UnitFile

_RANKS: Mapping[Sureness, int] = {"exact": 0, "at most": 1, "at least": 1, "estimate": 2}


@dataclass(frozen=True)
class _Column:
    """What is known of a column in some rows; `is_void` where there is no value but null."""

    known: ColumnStatistics = field(default_factory=ColumnStatistics)
    is_void: bool = False


@dataclass(frozen=True)
class _Known:
    rows: Figure[int] | None
    columns: Mapping[str, _Column]


def unit_statistics(
    units: Sequence[ReadUnit], schema: pa.Schema, *, footers: bool, threads: int
) -> TableStatistics:
    """What is known of the rows of some units together.

    With `footers` files may be opened, by so many threads, for what the plan does not tell.
    """
    ranges = [_by_index(unit, schema) if footers else {} for unit in units]  # an index is read once

    def of_unit(one: tuple[ReadUnit, Mapping[str, ColumnRange]]) -> _Known:
        return _of_unit(*one, schema=schema, footers=footers)

    known = each(of_unit, list(zip(units, ranges, strict=True)), threads if footers else 1)
    changes = {(one.path, one.offset): one.size_bytes for unit in units for one in unit.changed_by}
    columns = {
        one.name: _together([of.columns.get(one.name, _Column()) for of in known], one.type)
        for one in schema
    }
    return TableStatistics(
        _total([one.rows for one in known]),
        Figure(sum(unit.size_bytes for unit in units) + sum(changes.values())),
        {name: column.known for name, column in columns.items()},
    )


def of_runs(unit: ReadUnit, schema: pa.Schema, names: Collection[str]) -> FileStatistics:
    """What metadata tell of the rows that are left of a unit's sorted runs, as if of one file.

    Each of some columns has a value there that it has in one of the files.
    """
    kept = _kept_columns(unit, names)
    named = [name for name in names if name in kept]
    known = [one.statistics(named) if one.statistics else FileStatistics() for one in unit.files]
    found = {}
    for name in named:
        columns = [_of_column(one, name, "at most") for one in known]
        ends = _together(columns, schema.field(name).type).known
        found[name] = ColumnRange(_value(ends.nulls), _value(ends.least), _value(ends.greatest))
    return FileStatistics(_value(_total([_figure(one.rows) for one in known])), found)


def _value(figure: Figure[V] | None) -> V | None:
    return None if figure is None else figure.value


def _by_index(unit: ReadUnit, schema: pa.Schema) -> Mapping[str, ColumnRange]:
    """Ranges that an index tells of a unit's rows, files and changes together."""
    if unit.ranges is None or unit.changes is None or unit.made:
        return {}
    return unit.ranges([one.name for one in schema if one.name not in unit.partition])


def _of_unit(
    unit: ReadUnit, ranges: Mapping[str, ColumnRange], schema: pa.Schema, footers: bool
) -> _Known:
    others = [one for one in schema if one.name not in unit.partition]
    kept = _kept_columns(unit, [one.name for one in others])
    rest = pa.schema([one for one in others if one.name in kept])
    files = [_of_file(file, rest, footers) for file in unit.files]
    rows = _rows(unit, _total([_figure(one.rows) for one in files]))
    whole: Sureness = "exact" if unit.changes is None else "at most"
    columns = {
        one.name: _together([_of_column(known, one.name, whole) for known in files], one.type)
        for one in rest
    }
    for name in ranges.keys() - columns.keys():
        columns[name] = _of_column(FileStatistics(columns=ranges), name, "at most")
    values = {name: unit.partition[name] for name in schema.names if name in unit.partition}
    return _Known(rows, columns | {name: _constant(one, rows) for name, one in values.items()})


def _of_file(file: UnitFile, schema: pa.Schema, footers: bool) -> FileStatistics:
    """What the metadata tells of a file; its footer, where that leaves something open."""
    known = FileStatistics()
    if file.statistics is not None and schema.names:
        known = file.statistics(schema.names)
    known = replace(known, rows=known.rows if file.rows is None else file.rows)
    open_ = [one for one in schema if _is_open(known.columns.get(one.name), one.type, known.rows)]
    if not (footers and file.has_footer) or not (open_ or known.rows is None):
        return known
    own = file.open().statistics(pa.schema(open_))
    rows = own.rows if known.rows is None else known.rows
    return FileStatistics(rows, {**known.columns, **own.columns})


def _is_open(known: ColumnRange | None, kind: pa.DataType, rows: int | None) -> bool:
    """Whether a footer may tell more of a column than the metadata does."""
    if pa.types.is_nested(kind) or pa.types.is_floating(kind) or rows == 0:
        return False
    if known is None or known.nulls is None:
        return True
    return known.nulls != rows and (known.least is None or known.greatest is None)


def _rows(unit: ReadUnit, in_files: Figure[int] | None) -> Figure[int] | None:
    """How many rows a unit has, by those of its files."""
    changes = unit.changes
    if in_files is None or (changes is None and not unit.made):
        return in_files
    if not unit.files:
        return None  # events add them all
    if isinstance(changes, Mask) and changes.rows is not None:
        left = in_files.value - changes.rows
        # Metadata that contradicts itself is refused by who reads; here nothing is made of it.
        return Figure(left) if 0 <= left <= in_files.value else None
    # What is made takes at least one row of a file for each of its own.
    is_bound = unit.made or isinstance(changes, Mask | KeyMask | Runs)
    return Figure(in_files.value, "at most" if is_bound else "estimate")


def _kept_columns(unit: ReadUnit, names: Collection[str]) -> Collection[str]:
    """The columns of a unit that have no other values than those that stand in its files."""
    changes = unit.changes
    if unit.made:
        return ()
    if isinstance(changes, Mask | KeyMask | None):
        return names
    if isinstance(changes, Runs):
        return names if changes.rule in ("last", "first") else set(changes.keys)
    return ()


def _of_column(known: FileStatistics, name: str, whole: Sureness) -> _Column:
    """What is known of a column of a file; `whole` is `at most` where rows of it may be missing."""
    if known.rows == 0:
        return _Column(ColumnStatistics(Figure(0)), is_void=True)
    one = known.columns.get(name, ColumnRange())
    is_whole = whole == "exact"
    least_sure: Sureness = "exact" if is_whole and one.exact[0] else "at least"
    greatest_sure: Sureness = "exact" if is_whole and one.exact[1] else "at most"
    found = ColumnStatistics(
        _figure(one.nulls, whole if one.nulls else "exact"),
        None if one.least is None else Figure(one.least, least_sure),
        None if one.greatest is None else Figure(one.greatest, greatest_sure),
    )
    return _Column(found, is_void=one.nulls is not None and one.nulls == known.rows)


def _constant(value: pa.Scalar, rows: Figure[int] | None) -> _Column:
    """A column with one value in all rows of a unit."""
    if not value.is_valid:
        return _Column(ColumnStatistics(rows), is_void=True)
    if pa.types.is_nested(value.type) or pa.types.is_floating(value.type):
        return _Column(ColumnStatistics(Figure(0)))
    if rows == Figure(0):
        return _Column(ColumnStatistics(Figure(0)), is_void=True)
    ends: tuple[Sureness, Sureness] = ("at least", "at most")
    if rows is not None and rows.is_exact:
        ends = ("exact", "exact")
    return _Column(ColumnStatistics(Figure(0), *(Figure(value, sure) for sure in ends)))


def _figure(value: int | None, sure: Sureness = "exact") -> Figure[int] | None:
    return None if value is None else Figure(value, sure)


def _total(figures: Sequence[Figure[int] | None]) -> Figure[int] | None:
    """The sum of some numbers, as sure as the one that is least so; None if one is not known."""
    known = [one for one in figures if one is not None]
    if len(known) < len(figures):
        return None
    sure: Sureness = max((one.sure for one in known), key=_RANKS.__getitem__, default="exact")
    return Figure(sum(one.value for one in known), sure)


def _together(known: Sequence[_Column], kind: pa.DataType) -> _Column:
    """What is known of a column in the rows of several files or units."""
    valued = [one.known for one in known if not one.is_void]
    found = ColumnStatistics(
        _total([one.known.nulls for one in known]),
        _outermost([one.least for one in valued], kind, pc.min),
        _outermost([one.greatest for one in valued], kind, pc.max),
    )
    return _Column(found, is_void=not valued)


def _outermost(
    ends: Sequence[Figure[pa.Scalar] | None],
    kind: pa.DataType,
    choose: Callable[[pa.Array], pa.Scalar],
) -> Figure[pa.Scalar] | None:
    """The least or the greatest of some; None if there is none, or one is not known."""
    # It is a value where one that is equal to it is: bounds of other rows lie beyond it or on it.
    known = [one for one in ends if one is not None]
    if len(known) < len(ends) or not known:
        return None
    values = pa.array([one.value for one in known], kind)
    if isinstance(values, pa.ExtensionArray):  # which Arrow itself does not compare
        chosen = pa.ExtensionScalar.from_storage(kind, choose(values.storage))
    else:
        chosen = choose(values)
    sures = {one.sure for one in known if one.value.equals(chosen)}
    return Figure(chosen, min(sures, key=_RANKS.__getitem__))
