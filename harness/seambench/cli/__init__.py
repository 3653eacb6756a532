"""The command line: `seambench COMMAND`. Tables go to standard output, all else to standard error.

Exit codes: 0 right, 1 a check failed, an unexpected error or output that nobody took, 2 wrong usage
or a refused input, 130 interrupted. SEAMBENCH_DEBUG=1 shows tracebacks.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    from seambench.cli.app import run

    # As for `python -m`: `--impl reader:Reader` may lie in the folder where one stands.
    sys.path.append(os.getcwd())  # noqa: PTH109 - as Python itself writes it
    sys.exit(run(arguments))
