"""The form of a result record, version 3, as types; JSON Schema is made from them.

A record is one run of one implementation: what became of conformance cases, and what was timed.
Samples are stored as they were taken; medians and the like are worked out by whoever reads them.
A timing is of one of three kinds: `answer` gave rows, which are compared with the oracle's; `step`
carried rows or bytes that nobody decodes, and counts what arrived; `floor` is a plain copy, what
the machine can do at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from seambase.scan import Query
from seambench.contracts.common import Kind
from seambench.contracts.outcomes import Word

#: Version of the form that is written.
NEWEST: Literal[3] = 3

Text = Annotated[str, Meta(min_length=1, max_length=4000)]
Seconds = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]
Digest = Annotated[str, Meta(pattern="^duckdb2:[0-9]+:[0-9a-f]{16}:[0-9a-f]{16}$")]
Scalar = str | int | float | bool
Samples = Annotated[list[Seconds], Meta(description="seconds, in the order they were taken")]


class _Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Every part of a record: nothing unknown in it, and nothing written that is the default."""


#: Per cent of all cores that others may use while a machine still counts as quiet.
_QUIET = 5.0
#: The same of what the host may give to somebody else.
_STOLEN = 1.0


class Busy(_Struct, frozen=True):
    """What else the machine did, as per cent of all its cores.

    Attributes:
        waited: seconds until the run began, for a machine without other work.
        before: others had before it began.
        stolen_before: the host gave to somebody else then.
        during: others had in the rounds whose samples are kept, or from begin to end of a run
            without rounds.
        stolen: the host gave to somebody else in that time.
        again: rounds that were done again, as others had more than a quiet machine leaves them.
    """

    waited: Seconds
    before: Seconds
    stolen_before: Seconds = 0.0
    during: Seconds = 0.0
    stolen: Seconds = 0.0
    again: int = 0

    @property
    def is_quiet(self) -> bool:
        """Whether nothing of it disturbs a clock."""
        others, stolen = max(self.before, self.during), max(self.stolen_before, self.stolen)
        return others <= _QUIET and stolen <= _STOLEN


class Run(_Struct, frozen=True):
    """One run of a command.

    Attributes:
        seconds: of the whole run.
        command: as it was typed; of absolute paths the last name alone.
        samples: hot runs asked for.
        threads: asked for; absent: one per core.
        master: of Spark, where its tasks ran in other processes than the reader's; absent: they
            did not, or nothing was read on Spark.
        commit: of Seambench's checkout, if it ran in one.
        dirty: whether that had changes.
        busy: what else the machine did; absent: nothing was timed, or nobody looked.
    """

    id: Annotated[str, Meta(pattern="^[0-9a-z]{6,32}$")]
    started_utc: Annotated[
        str, Meta(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")
    ]
    seconds: Seconds
    command: Text
    samples: Annotated[int, Meta(ge=1)] | None = None
    threads: Annotated[int, Meta(ge=1)] | None = None
    master: Text | None = None
    commit: Text | None = None
    dirty: bool | None = None
    busy: Busy | None = None


class Machine(_Struct, frozen=True):
    """Where it ran; `cores` this process may use, `load_before` over 1, 5 and 15 minutes."""

    name: Annotated[str, Meta(pattern="^[A-Za-z0-9._-]+$")]
    cpu: Text
    cores: Annotated[int, Meta(ge=1)]
    memory_bytes: Annotated[int, Meta(ge=1)]
    kernel: Text
    load_before: Annotated[list[Seconds], Meta(max_length=3)]


class Implementation(_Struct, frozen=True):
    """What ran, and what it says it can do."""

    name: Text
    version: Text
    kind: Kind
    capabilities: dict[str, bool]


class Origin(_Struct, frozen=True):
    """Where the rows come from: `rows` of each table as `generator` made them."""

    name: Literal["tpch-derived"]
    scale: Seconds
    generator: Text
    rows: dict[str, Count]


class Stored(_Struct, frozen=True):
    """What the tables cost when the format's own writer wrote them.

    Attributes:
        bytes: of all of them on disk.
        seconds: by operation: `create`, `upsert`, `delete`.
    """

    bytes: Count
    seconds: dict[str, Seconds] = {}


class Rows(_Struct, frozen=True, kw_only=True):
    """What a timing was taken over.

    Attributes:
        name: of the layout, e.g. `mor-v9-event-avro-u20-s100`, or of the generated rows.
        scale: of TPC-H.
        state: of the tables for which the oracle answers.
        digest: of the expected rows of all tables.
        format: of the tables; absent where rows lie in none.
        dimensions: what else tells the tables apart, in the format's own words.
        stored: what they cost; absent: not known.
    """

    name: Text
    scale: Seconds
    state: Literal["snapshot", "base"] = "base"
    digest: Text | None = None
    format: Text | None = None
    dimensions: dict[str, Scalar] = {}
    stored: Stored | None = None

    def per_cent(self, axis: str) -> float:
        """A dimension as a number; dimensions are open, and one that is no number counts as 0."""
        value = self.dimensions.get(axis, 0)
        return float(value) if isinstance(value, int | float) else 0.0

    @property
    def stale(self) -> bool:
        """Whether base files alone were read where updates lie beside them."""
        return self.state == "base" and self.per_cent("update_ratio") > 0


class Skipped(_Struct, frozen=True):
    """Damage that was skipped as the format's own reader skips it; offset -1: not known."""

    file: Text
    offset: Annotated[int, Meta(ge=-1)]
    reason: Text


class Moved(_Struct, frozen=True):
    """How much was sent and how much of it arrived."""

    unit: Literal["bytes", "rows", "units"]
    sent: Count
    arrived: Count


class _Timed(_Struct, frozen=True):
    """What timings of all kinds have.

    Attributes:
        case: what was timed: `scan/all`, `tpch/q01`, `serde/presto/serialize/4096`.
        over: the rows.
        outcome: the verdict; see `seambench.records.verdicts`.
        reason: why there is no time, one sentence.
        cold: the first run in its process, which finds empty caches of its own. The operating
            system may hold the files, unless they were `evicted`.
        hot: the warm runs after it, by round: samples of one index in one run make a pair.
        places: in which turn of its round each warm run came, from 0 on; none: in a fixed order.
        evicted: the files were given out of the page cache before the first run.
        cpu: processor seconds of all threads for each hot run.
        rows: of the answer, or of what moved.
        bytes: the same as Arrow has them.
        peak_bytes: most resident bytes of all processes that took part, in a run of its own.
        growth_bytes: the same above what was resident before.
    """

    case: Text
    over: Rows
    outcome: Word
    reason: Text | None = None
    cold: Samples = field(default_factory=list)
    hot: Samples = field(default_factory=list)
    cpu: Samples = field(default_factory=list)
    places: list[Count] = []
    evicted: bool = False
    rows: Count | None = None
    bytes: Count | None = None
    peak_bytes: Count | None = None
    growth_bytes: Count | None = None


class Answered(_Timed, frozen=True, tag="answer", tag_field="kind"):
    """Something that gave rows.

    Attributes:
        query: which view of the table was read.
        expected: digest of the oracle's rows.
        answer: digest of the rows that came; doubles within the tolerance count as the oracle's.
        paths: slices read by each path.
        warnings: what the reader said it skipped.
        spent: what the last run's threads spent seconds on, as the reader counts them: `open`,
            `read`, `convert` and `fill` of a reader in Java; without `convert`, `read` has it. Of
            an exchange `shuffle`, `serialize_chunk`, `wait` and `deserialize_chunk` of all threads,
            `receiver_process_total` and `closure_block` of all requests, `network` and `overall`
            of the slowest sender.
    """

    query: Query | None = None
    expected: Digest | None = None
    answer: Digest | None = None
    paths: dict[str, Count] = {}
    warnings: list[Skipped] = []
    spent: dict[str, Seconds] = {}


class Step(_Timed, frozen=True, tag="step", tag_field="kind"):
    """Something that carried rows or bytes which nobody decoded: it has no answer."""

    moved: Moved | None = None


class Floor(_Timed, frozen=True, tag="floor", tag_field="kind"):
    """A plain copy of as many bytes: what the machine can do at most. It has no answer."""

    moved: Moved | None = None


Timing = Answered | Step | Floor


class Differing(_Struct, frozen=True):
    """A few of the rows that tell a wrong answer from the right one, each value as text.

    Attributes:
        columns: names.
        missing: rows that were expected and did not come.
        unexpected: rows that came and were not expected.
        missing_rows: how many of the first there are in all.
        unexpected_rows: how many of the second.
        digest: of all of them; records from before it was kept have none.
    """

    columns: list[str]
    missing: list[list[str]]
    unexpected: list[list[str]]
    missing_rows: Count
    unexpected_rows: Count
    digest: str = ""


class Consumer(_Struct, frozen=True):
    """The implementation that read what the record's own wrote or sent."""

    name: Text
    version: Text


class KnownFailure(_Struct, frozen=True):
    """A failure that was expected.

    Attributes:
        reason: why it was.
        came: the word that the case would have had.
    """

    reason: Text
    came: Word


class Conformance(_Struct, frozen=True):
    """What became of the cases of one seam.

    Attributes:
        seam: whose cases.
        seconds: all of them took.
        outcomes: by word and folder of cases, the names of cases in that folder.
        reasons: by case, for every word but `pass` and `not-offered`.
        refused: cases that failed by a refusal in a sentence, and not by wrong rows.
        known: of each `xfail`, why it was expected.
        should: cases of the level `should`: both readings of their rule have defenders.
        slow: seconds of cases that took one or more.
        differences: of cases with wrong rows, some of these rows.
        answers: of cases with several right answers, which of them came, from 1.
        consumer: who read what this implementation wrote or sent; absent: it was judged alone.
    """

    seam: Text
    seconds: Seconds
    outcomes: dict[Word, dict[str, list[str]]]
    reasons: dict[str, Text] = {}
    refused: list[str] = []
    known: dict[str, KnownFailure] = {}
    should: list[str] = []
    slow: dict[str, Seconds] = {}
    differences: dict[str, Differing] = {}
    answers: dict[str, Count] = {}
    consumer: Consumer | None = None

    def cases(self) -> Iterator[tuple[str, Word]]:
        """Each case with its word."""
        for word, folders in self.outcomes.items():
            for folder, names in folders.items():
                for name in names:
                    yield f"{folder}/{name}", word


class Record(_Struct, frozen=True):
    """One run of one implementation; `versions` of the packages that a result may depend on."""

    schema: Literal[3]
    run: Run
    machine: Machine
    versions: dict[str, str]
    implementation: Implementation
    dataset: Origin | None = None
    conformance: list[Conformance] = []
    timings: list[Timing] = []


def json_schema() -> dict[str, Any]:
    """The form as JSON Schema, for readers in other languages."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:seambench:record:{NEWEST}",
        **msgspec.json.schema(Record),
    }
