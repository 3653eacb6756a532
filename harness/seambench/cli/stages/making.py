"""Records for bars and tables of figures: the declared commands, run by run, until each stands.

A run whose figures stand for this code is left alone, so that what ended early goes on where it
was. One that others disturbed comes again after the rest, and one that gave no figure for another
reason does not: it would give none again.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from seambench.records.bars import Bar, judged_runs, standing_run
from seambench.records.facts import machine_info, new_run, same_code
from seambench.records.model import Record
from seambench.records.ratios import disturbed
from seambench.report.views.load import load_records

#: How often a run is begun anew that others disturbed.
_ATTEMPTS = 3


@dataclass(frozen=True)
class Making:
    """What is to be made, and where."""

    commands: Mapping[str, Sequence[str]]  # by name of a run, those that come first first
    figures: Mapping[str, Sequence[Bar]]  # of each run, as bars
    runs: int  # how many times each figure is to stand
    minutes: float  # after which no further run is begun
    data: Path | None  # folder of the data sets; None for the usual one
    results: Path


def make_records(making: Making) -> int:
    """Run what has no record of this commit that stands; 0 where in the end all have."""
    begin = time.monotonic()
    waiting = deque((at, 1, name) for at in range(1, making.runs + 1) for name in making.commands)
    open_ = []
    while waiting:
        at, attempt, name = waiting.popleft()
        before = _of_this(making)
        if not _lacking(making.figures[name], at, before):
            continue
        minutes = (time.monotonic() - begin) / 60
        if minutes >= making.minutes:
            open_.append(f"{name}: {making.minutes:g} minutes were over before it")
            continue
        typer.echo(f"# {name}, after {minutes:.1f} minutes", err=True)
        for line in making.commands[name]:
            if not _done(line, making):
                break
        after = _of_this(making)
        lacking = _lacking(making.figures[name], at, after)
        known = {one.run.id for one in before}
        made = [one for one in after if one.run.id not in known]
        taken = (time.monotonic() - begin) / 60 - minutes
        typer.echo(f"# {name}: {lacking or 'stands'}, {taken:.1f} minutes", err=True)
        if lacking and attempt < _ATTEMPTS and any(disturbed(one) for one in made):
            waiting.append((at, attempt + 1, name))
        elif lacking:
            open_.append(f"{name}: {lacking}")
    for line in open_:
        typer.echo(f"without a figure: {line}", err=True)
    return 1 if open_ else 0


def words_of(line: str, data: Path | None, results: Path) -> list[str]:
    """The words of a declared command behind its program, with these folders."""
    words = shlex.split(line)[1:]
    if data is not None and "--data" in words:
        at = words.index("--data") + 1
        words[at] = str(data / Path(words[at]).relative_to("data"))
    return words if words[0] == "data" else [*words, "--results", str(results)]


def _done(line: str, making: Making) -> bool:
    """Run a command to its end; whether others may come after it."""
    words = words_of(line, making.data, making.results)
    typer.echo(shlex.join(["seambench", *words]), err=True)
    # A wrong answer ends a comparison with 1, and its records are written.
    return run_command(words, making.data) == 0 or words[0] != "data"


def run_command(words: Sequence[str], data: Path | None) -> int:
    """Run `seambench` with these words to its end, or end it and what it started; its exit code."""
    folder = {} if data is None else {"SEAMBENCH_DATA": str(data)}
    whole = [sys.executable, "-m", "seambench.cli", *words]
    with subprocess.Popen(whole, env=os.environ | folder) as running:
        try:
            return running.wait()
        except KeyboardInterrupt:
            running.terminate()
            running.wait()
            raise


def _lacking(figures: Sequence[Bar], runs: int, records: Sequence[Record]) -> str:
    """The first figure that does not stand so many times, and why; empty: all do."""
    for bar in figures:
        stands = sum(1 for _ in judged_runs(bar, records))
        if stands < runs:
            why = standing_run(bar, records) if not stands else f"{stands} of {runs} runs stand"
            return f"{bar.name}: {why}"
    return ""


def _of_this(making: Making) -> list[Record]:
    """Records of this code and machine, oldest first."""
    commit, machine = new_run("").commit, machine_info().name
    return [
        shown.record
        for shown in load_records(making.results).records
        if shown.record.machine.name == machine and same_code(shown.record.run.commit, commit)
    ]
