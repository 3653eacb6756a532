"""Compare readers under spark-submit: `spark-submit .../seambench/jobs/run.py --scale 1 ...`.

Takes the arguments of `seambench run`; data sets are made, and readers such as `spark-frame` read,
on whatever master spark-submit was given. Answers are checked and times recorded
as in any run, but for memory. The Python that runs it (PYSPARK_PYTHON) needs this package, also on
the workers of a cluster.
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
    given = sys.argv[1:] if argv is None else list(argv)
    # Streams whose memory is measured are read by processes that spark-submit knows nothing of.
    words = ["run", "--no-memory", *given]
    sys.argv[1:] = words  # what is recorded as typed
    command(words)


if __name__ == "__main__":
    main()
