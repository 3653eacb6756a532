"""Names of data sets: plain Parquet, and the layouts of every announced table format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seambase.errors import UsageError
from seambench.contracts.formats import formats_of_data, layouts_of, resolve_format
from seambench.contracts.tables import Layout

#: The rows as the generator made them, as folders of Parquet files.
PLAIN = Layout()

_CHANGED = 20.0
_RATIOS = (0.0, 5.0, 20.0, 50.0, 100.0)


def parse_layout(name: str) -> Layout:
    """Read a layout's name."""
    if name == PLAIN.name:
        return PLAIN
    known = {format_name: layouts_of(format_name) for format_name in formats_of_data()}
    for layouts in known.values():
        if layout := layouts.parse(name):
            return layout
    spelled = "; ".join(
        f"{resolve_format(format_name).title}: {layouts.SPELLING}"
        for format_name, layouts in known.items()
    )
    raise UsageError(f"unknown layout {name!r}: known are {PLAIN.name}; {spelled}")


def curve_layouts(
    formats: Sequence[str] = (),
    ratios: Sequence[float] = (),
    shares: Sequence[float] = (),
    knobs: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Names of one layout per format, update ratio and share of changed groups, alike in all else.

    Args:
        formats: names of table formats; none for all that have data sets.
        ratios: per cents of rows changed; none for 0, 5, 20, 50 and 100.
        shares: per cents of the groups of rows that are changed, 0 for a table without changes;
            none for all groups. Shares without a ratio are of groups with 20 % of their rows
            changed. Without shares and ratios, one more layout has that in a fifth of the groups.
        knobs: further choices, as the formats name them; `NAME.KNOB` is for one format alone.
    """
    names = formats or formats_of_data()
    changed = ratios or ((_CHANGED,) if shares else _RATIOS)
    points = [
        (ratio, share) if share else (0.0, 100.0)
        for ratio in changed
        for share in shares or (100.0,)
    ]
    if not ratios and not shares:
        points.append((_CHANGED, 20.0))
    layouts = [
        layouts_of(name).make(ratio, percent, _own_knobs(name, knobs or {}))
        for name in names
        for ratio, percent in points
    ]
    return tuple(dict.fromkeys(layout.name for layout in layouts))


def _own_knobs(format_name: str, knobs: Mapping[str, str]) -> dict[str, str]:
    own = {}
    for knob, value in knobs.items():
        prefix, dot, name = knob.rpartition(".")
        if dot:
            resolve_format(prefix)
        if not dot or prefix == format_name:
            own[name] = value
    return own


def default_layouts(formats: Sequence[str] = ()) -> tuple[str, ...]:
    """What `seambench data` makes when no layout is named: plain Parquet, and the curves."""
    return (PLAIN.name, *curve_layouts(formats))
