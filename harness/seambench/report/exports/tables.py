"""Outcomes as Markdown, JSON, CSV and JUnit's XML, for documents, programs and CI."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from operator import itemgetter
from typing import Literal

import msgspec

from seambase.errors import UsageError
from seambench.records.junit import JUnitCase, Tag, junit
from seambench.report.views.load import Loaded
from seambench.report.views.outcomes import (
    KINDS,
    SAID,
    Column,
    Seen,
    columns_of,
    counts_of,
    group_of,
)

Format = Literal["markdown", "json", "csv", "junit"]

#: Version of what `json` holds.
_SCHEMA = 1


def exported(loaded: Loaded, form: str) -> str:
    """All outcomes of all records, the newest of each implementation, version and case."""
    if form not in FORMATS:
        raise UsageError(f"--format {form!r}: the forms are {', '.join(FORMATS)}")
    return FORMATS[form](columns_of(loaded.records))


def _markdown(columns: Sequence[Column]) -> str:
    """A table for each seam: a row for each implementation and group of cases."""
    lines = ["# What Seambench found", ""]
    for seam in dict.fromkeys(column.seam for column in columns):
        lines += [f"## {seam}", ""]
        lines.append("| implementation | version | cases | " + " | ".join(SAID.values()) + " |")
        lines.append("|---" * 3 + "|--:" * len(KINDS) + "|")
        for column in (one for one in columns if one.seam == seam):
            for group in sorted({group_of(case) for case in column.outcomes}):
                counts = counts_of(column, group)
                cells = [column.name, column.version, group, *(str(counts[k] or "") for k in KINDS)]
                lines.append("| " + " | ".join(_cell(text) for text in cells) + " |")
        lines.append("")
        lines += list(_wrong([one for one in columns if one.seam == seam]))
    return "\n".join(lines)


def _wrong(columns: Sequence[Column]) -> Iterator[str]:
    listed = [
        f"- {_cell(column.name)} {_cell(column.version)}, `{case}`: {_cell(seen.said)}"
        for column in columns
        for case, seen in _sorted(column)
        if seen.kind == "wrong"
    ]
    if listed:
        yield from ["Wrong without a word:", "", *listed, ""]


def _sorted(column: Column) -> list[tuple[str, Seen]]:
    return sorted(column.outcomes.items(), key=itemgetter(0))


def _cell(text: str) -> str:
    """A text within a table: nothing in it is markup."""
    line = " ".join(text.split())
    return re.sub(r"([\\`*_{}\[\]<>|])", r"\\\1", line)


def _json(columns: Sequence[Column]) -> str:
    members = [
        {
            "seam": column.seam,
            "implementation": column.name,
            "version": column.version,
            "kind": column.about,
            "outcomes": [
                {
                    "case": case,
                    "kind": seen.kind,
                    "outcome": seen.word,
                    "reason": seen.said,
                    "record": seen.link,
                    "earlier": [asdict(one) for one in seen.earlier],
                    "difference": msgspec.to_builtins(seen.difference),
                }
                for case, seen in _sorted(column)
            ],
        }
        for column in columns
    ]
    return json.dumps({"schema": _SCHEMA, "implementations": members}, indent=1) + "\n"


def _csv(columns: Sequence[Column]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head = ("seam", "implementation", "version", "case", "kind", "outcome", "reason", "record")
    writer.writerow(head)
    for column in columns:
        for case, seen in _sorted(column):
            about = (column.seam, column.name, column.version, case, seen.kind, seen.word)
            writer.writerow((*about, seen.said, seen.link))
    return out.getvalue()


def _junit(columns: Sequence[Column]) -> str:
    """A suite for each implementation at a seam; what fails no run of ours fails none here."""
    return junit(
        "seambench",
        {
            f"{column.seam}: {column.name} {column.version}": [
                JUnitCase(
                    case, _tag(seen.kind, seen.word), SAID[seen.kind], seen.said or SAID[seen.kind]
                )
                for case, seen in _sorted(column)
            ]
            for column in columns
        },
    )


def _tag(kind: str, word: str) -> Tag:
    if kind in ("off", "disputed") or word == "xfail":
        return "skipped"
    tags: Mapping[str, Tag] = {"wrong": "failure", "refused": "failure", "broken": "error"}
    return tags.get(kind, "")


FORMATS: dict[str, Callable[[Sequence[Column]], str]] = {
    "markdown": _markdown,
    "json": _json,
    "csv": _csv,
    "junit": _junit,
}
