"""The page of one audit: one file, in the style of the site, without a script."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from markupsafe import Markup

from seambase.errors import UnavailableError
from seambase.written import whole_file
from seambench.report.templates import template_environment
from seambench.seams.scan.audit.model import Audit
from seambench.seams.scan.audit.words import sections, verdict


def audit_page(audit: Audit) -> str:
    """The page as HTML."""
    style = (resources.files("seambench.report") / "template" / "page.css").read_text("utf-8")
    fine = not audit.damage and not audit.disagrees
    return (
        template_environment()
        .get_template("audit.html.j2")
        .render(
            audit=audit,
            sections=sections(audit),
            verdict=verdict(audit),
            fine=fine,
            style=Markup(style),  # noqa: S704 - our own file
        )
    )


def write_audit_page(audit: Audit, path: Path) -> None:
    """Write the page, whole or not at all."""
    try:
        with whole_file(path) as temporary:
            temporary.write_text(audit_page(audit), encoding="utf-8")
    except OSError as error:
        raise UnavailableError(f"{path}: cannot be written: {error.strerror}") from error
