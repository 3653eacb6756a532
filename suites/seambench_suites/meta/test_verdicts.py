"""Verdicts that must not be lost: who breaks down, stalls, is missing or wastes memory is told."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError, SeambenchError, UnavailableError
from seambench.cli import main
from seambench.conformance.isolate import Isolated
from seambench.conformance.judge import verdict
from seambench.conformance.load import load_cases
from seambench.contracts import registry
from seambench.contracts.outcomes import CrashError, ProtocolError, TimedOutError
from seambench.contracts.scan import ScanRequest
from seambench.contracts.seam import Case
from seambench.seams.exchange import check as exchange_check
from seambench.seams.exchange.cases import ExchangeCase
from seambench.seams.exchange.pairs import Pair
from seambench.seams.exchange.plain import FailedError
from seambench.seams.exchange.remote_receivers import open_mixed
from seambench.seams.scan.function import FunctionScanner
from seambench_suites.meta.plain_serde import PlainSerde
from seambench_suites.meta.simulated import SimulatedReader


@cache
def _refusal(seam: str) -> Case:
    """A case of a seam whose answer must be a refusal."""
    return next(case for case in load_cases(seam) if case.refused)


class _Raising:
    """A peer that states everything a case needs, and raises an error whatever is asked."""

    name, version, kind = "raising", "0", "peer"

    def __init__(self, case: Case, error: SeambenchError) -> None:
        self.capabilities = dict.fromkeys(case.needs, True)
        self._error = error

    def _raise(self, *_: object) -> Any:
        raise self._error

    open = chunks = serialize = deserialize = _raise

    def live_blocks(self) -> int:
        """None."""
        return 0


#: A script of a writer has no refusal: what a writer does not do is not asked of it.
_WITH_REFUSALS = [seam for seam in registry.seams() if seam != "table-writer"]


@pytest.mark.parametrize("seam", _WITH_REFUSALS)
@pytest.mark.parametrize(
    ("error", "word", "refusal"),
    [
        (UnavailableError("no Java here"), "unavailable", False),
        (CrashError("killed by signal 11"), "crash", False),
        (TimedOutError("not finished"), "timeout", False),
        (ProtocolError("no Arrow stream"), "fail", False),
        (SeambenchError("something else"), "fail", True),
        (InputError("a bad magic at byte 0"), "pass", False),
    ],
)
def test_only_a_refusal_is_a_refusal(
    seam: str, error: SeambenchError, word: str, refusal: bool
) -> None:
    """Where a refusal is due, a missing peer, a crash and garbage are called what they are."""
    case = _refusal(seam)
    found = verdict(case, _Raising(case, error))
    assert (found.word, found.refusal) == (word, refusal)


class _Keeping(_Raising):
    """Refuses as it must, and holds a block of memory more after each question."""

    blocks = 0

    def live_blocks(self) -> int:
        """One more each time."""
        self.blocks += 1
        return self.blocks


def test_memory_that_is_still_held_fails_a_right_answer() -> None:
    """What a reader keeps with every answer ends whoever asks it often enough."""
    case = _refusal("scan")
    word, reason = verdict(case, _Keeping(case, InputError("a bad magic at byte 0")))[:2]
    assert (word, "still held afterwards" in reason) == ("fail", True)


@pytest.mark.parametrize(("kind", "word"), [("peer", "not-offered"), ("native", "fail")])
def test_a_feature_that_is_not_stated_may_be_refused_in_other_words_by_others(
    kind: str, word: str
) -> None:
    """A peer may call a deletion vector broken input; our own must say that it is not supported."""
    case = next(case for case in load_cases("scan") if "delta.vectors" in case.must_honour)
    reader = _Raising(case, InputError("an unknown field"))
    reader.kind = kind
    reader.capabilities = {w: w not in case.must_honour for w in case.needs}
    assert verdict(case, reader).word == word


def test_what_must_be_refused_is_no_question_of_rows() -> None:
    """Who answers it is told so, whether it states the table's features or not."""
    case = next(case for case in load_cases("scan") if case.refused and case.must_honour)

    def read(_path: str, columns: Sequence[str] = (), **_: Any) -> pa.Table:
        return pa.table({name: [1] for name in columns or ["k"]})

    rows = FunctionScanner(read, "mine:read")
    for stated, says in ((True, "nothing was refused"), (False, "must be refused was answered")):
        rows.capabilities = {w: stated or w not in case.must_honour for w in case.needs}
        word, reason = verdict(case, rows)[:2]
        assert (word, says in reason) == ("fail", True), reason


class _Stalling:
    """An exchange whose readers are never told that a sender gave up: they run out of time."""

    name, version, kind = "stalling", "0", "peer"

    def __init__(self, capabilities: Sequence[str], wait: Callable[[float], None]) -> None:
        self.capabilities = dict.fromkeys(capabilities, True)
        self.senders: list[Any] = []
        self.receivers: list[Any] = []
        self._wait = wait

    def open(self, request: Any) -> _Stalling:
        """Itself, as every side."""
        self.senders, self.receivers = [self] * request.senders, [self] * request.receivers
        return self

    def read(self, driver: int = 0, timeout: float = 0.0) -> None:
        """Wait as long as the test says, then fail in words of its own."""
        self._wait(timeout)
        raise SeambenchError(f"driver {driver}: nothing came")

    def _nothing(self, *_: object) -> None:
        """Writing, ending and cancelling do nothing."""

    write = finish = cancel = close = _nothing


@pytest.mark.parametrize(
    ("wait", "word"), [(time.sleep, "fail"), (lambda _: None, "pass")], ids=["stalls", "tells"]
)
def test_stalls_are_told_by_their_time(
    monkeypatch: pytest.MonkeyPatch, wait: Callable[[float], None], word: str
) -> None:
    """Who waits until the time is up was told nothing, in whatever words; who fails at once was."""
    monkeypatch.setattr(exchange_check, "_PATIENCE", 0.2)
    case = next(
        case
        for case in load_cases("exchange")
        if isinstance(case, ExchangeCase) and case.fault == "sender-cancels"
    )
    found, reason = verdict(case, _Stalling(case.needs, wait))[:2]
    assert found == word, reason
    assert ("nothing came in 0.2 s" in reason) == (word == "fail")


def test_who_reads_is_told_that_a_sender_failed() -> None:
    """One that never connects tells nobody: what reads would wait in vain, so it is ended."""
    told: list[object] = []

    class Failing(_Stalling):
        """Its senders cannot write; what its receivers are told is kept."""

        def write(self, *_: object) -> None:
            raise SeambenchError("nobody there")

        def cancel(self, *reason: object) -> None:
            told.extend(reason)

    case = next(case for case in load_cases("exchange") if "/rows/single" in case.id)
    found, reason = verdict(case, Failing(case.needs, lambda _: None))[:2]

    assert (found, "sender 0 failed" in reason) == ("fail", True), reason
    assert "sender 0 failed: SeambenchError: nobody there" in told


class _Side:
    """A side of a pair: receivers that claim to listen, and senders that find nobody there."""

    version, kind = "0", "peer"

    def __init__(self, name: str, case: Case) -> None:
        self.name = name
        words = [*case.needs, "sender", "receiver", "wires.mine", "transports.sockets"]
        self.capabilities: Mapping[str, bool] = dict.fromkeys(words, True)
        self.address = "unix:/nowhere"

    def listen(self, *_: object) -> _Side:
        """Itself."""
        return self

    def connect(self, *_: object) -> Any:
        """Nobody answers."""
        raise UnavailableError("it does not speak this protocol: b'HTTP'")

    def close(self) -> None:
        """Nothing to close."""


def test_a_peer_that_does_not_speak_the_wire_fails() -> None:
    """A receiver that says it listens and then answers otherwise is wrong, not unavailable."""
    case = next(
        case
        for case in load_cases("exchange")
        if "transports.sockets" in case.needs and not case.refused
    )
    found, reason = verdict(case, Pair(_Side("a", case), _Side("b", case)))[:2]
    assert found == "fail"
    assert "does not speak this protocol" in reason


class _Hungry(PlainSerde):
    """Right, but for 300 MiB that it takes once, for a while."""

    hunger = 300 << 20

    def deserialize(self, request: Any, data: Any) -> list[pa.RecordBatch]:
        """Decode."""
        taken, self.hunger = b"x" * self.hunger, 0
        del taken
        return super().deserialize(request, data)


def test_memory_is_measured_for_each_case() -> None:
    """What a heavier case took before does not hide what damaged input makes a serde take."""
    cases = {case.id: case for case in load_cases("serde")}
    assert len(b"x" * (500 << 20))  # the heavier one
    found, reason = verdict(cases["serde/presto/bigint_1_rows/garble"], _Hungry())[:2]
    assert found == "fail"
    assert "memory grew" in reason
    assert verdict(cases["serde/presto/bigint_1_rows/garble"], PlainSerde()).word == "pass"


@pytest.mark.parametrize(
    ("program", "code", "says"),
    [
        ("exit 0", 1, "states its capabilities in NAME.seambench.json"),
        (None, 2, "there is no program"),
    ],
)
def test_readers_without_a_verdict_are_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], program: str | None, code: int, says: str
) -> None:
    """A program without a file of capabilities, and one that is not there: one line, never 0."""
    reader = tmp_path / "reader"
    if program is not None:
        reader.write_text(f"#!/bin/sh\n{program}\n")
        reader.chmod(0o755)
    with pytest.raises(SystemExit) as ended:
        main(["check", "--impl", f"cmd:{reader}", "--case", "scan/hudi/event-v9/*"])
    assert ended.value.code == code
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert says in last


def test_variants_run_only_where_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another way to run an implementation is no implementation of its own, nor made to be told."""
    monkeypatch.setattr(SimulatedReader, "kind", "variant")
    places = {"one": SimulatedReader, "two": _Raising}
    announced = {
        name: [EntryPoint(f"scan.{name}", f"{__name__}:{place.__name__}", "any")]
        for name, place in places.items()
    }
    monkeypatch.setattr(registry, "_announced", lambda _: announced)
    made = {"two": _Raising(_refusal("scan"), InputError("x"))}
    monkeypatch.setattr(registry, "resolve", lambda _, name: made[name])
    assert registry.names("scan", without=("variant",)) == ["two"]
    assert registry.names("scan") == ["one", "two"]


def test_the_verdict_of_a_closed_pipe_is_lost() -> None:
    """`check | head -1` does not end with 0, whatever the first line said."""
    program = [sys.executable, "-m", "seambench.cli", "check", "--json", "--impl"]
    reader = "seambench_suites.meta.simulated:SimulatedReader"
    nobody, output = os.pipe()
    os.close(nobody)
    try:
        done = subprocess.run(
            [*program, reader, "--case", "scan/hudi/event-v9/*"],
            stdout=output,
            stderr=subprocess.PIPE,
            timeout=120,
            check=False,
        )
    finally:
        os.close(output)
    assert done.returncode == 1


class TellsWhetherItIsOpen(SimulatedReader):
    """Its version is what the system answers about its own process."""

    def __init__(self) -> None:
        self.version = str(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such call")
def test_nobody_looks_into_a_process_that_judges() -> None:
    """A program forges no verdict through its parent: the process is closed but for a while."""
    with Isolated("scan", f"{__name__}:TellsWhetherItIsOpen") as process:
        process.start()
        assert process.version == "0"
    program = (
        "import ctypes\nfrom seambench.conformance.private_process import *\n"
        "told = lambda: ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)\nfound = [told()]\nmake_private()\n"
        "found.append(told())\nwith open_to_itself():\n    found.append(told())\n"
        "print([*found, told()])"
    )
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert ran.stdout == b"[1, 0, 1, 0]\n"


#: Writes right answers into what it finds open of its parent, which may be the way to the judge.
_FORGER = """
import contextlib, json, os
folder = f"/proc/{os.getppid()}/fd"
for name in os.listdir(folder):
    with contextlib.suppress(OSError):
        if os.readlink(f"{folder}/{name}").startswith(("pipe:", "socket:")):
            with open(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_NONBLOCK), "w") as answers:
                for number in range(10):
                    said = {"outcome": "pass", "reason": "", "number": number, "seconds": 0.1}
                    answers.write(json.dumps({**said, "refusal": False, "answer": None}) + "\\n")
"""


class Forges(SimulatedReader):
    """It reads nothing, and has a program give answers in its process's name."""

    def open(self, request: ScanRequest) -> Any:
        """No rows."""
        subprocess.run([sys.executable, "-ISc", _FORGER], check=False, stderr=subprocess.DEVNULL)
        nothing = super().open(request).to_reader().schema.empty_table()
        return SimpleNamespace(schema=nothing.schema, to_reader=nothing.to_reader)


def test_a_program_of_a_reader_forges_no_verdict() -> None:
    """The rows are asked for, whatever a process that the reader starts can write into."""
    case = next(c for c in load_cases("scan", begins=["scan/hudi/event-v9/"]) if not c.refused)
    request = {"do": "check", "case": case.id, "root": None, "golden": None, "begins": [""]}
    with Isolated("scan", f"{__name__}:Forges") as process:
        found = process.ask(request)
    assert (found["outcome"], "expected" in found["reason"]) == ("fail", True), found


def test_what_must_be_refused_by_an_exchange_is_asked_for() -> None:
    """Whoever refuses it passes, and whoever opens whatever is asked does not."""
    right, case = registry.resolve("exchange", "seambench"), _refusal("exchange")
    side = SimpleNamespace(write=lambda _: None, finish=lambda: None)
    takes_all = SimpleNamespace(
        name="takes-all",
        version="0",
        kind=right.kind,
        capabilities=right.capabilities,
        open=lambda _: SimpleNamespace(senders=[side], receivers=[], close=lambda: None),
    )
    assert verdict(case, right)[:2] == ("pass", "")
    word, reason = verdict(case, takes_all)[:2]
    assert (word, "nothing was refused" in reason) == ("fail", True), reason


def test_what_one_exchange_needs_is_not_asked_of_the_next() -> None:
    """Several drivers and writers are needed where there are several, and nowhere else."""
    cases = [case for case in load_cases("exchange") if isinstance(case, ExchangeCase)]
    for word in ("drivers", "writers"):
        needing = [case for case in cases if word in case.needs]
        assert {getattr(case.request, word) > 1 for case in needing} == {True}
        assert all(getattr(case.request, word) == 1 for case in cases if case not in needing)


def _mixed() -> tuple[Any, ExchangeCase]:
    """The library's exchange, and a case of it with receivers in other processes."""
    right = registry.resolve("exchange", "seambench")
    return right, next(
        case
        for case in load_cases("exchange")
        if isinstance(case, ExchangeCase) and case.shape.elsewhere
    )


def test_rows_come_from_receivers_in_other_processes() -> None:
    """Some parts are read here and others there: who is right passes, and all rows are counted."""
    right, case = _mixed()
    assert verdict(case, right)[:2] == ("pass", "")


def test_why_an_exchange_failed_comes_from_other_processes() -> None:
    """A receiver in another process says why it ends: that is no crash of its own."""
    right, case = _mixed()
    with contextlib.closing(open_mixed(right, case.request, case.shape.elsewhere)) as opened:
        for sender in opened.senders:
            sender.cancel("the disk is full")
        with pytest.raises(FailedError, match=r"sender \d is lost before its end"):
            opened.receivers[-1].read(timeout=300)
