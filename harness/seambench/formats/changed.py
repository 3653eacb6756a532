"""Data sets that differ in where changed rows are left: one choice, an ordering, shares.

Such a layout's name is `<format>-<changes>-<ordering>-u<ratio>-s<share>`, for example
`delta-dv-event-u20-s100`: 20 % of the rows changed in each group of rows that is changed at all,
100 % of the groups changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast, get_args

from seambase.errors import SeambenchError, UsageError
from seambench.contracts.tables import Design, Layout, Ordering, Step

_PERCENT = r"(\d{1,3}(?:\.\d{1,2})?)"


@dataclass(frozen=True)
class ChangedLayout(Layout):
    """One way to lay out tables of a format; each format derives its own."""

    #: What the choice is called on the command line and in results.
    knob: ClassVar[str]
    #: What can be chosen.
    choices: ClassVar[tuple[str, ...]]

    kept: str = ""  # where changed rows are left, one of `choices`; the first if it is empty

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.kept:
            object.__setattr__(self, "kept", self.choices[0])
        if self.kept not in self.choices:
            raise UsageError(f"{self.knob} {self.kept!r} are none of {_listed(self.choices)}")

    @property
    def name(self) -> str:
        """Name of the data set's folder."""
        how = f"{self.format_name}-{self.kept}-{self.ordering}"
        return f"{how}-u{self.ratio:g}-s{self.share:g}"

    def dimensions(self) -> Mapping[str, Any]:
        """How much is changed, and how."""
        return {
            self.knob: self.kept,
            "ordering": self.ordering,
            "update_ratio": self.ratio,
            "slice_share": self.share,
        }


class ChangedLayouts:
    """The layouts of one format; see `seambench.contracts.formats.Layouts`."""

    def __init__(self, layout: type[ChangedLayout], title: str) -> None:
        self._layout = layout
        self._title = title
        name, choices = layout.format_name, ",".join(layout.choices)
        orderings = ",".join(get_args(Ordering))
        self.SPELLING = f"{name}-{{{choices}}}-{{{orderings}}}-u<ratio>-s<share>"
        self._spelled = re.compile(rf"{name}-([a-z0-9]+)-([a-z]+)-u{_PERCENT}-s{_PERCENT}")

    def parse(self, name: str) -> ChangedLayout | None:
        """Read a layout's name."""
        if match := self._spelled.fullmatch(name):
            knobs = {self._layout.knob: match[1], "ordering": match[2]}
            return self.make(float(match[3]), float(match[4]), knobs)
        return None

    def make(self, ratio: float, share: float, knobs: Mapping[str, str]) -> ChangedLayout:
        """A layout of changed tables."""
        known = (self._layout.knob, "ordering")
        if unknown := sorted(set(knobs).difference(known)):
            raise UsageError(
                f"{self._title} tables have no knob {unknown[0]!r}; they have {_listed(known)}"
            )
        return self._layout(
            ratio=ratio,
            share=share,
            ordering=cast("Ordering", knobs.get("ordering", "event")),
            kept=knobs.get(self._layout.knob, ""),
        )


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(words)


def by_groups(frame: Any, design: Design) -> Any:
    """A frame each of whose partitions is a group of a design's rows, and becomes a file."""
    from pyspark.sql.functions import col

    return frame.repartition(design.slices, *(col(key).cast("bigint") for key in design.keys))


def group_of(path: str, named: re.Pattern[str]) -> int:
    """Group of a data file, by the number of the partition that it was."""
    match = named.fullmatch(path.rpartition("/")[2])
    if match is None:
        raise SeambenchError(f"{path} is not named like a data file that Spark wrote")
    return int(match[1])


def merge_by_key(step: Step, frame: Any, design: Design, table: str) -> None:
    """Merge rows by key into a table that Spark's SQL knows by a name.

    Under event-time ordering a row counts only if its `ts` is not older than the one it meets.
    """
    session = frame.sparkSession
    frame.createOrReplaceTempView("changes")
    same = " AND ".join(f"t.`{key}` = c.`{key}`" for key in design.keys)
    newer = " AND c.ts >= t.ts" if design.layout.ordering == "event" else ""
    then = {"upsert": "UPDATE SET *", "delete": "DELETE"}[step]
    insert = " WHEN NOT MATCHED THEN INSERT *" if step == "upsert" else ""
    session.sql(
        f"MERGE INTO {table} t USING changes c ON {same} WHEN MATCHED{newer} THEN {then}{insert}"
    )
    session.catalog.dropTempView("changes")
