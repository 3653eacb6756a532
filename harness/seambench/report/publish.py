"""The site as a folder that any static host takes, with a workflow for GitHub Pages."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from seambase.errors import UnavailableError
from seambench.report.site import build

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
