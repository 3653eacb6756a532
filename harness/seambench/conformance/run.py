"""Running the cases of a seam over implementations: one outcome per pair.

Several processes of one implementation share its cases: a `Crew`.
"""

from __future__ import annotations

import fnmatch
import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seambase.errors import UsageError
from seambench.conformance.isolate import Isolated, Limits
from seambench.conformance.judge import lacked, missing_capability
from seambench.conformance.load import begins_of, choose_cases, load_cases
from seambench.conformance.xfails import Xfails, judge, load_xfails
from seambench.contracts.outcomes import Difference, Outcome
from seambench.contracts.peers.catalogue import AT, peer_of
from seambench.contracts.peers.environments import environment, made_environments
from seambench.contracts.registry import PAIR, find_seam
from seambench.contracts.seam import Case, Keep, PassRun

_CASES_WORTH_A_PROCESS = 16


@dataclass(frozen=True)
class Run:
    """What is checked, of which implementations.

    Each implementation runs in a process of its own, so that a crash or a hang is an outcome.
    """

    seam: str
    implementations: Sequence[str]  # names as the registry takes them
    golden: Path | None = None  # folder of golden files to take in place of the installed cases
    patterns: Sequence[str] | None = None  # of case ids (`scan/*/event/*`); None for all
    limits: Limits = field(default_factory=Limits)  # what a process of an implementation may take
    # files of known failures (`seambench.conformance.xfails`), besides those that implementations
    # name themselves
    xfails: Sequence[Path] = ()
    root: Path | None = None  # folder with `cases/` and `golden/`; None for the installed suites'
    jobs: int = 1  # processes of an implementation at once
    # of an implementation's name and the chosen cases, those to put to it, in order
    narrow: Callable[[str, list[Case]], list[Case]] | None = None
    # capabilities of each implementation, once its cases were put to it
    stated: dict[str, frozenset[str]] = field(default_factory=dict, compare=False)
    # the files of known failures that were looked into, likewise
    known: list[Xfails] = field(default_factory=list, compare=False)

    def cases(self, extra: str | None = None) -> list[Case]:
        """The cases that are chosen, of an extra pass if one is named."""
        # An extra pass makes its cases of all there are.
        begins = begins_of(self.patterns if extra is None else None)
        known: Sequence[Case] = load_cases(self.seam, self.root, self.golden, begins)
        if extra is not None:
            known = find_seam(self.seam).pass_cases(extra, known)
        chosen = choose_cases(known, self.patterns)
        if not chosen:
            raise UsageError(f"the {self.seam} seam has no cases")
        return chosen

    def assigned(self) -> list[tuple[str, list[Case]]]:
        """Each implementation with the cases that are put to it."""
        chosen = self.cases()
        narrow = self.narrow or (lambda _, cases: cases)
        return [(name, narrow(name, chosen)) for name in self.implementations]

    def check(self) -> Iterator[Outcome]:
        """Put every case to every implementation: an outcome for each, in that order.

        Last comes an `error` for each stale entry of `xfails`.
        """
        excuses = dict.fromkeys(self.xfails)
        by = find_seam(self.seam).pairs_by
        for name, cases in self.assigned():
            if by and PAIR in name:
                yield from self._pass(by, [name], cases)
                continue
            if known := self._not_installed(name, cases):
                yield from known
                continue
            worth = 1 + len(cases) // _CASES_WORTH_A_PROCESS
            with Crew(self.seam, name, self.limits, min(self.jobs, worth)) as crew:
                yield from crew.map(self.check_one, cases)
                self.stated[name] = crew.first.capabilities
                excuses |= dict.fromkeys([crew.first.xfails] if crew.first.xfails else [])
        self.known.extend(map(load_xfails, excuses))
        for excuse in self.known:
            if excuse.implementation in {name.partition(AT)[0] for name in self.implementations}:
                yield from self._stale(excuse)

    def check_one(self, process: Isolated, case: Case) -> Outcome:
        """Put one case to an implementation, and judge it in the light of its known failures."""
        missing = next((need for need in case.needs if need not in process.capabilities), None)
        if process.gave_up and missing is not None:
            answer: Mapping[str, Any] = {"outcome": "not-offered", "reason": f"no {missing}"}
        else:
            answer = self._ask(process, "check", case, {})
        outcome = _outcome(case, process.name, process.version, answer)
        files = [*self.xfails, *([process.xfails] if process.xfails else [])]
        return judge(outcome, [load_xfails(file) for file in files])

    def _not_installed(self, name: str, cases: Sequence[Case]) -> list[Outcome]:
        """What comes of cases of which the catalogue says that a peer's version offers none.

        Nothing is installed for them. It is empty where one has to be put, or nothing is known; one
        that is installed already shows whether it refuses what it must.
        """
        peer, version = peer_of(self.seam, name) or (None, "")
        if peer is None or version not in peer.versions:
            return []
        stated = peer.capabilities(version)
        is_made = environment(peer, version) in made_environments(peer).get(version, ())
        if not all(lacked(c, stated) if is_made else missing_capability(c, stated) for c in cases):
            return []
        self.stated[name] = frozenset(stated)
        found = []
        for case in cases:
            reason = f"no {missing_capability(case, stated)}"
            if not lacked(case, stated):
                reason += f"; whether it refuses shows after `seambench peers install {name}`"
            answer = {"outcome": "not-offered", "reason": reason}
            found.append(_outcome(case, name, version, answer))
        return found

    def extra_pass(self, name: str, keep: Keep | None = None) -> Iterator[Outcome]:
        """Run an extra pass of the seam; `keep` is that of `PassRun`."""
        passes = find_seam(self.seam).passes
        if name not in passes:
            known = ", ".join(sorted(passes)) or "none"
            raise UsageError(f"the {self.seam} seam has no pass {name!r}; it has {known}")
        yield from self._pass(name, self.implementations, self.cases(name), keep)

    def _pass(
        self,
        name: str,
        implementations: Sequence[str],
        cases: Sequence[Case],
        keep: Keep | None = None,
    ) -> Iterator[Outcome]:
        with ExitStack() as stack:
            running: dict[tuple[str, str], Isolated] = {}

            def ask(
                name: str, do: str, case: Case, more: Mapping[str, Any], seam: str = self.seam
            ) -> Mapping[str, Any]:
                if (seam, name) not in running:
                    process = Isolated(seam, name, self.limits)
                    running[seam, name] = stack.enter_context(process)
                return self._ask(running[seam, name], do, case, more)

            def outcome(name: str, case: Case, answer: Mapping[str, Any]) -> Outcome:
                process = running.get((self.seam, name))
                return _outcome(case, name, process.version if process else "", answer)

            how = find_seam(self.seam).passes[name]
            yield from how(PassRun(implementations, cases, ask, outcome, keep))

    def _ask(
        self, process: Isolated, do: str, case: Case, more: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        where = {"root": self.root, "golden": self.golden}
        paths = {key: str(value) if value else None for key, value in where.items()}
        begins = begins_of(self.patterns)
        about = {"seam": self.seam, "case": case.id, **paths, "begins": begins}
        return process.ask({"do": do, **about, **more})

    def _stale(self, excuse: Xfails) -> list[Outcome]:
        """Entries that name no installed case, as far as the run is about such cases."""
        if self.golden is not None:
            return []
        begins = begins_of(self.patterns)
        known = [case.id for case in load_cases(self.seam, self.root, None, begins)]
        return [
            outcome
            for outcome in excuse.stale(self.seam, known)
            if self.patterns is None
            or any(fnmatch.fnmatchcase(outcome.case, pattern) for pattern in self.patterns)
        ]


def _outcome(case: Case, name: str, version: str, answer: Mapping[str, Any]) -> Outcome:
    word, reason = answer["outcome"], answer.get("reason", "")
    rows = answer.get("difference")
    return Outcome(
        seam=case.seam,
        implementation=name,
        case=case.id,
        outcome=word,
        seconds=answer.get("seconds", 0.0),
        reason=reason,
        level=case.level,
        group=case.group,
        version=version,
        difference=Difference(**rows) if rows else None,
        must_refuse=bool(case.refused),
        refusal=answer.get("refusal", False),
        answer=answer.get("answer", 0),
    )


class Crew:
    """Processes of one implementation. A context manager; not for several threads.

    Attributes:
        first: the process that is started first, and always.
    """

    def __init__(self, seam: str, name: str, limits: Limits, jobs: int) -> None:
        """Make them ready; each starts with its first case."""
        self._members = [Isolated(seam, name, limits) for _ in range(jobs)]
        self.first = self._members[0]

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._members:
            member.close()

    def map(
        self, put: Callable[[Isolated, Case], Outcome], cases: Sequence[Case]
    ) -> Iterator[Outcome]:
        """What comes of each case, in the order of the cases."""
        self.first.start()
        idle: queue.SimpleQueue[Isolated] = queue.SimpleQueue()
        for member in self._members:
            idle.put(member)

        def one(case: Case) -> Outcome:
            member = idle.get()
            try:
                return put(member, case)
            finally:
                idle.put(member)

        pool = ThreadPoolExecutor(len(self._members))
        try:
            yield from pool.map(one, cases)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for member in self._members:
                member.interrupt()
            pool.shutdown()
