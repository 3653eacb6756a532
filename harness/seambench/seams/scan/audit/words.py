"""An audit in words: the sections that the terminal and the page show alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from seambase.wording import counted, plural
from seambench.report.draw.text import factor, seconds, size
from seambench.seams.scan.audit.model import Audit, Cost, Kind, Layout, PeerAnswer, Range

_KINDS = {"agrees": "right", "differs": "wrong", "refused": "refused", "unavailable": "off"}


@dataclass(frozen=True)
class Section:
    """A table of an audit."""

    title: str
    columns: Sequence[str]  # their names; the first one is what the row is about
    rows: Sequence[Sequence[str]]
    # how the page colours each row's first text, by the words of the report; may be empty
    kinds: Sequence[str] = ()
    note: str = ""
    details: Sequence[str] = field(default_factory=tuple)


def verdict(audit: Audit) -> str:
    """What was found, in a sentence."""
    stops = sum(one.stops for one in audit.damage)
    problems = []
    if stops:
        keep = "keeps" if stops == 1 else "keep"
        problems.append(f"{counted(stops, 'damaged place')} {keep} rows from being read")
    if passed := len(audit.damage) - stops:
        problems.append(f"{counted(passed, 'damaged place')} more, which readers pass over")
    if differ := [one.name for one in audit.peers if one.outcome == "differs"]:
        problems.append(f"{', '.join(differ)} and {audit.reader} have different rows")
    if audit.breaks:
        verb = "is" if len(audit.breaks) == 1 else "are"
        problems.append(f"{counted(len(audit.breaks), 'rule')} of the format {verb} broken")
    if problems:
        return f"Not fine: {'; '.join(problems)}."
    equal = sum(one.outcome == "agrees" for one in audit.peers)
    looked = audit.layout is not None and audit.checked_units == audit.layout.units
    whole = "all of it was looked into" if looked else "not all of it was looked into"
    if not equal:
        return f"No damage was found ({whole}); no other reader has answered."
    agree = "1 other reader agrees" if equal == 1 else f"{counted(equal, 'other reader')} agree"
    return f"No damage was found ({whole}), and no disagreement ({agree})."


def sections(audit: Audit) -> list[Section]:
    """All that an audit has to say, in the order in which one wants to know it."""
    found = [_table(audit)]
    if audit.damage:
        rows = [[one.where or "metadata", one.reason] for one in audit.damage]
        kinds = ["wrong" if one.stops else "refused" for one in audit.damage]
        found.append(Section("Damage", ("where", "what"), rows, kinds))
    if audit.breaks:
        found.append(_rules(audit))
    if audit.layout is not None:
        found += _layout(audit.layout)
    if audit.cost is not None and audit.layout is not None:
        found.append(_cost(audit.cost, audit.layout))
    if audit.peers:
        found.append(_peers(audit))
    if audit.advice:
        found.append(_advice(audit))
    if audit.limits.reached:
        title = f"Left out for the limits ({audit.limits.seconds:g} s, {size(audit.limits.bytes)})"
        found.append(Section(title, ("what",), [[one] for one in audit.limits.reached]))
    return found


def _table(audit: Audit) -> Section:
    facts = {
        "table": audit.table,
        "format": f"{audit.format}, {audit.version}" if audit.version else audit.format,
        "state": audit.state or "not known",
        "key": ", ".join(audit.key) or "none is declared",
        "rows": "not counted whole" if audit.rows is None else f"{audit.rows:,}",
        **audit.properties,
    }
    return Section("The table", ("fact", "value"), [list(pair) for pair in facts.items()])


def _rules(audit: Audit) -> Section:
    rows = [
        [one.rule, counted(one.places, "place"), f"{one.place}: {one.says}"] for one in audit.breaks
    ]
    note = "`seambench lint` tells each place, where a rule stands, and what is only recommended."
    kinds = ["wrong"] * len(rows)
    return Section("Rules of the format", ("rule", "broken in", "first"), rows, kinds, note)


def _layout(layout: Layout) -> Iterator[Section]:
    rows = "" if layout.data_rows is None else f", {counted(layout.data_rows, 'row')}"
    whole = layout.data_bytes + layout.change_bytes
    share = f", {layout.change_bytes / whole:.1%} of all bytes" if whole else ""
    figures = [
        [plural(layout.unit), f"{layout.units:,}"],
        ["with changes", f"{layout.changed_units:,}"],
        ["data files", f"{layout.data_files:,}, {size(layout.data_bytes)}{rows}"],
        *(_kind(kind, layout.unit) for kind in layout.kinds),
        ["changes in all", f"{size(layout.change_bytes)}{share}"],
        [
            "sizes of data files",
            (
                f"{size(layout.smallest_bytes)} to {size(layout.largest_bytes)}, "
                f"median {size(layout.median_bytes)}"
            ),
        ],
        ["small files", f"{layout.small_files:,} of less than {size(layout.small_bytes)}"],
    ]
    yield Section("Layout", ("what", "how much"), figures)
    if layout.n_groups > 1:
        groups = [
            [
                group.name or "(no partition)",
                f"{group.units:,}",
                f"{group.changed_units:,}",
                size(group.data_bytes),
                size(group.change_bytes),
            ]
            for group in layout.groups
        ]
        note = (
            f"{layout.n_groups:,} in all; the largest has {factor(layout.skew)} the median's bytes."
        )
        columns = ("partition or bucket", plural(layout.unit), "with changes", "data", "changes")
        yield Section("The largest partitions and buckets", columns, groups, note=note)


def _kind(kind: Kind, unit: str) -> list[str]:
    rows = "" if kind.rows is None else f", {counted(kind.rows, 'row')}"
    over = f"over {counted(kind.units, unit)}"
    return [plural(kind.kind), f"{kind.files:,}, {size(kind.bytes)}, {over}{rows}"]


def _cost(cost: Cost, layout: Layout) -> Section:
    rows = [
        ["snapshot", _seconds(cost.snapshot_seconds)],
        ["data files alone", _seconds(cost.files_alone_seconds)],
        ["ratio", _ratio(cost.ratio)],
    ]
    if cost.sampled_changed_units:
        rows.append(["changes cost a full read", _extra(cost.extra_seconds)])
    note = (
        f"Measured on {cost.sampled_units:,} of {layout.units:,} {plural(layout.unit)} "
        f"({cost.sampled_changed_units:,} with changes), {cost.share:.1%} of the bytes, read "
        f"{counted(cost.repeats, 'time')} in turns in one thread, "
        "after one read that does not count; a range "
        "is from the least to the greatest."
    )
    return Section("What a snapshot costs", ("what", "time"), rows, note=note)


def _seconds(times: Range) -> str:
    return f"{seconds(times.median)} ({seconds(times.low)} to {seconds(times.high)})"


def _ratio(ratio: Range) -> str:
    same = ", so no difference is shown" if ratio.low <= 1 <= ratio.high else ""
    return f"{factor(ratio.median)} ({factor(ratio.low)} to {factor(ratio.high)}{same})"


def _extra(spent: float) -> str:
    return f"about {seconds(spent)} in one thread" if spent > 0 else "nothing that was measurable"


def _peers(audit: Audit) -> Section:
    rows = [
        [
            f"{one.name} {one.version}" if one.version and "@" not in one.name else one.name,
            one.outcome,
            "" if one.rows is None else f"{one.rows:,}",
            _same(one.keys),
            _same(one.values),
            _why(one),
        ]
        for one in audit.peers
    ]
    kinds = [_KINDS.get(one.outcome, "broken") for one in audit.peers]
    columns = ("reader", "outcome", "rows", "keys", "values", "why")
    details = [line for one in audit.peers for line in _different(one)]
    return Section("Other readers", columns, rows, kinds, details=details)


def _same(agrees: bool | None) -> str:
    return "" if agrees is None else "same" if agrees else "other"


def _why(one: PeerAnswer) -> str:
    if not (one.missing or one.added):
        return one.reason
    return f"{one.reason}: it lacks {one.missing:,} of ours and has {one.added:,} that we lack"


def _different(one: PeerAnswer) -> Iterator[str]:
    for row in one.different:
        values = ", ".join(f"{name}={'null' if v is None else v}" for name, v in row.row.items())
        who = f"only {one.name}" if row.only == "peer" else f"not {one.name}"
        yield f"{who}: {values}" + (f" (in {row.unit})" if row.unit else "")


def _advice(audit: Audit) -> Section:
    rows = []
    for one in audit.advice:
        gain = "" if one.gain_seconds is None else seconds(one.gain_seconds)
        if gain:
            gain += ", measured" if one.measured else ", by its bytes"
        rows.append([one.what, one.target, gain, one.detail])
    note = "Gains are of one full read in one thread. Of each kind at most ten, the greatest first."
    return Section("What to do first", ("what", "where", "gain", "why"), rows, note=note)
