"""What Spark + Hudi answer to every query of a table, as text to compare others' rows with.

Any version of Hudi may be asked about any table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seambench.contracts.formats import resolve_format
from seambench.contracts.scan import ScanRequest
from seambench.formats.rows import in_words

Answer = dict[str, Any]
"""A request's keys, and `columns` and `rows` (each value as `canonical` text) or `error`."""

_OPTIONS = {
    "as_of": "as.of.instant",
    "begin": "hoodie.datasource.read.begin.instanttime",
    "end": "hoodie.datasource.read.end.instanttime",
}


def questions(instants: Sequence[str], completions: Sequence[str]) -> list[Answer]:
    """Requests that make sense for a table with these commits: views, commits, windows."""
    known = [instant for instant in dict.fromkeys(instants) if instant]
    bounds = [c for c in dict.fromkeys(completions) if c] or known
    listed: list[Answer] = [{"query": "snapshot"}, {"query": "read-optimized"}]
    listed += [{"query": "snapshot", "as_of": instant} for instant in known[:-1]]
    listed += [{"query": "incremental", "begin": "000"}]
    listed += [{"query": "incremental", "begin": begin} for begin in sorted(bounds)[:-1]]
    if len(bounds) > 2:
        first, *_, last = sorted(bounds)[:-1]
        listed.append({"query": "incremental", "begin": first, "end": last})
    return listed


def ask_spark(spark: Any, table: Path, request: Mapping[str, Any]) -> Answer:
    """Spark's answer to one request; what it throws is its answer, too."""
    kind = str(request["query"]).replace("-", "_")
    reader = spark.read.format("hudi").option("hoodie.datasource.query.type", kind)
    for key, option in _OPTIONS.items():
        if request.get(key):
            reader = reader.option(option, request[key])
    spark.catalog.clearCache()
    try:
        frame = reader.load(str(table))
        names = resolve_format("hudi").shown(frame.columns)
        rows = frame.select(*(f"`{name}`" for name in names)).collect()
    except Exception as error:  # whatever comes through from Java
        return {**request, "error": str(error)[:500]}
    return {**request, "columns": names, "rows": in_words(rows)}


def scan_request(table: Path, answer: Mapping[str, Any]) -> ScanRequest:
    """What Spark was asked, for a reader."""
    options = {name: answer[name] for name in ("query", *_OPTIONS) if answer.get(name)}
    return ScanRequest(
        str(table),
        threads=1,
        # Hudi merges what changed among itself, without the rows that it changed.
        changes_alone=answer["query"] == "incremental",
        **options,
    )
