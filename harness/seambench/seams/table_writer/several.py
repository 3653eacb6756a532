"""Writers of one table as processes of their own: two at once, or one that is killed.

Whatever the moment, a table is as before a step or as after it; and of two steps by the same state
those that are reported done must have been done one after the other.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from seambase.errors import RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.outcomes import CrashError, Mismatch, NotOffered
from seambench.contracts.registry import BESIDE
from seambench.contracts.table_writer import Do, TableWriter, WriterStep
from seambench.seams.table_writer.cases import StepFile, WriterCase
from seambench.seams.table_writer.doors import CommandWriter, in_a_process

_LATEST = 1.1
_OFTEN = 0.9
"""When a process is killed at the latest and most often, in times of what such a step took last."""


class Beside:
    """Two writers of one table; scripts in which no step is beside another are not for them."""

    kind: Kind = "peer"

    def __init__(self, first: TableWriter, second: TableWriter) -> None:
        self.both = first, second
        self.name = f"{first.name}{BESIDE}{second.name}"
        self.version = f"{first.version}{BESIDE}{second.version}"
        stated = second.capabilities
        self.capabilities = {word: stated.get(word, False) for word in first.capabilities}

    def step(self, step: WriterStep) -> None:
        """Refuse what is not for two; steps of scripts that are for two are done by processes."""
        raise RefusedError(f"{self.name}: in this script {step.do} is not beside another step")


class Several:
    """The processes that carry out a script. Each takes up the table anew after every step."""

    def __init__(self, writer: TableWriter, case: WriterCase) -> None:
        """Two of a writer, or one of each of a pair; none is started before its first step."""
        two = getattr(writer, "both", None)
        many = max(len(step.all) for step in case.script.steps)
        if many == 1 and two is not None:
            raise NotOffered("no step of the script is beside another")
        self._writers = [in_a_process(one) for one in (two or (writer, writer))[:many]]
        self._anew = any(step.killed for step in case.script.steps)
        self._dice = random.Random(case.id)
        self._took: dict[Do, float] = {}
        self._refusals: list[RefusedError] = []

    def do(self, declared: StepFile, steps: Sequence[WriterStep]) -> list[bool | None]:
        """Do a step and the one beside it. Of each: whether it is done, None if nobody knows.

        Raises:
            RefusedError: none is done, and the first was never before.
            Mismatch: what was done before is refused, or the table cannot be taken up.
        """
        self._refusals.clear()
        tasks = list(zip(self._writers, steps, strict=False))
        if declared.killed:
            done = [self._killed(*tasks[0])]
        elif declared.late:
            done = [self._done(*one) for one in tasks]
        else:
            with ThreadPoolExecutor(len(tasks)) as pool:
                done = list(pool.map(lambda one: self._done(*one), tasks))
        refused = all(one is False for one in done)
        for writer in () if refused and steps[0].do == "create" else self._writers:
            if self._anew:  # what a step takes in a new process, each takes in one
                writer.finish()
            self._take_up(writer, steps[0])
        if refused:
            why = self._refusals[-1]
            if len(steps) == 1 and steps[0].do in self._took:
                said = f"{steps[0].do} was done before, and is refused now: {why}"
                raise Mismatch(said, refusal=True) from why
            raise why
        return done

    def finish(self) -> None:
        """There are no more steps."""
        for writer in self._writers:
            writer.finish()

    def _done(self, writer: CommandWriter, step: WriterStep) -> bool:
        began = time.monotonic()
        try:
            writer.step(step)
        except RefusedError as refusal:
            self._refusals.append(refusal)
            return False
        self._took[step.do] = time.monotonic() - began
        return True

    def _killed(self, writer: CommandWriter, step: WriterStep) -> bool | None:
        """Kill a process at some moment of a step; None unless it has answered before."""
        last = self._took.get(step.do) or max(self._took.values())
        timer = threading.Timer(self._dice.triangular(0, _LATEST, _OFTEN) * last, writer.kill)
        timer.start()
        try:
            return self._done(writer, step)
        except CrashError:
            return None
        finally:
            timer.cancel()

    def _take_up(self, writer: CommandWriter, step: WriterStep) -> None:
        try:
            writer.step(
                replace(step, do="open", rows=step.rows.slice(0, 0), where=(), assign={}, name="")
            )
        except RefusedError as refusal:
            said = f"after {step.do} the table cannot be taken up: {refusal}"
            raise Mismatch(said, refusal=True) from refusal
