"""Commands of one release ago that are another program's now: each says where it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import typer

from seambase.errors import UsageError
from seambase.extras import how_to_install

_MOVED: Mapping[str, str] = {
    "scan": "seamkit scan",
    "inspect": "seamkit inspect",
    "page": "seamkit page",
}
#: Whatever stands behind the name of a command that is gone.
_ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def add_moved(app: typer.Typer) -> None:
    """Let the names say where the commands are; help does not list them."""
    for name, now in _MOVED.items():
        app.command(name, hidden=True, context_settings=_ANYTHING)(_says(name, now))


def _says(name: str, now: str) -> Callable[[], None]:
    def moved() -> None:
        raise UsageError(f"`seambench {name}` is `{now}` now: {how_to_install('seamkit')}")

    return moved
