"""Which channel of a sink a row goes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from seambase.errors import UsageError
from seambase.wording import counted
from seamkit.exchange.partition import PartitionRule


@dataclass(frozen=True)
class Buckets:
    """Where the buckets of a table are, for rows that come to them (StarRocks' BUCKET_SHUFFLE).

    Attributes:
        channels: of each bucket the number of the channel to the instance that has it; None where
            nobody has it.
        drivers: of each bucket the driver there that reads it; None where the row's hash, turned by
            xorshift32, chooses one of the rule's drivers.
        unused: what becomes of rows of a bucket that nobody has. `refuse`: the first of them ends
            the exchange; `drop`: they are counted, and gone, as in StarRocks.
    """

    channels: Sequence[int | None]
    drivers: Sequence[int] | None = None
    unused: Literal["refuse", "drop"] = "refuse"

    def place(self, part: int, drivers: int) -> tuple[int, int] | None:
        """Channel and driver of a part of the rule; None where nobody has its bucket."""
        bucket, driver = divmod(part, drivers)
        channel = self.channels[bucket]
        if channel is None:
            return None
        return channel, driver if self.drivers is None else self.drivers[bucket]


@dataclass(frozen=True)
class Routing:
    """Which channel a row goes to.

    Attributes:
        kind: `hash` (by `rule`), `bucket` (by `rule`, whose channels are buckets, and `buckets`),
            `broadcast` (every row to every channel, encoded once), `random` (whole chunks, in
            turns) or `single`.
        rule: for `hash` its channels are those of the sink.
        buckets: for `bucket`.
        local_first: `random` sends to no other while there are channels that pass rows through.
    """

    kind: Literal["hash", "bucket", "broadcast", "random", "single"]
    rule: PartitionRule | None = None
    buckets: Buckets | None = None
    local_first: bool = True

    def check(self, channels: int) -> None:
        """Whether a sink of so many channels can go by it."""
        if (self.kind in ("hash", "bucket")) != (self.rule is not None):
            raise UsageError("hash and bucket routing, and only these, go by a partition rule")
        if (self.kind == "bucket") != (self.buckets is not None):
            raise UsageError("bucket routing, and only that, goes by a map of buckets")
        if self.kind == "single" and channels != 1:
            raise UsageError(f"single routing has one channel, not {channels}")
        if self.buckets is not None and self.rule is not None:
            _check_buckets(self.buckets, self.rule, channels)
        elif self.rule is not None and self.rule.channels != channels:
            raise UsageError(
                f"the rule deals to {counted(self.rule.channels, 'channel')}, not {channels}"
            )

    def placement(self) -> list[tuple[int, int] | None]:
        """Channel and driver of every part of the rule; None for those that nobody has."""
        if self.rule is None:
            return []
        parts = range(self.rule.channels * self.rule.drivers)
        if self.buckets is not None:
            return [self.buckets.place(part, self.rule.drivers) for part in parts]
        return [divmod(part, self.rule.drivers) for part in parts]


def _check_buckets(buckets: Buckets, rule: PartitionRule, channels: int) -> None:
    count = len(buckets.channels)
    if rule.channels != count:
        raise UsageError(
            f"the rule deals to {counted(rule.channels, 'bucket')}, the map has {count}"
        )
    if any(channel is not None and not 0 <= channel < channels for channel in buckets.channels):
        raise UsageError(f"a bucket belongs to one of {counted(channels, 'channel')}, or to nobody")
    if buckets.drivers is None:
        return
    if rule.drivers != 1:
        raise UsageError("where buckets are bound to drivers, the rule has none to choose from")
    if len(buckets.drivers) != count or min(buckets.drivers, default=0) < 0:
        raise UsageError(f"{counted(count, 'bucket', 'have')} a driver each, 0 or more")
