"""The command `seamkit`: reads tables.

Tables go to standard output, all else to standard error; `seambase.command.ending` says how a
command ends.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any


class _PandasIsNotAsked:
    """Has pyarrow do without pandas, which no command uses.

    Where it is installed, pyarrow imports it for the first value that it makes, which is half of
    what a short command takes.
    """

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("seamkit's commands do without pandas", name=name)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    from seambase.command.ending import ended
    from seamkit.command.parser import run

    if arguments is None:  # the process is ours
        sys.meta_path.insert(0, _PandasIsNotAsked)
    given = sys.argv[1:] if arguments is None else list(arguments)
    sys.exit(ended("seamkit", given, lambda: run(given)))
