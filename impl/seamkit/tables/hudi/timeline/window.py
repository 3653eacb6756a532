"""What a read sees of a table's history: now, as of an instant, or between two.

One small value that everything asks which instants count: the listing of slices for files, the log
reader for blocks, the scan for rows. It speaks of instants by their requested time, as file names,
block headers and `_hoodie_commit_time` do; where the completion time decides, it has been turned
into a set of instants before (`incremental_window`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import UsageError
from seamkit.tables.hudi.timeline.timeline import FileNames, Timeline, is_log_compaction

COMMIT_TIME = "_hoodie_commit_time"


@dataclass(frozen=True)
class Window:
    """Which instants a read sees, and which of them it hands out rows of.

    It does not know which instants are committed; that is the timeline's.
    """

    up_to: str | None = None  # latest requested time that is seen, or None
    # instants that are not seen although they were requested in time: those that completed after
    # the end of an incremental query
    hidden: frozenset[str] = field(default=frozenset(), repr=False)
    # rows of instants requested later than this are handed out, or None for all
    after: str | None = None
    # rows of these instants are handed out, or None for all
    changes: frozenset[str] | None = field(default=None, repr=False)
    # files and log blocks of other instants than those handed out are not read, so that an update
    # in a log comes without the base row below it, as Hudi's own answer has it
    alone: bool = False

    @property
    def is_incremental(self) -> bool:
        """Whether rows are left out because they did not change."""
        return self.after is not None or self.changes is not None

    def sees(self, requested: str) -> bool:
        """Whether files and log blocks of an instant take part in what is read."""
        if self.up_to is not None and requested > self.up_to:
            return False
        if self.alone and not self.hands_out(requested):
            return False
        return requested not in self.hidden

    def hands_out(self, requested: str) -> bool:
        """Whether rows that an instant wrote belong to the answer, if they are seen."""
        if self.after is not None and requested <= self.after:
            return False
        return self.changes is None or requested in self.changes

    def row_filter(self) -> pc.Expression | None:
        """The condition on `_hoodie_commit_time` that says the same of a row."""
        commit_time = pc.field(COMMIT_TIME)
        if self.changes is not None:
            return commit_time.isin(pa.array(sorted(self.changes), pa.string()))
        return None if self.after is None else commit_time > pa.scalar(self.after)


NOW = Window()
"""The table as it is."""


def incremental_window(
    timeline: Timeline, begin: str | None, end: str | None, *, alone: bool
) -> Window:
    """What instants after `begin` (exclusive) and up to `end` (inclusive) changed.

    Layout 1 goes by the requested time, layout 2 by the completion time (Hudi 1.2.0; 1.0.2 counts
    `begin` in). None is the table's beginning, or now. `alone` leaves out what the instants found
    when they were written (Hudi's own answer).
    """
    if begin is not None and end is not None and end < begin:
        raise UsageError(f"an incremental query from {begin} to {end} ends before it begins")
    if timeline.config.timeline_layout == 1:
        return Window(up_to=end, after=begin or "", alone=alone)
    completed = timeline.completion_times()
    hidden = frozenset(r for r, c in completed.items() if end is not None and c > end)
    changes = frozenset(r for r, c in completed.items() if r not in hidden and c > (begin or ""))
    return Window(hidden=hidden, changes=changes - _idle(timeline, changes), alone=alone)


def _idle(timeline: Timeline, changes: frozenset[str]) -> set[str]:
    """Log compactions that only put older changes elsewhere."""
    # Their rows bear the instant of the log compaction. They are changes if one of the writes that
    # it put together lies in the window (Hudi 1.2.0 reads such a block in the place of those).
    active = [instant for instant in timeline.writes() if instant.requested in changes]
    compactions = [i for i in active if is_log_compaction(timeline.metadata(i))]
    idle = {instant.requested for instant in compactions}
    for instant in compactions:  # the oldest first: it may be among what a later one put together
        if timeline.put_together_by(instant) & (changes - idle):
            idle.remove(instant.requested)
    return idle


def file_names(timeline: Timeline, window: Window, instant: str) -> FileNames | None:
    """How the names in a file or block of an instant differ from those that a read shows, if so."""
    history = timeline.schema_history
    if history is None:
        return None
    shown = history.at(None if window.is_incremental else window.up_to)
    written = history.at(instant)
    return None if shown[0] == written[0] else FileNames(shown[1], written[1])
