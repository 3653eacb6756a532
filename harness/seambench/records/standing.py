"""Which records may stand for a figure: enough samples, a clean checkout, a quiet machine."""

from __future__ import annotations

from seambase.wording import counted
from seambench.records.model import Record, Timing
from seambench.records.ratios import LEAST_SAMPLES


def unfit(record: Record, timing: Timing | None = None) -> str | None:
    """Why a record, or one of its timings, may be no figure anywhere; None: it may."""
    if record.run.dirty:
        return "its checkout had changes"
    if timing is None:
        return None
    if timing.outcome != "pass":
        return timing.reason
    if len(timing.hot) < LEAST_SAMPLES:
        return f"{counted(len(timing.hot), 'warm sample', 'are')} fewer than {LEAST_SAMPLES}"
    return None


def disturbed(record: Record) -> str | None:
    """Why a record may be no figure where one alone must do; None: the machine was quiet."""
    busy = record.run.busy
    if busy is None:
        return "nobody looked what else the machine did"
    if busy.is_quiet:
        return None
    others = max(busy.before, busy.during)
    stolen = max(busy.stolen_before, busy.stolen)
    return f"others used {others:g} % of the machine, and {stolen:g} % were stolen"
