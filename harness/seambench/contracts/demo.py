"""What a suite shows in ten seconds: two implementations, one of them broken, and a few cases."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Demo:
    """A demonstration, announced as entry point of the group `seambench.demo`.

    Attributes:
        good: name of an implementation that passes them all.
        broken: name of one that does not.
        remark: what is wrong with it.
        shown: id of the one that is shown in full.
    """

    seam: str
    good: str
    broken: str
    remark: str
    cases: str
    shown: str
