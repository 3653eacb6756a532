"""The command `seamkit`: reads tables.

Tables go to standard output, all else to standard error; `seambase.command.ending` says how a
command ends.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    from seambase.command.ending import ended
    from seamkit.command.parser import run

    given = sys.argv[1:] if arguments is None else list(arguments)
    sys.exit(ended("seamkit", given, lambda: run(given)))
