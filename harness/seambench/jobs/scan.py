"""Read a table under spark-submit: `spark-submit .../seambench/jobs/scan.py TABLE -o rows.parquet`.

Takes the arguments of `seambench scan`; tasks read the table's slices, on whatever master
spark-submit was given. The Python that runs it (PYSPARK_PYTHON) needs this package, also on the
workers of a cluster.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

if __package__ in (None, ""):
    # spark-submit puts this file's folder first on the path; the package is two folders up.
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from seambench.cli import main as command

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> None:
    """Run with command-line arguments, and end the process with the command's exit code."""
    given = sys.argv[1:] if argv is None else list(argv)
    words = ["scan", "--engine", "spark", *given]
    sys.argv[1:] = words  # what is recorded as typed
    command(words)


if __name__ == "__main__":
    main()
