"""A line chart as SVG: ranges as bands, points as links, colours by the page's style.

Numbers inside are of the drawing's own units; the page scales it to its column. Each line has a
colour and a mark, so that no one depends on colours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

_LARGE, _SMALL = (640, 320), (360, 210)
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 18, 14, 48
#: Costs that lie further apart are drawn on a logarithmic axis.
_LOG_FROM = 8

MARKS = ("circle", "square", "diamond", "up", "down", "cross", "bar", "star")
_SHAPES = {
    "circle": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "square": "M-3.6-3.6h7.2v7.2h-7.2z",
    "diamond": "M0-5L5 0 0 5-5 0z",
    "up": "M0-5L4.8 3.6h-9.6z",
    "down": "M0 5L4.8-3.6h-9.6z",
    "cross": "M-4-2l2-2 2 2 2-2 2 2-2 2 2 2-2 2-2-2-2 2-2-2 2-2z",
    "bar": "M-5-2h10v4h-10z",
    "star": "M0-5.4l1.5 3.6 3.9.3-3 2.5.9 3.8L0 2.8l-3.3 2 .9-3.8-3-2.5 3.9-.3z",
}


@dataclass(frozen=True)
class Point:
    """One point: where it lies, its range, what it says, and where it leads."""

    x: float
    y: float
    low: float
    high: float
    label: str
    link: str


@dataclass(frozen=True)
class Line:
    """One line."""

    name: str
    number: int  # from 0; by which colour and mark are chosen
    points: Sequence[Point] = field(default_factory=tuple)
    faint: bool = False  # in grey and dashed: shown for comparison
    way: bool = False  # of another way of this project's, which is folded away


def line_chart(
    lines: Sequence[Line],
    *,
    title: str,
    x_label: str,
    y_text: Callable[[float], str],
    x_text: Callable[[float], str] = "{:g}".format,
    log_x: bool = False,
    small: bool = False,
) -> Markup:
    """Draw lines; at least one has a point.

    The title is for screen readers, the texts of x and y for ticks. With `log_x` values of x grow
    by factors; a `small` chart is one of many beside each other.
    """
    size = _SMALL if small else _LARGE
    points = [point for line in lines for point in line.points]
    scale = _Scale.of(points, size, log_x=log_x)
    parts = [
        *_grid(scale, x_label, x_text, y_text),
        *(part for line in lines for part in _band(scale, line)),
        *(part for line in lines for part in _line(scale, line)),
    ]
    head = f'<svg viewBox="0 0 {size[0]} {size[1]}" class="chart" role="group" aria-label="'
    return Markup(f'{head}{escape(title)}">{"".join(parts)}</svg>')  # noqa: S704 - parts are escaped


def _shape(number: int) -> str:
    """The mark of a line: with each round of the colours each gets the next mark."""
    return _SHAPES[MARKS[(number + number // len(MARKS)) % len(MARKS)]]


def mark(number: int, *, faint: bool = False) -> Markup:
    """The mark of a line, for legends."""
    shape = _shape(number)
    style = "faint" if faint else f"c{number % len(MARKS)}"
    head = f'<svg viewBox="-7 -7 14 14" class="mark {style}" aria-hidden="true">'
    return Markup(f'{head}<path d="{shape}"/></svg>')  # noqa: S704 - of our own constants


@dataclass(frozen=True)
class _Scale:
    """From values to places in the drawing."""

    width: int
    height: int
    xs: tuple[float, ...]
    low: float
    high: float
    log_x: bool
    log_y: bool

    @classmethod
    def of(cls, points: Sequence[Point], size: tuple[int, int], *, log_x: bool) -> _Scale:
        xs = tuple(sorted({point.x for point in points}))
        medians = [point.y for point in points]
        high = max(point.high for point in points)
        low = min(point.low for point in points)
        log_y = min(medians) > 0 and max(medians) > _LOG_FROM * min(medians)
        if not log_y:
            return cls(*size, xs, 0.0, high * 1.06 or 1.0, log_x, log_y=False)
        return cls(*size, xs, max(low, 1e-12) / 1.15, high * 1.15, log_x, log_y=True)

    def x(self, value: float) -> float:
        first, last = self.xs[0], self.xs[-1]
        if first == last:
            share = 0.5
        elif self.log_x and first > 0:
            share = math.log(value / first) / math.log(last / first)
        else:
            share = (value - first) / (last - first)
        return round(_LEFT + 12 + share * (self.width - _LEFT - _RIGHT - 24), 1)

    def y(self, value: float) -> float:
        if self.log_y:
            value = max(value, self.low)
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.height - _BOTTOM - share * (self.height - _TOP - _BOTTOM), 1)

    def y_ticks(self) -> list[float]:
        """Round values: 1, 2 and 5 of each power of ten, or even steps."""
        if not self.log_y:
            step = _step(self.high / 5)
            return [step * n for n in range(int(self.high / step) + 1)]
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        wide = self.high / self.low > 200
        ticks = [m * 10.0**p for p in powers for m in ((1,) if wide else (1, 2, 5))]
        return [tick for tick in ticks if self.low <= tick <= self.high]

    def x_ticks(self) -> list[float]:
        """The values that there are, as far as their labels do not touch."""
        kept: list[float] = []
        for value in self.xs:
            if not kept or self.x(value) - self.x(kept[-1]) > 38:
                kept.append(value)
        return kept


def _plain(text: str) -> str:
    """A tick is a round number: zeros at its end say nothing."""
    return re.sub(r"(\.\d*?)0+(?=\D|$)", r"\1", text).replace(". ", " ").removesuffix(".")


def _step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= rough)


def _grid(
    scale: _Scale, x_label: str, x_text: Callable[[float], str], y_text: Callable[[float], str]
) -> Iterator[str]:
    right, bottom = scale.width - _RIGHT, scale.height - _BOTTOM
    for tick in scale.y_ticks():
        at = scale.y(tick)
        yield f'<path class="grid" d="M{_LEFT} {at}H{right}"/>'
        text = escape(_plain(y_text(tick)))
        yield f'<text x="{_LEFT - 8}" y="{at + 4}" text-anchor="end">{text}</text>'
    yield f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>'
    for tick in scale.x_ticks():
        at = scale.x(tick)
        text = escape(x_text(tick))
        yield f'<text x="{at}" y="{bottom + 18}" text-anchor="middle">{text}</text>'
    middle = (_LEFT + right) / 2
    yield f'<text x="{middle}" y="{scale.height - 8}" text-anchor="middle">{escape(x_label)}</text>'


def _style(line: Line) -> str:
    style = "faint" if line.faint else f"c{line.number % len(MARKS)}"
    return f"{style} way" if line.way else style


def _band(scale: _Scale, line: Line) -> Iterator[str]:
    if len(line.points) < 2:
        return
    upper = [f"{scale.x(p.x)} {scale.y(p.high)}" for p in line.points]
    lower = [f"{scale.x(p.x)} {scale.y(p.low)}" for p in reversed(line.points)]
    path = "M" + "L".join([*upper, *lower]) + "Z"
    yield f'<path class="band {_style(line)}" data-line="{escape(line.name)}" d="{path}"/>'


def _line(scale: _Scale, line: Line) -> Iterator[str]:
    shape = _shape(line.number)
    yield f'<g class="line {_style(line)}" data-line="{escape(line.name)}">'
    if len(line.points) > 1:
        path = "L".join(f"{scale.x(p.x)} {scale.y(p.y)}" for p in line.points)
        yield f'<path class="stroke" d="M{path}"/>'
    for point in line.points:
        x, y = scale.x(point.x), scale.y(point.y)
        label = escape(point.label)
        if len(line.points) == 1 and point.high > point.low:
            yield f'<path class="stroke" d="M{x} {scale.y(point.low)}V{scale.y(point.high)}"/>'
        yield (
            f'<a href="{escape(point.link)}"><title>{label}</title>'
            f'<path d="{shape}" transform="translate({x} {y})"/></a>'
        )
    yield "</g>"
