"""The charts of the pages, out of what the views hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from seambase.wording import counted
from seambench.report.draw.lines import Line, Point, line_chart
from seambench.report.draw.text import amount, factor, rate, seconds, size
from seambench.report.views.costs import Cell, Curve, Figure
from seambench.report.views.history import Kernel
from seambench.report.views.throughput import Family, Group, Rate
from seambench.report.views.written import Written, WrittenAt


def cost_text(figure: Figure, value: float) -> str:
    """A value of a figure: a time or a size."""
    return seconds(value) if figure.measure == "time" else size(value)


def cost_chart(figure: Figure, numbers: Mapping[str, int], hidden: Sequence[str]) -> Markup:
    """Cost against an axis; readers that are `hidden` are folded away.

    `numbers` give each reader the same colour and mark everywhere.
    """
    lines = [
        Line(
            curve.reader.label,
            numbers[curve.reader.label],
            [_cost_point(figure, curve, cell) for cell in curve.cells],
            faint=curve.stale,
            way=curve.reader.name in hidden,
        )
        for curve in figure.curves
    ]
    return line_chart(
        lines,
        title=figure.title,
        x_label=f"{figure.axis.label} (%)",
        y_text=lambda value: cost_text(figure, value),
    )


def _cost_point(figure: Figure, curve: Curve, cell: Cell) -> Point:
    said = f"{curve.reader.label}, {cell.x:g} %: {cost_text(figure, cell.stat.median)}"
    if cell.stat.count > 1:
        low, high = (cost_text(figure, end) for end in (cell.stat.low, cell.stat.high))
        said += f" ({low} \N{EN DASH} {high}, {counted(cell.stat.count, 'sample')})"
    if cell.times:
        said += f", {factor(cell.times)} base files alone"
    said += ", no difference from the fastest" if cell.same else ""
    return Point(cell.x, cell.stat.median, cell.stat.low, cell.stat.high, said, cell.link)


def _exact(x: float, value: float, label: str, link: str) -> Point:
    """A point without a range."""
    return Point(x, value, value, value, label, link)


def rate_chart(family: Family, group: Group, hidden: Sequence[str]) -> Markup:
    """Rates of a group by the number of rows, the plain copy as a faint line, some folded away."""
    lines = [
        Line(name, number, points, way=name in hidden)
        for number, name in enumerate(family.competitors)
        if (points := _rate_points(name, group.rates.get(name, {})))
    ]
    copies = {
        count: (one, one.moved / one.copy)
        for by_rows in group.rates.values()
        for count, one in by_rows.items()
        if one.copy and one.moved
    }
    copy = [
        _exact(count, speed, f"plain copy, {counted(count, 'row')}: {rate(speed)}", one.link)
        for count, (one, speed) in sorted(copies.items())
    ]
    return line_chart(
        [*lines, *([Line("plain copy", 0, copy, faint=True)] if copy else [])],
        title=f"{family.about.title}, {group.label}: bytes a second by rows of a chunk",
        x_label="rows of a chunk",
        y_text=rate,
        x_text=lambda value: f"{value:,.0f}",
        log_x=True,
        small=True,
    )


def _rate_points(name: str, by_rows: Mapping[int, Rate]) -> list[Point]:
    points = []
    for count, one in sorted(by_rows.items()):
        speed = one.bytes_per_second
        if speed is not None and one.stat is not None and one.moved:
            low, high = one.moved / one.stat.high, one.moved / max(one.stat.low, 1e-12)
            said = f"{name}, {counted(count, 'row')}: {rate_text(one)}"
            said += f", {factor(one.times)} the best other" if one.times else ""
            points.append(Point(count, speed, low, high, said, one.link))
    return points


@dataclass(frozen=True)
class Bar:
    """A competitor's speed as a bar; `percent` of the family's fastest, plain copies included."""

    name: str
    percent: float
    text: str
    link: str = ""
    times: float | None = None
    same: bool = False
    is_copy: bool = False


def rate_bars(family: Family, group: Group) -> list[Bar]:
    """Speeds of a group at its largest number of rows, and that of the plain copy."""
    count = group.rows[-1]
    speeds = [
        (name, one, _speed(one))
        for name in family.competitors
        if (one := group.rates.get(name, {}).get(count)) and one.stat
    ]
    if not speeds:
        return []
    copy = copy_speed(group, count)
    most = max(_speeds(family))
    made = [
        Bar(name, 100 * speed / most, rate_text(one), one.link, one.times, one.same)
        for name, one, speed in sorted(speeds, key=lambda one: -one[2])
    ]
    if copy:
        made.append(Bar("plain copy", 100 * copy / most, rate(copy), is_copy=True))
    return made


def _speed(one: Rate) -> float:
    """Bytes a second, or how often a second where it is not known how much moved."""
    assert one.stat is not None
    return one.bytes_per_second or 1 / max(one.stat.median, 1e-12)


def _speeds(family: Family) -> Iterator[float]:
    """All speeds that bars of a family show, so that they have one scale."""
    for group in family.groups:
        count = group.rows[-1]
        rates = (by_rows.get(count) for by_rows in group.rates.values())
        yield from (_speed(one) for one in rates if one and one.stat)
        yield copy_speed(group, count) or 0.0


def rate_text(one: Rate) -> str:
    """A speed, or a time where it is not known how much moved."""
    if one.bytes_per_second is not None:
        return rate(one.bytes_per_second)
    return seconds(one.stat.median) if one.stat else "no time"


def copy_text(group: Group, count: int) -> str:
    """The speed of the plain copy beside a row, as text."""
    speed = copy_speed(group, count)
    return rate(speed) if speed else ""


def copy_speed(group: Group, count: int) -> float | None:
    """Bytes a second of the plain copy beside a row."""
    speeds = [
        one.moved / one.copy
        for by_rows in group.rates.values()
        if (one := by_rows.get(count)) and one.copy and one.moved
    ]
    return max(speeds, default=None)


def size_chart(forms: Sequence[Written]) -> Markup:
    """Bytes on disk of tables against the rows updated."""
    places = [[(at, float(at.bytes)) for at in form.points] for form in forms]
    return _written_chart(forms, places, "bytes on disk", size)


def writing_chart(forms: Sequence[Written]) -> Markup | None:
    """Seconds to write updates and deletes, against the rows updated; None: nothing is known."""
    places = [
        [(at, at.change_seconds) for at in form.points if at.change_seconds is not None]
        for form in forms
    ]
    if not any(places):
        return None
    return _written_chart(forms, places, "time to write updates and deletes", seconds)


def _written_chart(
    forms: Sequence[Written],
    places: Sequence[Sequence[tuple[WrittenAt, float]]],
    what: str,
    text: Callable[[float], str],
) -> Markup:
    lines = [
        Line(
            form.name,
            number,
            [
                _exact(at.ratio, value, f"{form.name}, {at.ratio:g} %: {text(value)}", at.link)
                for at, value in listed
            ],
        )
        for number, (form, listed) in enumerate(zip(forms, places, strict=True))
        if listed
    ]
    return line_chart(
        lines,
        title=f"Tables: {what}, by rows updated",
        x_label="rows updated in every slice (%)",
        y_text=text,
    )


def history_chart(kernel: Kernel) -> Markup:
    """A kernel's times, counts or sizes by commit, oldest first."""
    texts = {"seconds": seconds, "bytes": size}
    text = texts.get(kernel.unit, amount)
    points = [
        Point(
            at,
            one.value,
            one.low,
            one.high,
            f"{one.commit}: {text(one.value)}",
            one.link or "about.html#records",
        )
        for at, one in enumerate(kernel.points)
    ]
    first, last = kernel.points[0].commit, kernel.points[-1].commit
    return line_chart(
        [Line(kernel.label, 0, points)],
        title=f"{kernel.label}, by commit",
        x_label=f"commit, {first} to {last}",
        y_text=text,
        x_text=lambda _: "",
        small=True,
    )
