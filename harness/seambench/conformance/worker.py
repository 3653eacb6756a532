"""The process that runs cases of one implementation, so that a crash takes nothing else with it.

`python -m seambench.conformance.worker SEAM IMPLEMENTATION` gets a socket as standard input. It
first says whether it is ready, then reads one JSON object per line and answers each with one. A
request has a `number`, which its answer repeats, names a case (`case`, `root`, `golden`) and what
to `do` with it: `check`, or a request of the seam's own (`Seam.requests`); `seam` is the case's,
where that is another than the implementation's. Before the first, `load` without a case has it read
the files of cases whose ids begin with one of `begins`. An answer has `outcome`, `reason`,
`seconds`, `difference` where wrong rows came, `answer` where one of several right ones did, and
what that request adds. Whatever the implementation itself prints goes to standard error.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from seambase.errors import RefusedError, UnavailableError, UsageError
from seambase.wording import uncoloured
from seambench.conformance.judge import Verdict, outcome_of, verdict
from seambench.conformance.load import load_cases
from seambench.conformance.private_process import make_private
from seambench.contracts import registry
from seambench.contracts.seam import Case, Seam

Answer = Callable[[Seam, Any, Mapping[str, Any]], Mapping[str, Any]]
"""What comes of a request to an implementation of a seam, as members of an answer."""


def main() -> None:
    """Answer requests about cases until standard input ends."""
    known: dict[tuple[str, ...], Mapping[str, Case]] = {}

    def answer(seam: Seam, implementation: Any, request: Mapping[str, Any]) -> Mapping[str, Any]:
        seam, begins = registry.find_seam(request.get("seam", seam.name)), request["begins"]
        where = (seam.name, request["root"] or "", request["golden"] or "", *begins)
        if where not in known:
            root, golden = (Path(part) if part else None for part in where[1:3])
            known[where] = {case.id: case for case in load_cases(seam.name, root, golden, begins)}
            # They stay: collections between cases need not look at them again.
            gc.freeze()
        if request["do"] == "load":
            return {"loaded": True}
        return answer_to(seam, known[where][request["case"]], implementation, request)

    serve(answer)


def serve(answer: Answer) -> None:
    """Make the implementation that the command line names, and answer requests to it."""
    requests, answers = _private_channel()
    seam_name, name = sys.argv[1:3]
    try:
        seam = registry.find_seam(seam_name)
        implementation = registry.resolve(seam_name, name)
    except (UsageError, RefusedError) as error:
        _say(answers, {"ready": False, "usage": str(error)})
        return
    except UnavailableError as error:
        _say(answers, {"ready": False, "outcome": "unavailable", "reason": str(error)})
        return
    except Exception as error:  # importing foreign code may raise anything
        reason = f"{type(error).__name__}: {error}"
        _say(answers, {"ready": False, "outcome": "error", "reason": reason})
        return
    xfails = getattr(implementation, "xfails", None)
    stated = sorted(word for word, has in implementation.capabilities.items() if has)
    ready = {"ready": True, "version": str(implementation.version), "capabilities": stated}
    _say(answers, {**ready, "xfails": str(xfails) if xfails else None})
    for line in requests:
        request = json.loads(line)
        begin = time.perf_counter()
        said = answer(seam, implementation, request)
        seconds = time.perf_counter() - begin
        _say(answers, {**said, "number": request["number"], "seconds": seconds})


def _private_channel() -> tuple[IO[str], IO[str]]:
    """Requests and answers, out of reach of what the implementation starts.

    Its programs inherit neither, and cannot open a socket through /proc; memory and descriptors of
    a process that cannot be dumped are closed to others of the same user. A Python class runs in
    this very process: nothing is hidden from that.
    """
    channel = os.dup(0)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    make_private()
    requests = os.fdopen(channel, encoding="utf-8")
    return requests, os.fdopen(os.dup(channel), "w", encoding="utf-8")


def answer_to(
    seam: Seam, case: Case, implementation: Any, request: Mapping[str, Any]
) -> Mapping[str, Any]:
    """What comes of a request about a case, as members of an answer."""
    if request["do"] == "check":
        return _members(verdict(case, implementation))
    answer: dict[str, Any] = {}

    def ask() -> None:
        answer.update(seam.requests[request["do"]](case, implementation, request))

    found = outcome_of(ask)
    return {**answer, **_members(found)}


def _members(judged: Verdict) -> Mapping[str, Any]:
    members: dict[str, Any] = {"outcome": judged.word, "reason": judged.reason}
    members |= {"refusal": judged.refusal, "answer": judged.answer}
    return members | ({"difference": asdict(judged.difference)} if judged.difference else {})


def _say(answers: IO[str], message: Mapping[str, Any]) -> None:
    """Write one line at once; reasons may be in the colours of whoever gave them."""
    if "reason" in message:
        message = {**message, "reason": uncoloured(message["reason"])}
    answers.write(json.dumps(message) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
