"""Badges: an implementation's verdict at a seam as a small picture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape

from seambench.report.views.load import named
from seambench.report.views.outcomes import Column, counts_of, newest_versions

_COLOURS = {"wrong": "#3d0416", "broken": "#5b3d96", "refused": "#8a5a00", "right": "#0b62a8"}
_CHARACTER = 6.6


def badges(columns: Sequence[Column]) -> dict[str, tuple[str, str]]:
    """A picture for the newest version of each implementation at each seam, by its file's name."""
    made = {}
    for column in newest_versions(columns):
        name = re.sub(r"[^A-Za-z0-9.-]+", "_", f"{column.seam}-{column.name}").lstrip(".-")
        made[f"{name}.svg"] = badge(column)
    return made


def badge(column: Column) -> tuple[str, str]:
    """The text and the picture of one implementation: the worst of what it offers, in words."""
    counts = counts_of(column)
    asked = sum(counts.values()) - counts["off"]
    worst = next((kind for kind in ("wrong", "broken", "refused") if counts[kind]), "right")
    said = {
        "wrong": f"{counts['wrong']} of {asked} wrong",
        "broken": f"{counts['broken']} of {asked} broke",
        "refused": f"{counts['refused']} of {asked} refused",
        "right": f"{counts['right']} of {asked} right",
    }[worst]
    left = f"seambench {column.seam}, {named(column.name, column.version)}"
    return f"{left}: {said}", _picture(left, said, _COLOURS[worst])


def _picture(left: str, right: str, colour: str) -> str:
    widths = [round(len(text) * _CHARACTER) + 12 for text in (left, right)]
    label, whole = escape(f"{left}: {right}", {'"': "&quot;"}), sum(widths)
    straight = widths[1] - 3
    text = 'y="14" text-anchor="middle"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" '
        f'aria-label="{label}"><title>{label}</title>'
        f'<rect width="{whole}" height="20" rx="3" fill="#35424e"/>'
        f'<path d="M{widths[0]} 0h{straight}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{straight}z" '
        f'fill="{colour}"/><g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" '
        f'font-size="11"><text x="{widths[0] / 2:g}" {text}>{escape(left)}</text>'
        f'<text x="{widths[0] + widths[1] / 2:g}" {text}>{escape(right)}</text></g></svg>\n'
    )
