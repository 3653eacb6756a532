"""Make data sets under spark-submit: `spark-submit .../seambench/jobs/tpch.py --scale 0.1 ...`.

Takes the arguments of `seambench data`, and does the same, on whatever master spark-submit was
given. If spark-submit lacks the table format's jars (`--packages`), a second Java process with the
same settings fetches them. The Python that runs it (PYSPARK_PYTHON) needs this package, also on the
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


def main(argv: Sequence[str] | None = None) -> None:
    """Run with command-line arguments, and end the process with the command's exit code."""
    command(["data", *(sys.argv[1:] if argv is None else argv)])


if __name__ == "__main__":
    main()
