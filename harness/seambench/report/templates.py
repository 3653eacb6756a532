"""The templates of pages: texts are escaped, and a name that is missing is an error."""

from __future__ import annotations

import jinja2


def template_environment() -> jinja2.Environment:
    """What finds and fills templates; whoever asks may add filters and names of its own."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("seambench.report", "template"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
