"""The command door of the exchange seam: outside senders and receivers, good and bad."""

import io
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seambench.contracts.exchange import ExchangeRequest
from seambench.contracts.outcomes import Mismatch
from seambench.contracts.registry import resolve
from seambench.seams.exchange.check import check_exchange
from seambench.seams.exchange.doors import CommandExchange
from seambench.seams.exchange.frames import Frame, hello, read_frame
from seambench.seams.exchange.plain import FailedError
from seambench_tests import SAMPLES
from seambench_tests.samples.taking_part import small_case, stated_program

_COMMAND = SAMPLES / "exchange_command.py"
_STATED = (
    *("partitions.hash", "partitions.broadcast", "partitions.single", "transports.sockets"),
    *("formats.arrow", "drivers", "orders.sender", "cancel", "types.int", "types.string"),
)
_BATCH = pa.record_batch({"k": pa.array([1, 2], pa.int32())})


@pytest.fixture
def command(tmp_path: Path) -> Any:
    """Makes an exchange of the test's command with sides, which does something wrong."""

    def make(*sides: str, wrong: str = "nothing") -> CommandExchange:
        program = stated_program(tmp_path, "side", _COMMAND, (*_STATED, *sides))
        made = resolve("exchange", f"cmd:{program} {wrong}")
        assert isinstance(made, CommandExchange)
        return made

    return make


@pytest.fixture
def case(tmp_path: Path) -> Any:
    """Makes a small case in which something goes wrong on purpose."""
    return partial(small_case, tmp_path, buffer_bytes=0)


@pytest.mark.parametrize(
    ("sides", "fault"),
    [
        (("sender",), "none"),
        (("receiver",), "none"),
        (("sender", "receiver"), "none"),
        (("sender",), "receiver-cancels"),
        (("receiver",), "sender-cancels"),
        (("sender", "receiver"), "sender-cancels"),
    ],
)
def test_a_good_command_passes(command: Any, case: Any, sides: tuple[str, ...], fault: str) -> None:
    """A command that keeps to the frames passes as sender, as receiver and as both."""
    check_exchange(case(fault), command(*sides))


def test_a_command_deals_rows(command: Any, case: Any) -> None:
    """Rows with equal keys meet where the command hashes them."""
    check_exchange(case(partition="hash"), command("sender", "receiver"))


@pytest.mark.parametrize(
    ("side", "wrong", "fault", "says"),
    [
        ("sender", "lose", "none", "is lost"),
        ("sender", "double", "none", "came 2 times"),
        ("receiver", "double", "none", "came 2 times"),
        ("receiver", "early", "none", "is lost|sender . failed"),
        ("receiver", "deaf", "sender-cancels", "ended as if all"),
    ],
)
def test_a_wrong_command_is_found(
    command: Any, case: Any, side: str, wrong: str, fault: str, says: str
) -> None:
    """Rows that are lost or doubled, an end that is too early, and a loss taken for an end."""
    with pytest.raises(Mismatch, match=says):
        check_exchange(case(fault), command(side, wrong=wrong))


def test_what_commands_do_not_do_is_refused(command: Any) -> None:
    """No side, another transport and another format are refused before anything starts."""
    request = ExchangeRequest(_BATCH.schema, "single", transport="sockets")
    with pytest.raises(UsageError, match="neither `sender` nor `receiver`"):
        command().open(request)
    with pytest.raises(RefusedError, match="over sockets, not over flight"):
        command("sender").open(ExchangeRequest(_BATCH.schema, "single", transport="flight"))
    with pytest.raises(RefusedError, match="carry arrow, not presto"):
        command("sender").open(replace(request, format="presto"))


def test_a_receiver_that_never_listens_is_refused(command: Any, tmp_path: Path) -> None:
    """One that ends before it says where it listens fails the opening, with what it said."""
    exchange = command("receiver")
    (tmp_path / "side").write_text("#!/bin/sh\necho refused: no room >&2; exit 2\n")
    with pytest.raises(FailedError, match="side: no room"):
        exchange.open(ExchangeRequest(_BATCH.schema, "single", transport="sockets"))


@pytest.mark.parametrize(
    "frame",
    [
        hello(3),
        Frame("E", 7),
        Frame("A", 1 << 40),
        Frame("X", body=b"why"),
        Frame("L", body=b"unix:a"),
    ],
)
def test_frames_come_back(frame: Frame) -> None:
    """Every kind of frame is read as it was written, and the end of the stream is no frame."""
    stream = io.BytesIO(frame.encode())
    assert read_frame(stream.read) == frame
    assert read_frame(stream.read) is None


def test_frames_have_these_bytes() -> None:
    """The layout that docs/doors.md gives."""
    assert Frame("A", 258).encode() == bytes.fromhex("09000000 41 0201000000000000")
    assert Frame("D", 1, 2, b"x").encode() == bytes.fromhex(
        "0e000000 44 0100000000000000 02000000 78"
    )
    assert Frame.data(0, 0, _BATCH).batch() == _BATCH


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("00000000", "a frame of 0 bytes"),
        ("ffffffff41", "a frame of 4,294,967,295 bytes"),
        ("0200", "a frame of 0 bytes"),
        ("0900000041", "breaks off after 1"),
        ("020000004100", "no frame 'A' with 1 byte"),
        ("0a00000041000000000000000000", "no frame 'A' with 9 bytes"),
        ("010000005a", "no frame 'Z'"),
    ],
)
def test_what_is_no_frame_is_refused(content: str, says: str) -> None:
    """Sizes, kinds and lengths are checked before they are believed."""
    with pytest.raises(InputError, match=says):
        read_frame(io.BytesIO(bytes.fromhex(content)).read)


def test_rows_that_are_none_are_refused() -> None:
    """The body of a frame of rows is an Arrow stream of one batch."""
    with pytest.raises(InputError, match="frame 5 is no Arrow IPC stream"):
        Frame("D", 5, 0, b"nonsense").batch()
