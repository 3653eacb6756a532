"""Progress of long reads: told to a terminal that wants it, and to nobody else."""

import io
import sys
import threading
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from seamkit.scan import shown
from seamkit.scan.scan import Scan
from seamkit_tests.samples.batch_scan import BatchScan

_BATCH = pa.record_batch({"a": [1, 2, 3]})


class Terminal(io.StringIO):
    """A standard error that notes when a line says so many rows."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal
        self.told = threading.Event()

    def isatty(self) -> bool:
        """As it was made."""
        return self.is_terminal

    def write(self, text: str) -> int:
        """Keep the text."""
        if "3 rows so far" in text:
            self.told.set()
        return super().write(text)


def _read(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[Scan], object], is_terminal: bool
) -> str:
    """What is told of a read whose second batch waits for the first to be told, if it will be."""
    stderr = Terminal(is_terminal)
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(shown, "_EVERY_S", 0.001)

    def batches() -> Iterator[pa.RecordBatch]:
        yield _BATCH
        stderr.told.wait(30 if is_terminal else 0.1)
        yield _BATCH

    read(BatchScan(_BATCH.schema, batches))
    return stderr.getvalue()


@pytest.mark.parametrize("read", [Scan.to_table, Scan.count_rows])
def test_a_terminal_is_told_and_left_clean(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[Scan], object]
) -> None:
    """Rows so far on one line, which is gone when the read ends."""
    monkeypatch.setattr(shown, "_AFTER_S", 0.0)
    monkeypatch.delenv(shown.SWITCH, raising=False)
    told = _read(monkeypatch, read, is_terminal=True)
    assert "reading, 3 rows so far" in told
    assert told.endswith("\r\x1b[K")
    assert "\n" not in told


def test_nobody_else_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file or a pipe has nothing of it."""
    monkeypatch.setattr(shown, "_AFTER_S", 0.0)
    monkeypatch.setenv(shown.SWITCH, "1")
    assert _read(monkeypatch, Scan.to_table, is_terminal=False) == ""


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the environment; and a short read is told in no case."""
    stderr = Terminal(is_terminal=True)
    monkeypatch.setattr(sys, "stderr", stderr)
    for switch, after in (("0", 0.0), ("1", 600.0)):
        monkeypatch.setattr(shown, "_AFTER_S", after)
        monkeypatch.setenv(shown.SWITCH, switch)
        with shown.Progress() as own:
            list(own.counted([_BATCH]))
            assert not stderr.told.wait(0.3)
        assert stderr.getvalue() == ""


def test_a_stream_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever loops over batches writes to the terminal themselves."""
    monkeypatch.setattr(shown, "_AFTER_S", 0.0)
    monkeypatch.setenv(shown.SWITCH, "1")
    stderr = Terminal(is_terminal=True)
    monkeypatch.setattr(sys, "stderr", stderr)
    for _ in BatchScan(_BATCH.schema, lambda: [_BATCH, _BATCH]):
        assert not stderr.told.wait(0.2)
    assert stderr.getvalue() == ""
