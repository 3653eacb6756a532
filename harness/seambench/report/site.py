"""Write the static site: pages, script and style, parts of the data, records; for any host.

What the pages say stands in their HTML. Parts of the data, which the matrix loads when they are
needed, are scripts rather than JSON files, because a page opened from disk may not fetch anything.

Badges: an implementation's verdict at a seam as a small picture.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from seambase.errors import UnavailableError, UsageError
from seambase.written import whole_file
from seambench.records.model import json_schema
from seambench.report.pages import Pages, render
from seambench.report.views.cases import explained, outcome_parts
from seambench.report.views.load import Loaded, load_records, named
from seambench.report.views.outcomes import (
    Column,
    columns_of,
    counts_of,
    newest_versions,
    without_gone,
)

#: Files of the site of which nobody else writes any.
_OURS = ("badges/*", "data/*", "records/*", "cost-*.html", "queries-*.html")


def build(results_dir: Path, out_dir: Path) -> Path:
    """Build the pages over all records of a results folder.

    Each file is written under a temporary name and renamed, `index.html` last; other content of
    `out_dir` (asv's pages under `history/`) stays. What an earlier build wrote and this one does
    not need is removed. Without any record the pages say how to make one. It gives the path of
    `index.html`.
    """
    if not results_dir.is_dir():
        raise UsageError(f"{results_dir}: no such results folder; `seambench bench` makes one")
    if out_dir.exists() and not out_dir.is_dir():
        raise UsageError(f"{out_dir}: the site needs a folder, and a file is in its place")
    loaded = load_records(results_dir)
    try:
        return _write_site(loaded, results_dir, out_dir)
    except OSError as error:
        reason = error.strerror
        raise UnavailableError(f"{out_dir}: the site cannot be written: {reason}") from error


def _write_site(loaded: Loaded, results_dir: Path, out_dir: Path) -> Path:
    columns = columns_of(loaded.records)
    known = without_gone(columns)
    pictures = badges(columns)
    pages = Pages(
        loaded=loaded,
        columns=columns,
        known=known,
        history=results_dir / "history",
        random=results_dir / "random",
        forms=results_dir / "forms",
        ways=results_dir / "ways",
        asv_pages=(out_dir / "history" / "index.html").is_file(),
        badges=[(name, text) for name, (text, _) in pictures.items()],
        built=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    files: dict[str, Callable[[Path], object]] = {
        shown.link: partial(shutil.copyfile, shown.path) for shown in loaded.records
    }
    for shown in loaded.records:
        files |= {link: partial(shutil.copyfile, file) for link, file in shown.tables.items()}
    texts = {f"badges/{name}": picture for name, (_, picture) in pictures.items()}
    texts |= dict(_parts(columns))
    texts |= _fixed()
    texts |= dict(render(pages))
    files |= {
        name: partial(Path.write_text, data=text, encoding="utf-8") for name, text in texts.items()
    }
    start = files.pop("index.html")
    for name, fill in files.items():
        _replace(out_dir / name, fill)
    _replace(out_dir / "index.html", start)
    for pattern in _OURS:
        for path in out_dir.glob(pattern):
            if path.relative_to(out_dir).as_posix() not in files and path.is_file():
                path.unlink()
    return out_dir / "index.html"


def _fixed() -> Mapping[str, str]:
    """What is the same for any records."""
    template = resources.files("seambench.report") / "template"
    return {
        "page.css": (template / "page.css").read_text("utf-8"),
        "page.js": (template / "page.js").read_text("utf-8"),
        "record-schema.json": json.dumps(json_schema(), indent=1) + "\n",
    }


def _parts(columns: list[Column]) -> Iterator[tuple[str, str]]:
    """Data of the matrix: the outcomes of a seam, and the cases of each of its groups."""
    for seam in dict.fromkeys(column.seam for column in columns):
        own = [column for column in columns if column.seam == seam]
        said = explained(seam, own)
        yield _part(f"outcomes-{seam}", outcome_parts(own, said))
        for group, part in said.parts.items():
            yield _part(f"cases-{seam}-{group}", part)


def _part(words: str, data: Mapping[str, Any]) -> tuple[str, str]:
    """Data as a script that any text may be part of, and its file.

    The JSON goes through `JSON.parse` of a string rather than an object literal, so that a key
    such as `__proto__` stays a key; `<` is escaped so that no text can end a script element.
    """
    name = re.sub(r"[^A-Za-z0-9.-]+", "_", words)
    packed = json.dumps(data, allow_nan=False, separators=(",", ":"))
    text = json.dumps(packed, ensure_ascii=True).replace("<", "\\u003c")
    return f"data/{name}.js", f"SEAMBENCH.part({json.dumps(name)}, JSON.parse({text}));\n"


def _replace(path: Path, fill: Callable[[Path], object]) -> None:
    """Let `fill` write a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:
        fill(temporary)


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
    total = sum(counts.values()) - counts["off"]
    worst = next((kind for kind in ("wrong", "broken", "refused") if counts[kind]), "right")
    said = {
        "wrong": f"{counts['wrong']} of {total} wrong",
        "broken": f"{counts['broken']} of {total} broke",
        "refused": f"{counts['refused']} of {total} refused",
        "right": f"{counts['right']} of {total} right",
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


_WORKFLOW = Path(".github") / "workflows" / "pages.yml"


def publish(results_dir: Path, folder: Path) -> Path:
    """Build the site into a folder, and put beside it what hosts want to find.

    The folder may be the root of a repository of its own: pushed, its workflow publishes it. A
    workflow that is there already stays as it is. It gives the path of `index.html`.
    """
    index = build(results_dir, folder)
    try:
        # Without this file GitHub Pages leaves out what begins with an underscore.
        (folder / ".nojekyll").touch()
        workflow = folder / _WORKFLOW
        if not workflow.exists():
            workflow.parent.mkdir(parents=True, exist_ok=True)
            template = resources.files("seambench.report") / "template" / "pages.yml"
            workflow.write_text(template.read_text("utf-8"), encoding="utf-8")
    except OSError as error:
        raise UnavailableError(f"{folder}: the site cannot be written: {error.strerror}") from error
    return index


_WINDOW = {"width": 1280, "height": 800}
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def take_picture(page: Path, picture: Path) -> Path:
    """Take a PNG picture of a whole page in its light colours."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError as error:
        raise UnavailableError(
            "a picture needs the package playwright: pip install playwright"
        ) from error
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise UnavailableError(f"a picture needs a browser: one of {', '.join(_BROWSERS)}")
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        try:
            window = running.new_page(viewport=_WINDOW, color_scheme="light")
            window.goto(page.resolve().as_uri())
            picture.parent.mkdir(parents=True, exist_ok=True)
            window.screenshot(path=picture, full_page=True)
        finally:
            running.close()
    return picture
