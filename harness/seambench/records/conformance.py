"""Outcomes of conformance as part of a record: compact, and every verdict as it came."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from seambase.errors import SeambenchError
from seambench.contracts import registry
from seambench.contracts.outcomes import Outcome, Word
from seambench.contracts.registry import PAIR
from seambench.records.facts import implementation_info, without_folders
from seambench.records.model import (
    Conformance,
    Consumer,
    Differing,
    Implementation,
    KnownFailure,
    Record,
)
from seambench.records.writer import Recording

_REASON_LENGTH = 300
_SLOW_SECONDS = 1.0


def conformance_of(
    seam: str, outcomes: Sequence[Outcome], consumer: Consumer | None = None
) -> Conformance:
    """The outcomes of one implementation in the cases of one seam.

    A case that comes twice, as by an outdated entry of its known failures, is what came last.
    `consumer` is who read what the implementation wrote, if that was asked.
    """
    last = {one.case: one for one in outcomes}
    words: dict[Word, dict[str, list[str]]] = {}
    for case, one in last.items():
        folder, _, name = case.rpartition("/")
        words.setdefault(one.outcome, {}).setdefault(folder, []).append(name)
    reasons = {
        case: _published(one.reason) or one.outcome
        for case, one in last.items()
        if one.outcome not in ("pass", "not-offered")
    }
    return Conformance(
        seam=seam,
        seconds=round(sum(one.seconds for one in outcomes), 3),
        outcomes=words,
        reasons=reasons,
        refused=[case for case, one in last.items() if one.refusal],
        known={
            case: KnownFailure(_published(one.known), one.came)
            for case, one in last.items()
            if one.outcome == "xfail" and one.came is not None
        },
        should=[case for case, one in last.items() if one.level == "should"],
        slow={
            case: round(one.seconds, 3)
            for case, one in last.items()
            if one.seconds >= _SLOW_SECONDS
        },
        differences={
            case: Differing(**_without_folders_in(asdict(one.difference)))
            for case, one in last.items()
            if one.difference is not None
        },
        answers={case: one.answer for case, one in last.items() if one.answer},
        consumer=consumer,
    )


def _without_folders_in(rows: dict[str, Any]) -> dict[str, Any]:
    """Rows of a difference as they may be published: a reader may answer with paths of its own."""
    sides = {
        side: [[without_folders(text) for text in row] for row in rows[side]]
        for side in ("missing", "unexpected")
    }
    return rows | sides


def conformance_records(recording: Recording, outcomes: Iterable[Outcome]) -> list[Record]:
    """A record for each implementation that was asked, not yet written.

    What became of a pair stands in the record of the one that wrote or sent.
    """
    found: dict[str, dict[tuple[str, str], list[Outcome]]] = {}
    for one in outcomes:
        producer, _, consumer = one.implementation.partition(PAIR)
        found.setdefault(producer, {}).setdefault((one.seam, consumer), []).append(one)
    return [
        recording.record(
            _about(name, parts),
            conformance=[
                conformance_of(seam, listed, _consumer(seam, consumer))
                for (seam, consumer), listed in parts.items()
            ],
        )
        for name, parts in found.items()
    ]


def _about(name: str, parts: Mapping[tuple[str, str], Sequence[Outcome]]) -> Implementation:
    """An implementation; of one that is made elsewhere the version is what its own process said."""
    about = implementation_info(name, _implementation(next(iter(parts))[0], name))
    said = [one.version for listed in parts.values() for one in listed if one.version]
    if about.version != "unknown" or not said:
        return about
    return msgspec.structs.replace(about, version=said[0].partition(PAIR)[0])


def _consumer(seam: str, name: str) -> Consumer | None:
    if not name:
        return None
    about = implementation_info(
        name, _implementation(registry.find_seam(seam).reader or seam, name)
    )
    return Consumer(name=name, version=about.version)


def _implementation(seam: str, name: str) -> Any:
    """The implementation, or why this machine has none."""
    try:
        return registry.resolve(seam, name)
    except SeambenchError as error:
        return error


def _published(reason: str) -> str:
    """One line without folders of this machine, cut to a length that 5,000 cases can bear."""
    line = without_folders(" ".join(reason.split()))
    return line if len(line) <= _REASON_LENGTH else f"{line[: _REASON_LENGTH - 1]}…"
