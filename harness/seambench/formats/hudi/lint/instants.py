"""Which instants of a Hudi table have completed."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any

from seambench.formats.hudi.timelines import Timeline, body_of

#: The first table version whose timeline has layout 2.
LAYOUT_2 = 8

#: Actions of a clustering until it completes, and then.
_CLUSTERINGS = ("clustering", "replacecommit")


@dataclass(frozen=True)
class Instants:
    """The instants of a table by their state."""

    completed: Set[str]  # active ones and those of archived writes
    pending: Set[str]  # those that have begun
    undone: Set[str]  # those that a rollback or a restore names
    first: str  # the first active one; what is older counts as completed
    clusterings: Set[str]  # active ones; of those that were undone nothing tells what they were

    def has_completed(self, instant: str) -> bool:
        """Whether an action with this instant has completed."""
        older = instant < self.first and instant not in self.pending | self.undone
        return instant in self.completed or older

    def knows(self, instant: str) -> bool:
        """Whether there is or was an action with this instant."""
        return instant in self.pending | self.undone or self.has_completed(instant)

    def may_name(self, named: str, instant: str) -> bool:
        """Whether a write's log may bear another instant: a clustering's that it went on beside."""
        return named < instant and named in self.clusterings | self.undone and self.knows(instant)


def instants_of(timeline: Timeline) -> Instants:
    """Those of a timeline, archived writes with them."""
    states = list(timeline.names())
    completed = {instant for _, instant, _, _, done in states if done}
    begun = {instant for _, instant, *_ in states}
    archived = {write.requested for write in timeline.kept()}
    undone = {
        text
        for file, _, _, action, done in states
        if done and action in ("rollback", "restore") and file.stat().st_size
        for text in texts_of(body_of(file.read_bytes()))
        if text.isdigit()
    }
    clusterings = {one for _, one, _, action, _ in states if action in _CLUSTERINGS}
    first = min(begun, default="")
    return Instants(completed | archived, begun - completed, undone, first, clusterings)


def texts_of(value: Any) -> Iterator[str]:
    """All texts in the body of an action, keys among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from (key, *texts_of(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from texts_of(inner)
