"""What an audit may spend and what it found: the model behind the terminal, the JSON and the page.

Its JSON has the version `schema`; members are added to it, none is renamed or removed under the
same version. `seambench audit --schema` prints the JSON Schema.
"""

from __future__ import annotations

import time
from typing import Any, Literal

import msgspec

SCHEMA = 1


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What the audit might spend. `reached` has a sentence for each thing left out for it."""

    seconds: float
    bytes: int
    reached: list[str] = []


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """Files of one kind that change rows, each counted once."""

    kind: str
    files: int
    bytes: int
    units: int
    rows: int | None


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A partition or bucket."""

    name: str
    units: int
    changed_units: int
    data_bytes: int
    change_bytes: int


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """How the rows lie."""

    unit: str  # what a unit is called
    units: int
    changed_units: int  # units that are more than their data files
    kinds: list[Kind]
    data_files: int
    data_bytes: int
    change_bytes: int
    data_rows: int | None  # rows of the data files as the metadata tells, None where it does not
    smallest_bytes: int
    median_bytes: int
    largest_bytes: int
    small_files: int  # data files of less than `small_bytes`
    small_bytes: int
    n_groups: int
    skew: float  # bytes of the largest group, as times of those of the median one
    groups: list[Group]  # the largest, by bytes


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is missing, or fails its checks."""

    where: str  # the unit or file; empty for the table's metadata
    reason: str
    stops: bool  # whether rows cannot be read for it; else the format's readers pass it over


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """Of repeated measurements."""

    median: float
    low: float
    high: float


class UnitCost(msgspec.Struct, frozen=True, kw_only=True):
    """A unit of the sample: median seconds of a snapshot of it, and of its data files alone."""

    unit: str
    snapshot_seconds: float
    files_alone_seconds: float


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What a snapshot costs against the data files alone, in one thread, on a sample."""

    sampled_units: int
    sampled_changed_units: int
    share: float  # of the bytes of the table that the sample has
    repeats: int  # how often each was read, in turns, after one read that does not count
    # of the times; where the sample is not the whole table, units with and without changes count by
    # the bytes of theirs in the table
    ratio: Range
    snapshot_seconds: Range
    files_alone_seconds: Range
    # what the changes of the whole table cost a read, worked out from the sample
    extra_seconds: float
    units: list[UnitCost]


class DifferentRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row that one of two readers lacks: its values as text, and where it lies, if found."""

    row: dict[str, str | None]
    only: Literal["peer", "ours"]
    unit: str


class PeerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What another reader says of the same state.

    Attributes:
        outcome: `agrees`, `differs`; or `refused`, `unavailable`, `error`, `timeout`, `crash`,
            where there is no answer.
        reason: why there is none, or what differs.
        rows: that it counts.
        keys: whether its keys have our sum; None if that was not asked.
        values: whether all its values have.
        missing, added: rows of ours that it lacks, and rows that we lack, as compared.
        different: some of these.
    """

    name: str
    version: str
    outcome: str
    reason: str = ""
    rows: int | None = None
    keys: bool | None = None
    values: bool | None = None
    missing: int = 0
    added: int = 0
    different: list[DifferentRow] = []


class BrokenRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of the format that the table breaks, as `seambench lint` tells it."""

    rule: str
    source: str
    level: Literal["must", "should"]  # `must`, or `should` where the specification recommends it
    places: int  # how many break it; `place` and `says` are of the first
    place: str
    says: str


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """Something to do, with what it is worth."""

    what: str  # `compact`, `combine files`, `rewrite`
    target: str  # unit or group
    gain_seconds: float | None  # of a full read in one thread; None where nothing was measured
    measured: bool  # whether this unit was in the sample; else the figure is from others' bytes
    detail: str  # the numbers behind it


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """A whole audit."""

    schema: int = SCHEMA
    made_utc: str
    seambench: str
    reader: str
    table: str
    format: str
    version: str
    state: str
    key: list[str]
    properties: dict[str, str]
    limits: Limits
    layout: Layout | None
    rows: int | None
    checked_units: int
    damage: list[Damage]
    cost: Cost | None
    peers: list[PeerAnswer]
    advice: list[Advice]
    rules: list[BrokenRule] = []

    @property
    def breaks(self) -> list[BrokenRule]:
        """Broken rules that must hold."""
        return [one for one in self.rules if one.level == "must"]

    @property
    def answered(self) -> bool:
        """Whether all readers that were asked have answered."""
        return all(one.outcome in ("agrees", "differs") for one in self.peers)

    @property
    def disagrees(self) -> bool:
        """Whether some peer has other rows."""
        return any(one.outcome == "differs" for one in self.peers)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of an audit."""
    return msgspec.json.schema(Audit)


class Budget:
    """Seconds from now on, and bytes, spent as an audit goes on.

    Bytes are those that our own reader may read, counted by the sizes of files.
    """

    def __init__(self, seconds: float, most_bytes: int) -> None:
        self.seconds, self.most_bytes = seconds, most_bytes
        self._end = time.monotonic() + seconds
        self._spent = 0
        self._reached: list[str] = []

    @property
    def seconds_left(self) -> float:
        """Before the end; not below 0."""
        return max(0.0, self._end - time.monotonic())

    @property
    def bytes_left(self) -> int:
        """Not spent yet; not below 0."""
        return max(0, self.most_bytes - self._spent)

    def spend(self, count: int) -> None:
        """Bytes were read."""
        self._spent += count

    def reach(self, left_out: str) -> None:
        """A limit was reached: say what was left out."""
        self._reached.append(left_out)

    def limits(self) -> Limits:
        """Both limits, and all that was left out."""
        return Limits(seconds=self.seconds, bytes=self.most_bytes, reached=list(self._reached))
