"""Arguments of tables and scans, and how a scan is run; each checked where it comes in."""

from __future__ import annotations

import datetime as dt
import difflib
import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import UsageError
from seamkit.scan.conditions import Filter, read_filter
from seamkit.scan.hints import did_you_mean
from seamkit.scan.scan import Scan
from seamkit.scan.sql_scan import EngineCondition, SqlScan

DEFAULT_BATCH_ROWS = 256 * 1024
"""Large enough that its columns lie on huge pages and per-batch work does not show; a batch of wide
rows stays below 100 MB."""


class RunOptions(TypedDict, total=False):
    """How to run a scan, as keywords of every table's `scan`; see `ScanOptions`."""

    batch_rows: int | None
    threads: int | None
    memory_limit_bytes: int | None
    strict: bool


@dataclass(frozen=True)
class ScanOptions:
    """How to run a scan.

    Attributes:
        batch_rows: most rows in a batch, or None for `DEFAULT_BATCH_ROWS`.
        threads: units at once, or None for one per core, several where files are far away.
        memory_limit_bytes: what the tracked allocator may hand out at once, or None: decoded rows
            of logs, keys and index, merged batches, and what Parquet blocks of logs claim to take
            when they are decoded. Changes that would take too much of it wait on local disk. Nor
            may any compressed piece of a file (a block, a page, a line, a vector) become more; None
            allows it a gigabyte, and pages of Parquet what they have. It does not bound the
            process: base files that pyarrow decodes (a batch and a row group's pages for each
            thread), bodies of the timeline and the files' own bytes come on top.
        strict: damage is refused wherever it can be told, so no engine's own reader, which checks
            less, takes over a file.
    """

    batch_rows: int | None = None
    threads: int | None = None
    memory_limit_bytes: int | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        for name in ("batch_rows", "threads", "memory_limit_bytes"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UsageError(f"{name} is {value!r}: a whole number of at least 1 is meant")
            if value >> 63:
                raise UsageError(f"{name} has {value.bit_length()} bits: at most 63 are meant")

    @classmethod
    def of(cls, scan: Callable[..., object], run: RunOptions) -> ScanOptions:
        """What is left of the keywords of a call, each of which must be an option.

        Args:
            scan: what was called, for the names of its other keywords.
            run: what was not among these.
        """
        known = keywords_of(scan)
        for name in run:
            if name not in known:
                hint = did_you_mean(name, known, _INSTEAD) or f"; it has {', '.join(known)}"
                raise UsageError(f"{scan.__qualname__}() has no keyword {name!r}{hint}")
        check_flag("strict", run.get("strict", False))
        return cls(**run)

    @property
    def most_rows(self) -> int:
        """Most rows in a batch."""
        return self.batch_rows or DEFAULT_BATCH_ROWS

    @property
    def n_threads(self) -> int:
        """Units at once."""
        return self.threads or len(os.sched_getaffinity(0))


_AS_OF = "say as_of=, which takes whatever history() lists"
#: Keywords that others have, and what does the same here.
_INSTEAD = {
    "batch_size": "say batch_rows=",
    "filters": "say filter=",
    "limit": "call scan(...).limit(rows)",
    "predicate": "say filter=",
    "row_filter": "say filter=",
    "select": "say columns=",
    "selected_fields": "say columns=",
    "snapshot_id": _AS_OF,
    "tag": _AS_OF,
    "timestamp": _AS_OF,
    "version": _AS_OF,
    "where": "say filter=",
}


def keywords_of(scan: Callable[..., object]) -> list[str]:
    """The keywords of a table's `scan`."""
    named = inspect.signature(scan).parameters.values()
    own = [one.name for one in named if one.kind is not one.VAR_KEYWORD and one.name != "self"]
    return [*own, *RunOptions.__annotations__]


def check_choice(name: str, value: object, known: Sequence[str]) -> None:
    """Require that an argument is one of a few words."""
    if value in known:
        return
    near = difflib.get_close_matches(str(value).replace("_", "-"), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"{name} is {value!r}: one of {', '.join(map(repr, known))} is meant{hint}")


def check_flag(name: str, value: object) -> None:
    """Require that an argument is True or False."""
    if not isinstance(value, bool):
        raise UsageError(f"{name} is {value!r}: True or False is meant")


def instant_text(name: str, value: object) -> str | None:
    """A moment as text: as it was given, or a `datetime` or `date` in ISO 8601."""
    if isinstance(value, dt.date):
        return value.isoformat()
    if value is None or isinstance(value, str):
        return value
    raise UsageError(f"{name} is {value!r}: an instant as text, or a datetime, is meant")


def chosen_columns(
    columns: Sequence[str] | None, schema: pa.Schema, default: Sequence[str], where: str
) -> list[str]:
    """The columns to hand out.

    Args:
        columns: those asked for; None for `default`.
        schema: all that the table has.
        default: see above.
        where: the table, for messages.
    """
    if columns is None:
        return list(default)
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise UsageError(f"columns is {columns!r}: a list of names is meant, such as ['a', 'b']")
    for name in columns:
        if name not in schema.names:
            near = difflib.get_close_matches(name, schema.names, n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise UsageError(f"{where}: there is no column {name!r}{hint}")
    if len(set(columns)) != len(columns):
        raise UsageError(f"{where}: a column is asked for twice: {', '.join(columns)}")
    return list(columns)


def filtered_scan(
    make: Callable[[list[str], pc.Expression | None], Scan],
    columns: Sequence[str],
    filter: Filter | None,  # noqa: A002  (pyarrow's name for it)
    schema: pa.Schema,
) -> Scan:
    """A scan of some columns with a filter of any kind.

    Args:
        make: plans a scan of columns with a condition.
        columns: those to hand out.
        filter: rows to keep.
        schema: all columns that a filter may name.
    """
    condition = read_filter(filter, schema)
    if not isinstance(condition, EngineCondition):
        return make(list(columns), condition)
    if condition.is_whole:
        return make(list(columns), condition.implied)
    more = [name for name in condition.test.columns if name not in columns]
    return SqlScan(make([*columns, *more], condition.implied), columns, condition.test)
