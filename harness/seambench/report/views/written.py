"""What tables cost their writer: bytes on disk and seconds, against the rows that are updated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seambench.records.model import Stored
from seambench.report.views.runs import RunSet, measured


@dataclass(frozen=True)
class WrittenAt:
    """Tables of one form with one update ratio."""

    ratio: float  # per cent of the rows updated in every slice
    bytes: int
    create_seconds: float
    change_seconds: float | None  # of writing updates and deletes; None: there were none
    link: str


@dataclass(frozen=True)
class Written:
    """Tables of one form, by update ratio."""

    name: str
    points: Sequence[WrittenAt]


def written(one: RunSet) -> list[Written]:
    """Every form of tables of which it is known, by name; see `seambench.records.model.Stored`."""
    found: dict[str, dict[float, WrittenAt]] = {}
    for point in measured(one):
        if point.stored is None or (point.ratio > 0 and point.share != 100):
            continue
        reader = point.reader
        name = f"{reader.format}, {reader.variant}" if reader.variant else reader.format
        by_ratio = found.setdefault(name, {})
        by_ratio.setdefault(point.ratio, _at(point.ratio, point.stored, point.link))
    return [
        Written(name, [by_ratio[ratio] for ratio in sorted(by_ratio)])
        for name, by_ratio in sorted(found.items())
    ]


def _at(ratio: float, stored: Stored, link: str) -> WrittenAt:
    changes = [taken for word, taken in stored.seconds.items() if word != "create"]
    return WrittenAt(
        ratio,
        stored.bytes,
        stored.seconds.get("create", 0.0),
        sum(changes) if changes else None,
        link,
    )
