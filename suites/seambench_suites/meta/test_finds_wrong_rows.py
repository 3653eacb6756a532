"""Whoever breaks a rule of rows fails in every format, with a reason that tells it."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from unicodedata import normalize
from urllib.parse import unquote_plus

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.errors import RefusedError
from seambench.conformance.judge import verdict
from seambench.conformance.load import find_case, load_cases
from seambench.contracts.registry import resolve
from seambench.seams.scan.cases import ScanCase
from seambench_suites.meta.bent import Bend, members, scans

_EMPTY: Mapping[str, Any] = {"int32": 0, "int64": 0, "string": "", "double": 0.0, "bool": False}


def _each(table: pa.Table, change: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> pa.Table:
    return pa.table([change(column) for column in table.columns], table.schema.names)


def _a_deleted_row(table: pa.Table) -> pa.Table:
    """A row more than there is, whose values others have."""
    first, last = table.slice(0, 1), table.slice(table.num_rows - 1)
    mixed = [first.column(0), *last.columns[1:]]
    return pa.concat_tables([table, pa.table(mixed, schema=table.schema)])


def _older_wins(table: pa.Table) -> pa.Table:
    """Keys with the values of others, as if changes were applied in another order."""
    order = [*range(1, table.num_rows), 0]
    return table.set_column(0, table.schema.names[0], table.column(0).take(order))


def _numbers_as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()) if pa.types.is_integer(column.type) else column


def _nulls_as_empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    empty = _EMPTY.get(str(column.type))
    return column if empty is None else pc.fill_null(column, empty)


def _items_joined(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts of a list as one that looks like several; of other lists the first item."""
    if not pa.types.is_list(column.type):
        return column
    is_text = pa.types.is_string(column.type.value_type)
    rows = [
        row and ([",str:".join(map(str, row))] if is_text else row[:1])
        for row in column.to_pylist()
    ]
    return pa.chunked_array([pa.array(rows, column.type)])


def _refused(*_: Any) -> Any:
    raise RefusedError("no table is read")


RULES: Mapping[str, Bend] = {
    "deletes are ignored": scans(table=_a_deleted_row),
    "a row is lost": scans(table=lambda table: table.slice(1)),
    "changes are applied in another order": scans(table=_older_wins),
    "numbers are text": scans(table=lambda table: _each(table, _numbers_as_text)),
    "nulls are empty": scans(table=lambda table: _each(table, _nulls_as_empty)),
    "a page comes twice": scans(table=lambda table: pa.concat_tables([table, table])),
    "all is refused": members(open=_refused),
    "nothing is there": scans(table=lambda table: table.slice(0, 0)),
    "items of lists are joined": scans(table=lambda table: _each(table, _items_joined)),
}

_FORMATS = ("delta", "hive", "hudi", "iceberg", "paimon")


def _columns(case: ScanCase) -> Iterator[list[object]]:
    """Values of each column of a case's answer."""
    return (list(column) for column in zip(*case.expected_answers()[0], strict=True))


def _has_keys(case: ScanCase) -> bool:
    first = next(_columns(case), [])
    return len({repr(value) for value in first}) == len(first) > 1


def _has_nulls(case: ScanCase) -> bool:
    return any(
        None in column and any(type(value) in (int, str) for value in column)
        for column in _columns(case)
    )


def _has_lists(case: ScanCase) -> bool:
    """Lists of several items; the entries of maps are pairs."""
    return any(
        isinstance(value, list) and len(value) > 1 and not isinstance(value[0], tuple)
        for column in _columns(case)
        for value in column
    )


def _has_numbers(case: ScanCase) -> bool:
    return any(type(value) is int for column in _columns(case) for value in column)


_NEEDS: dict[str, Callable[[ScanCase], bool]] = {
    "numbers are text": _has_numbers,
    "nulls are empty": _has_nulls,
    "items of lists are joined": _has_lists,
}


def _chosen(rule: str) -> list[ScanCase]:
    """The first case of each format that must be right and to which the rule applies."""
    asks = _NEEDS.get(rule, _has_keys)
    found: dict[str, ScanCase] = {}
    for case in load_cases("scan"):
        assert isinstance(case, ScanCase)
        plain = not (case.refused or case.focus or case.request.where or case.expect.any_of)
        if (
            plain
            and case.level == "must"
            and case.group in _FORMATS
            and case.group not in found
            and asks(case)
        ):
            found[case.group] = case
    return list(found.values())


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_is_broken_is_found_in_every_format(rule: str) -> None:
    """A case of each format fails, and the reason says what was expected."""
    reader = RULES[rule](resolve("scan", "auto"))
    chosen = _chosen(rule)
    assert len(chosen) == len(_FORMATS)
    says = "refused what it offers" if rule == "all is refused" else "expected"
    for case in chosen:
        found = verdict(case, reader)
        assert (found.word, says in found.reason) == ("fail", True), (case.id, found.reason)


_WITHIN: Mapping[str, Callable[[Any], Any]] = {
    "zeros without a sign": lambda v: v + 0.0 if type(v) is float else v,
    "reals of 32 bits": lambda v: np.float32(v).item() if type(v) is float else v,
    "numbers by doubles": lambda v: int(float(v)) if type(v) is int and v > 0 else v,
    "numbers of 32 bits": lambda v: v & 0x7FFFFFFF if type(v) is int and v > 0 else v,
    "decimals by doubles": lambda v: _by_double(v) if isinstance(v, Decimal) else v,
    "texts up to a NUL": lambda v: v.split("\0")[0] if isinstance(v, str) else v,
    "texts of 255 signs": lambda v: v[:255] if isinstance(v, str) else v,
    "texts without blanks around": lambda v: v.strip(" ") if isinstance(v, str) else v,
    "texts in one normal form": lambda v: normalize("NFC", v) if isinstance(v, str) else v,
    "texts as in addresses": lambda v: unquote_plus(v) if isinstance(v, str) else v,
    "ends of lines": lambda v: v.replace("\r\n", "\n") if isinstance(v, str) else v,
    "words for null": lambda v: None if v in ("null", "\\N") else v,
    "empty texts and binaries": lambda v: None if v in ("", b"") else v,
    "binaries as texts": lambda v: v.decode(errors="replace").encode() if type(v) is bytes else v,
    "times in milliseconds": lambda v: v.replace(microsecond=0) if type(v) is datetime else v,
    "years of 64 bits of nanoseconds": (
        lambda v: v.replace(year=2262) if isinstance(v, date) and v.year > 2262 else v
    ),
    "false as null": lambda v: v or None if isinstance(v, bool) else v,
}


def _by_double(value: Decimal) -> Decimal:
    return Decimal(f"{float(value):.9f}")


def _within(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value of which those inside are others; it is itself where there are none."""
    if isinstance(value, dict):
        return {name: _changed(inner, change) for name, inner in value.items()}
    if isinstance(value, list):
        return [_changed(inner, change) for inner in value]
    return (value[0], _changed(value[1], change)) if isinstance(value, tuple) else value


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    inner = _within(value, change)
    return inner if isinstance(value, dict | list | tuple) else change(inner)


_MANY: Mapping[str, Callable[[pa.Table], pa.Table]] = {
    "rows of the first batch alone": lambda table: table.slice(0, 4096),
    "a row less in all": lambda table: table.slice(0, table.num_rows - 1),
    "equal rows once": lambda table: pa.concat_tables(
        [table.slice(at, 1) for at in (0, 5000, 5001, 10000)]
    ),
    "nulls of the first batch alone": lambda table: _each(table, _nulls_as_empty),
}

_NESTED = "delta/schema", "hive/parquet", "iceberg/types", "paimon/files"


@pytest.mark.parametrize("folder", _NESTED)
def test_values_within_others_and_rows_behind_thousands_are_compared(folder: str) -> None:
    """Whoever changes values only inside of others, or rows only past a batch, is found."""
    bends = {
        what: scans(
            table=lambda table, change=change: pa.table(
                [
                    pa.array([_within(v, change) for v in column.to_pylist()], column.type)
                    for column in table.columns
                ],
                table.schema,
            )
        )
        for what, change in _WITHIN.items()
    }
    right = resolve("scan", "auto")
    edges = find_case(f"scan/{folder}/edges-within")
    many = find_case(f"scan/{folder}/many-rows/all-rows")
    found = {what: verdict(edges, bend(right)) for what, bend in bends.items()}
    found |= {what: verdict(many, scans(table=bend)(right)) for what, bend in _MANY.items()}
    missed = {what: one for what, one in found.items() if "expected" not in one.reason}
    assert missed == {}
