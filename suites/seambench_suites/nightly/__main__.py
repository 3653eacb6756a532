"""Runs what `steps.toml` lists, one after the other, and tells what changed since the last run.

Each step is a command; what it prints lies in the folder of `--logs`. Nothing ends the run before
its last step. At the end stand a table, a line with the tests that were skipped and why, and the
file of the record. Exit code 1 if a step failed or did not end in its time.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from seambench.contracts.data_files import read_toml
from seambench.records.facts import machine_info, new_run
from seambench_suites.nightly.record import Done, Night, changes, counted, last_night, written

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Step:
    """A command of the long run."""

    name: str
    run: Sequence[str]  # its words; programs are those of this environment, where it has them
    about: str  # one line for people
    sample: str  # module of tests by which a part of it stands in `make test`
    # what it prints: `outcomes`, `junit`, or nothing that could be counted
    tells: Literal["outcomes", "junit", ""] = ""
    hours: float = 2.0  # after which it is ended


@dataclass(frozen=True)
class _Steps:
    step: Sequence[Step]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the steps that are chosen, and tell what changed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=Path, default=_HERE / "steps.toml")
    parser.add_argument("--only", action="append", help="pattern of names; repeatable")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--logs", type=Path, default=Path("build", "nightly"))
    parser.add_argument("--list", action="store_true", help="name the steps, and run none")
    args = parser.parse_args(arguments)
    steps = [
        step
        for step in read_steps(args.steps)
        if any(fnmatch.fnmatchcase(step.name, pattern) for pattern in args.only or ["*"])
    ]
    if not steps:
        parser.error(f"no step is called {' or '.join(args.only)}")
    if args.list:
        sys.stdout.writelines(f"{step.name:14} {step.about}\n" for step in steps)
        return 0
    folder = args.results / "nightly"
    before = last_night(folder)
    args.logs.mkdir(parents=True, exist_ok=True)
    run = new_run("nightly")
    done = [_run(step, args.logs) for step in steps]
    commit = f"{run.commit or 'unknown'}{'+' if run.dirty else ''}"
    night = Night(run.started_utc, machine_info().name, commit, done)
    _tell(before, done)
    sys.stdout.write(f"recorded: {written(folder, night)}\n")
    return 0 if all(step.ended == "passed" for step in done) else 1


def read_steps(file: Path) -> Sequence[Step]:
    """The steps of a file, in order."""
    return read_toml(_Steps, file).step


def words_of(step: Step, logs: Path) -> list[str]:
    """The command of a step, with programs of this environment."""
    first, *rest = step.run
    ours = Path(sys.executable).with_name(first)
    command = [str(ours) if ours.exists() else first]
    command += [word.replace("{logs}", str(logs)) for word in rest]
    return [*command, *(["--junitxml", str(logs / step.name)] if _is_junit(step) else [])]


def _is_junit(step: Step) -> bool:
    return step.tells == "junit"


def _run(step: Step, logs: Path) -> Done:
    """Run a step to its end, or to the end of its time."""
    sys.stdout.write(f"{step.name}: {step.about} ... ")
    sys.stdout.flush()
    begin = time.monotonic()
    printed = logs / f"{step.name}.out"
    with printed.open("wb") as out, (logs / f"{step.name}.err").open("wb") as errors:
        process = subprocess.Popen(
            words_of(step, logs), stdout=out, stderr=errors, start_new_session=True
        )
        try:
            ended = "failed" if process.wait(step.hours * 3600) else "passed"
        except subprocess.TimeoutExpired:
            ended = "timeout"
        finally:
            # Whatever ends this program ends the step, and what that started.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    seconds = round(time.monotonic() - begin, 1)
    sys.stdout.write(f"{ended} after {seconds:,.0f} s\n")
    counts, skipped = counted(step.tells, logs / step.name if _is_junit(step) else printed)
    return Done(step.name, ended, seconds, counts, skipped)


def _tell(before: Night | None, done: Sequence[Done]) -> None:
    """The table of what changed, and what was skipped in one line."""
    since = f"since {before.started_utc}, {before.commit[:12]}" if before else "for the first time"
    sys.stdout.write(f"\n{'step':14} {'ended':8} {'minutes':>8}  what changed {since}\n")
    for step, said in changes(before, done):
        sys.stdout.write(f"{step.name:14} {step.ended:8} {step.seconds / 60:8.1f}  {said or '-'}\n")
    skipped: Counter[str] = Counter()
    for step in done:
        skipped.update(step.skipped)
    listed = "; ".join(f"{count} {reason}" for reason, count in skipped.most_common())
    sys.stdout.write(f"skipped: {listed or 'nothing'}\n")


if __name__ == "__main__":
    sys.exit(main())
