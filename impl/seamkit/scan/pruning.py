"""Which units and row groups a filter leaves to be read, by what is known before rows are."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from seambase.filters import filter_columns
from seamkit.files.reader import FileReader
from seamkit.files.statistics import FileStatistics, guarantee_of, that_may_match
from seamkit.scan.native_path import Wanted
from seamkit.scan.units import KeyMask, Mask, ReadUnit, Runs

__all__ = ["groups_by_key", "leaves_out", "units_that_may_match"]


def units_that_may_match(
    units: Sequence[ReadUnit], condition: pc.Expression | None, schema: pa.Schema
) -> list[bool]:
    """For each unit whether it may have rows that meet a condition.

    Args:
        units: with the values of their partitions, their guarantees, their buckets, and files with
            statistics, which count where no row is added to the file's.
        condition: a filter, or None.
        schema: the columns that it and the guarantees name.
    """
    if condition is None:
        return [True] * len(units)
    in_bucket = _in_buckets(units, condition)
    if not any(u.partition or u.guarantee is not None or _statistics(u) for u in units):
        return in_bucket
    tested = filter_columns(condition, schema)
    # Units of one partition share its values: they are looked at once.
    numbers: dict[tuple[int, int, int], int] = {}
    guarantees: list[pc.Expression | None] = []
    of_units = []
    for unit in units:
        of_file = _statistics(unit)
        key = id(unit.partition), id(unit.guarantee), id(of_file)
        if key not in numbers:
            numbers[key] = len(guarantees)
            further = [
                None if unit.guarantee is None else unit.guarantee(tested),
                None if of_file is None else guarantee_of(of_file(tested)),
            ]
            guarantees.append(_guarantee(unit.partition, further))
        of_units.append(numbers[key])
    left = set(that_may_match(guarantees, condition, schema))
    return [kept and number in left for kept, number in zip(in_bucket, of_units, strict=True)]


def groups_by_key(
    key_columns: frozenset[str], wanted: Wanted
) -> Callable[[FileReader], Sequence[int]] | None:
    """Which row groups of a merged file can hold keys that the condition lets through.

    Values below the merge may be stale, but keys are not.
    """
    condition, keys = wanted.condition, key_columns.intersection(wanted.tested)
    if condition is None or not keys:
        return None
    schema = pa.schema([wanted.schema.field(name) for name in wanted.tested])
    return lambda reader: reader.row_groups_that_may_match(condition, schema, counted=keys)


def leaves_out(unit: ReadUnit, condition: pc.Expression | None, schema: pa.Schema) -> bool:
    """Whether a condition leaves out a unit, or row groups of its file by their keys.

    Args:
        unit: of any kind.
        condition: a filter, or None.
        schema: the columns that it names.

    Raises:
        InputError: the file is missing or broken.
    """
    if not units_that_may_match([unit], condition, schema)[0]:
        return True
    if condition is None or isinstance(unit.changes, Mask | KeyMask | Runs | None):
        return False
    tested = filter_columns(condition, schema)
    keys = unit.changes.key_columns.intersection(tested)
    if not keys:
        return False
    reader = unit.files[0].open()
    fields = pa.schema([schema.field(name) for name in tested])
    groups = reader.row_groups_that_may_match(condition, fields, counted=keys)
    return len(groups) < reader.num_row_groups


def _in_buckets(units: Sequence[ReadUnit], condition: pc.Expression) -> list[bool]:
    """For each unit whether its bucket may hold keys that meet a condition."""
    found: dict[int, Collection[int] | None] = {}
    kept = []
    for unit in units:
        numbers = None
        if unit.bucket is not None:
            buckets, number = unit.bucket
            if id(buckets) not in found:
                found[id(buckets)] = buckets.numbers(condition)
            numbers = found[id(buckets)]
        kept.append(numbers is None or number in numbers)
    return kept


def _statistics(unit: ReadUnit) -> Callable[[Collection[str]], FileStatistics] | None:
    """Those of the unit's file, where all of its rows are rows of that file."""
    if len(unit.files) == 1 and isinstance(unit.changes, Mask | KeyMask | None):
        return unit.files[0].statistics
    return None


def _guarantee(
    values: Mapping[str, pa.Scalar], further: Sequence[pc.Expression | None]
) -> pc.Expression | None:
    parts = [one for one in further if one is not None]
    parts += [
        pc.field(name) == value if value.is_valid else pc.field(name).is_null()
        for name, value in values.items()
    ]
    return functools.reduce(operator.and_, parts) if parts else None
