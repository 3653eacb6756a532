"""The site as a folder that any static host takes, with a workflow for GitHub Pages.

The page of one audit: one file, in the style of the site, without a script.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import jinja2
from markupsafe import Markup

from seambase.errors import UnavailableError
from seambase.written import whole_file
from seambench.report.site import build
from seambench.seams.scan.audit.model import Audit

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


def audit_page(audit: Audit) -> str:
    """The page as HTML."""
    # The words take their numbers from this package, whose first import this would be.
    from seambench.seams.scan.audit.words import sections, verdict

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("seambench.report", "template"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (resources.files("seambench.report") / "template" / "page.css").read_text("utf-8")
    fine = not audit.damage and not audit.disagrees
    return environment.get_template("audit.html.j2").render(
        audit=audit,
        sections=sections(audit),
        verdict=verdict(audit),
        fine=fine,
        style=Markup(style),  # noqa: S704 - our own file
    )


def write_audit_page(audit: Audit, path: Path) -> None:
    """Write the page, whole or not at all."""
    try:
        with whole_file(path) as temporary:
            temporary.write_text(audit_page(audit), encoding="utf-8")
    except OSError as error:
        raise UnavailableError(f"{path}: cannot be written: {error.strerror}") from error
