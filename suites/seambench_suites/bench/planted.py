"""Whether a slowdown that is put into the C core on purpose is named with its commit.

Usage: `python -m seambench_suites.bench.planted [--work FOLDER]`, in a checkout, with asv, valgrind
and a C compiler. The checkout's last commit is cloned and gets three more: one that changes a
comment, one that makes the decoder of Avro blocks walk over each block once more, and one that
changes a comment again. asv counts the instructions of two kernels at each. Exit code 0 if the rule
of `seambench report --regressions` names exactly the second commit, for exactly that kernel, and
`asv continuous`, as CI runs it, fails at that commit and passes at the one before.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from seambench.report.views.history import regressions
from seambench.report.views.load import Problem

_SOURCE = "native/src/avro/avro_decode.c"
_PLACE = "    decoder->broken = true; /* until the end is reached */\n"
_PLANTED = """    volatile uint64_t seen = 0;
    for (int64_t i = offset_bytes; i < size_bytes; i++) {
        seen += data[i];
    }
"""
_MACHINE, _SLOWER = "planted", "avro-decode"
#: The kernel that gets slower, and one that has nothing to do with it.
_ENVIRONMENT = {"SEAMBENCH_KERNELS": f"{_SLOWER},pages-out"}
_COUNTS = ("--machine", _MACHINE, "--quick", "--show-stderr", "--bench", "bench_counts")


def _git(folder: Path, *arguments: str, seconds: int = 0) -> str:
    """Run git; a commit is made so many seconds after the epoch, if that is said."""
    who = ("-c", "user.name=planted", "-c", "user.email=planted@localhost")
    date = {f"GIT_{who}_DATE": f"{seconds} +0000" for who in ("AUTHOR", "COMMITTER") if seconds}
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | date,
    )
    return done.stdout.strip()


def _asv(folder: Path, *arguments: str) -> int:
    environment: Mapping[str, str] = os.environ | _ENVIRONMENT
    return subprocess.run(["asv", *arguments], cwd=folder, env=environment, check=False).returncode


def _plant(folder: Path) -> tuple[str, str, str]:
    source = folder / _SOURCE
    text = source.read_text("utf-8")
    if text.count(_PLACE) != 1:
        raise SystemExit(f"{_SOURCE}: the place to plant at is not there any more")
    texts = (text + "/* before */\n", text.replace(_PLACE, _PLANTED + _PLACE))
    commits = []
    # History goes by dates, so these differ.
    begin = int(_git(folder, "log", "-1", "--format=%ct"))
    for at, content in enumerate((*texts, texts[1] + "/* after */\n"), 1):
        source.write_text(content, encoding="utf-8")
        _git(folder, "commit", "-qam", "Change the Avro decoder", seconds=begin + 60 * at)
        commits.append(_git(folder, "rev-parse", "HEAD"))
    return commits[0], commits[1], commits[2]


def _said(what: str, *, right: bool) -> bool:
    sys.stdout.write(f"{'right' if right else 'WRONG'}: {what}\n")
    sys.stdout.flush()
    return right


def _judge(clone: Path) -> bool:
    """Count, and tell whether the right commit is named."""
    first = _git(clone, "rev-parse", "HEAD")
    before, planted, after = _plant(clone)
    listed = clone / ".asv-commits"
    listed.write_text(f"{before}\n{planted}\n{after}\n", encoding="utf-8")
    if _asv(clone, "machine", "--machine", _MACHINE, "--yes"):
        return False
    if _asv(clone, "run", *_COUNTS, f"HASHFILE:{listed}"):
        return _said("asv counts three commits", right=False)
    problems: list[Problem] = []
    steps = [
        (kernel.label, step.last_good, step.first_bad, round(step.factor, 2))
        for kernel, step in regressions(clone / "results" / "history", problems)
        if kernel.machine == _MACHINE
    ]
    named = [one[:3] for one in steps] == [(_SLOWER, before[:7], planted[:7])]
    kept = [_said(f"planted at {planted[:7]}, the rule names {steps}", right=named)]
    for base, commit, fails in ((first, before, False), (before, planted, True)):
        code = _asv(clone, "continuous", *_COUNTS, "--factor", "1.02", base, commit)
        what = f"asv continuous {base[:7]} {commit[:7]} ends with {code}"
        kept.append(_said(what, right=(code != 0) == fails))
    return all(kept)


def main() -> int:
    """Plant, count and judge; 0 if the commit is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, help="folder for the clone (default: one that goes)")
    work: Path | None = parser.parse_args().work
    checkout = _git(Path.cwd(), "rev-parse", "--show-toplevel")
    with tempfile.TemporaryDirectory(prefix="seambench-planted-") as made:
        clone = (work or Path(made)) / "clone"
        _git(Path.cwd(), "clone", "-q", checkout, str(clone))
        # asv looks for the branch that its configuration names.
        _git(clone, "checkout", "-q", "-B", "main")
        return 0 if _judge(clone) else 1


if __name__ == "__main__":
    sys.exit(main())
