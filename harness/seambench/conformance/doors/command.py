"""The command door: an implementation is any program. Seams say what it reads and writes.

A program ends with exit code 0 when its output is complete, or with 2 and a last line
`refused: SENTENCE` on standard error when it refuses. Any other end is a crash, exit code 2 without
that line too: so ends a Go program that panics.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import IO

from seambase.errors import RefusedError, SeambenchError, UsageError
from seambench.conformance.doors.facts import WithFacts, read_facts
from seambench.contracts.outcomes import CrashError, TimedOutError

_REFUSED = 2
_MARKER = "refused: "
_MOST_SAID = 2000
_LOOK_SECONDS = 0.02
"""How often a program that is done with its output is asked whether it has ended."""


def _find_command(command: str) -> list[str]:
    """Program (with its path) and arguments of a command as one would type it."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"cmd:{command}: {error}") from error
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise UsageError(f"cmd:{command}: there is no program {words[0] if words else ''!r}")
    return [str(Path(program).absolute()), *words[1:]]


class Command(WithFacts):
    """A program that implements a seam, and what its file of facts says of it.

    Attributes:
        arguments: the program with its path, and its arguments.
        timeout: seconds that one run of the program may take.
    """

    def __init__(self, command: str, timeout: float = 600.0) -> None:
        """Find a command: program and arguments, as one would type them (no shell reads them)."""
        self.arguments = _find_command(command)
        self.timeout = timeout
        super().__init__(read_facts(Path(self.arguments[0]), *self.arguments[1:]))


class Running:
    """One running command, in a process group of its own."""

    def __init__(self, command: Command) -> None:
        self._name = command.name
        self._timeout = command.timeout
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            command.arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.input: IO[bytes] = self._process.stdin
        self.output: IO[bytes] = self._process.stdout
        self._timed_out = False
        self._timer = threading.Timer(command.timeout, self._expire)
        self._timer.daemon = True
        self._timer.start()

    def send(self, request: bytes) -> None:
        """Write to standard input; a command that refuses at once need not read it."""
        with contextlib.suppress(BrokenPipeError):
            self.input.write(request)
            self.input.flush()

    def converse(self, content: bytes) -> bytes:
        """Write all of its input, read all of its output, and wait for its end."""
        written, _ = self._process.communicate(content)
        self.end()
        return written

    def says_more(self) -> bool:
        """Whether more output comes before the program ends.

        A child of the program may hold its output open and silent, so its end counts, too.
        """
        os.set_blocking(self.output.fileno(), False)
        while True:
            has_ended = self._process.poll() is not None
            piece: bytes | None = self.output.read(1)
            if piece or piece == b"" or has_ended:
                return bool(piece)
            select.select([self.output], [], [], _LOOK_SECONDS)

    def end(self, refusal: type[SeambenchError] = RefusedError) -> None:
        """Wait for the end, and raise what it stands for unless it is success."""
        with contextlib.suppress(BrokenPipeError):
            self.input.close()
        code = self._process.wait()
        self._timer.cancel()
        lines = self._said()
        said = f"; it said: {' '.join(' '.join(lines).split())[-_MOST_SAID:]}" if lines else ""
        if self._timed_out:
            raise TimedOutError(
                f"{self._name}: not finished after {self._timeout:g} s, killed{said}"
            )
        if code == 0:
            return
        sentence = lines[-1].removeprefix(_MARKER).strip() if lines else ""
        if code == _REFUSED and sentence and lines[-1].startswith(_MARKER):
            raise refusal(f"{self._name}: {sentence[-_MOST_SAID:]}")
        if code == _REFUSED:
            how = f"ended with exit code 2 without a last line `{_MARKER}SENTENCE`"
        else:
            how = f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        raise CrashError(f"{self._name}: {how}{said}")

    def kill(self) -> None:
        """End the command, and what it started, if it still runs; its output may still be read."""
        self._timer.cancel()
        self._kill_group()

    def close(self) -> None:
        """End the command if it still runs, and give back what it holds. Repeatable."""
        self.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self.input.close()
        self.output.close()
        self._errors.close()

    def _said(self) -> list[str]:
        """Lines of its standard error that are not empty."""
        self._errors.seek(0)
        text = self._errors.read().decode("utf-8", "replace")
        return [line for line in text.splitlines() if line.strip()]

    def _expire(self) -> None:
        self._timed_out = True
        self._kill_group()

    def _kill_group(self) -> None:
        """A child of the command may hold its output open, so it ends too.

        Once the command has been waited for, its number may be another's.
        """
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
