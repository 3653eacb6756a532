"""What becomes of an error where an answer, or a certain error, is expected."""

from collections.abc import Sequence

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, SeambenchError, UnavailableError
from seambench.conformance.judge import as_mismatch, must_refuse
from seambench.contracts.common import Kind
from seambench.contracts.outcomes import Mismatch
from seambench.contracts.scan import ScanRequest
from seambench.seams.scan.check import read_rows
from seambench_tests.samples.fakes import MemoryScanner


def _answer(error: SeambenchError) -> None:
    with as_mismatch():
        raise error


def _refuse(
    error: SeambenchError | None, says: Sequence[str] = (), kind: Kind = "reference"
) -> None:
    with must_refuse(["InputError"], says, kind):
        if error is not None:
            raise error


def test_refusal_of_what_is_offered_is_a_mismatch() -> None:
    """Whoever claims a capability and refuses a case of it is wrong, and is told why."""
    with pytest.raises(Mismatch, match="refused what it offers: RefusedError: no maps"):
        _answer(RefusedError("no maps"))


def test_missing_peer_is_neither_wrong_nor_right() -> None:
    """A peer that is not installed is unavailable, wherever that shows."""
    with pytest.raises(UnavailableError):
        _answer(UnavailableError("not installed"))
    with pytest.raises(UnavailableError):
        _refuse(UnavailableError("not installed"), kind="peer")


def test_reference_refuses_by_the_exception_named_and_a_peer_by_any() -> None:
    """A peer says that it refuses, not in which of our words."""
    _refuse(RefusedError("never"), ["offset"], "peer")
    with pytest.raises(Mismatch, match="RefusedError instead of InputError"):
        _refuse(RefusedError("never"))


def test_refusal_must_come_and_say_the_words() -> None:
    """The exception named without the words asked for is a mismatch, and so is none."""
    _refuse(InputError("bad size at byte 7"), ["byte 7"])
    with pytest.raises(Mismatch, match="does not name 'byte 7'"):
        _refuse(InputError("bad size"), ["byte 7"])
    with pytest.raises(Mismatch, match="InputError expected, but nothing was refused"):
        _refuse(None)
    with pytest.raises(Mismatch, match="a refusal expected, but nothing was refused"):
        _refuse(None, kind="peer")


def test_a_refusal_within_a_stream_is_one_under_a_filter_too() -> None:
    """DuckDB makes an error of its own of what a stream raises; the reader's is what counts."""
    scanner = MemoryScanner(pa.table({"a": [1, 2]}))
    scanner.fails_with = RefusedError("no such block")
    with pytest.raises(RefusedError, match="no such block"):
        read_rows(scanner, ScanRequest(table="memory", where="a = 1"))
