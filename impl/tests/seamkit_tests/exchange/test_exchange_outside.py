"""Somebody else's program over the published wire: as senders to our receivers, and the reverse."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from seambase.errors import UsageError
from seambench.cli.app import app
from seambench.conformance.judge import Verdict, verdict
from seambench.conformance.load import find_case, load_cases
from seambench.contracts.outcomes import Mismatch
from seambench.contracts.registry import resolve
from seambench.seams.exchange.check import check_exchange
from seambench.seams.exchange.pairs import names_of_pairs
from seambench_tests import SAMPLES
from seambench_tests.samples.taking_part import small_case, stated_program

_PROGRAM = SAMPLES / "exchange_command.py"
_STATED = (
    *("partitions.hash", "partitions.broadcast", "partitions.single", "partitions.random"),
    *(
        "transports.sockets",
        "formats.arrow",
        "drivers",
        "orders.sender",
        "orders.drivers",
        "cancel",
    ),
    *(f"encodings.{word}" for word in ("dictionary", "run", "view", "large")),
    *("types.int", "types.bigint", "types.string", "types.boolean", "types.tinyint"),
    *("types.smallint", "types.float", "types.double", "types.decimal", "types.date"),
    *("types.timestamp_ntz", "types.binary", "types.array", "types.map", "types.struct"),
    *("functions.fnv", "wires.seamxch"),
)


@pytest.fixture
def outside(tmp_path: Path) -> Any:
    """Makes the program's name in the registry, with sides, doing something wrong."""

    def make(*sides: str, wrong: str = "nothing", wire: str = "wires.seamxch") -> str:
        program = stated_program(tmp_path, "outside", _PROGRAM, (*_STATED[:-1], wire, *sides))
        return f"cmd:{program} {wrong}"

    return make


@pytest.fixture
def case(tmp_path: Path) -> Any:
    """Makes a small case, in which something may go wrong on purpose."""
    usual = {"order": "none", "receivers": [1], "drivers": [1], "buffer_bytes": 0}
    return lambda fault="none", **asked: small_case(tmp_path, fault, **{**usual, **asked})


_WAYS = [("sender", "{} -> seambench"), ("receiver", "seambench -> {}")]


@pytest.mark.parametrize(("side", "pair"), _WAYS, ids=["sender", "receiver"])
@pytest.mark.parametrize(
    "settings",
    [
        {"order": "sender"},
        {"partition": "hash", "receivers": [2], "drivers": [2]},
        {"partition": "broadcast", "receivers": [2]},
        {"fault": "sender-cancels"},
        {"fault": "receiver-cancels"},
    ],
    ids=lambda settings: "-".join(str(value) for value in settings.values()),
)
def test_a_program_of_somebody_else_takes_part(
    outside: Any, case: Any, side: str, pair: str, settings: dict[str, Any]
) -> None:
    """Against the real sink or source: every row once, in order, with withheld answers, or errors.

    The program is written from the description of the wire and shares no code with it.
    """
    check_exchange(case(**settings), resolve("exchange", pair.format(outside(side))))


@pytest.mark.parametrize(
    ("side", "pair", "wrong", "says"),
    [
        (*_WAYS[0], "quit", "lost before its end"),
        (*_WAYS[0], "skip", "never came"),
        (*_WAYS[0], "lose", "is lost"),
        (*_WAYS[0], "double", "came 2 times"),
        (*_WAYS[1], "lose", "is lost"),
        (*_WAYS[1], "double", "came 2 times"),
    ],
)
def test_what_a_program_does_wrong_is_found(
    outside: Any, case: Any, side: str, pair: str, wrong: str, says: str
) -> None:
    """Lost and doubled rows, gaps in the sequence, and an end that never comes."""
    exchange = resolve("exchange", pair.format(outside(side, wrong=wrong)))
    with pytest.raises(Mismatch, match=says):
        check_exchange(case(), exchange)


def test_a_loss_taken_for_an_end_is_found(outside: Any, case: Any) -> None:
    """A receiver that ends well though a sender's connection broke off."""
    exchange = resolve("exchange", _WAYS[1][1].format(outside("receiver", wrong="deaf")))
    with pytest.raises(Mismatch, match="ended as if all had come"):
        check_exchange(case(fault="sender-cancels"), exchange)


def test_both_sides_may_be_ours() -> None:
    """An implementation is paired with itself over its wire; what needs one process is not."""
    pair = resolve("exchange", "seambench -> seambench")
    assert pair.capabilities["orders.merge"]
    assert "transports.pass-through" not in pair.capabilities
    assert names_of_pairs("seambench", "seambench") == ["seambench -> seambench"]


def test_pairs_that_cannot_be_are_refused(outside: Any) -> None:
    """No role, the other role, or no wire in common."""
    with pytest.raises(UsageError, match="neither `sender` nor `receiver`"):
        names_of_pairs(outside(), "seambench")
    with pytest.raises(UsageError, match="paired as a receiver"):
        resolve("exchange", f"seambench -> {outside('sender')}")
    with pytest.raises(UsageError, match=r"no wire in common: .* wires\.frames, wires\.seamxch"):
        resolve("exchange", f"{outside('sender', wire='wires.frames')} -> seambench")


def test_a_program_is_checked_as_far_as_it_states_its_sides(outside: Any) -> None:
    """As senders, then as receivers, each way an implementation of its own."""
    both = outside("sender", "receiver")
    assert names_of_pairs(both, "seambench") == [f"{both} -> seambench", f"seambench -> {both}"]
    one = outside("receiver")
    assert names_of_pairs(one, "seambench") == [f"seambench -> {one}"]


def test_the_command_line_takes_the_other_side(outside: Any) -> None:
    """`--against` names who takes the other side of each exchange."""
    name = outside("sender")
    asked = ["check", "--seam", "exchange", "--impl", name, "--against", "seambench", "--json"]
    done = CliRunner().invoke(app, [*asked, "--case", "exchange/rows/single/1-senders/sockets"])
    [outcome] = [json.loads(line) for line in done.stdout.splitlines()]
    assert (outcome["implementation"], outcome["outcome"]) == (f"{name} -> seambench", "pass")
    assert done.exit_code == 0


def _verdicts(name: str, *cases: str, against: str | None = "seambench") -> list[Verdict]:
    """What comes of each case, in each way in which the program takes part."""
    names = names_of_pairs(name, against) if against else [name]
    return [verdict(find_case(case), resolve("exchange", one)) for one in names for case in cases]


_SINGLE = "exchange/rows/single/1-senders/sockets"
_DEALT = "exchange/partition/fnv/plain/sockets"


def test_where_a_program_deals_rows_is_judged(outside: Any) -> None:
    """Hash, channel and driver of each row; a hash over bytes in the wrong order fails."""
    assert [came.word for came in _verdicts(outside("sender"), _DEALT)] == ["pass"]
    [came] = _verdicts(outside("sender", wrong="bytes"), _DEALT)
    assert came.word == "fail"
    assert "belongs to part" in came.reason


#: Each encoding once; the conformance suite has both kinds of rows in all of them.
_ENCODED = [
    f"exchange/rows/{rows}/sockets" for rows in ("flat/dictionary", "whole/run", "flat/view")
]


def test_rows_in_any_encoding_travel_in_the_agreed_types(outside: Any) -> None:
    """Dealt rows leave as plain values, whole batches as they came; both sides are held to it."""
    both = _verdicts(outside("sender", "receiver"), *_ENCODED)
    assert [came.word for came in both] == ["pass"] * 6
    [came] = _verdicts(outside("sender", wrong="encoded"), _ENCODED[0])
    assert came.word == "fail"
    assert "a batch of (k dictionary" in came.reason


@pytest.mark.slow
def test_every_case_that_the_program_states_passes_in_both_directions(outside: Any) -> None:
    """Nothing of the suite is beyond a program that was written from the documents."""
    cases = [case.id for case in load_cases("exchange")]
    words = Counter(came.word for came in _verdicts(outside("sender", "receiver"), *cases))
    assert {*words} == {"pass", "not-offered"}
    assert words["pass"] > 150


_STRANGER = """
import json, os, socket, struct, sys
asked = json.loads(sys.stdin.buffer.readline())
address = asked["addresses"][0]
if asked["role"] == "sender":
    sys.stderr.write("refused: the disk is full\\n")
    sys.exit(2)
listener = socket.socket(socket.AF_UNIX)
listener.bind(address.removeprefix("unix:"))
listener.listen()
sys.stdout.buffer.write(struct.pack("<I", 1 + len(address)) + b"L" + address.encode())
sys.stdout.buffer.flush()
peer, _ = listener.accept()
peer.sendall({})
peer.shutdown(socket.SHUT_WR)
while peer.recv(1000):
    pass
"""


@pytest.fixture
def stranger(tmp_path: Path) -> Any:
    """Makes a program that answers every greeting in its own way, or sends nothing at all."""

    def make(side: str, greeting: bytes = b"", wire: str = "seamxch") -> str:
        program = tmp_path / "stranger"
        program.write_text(f"#!{sys.executable}\n" + _STRANGER.format(repr(greeting)))
        program.chmod(0o755)
        words = (*_STATED[:-1], "formats.presto", f"wires.{wire}", side)
        facts = {"name": "stranger", "version": "1", "capabilities": dict.fromkeys(words, True)}
        (tmp_path / "stranger.seambench.json").write_text(json.dumps(facts))
        return f"cmd:{program}"

    return make


@pytest.mark.parametrize(
    "greeting",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SEAMXCH\x02", b"SEAM", b""],
    ids=["http", "version", "cut", "none"],
)
def test_who_does_not_speak_the_wire_fails(stranger: Any, greeting: bytes) -> None:
    """It said that it does and is there: a wrong greeting is no missing peer, and the run fails."""
    [came] = _verdicts(stranger("receiver", greeting), _SINGLE)
    assert came.word == "fail"


@pytest.mark.parametrize("against", ["seambench", None], ids=["wire", "frames"])
def test_a_sender_that_ends_before_it_connects_is_heard(stranger: Any, against: str | None) -> None:
    """Its sentence is the reason, and nobody waits for rows that will not come."""
    [came] = _verdicts(stranger("sender"), _SINGLE, against=against)
    assert came.word == "fail"
    assert "the disk is full" in came.reason
    assert "nothing came" not in came.reason


def test_a_format_that_frames_do_not_carry_is_not_asked_over_them(stranger: Any) -> None:
    """A program may know it for a wire; over frames that is no claim, so no case of it is put."""
    name = stranger("sender")
    assert "formats.presto" not in resolve("exchange", name).capabilities
    assert "formats.presto" in resolve("exchange", f"{name} -> seambench").capabilities
    [came] = _verdicts(name, "exchange/rows/formats/sockets/presto", against=None)
    assert came.word == "not-offered"
