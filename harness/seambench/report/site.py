"""Write the static site: one page, its script and style, its data, and copies of the records.

Data is a script rather than a JSON file because a page opened from disk may not fetch anything.
"""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from plotly.offline import get_plotlyjs

from seambase.errors import UnavailableError, UsageError
from seambase.whole_file import whole_file
from seambench import __version__
from seambench.records.model import json_schema
from seambench.report.load import Loaded, load_records
from seambench.report.matrix import columns_of, matrices, summary
from seambench.report.script import joined

__all__ = ["NOTICE", "build"]

NOTICE = "Derived from TPC-H, not comparable with published TPC-H results."


def build(results_dir: Path, out_dir: Path) -> Path:
    """Build the page over all records of a results folder.

    Each file is written under a temporary name and renamed, `index.html` last; other content of
    `out_dir` (asv's pages under `history/`) stays. Copies of records that are gone are removed.

    Args:
        results_dir: the folder `results`, with `runs/<implementation>/<date>/*.json`. Without any
            record the page says how to make one.
        out_dir: folder of the site; made if missing.

    Returns:
        The path of `index.html`.

    Raises:
        UsageError: `results_dir` is no folder, or `out_dir` lies where a file is.
        UnavailableError: the site cannot be written (no space, no permission).
    """
    if not results_dir.is_dir():
        raise UsageError(f"{results_dir}: no such results folder; `seambench bench` makes one")
    if out_dir.exists() and not out_dir.is_dir():
        raise UsageError(f"{out_dir}: the site needs a folder, and a file is in its place")
    loaded = load_records(results_dir)
    try:
        return _write_site(loaded, out_dir)
    except OSError as error:
        reason = error.strerror
        raise UnavailableError(f"{out_dir}: the site cannot be written: {reason}") from error


def _write_site(loaded: Loaded, out_dir: Path) -> Path:
    records_dir = out_dir / "records"
    records_dir.mkdir(parents=True, exist_ok=True)
    names = _copy_names(loaded)
    for shown, name in zip(loaded.records, names, strict=True):
        with whole_file(records_dir / name) as temporary:
            shutil.copyfile(shown.path, temporary)
    for stale in records_dir.glob("*.json"):
        if stale.name not in names:
            stale.unlink()

    copies = [f"records/{name}" for name in names]
    tables = matrices(columns_of(zip(loaded.records, copies, strict=True)))
    template_dir = resources.files("seambench.report") / "template"
    built = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    data = {
        "built_utc": built,
        "seambench": __version__,
        "history": (out_dir / "history" / "index.html").is_file(),
        "matrix": [column.view(found.depth) for found in tables for _, column in found.columns],
        "records": [
            shown.view(f"records/{name}") for shown, name in zip(loaded.records, names, strict=True)
        ],
        "problems": [{"file": p.file, "reason": p.reason} for p in loaded.problems],
    }
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string((template_dir / "index.html.j2").read_text("utf-8"))
    _write(out_dir / "plotly.min.js", get_plotlyjs())
    _write(out_dir / "page.css", (template_dir / "page.css").read_text("utf-8"))
    _write(out_dir / "page.js", joined(template_dir / "script"))
    _write(out_dir / "data.js", _data_script(data))
    _write(out_dir / "record-schema.json", json.dumps(json_schema(), indent=1) + "\n")
    page = template.render(
        notice=NOTICE, built=built, version=__version__, matrices=tables, summary=summary(tables)
    )
    _write(out_dir / "index.html", page)
    return out_dir / "index.html"


def _copy_names(loaded: Loaded) -> list[str]:
    """Names for the copies: from the records' paths, safe in a URL, unique whatever the case."""
    names: list[str] = []
    taken: set[str] = set()
    for record in loaded.records:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "_", "--".join(record.path.parts[-3:]))
        stem = stem.removesuffix(".json").lstrip(".-")[-150:] or "record"
        name, number = f"{stem}.json", 1
        while name.lower() in taken:
            number += 1
            name = f"{stem}-{number}.json"
        taken.add(name.lower())
        names.append(name)
    return names


def _data_script(data: dict[str, Any]) -> str:
    """Data as a script that any record may be part of.

    The JSON goes through `JSON.parse` of a string rather than an object literal, so that a key
    such as `__proto__` stays a key; `<` is escaped so that no text can end a script element.
    """
    text = json.dumps(json.dumps(data, allow_nan=False), ensure_ascii=True)
    return f"globalThis.SEAMBENCH = JSON.parse({text.replace('<', chr(92) + 'u003c')});\n"


def _write(path: Path, text: str) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
