"""Kernels: whatever else is timed, each in a process of its own, by the same turns as readers are.

A module that has some offers them by a function:

    def kernels(folder: Path, files: int = 100_000) -> Kernels: ...

`folder` is one that is removed afterwards; what else it takes has a default, and `seambench kernels
MODULE --set files=1000` gives it another value.
"""

from __future__ import annotations

import contextlib
import inspect
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

from seambase.errors import UsageError
from seambench.bench.apart import Apart, Task, competitor_at
from seambench.bench.listener import Listener
from seambench.bench.measure import take_turns
from seambench.bench.quiet import Watch
from seambench.contracts import registry
from seambench.records.facts import implementation_info
from seambench.records.model import Floor, Origin, Record, Rows, Step, Timing
from seambench.records.writer import Measurement, Recording, answered, moved


@dataclass(frozen=True)
class Kernel:
    """One competitor."""

    case: str  # what a record calls it
    task: Task  # makes it, in its own process
    over: Rows  # what it is timed over
    # an answer has rows that are judged; a step or a floor only moves some
    kind: Literal["answer", "step", "floor"] = "answer"

    @property
    def name(self) -> str:
        """What tells it from the others of a module."""
        return f"{self.case} on {self.over.name}"


@dataclass(frozen=True)
class Kernels:
    """What takes turns, and whose record it is."""

    seam: str
    by: str
    kernels: Sequence[Kernel]  # in the order of their first runs
    origin: Origin | None = None


Plan: TypeAlias = Callable[..., Kernels]


def find_kernels(module: str) -> Plan:
    """The function of a module that offers kernels."""
    try:
        loaded = import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(f"there is no module {error.name}") from error
    plan: Plan | None = getattr(loaded, "kernels", None)
    if plan is None:
        raise UsageError(f"{module} offers no kernels: it has no function of that name")
    return plan


def measure_kernels(
    plan: Plan,
    settings: Mapping[str, str],
    *,
    only: Sequence[str] = (),
    samples: int = 7,
    wait_seconds: float = 0.0,
    command: str,
    listener: Listener | None = None,
) -> Record:
    """Time kernels in turns; their record, not yet written.

    `settings` are values for what the plan takes, `only` texts one of which is in the case of each
    kernel, `samples` the warm runs of each. See `seambench.bench.quiet.Watch` for `wait_seconds`.
    """
    listener = listener or Listener()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="seambench-kernels-"))
        planned = plan(Path(folder), **_typed(plan, settings))
        chosen = [k for k in planned.kernels if not only or any(text in k.case for text in only)]
        if not chosen:
            cases = ", ".join(kernel.case for kernel in planned.kernels)
            raise UsageError(f"no kernel has such a name; they are {cases}")
        watch = Watch(wait_seconds, listener.running)
        recording = Recording(command, samples, busy=watch.busy)
        competitors = {}
        for kernel in chosen:
            if kernel.name in competitors:
                raise UsageError(f"two kernels are called {kernel.name}")
            home = Apart(kernel.name)
            stack.callback(home.close)
            competitors[kernel.name] = competitor_at(home, kernel.task)
        results = take_turns(competitors, samples, on_run=listener.running, watch=watch)
    timings = [_timing(kernel, results[kernel.name]) for kernel in chosen]
    about = implementation_info(planned.by, registry.resolve(planned.seam, planned.by))
    return recording.record(about, timings, dataset=planned.origin)


def _typed(plan: Plan, settings: Mapping[str, str]) -> dict[str, Any]:
    """Settings in the types of their defaults."""
    known = {
        name: one.default
        for name, one in inspect.signature(plan).parameters.items()
        if one.default is not inspect.Parameter.empty
    }
    found = {}
    for name, text in settings.items():
        if name not in known:
            raise UsageError(f"unknown setting {name!r}; there are {', '.join(known) or 'none'}")
        try:
            found[name] = type(known[name])(text)
        except ValueError as error:
            raise UsageError(f"{name}={text}: {error}") from error
    return found


def _timing(kernel: Kernel, result: Measurement) -> Timing:
    if kernel.kind == "answer":
        return answered(kernel.case, kernel.over, result)
    return moved(Floor if kernel.kind == "floor" else Step, kernel.case, kernel.over, result)
