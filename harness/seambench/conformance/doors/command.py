"""The command door: a reader is any program that takes JSON and gives an Arrow stream.

It gets one JSON object on standard input (`seambench.conformance.doors.request`) and writes an
Arrow IPC stream to standard output. Exit code 0 means the stream is complete; 2 is a refusal, with
its reason as a sentence on standard error; anything else, or a signal, is a crash.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.dataset as ds

from seambase.errors import InputError, RefusedError, SeambenchError, UsageError
from seambase.foreign_arrow import sound
from seambase.scan import ScanReport
from seambench.conformance.doors.request import read_facts, require_columns, scan_request
from seambench.contracts.common import Kind
from seambench.contracts.scan import Scan, ScanRequest
from seambench.engines.stream_dataset import StreamDataset

__all__ = ["Command", "CommandCrashError", "CommandScanner", "CommandTimeoutError"]

_REFUSED = 2


class CommandCrashError(SeambenchError):
    """The command ended by a signal or with an exit code other than 0 and 2."""


class CommandTimeoutError(SeambenchError):
    """The command did not finish in time and was killed."""


def _find_command(command: str) -> list[str]:
    """Program (with its path) and arguments of a command as one would type it.

    Raises:
        UsageError: there is no such program.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"cmd:{command}: {error}") from error
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise UsageError(f"cmd:{command}: there is no program {words[0] if words else ''!r}")
    return [str(Path(program).absolute()), *words[1:]]


class Command:
    """A program that implements a seam, and what its file of facts says of it.

    Attributes:
        arguments: the program with its path, and its arguments.
        timeout: seconds that one run of the program may take.
        facts: what it says of itself.
    """

    kind: Kind = "peer"

    def __init__(self, command: str, timeout: float = 600.0) -> None:
        """Find the command.

        Args:
            command: program and arguments, as one would type them (no shell reads them).
            timeout: see the class.

        Raises:
            UsageError: there is no such program.
        """
        self.arguments = _find_command(command)
        self.timeout = timeout
        self.facts = read_facts(Path(self.arguments[0]))
        self.name = self.facts.name
        self.version = self.facts.version
        self.capabilities: Mapping[str, bool] = self.facts.capabilities


class CommandScanner(Command):
    """A scanner that is a command; started anew for each read."""

    def open(self, request: ScanRequest) -> Scan:
        """Note the request; the command starts when schema or rows are asked for."""
        return _CommandScan(self, request)

    def start(self, request: ScanRequest) -> _Run:
        """Start the command for one read."""
        return _Run(self.arguments, scan_request(request, self.facts), self.name, self.timeout)


class _CommandScan:
    """One scan; the run that told the schema also gives the rows of the first read."""

    def __init__(self, scanner: CommandScanner, request: ScanRequest) -> None:
        self._scanner = scanner
        self._request = request
        self._started: _Run | None = None
        self._schema: pa.Schema | None = None
        self._report = ScanReport()

    @property
    def schema(self) -> pa.Schema:
        if self._schema is None:
            self._started = self._run()
        return self._schema

    def to_reader(self) -> pa.RecordBatchReader:
        run, self._started = self._started or self._run(), None
        self._report = ScanReport(paths={"command": 1})

        def counted() -> Iterator[pa.RecordBatch]:
            with contextlib.closing(run):
                for batch in run.batches():
                    self._report.rows += batch.num_rows
                    yield batch

        return pa.RecordBatchReader.from_batches(self._schema, counted())

    def dataset(self) -> ds.Dataset:
        return StreamDataset(self._scanner, self._request, self.schema)

    def report(self) -> ScanReport:
        return self._report

    def _run(self) -> _Run:
        run = self._scanner.start(self._request)
        try:
            self._schema = run.schema()
            require_columns(self._schema, self._request, self._scanner.name)
        except BaseException:
            run.close()
            raise
        return run

    def __del__(self) -> None:
        if self._started is not None:
            self._started.close()


class _Run:
    """One running command."""

    def __init__(self, arguments: list[str], request: str, name: str, timeout: float) -> None:
        self._name = name
        self._timeout = timeout
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )
        self._timed_out = False
        self._timer = threading.Timer(timeout, self._expire)
        self._timer.daemon = True
        self._timer.start()
        self._stream: pa.RecordBatchReader | None = None
        assert self._process.stdin is not None
        # A command that refuses at once need not read its request.
        with contextlib.suppress(BrokenPipeError), self._process.stdin as pipe:
            pipe.write(request.encode())

    def schema(self) -> pa.Schema:
        """Schema of the stream, as soon as the command has written it."""
        try:
            self._stream = pa.ipc.open_stream(self._process.stdout)
        except (pa.ArrowException, OSError) as error:
            self._finish()
            raise InputError(
                f"{self._name}: its standard output is no Arrow IPC stream: {error}"
            ) from error
        return self._stream.schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All batches; an error unless the command says at its end that they are complete."""
        assert self._stream is not None
        try:
            for batch in self._stream:
                yield sound(batch, self._name)
        except (pa.ArrowException, OSError) as error:
            self._finish()
            raise InputError(f"{self._name}: its Arrow stream is broken: {error}") from error
        self._finish()

    def close(self) -> None:
        """End the command if it still runs, and release what it holds."""
        self._timer.cancel()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    def _finish(self) -> None:
        """Wait for the end and raise what the exit code stands for."""
        if self._process.stdout is not None:
            self._process.stdout.close()
        code = self._process.wait()
        self._timer.cancel()
        if self._timed_out:
            raise CommandTimeoutError(
                f"{self._name}: not finished after {self._timeout:g} s, killed{self._said()}"
            )
        if code == _REFUSED:
            raise RefusedError(f"{self._name}: {self._said('') or 'refused without a reason'}")
        if code < 0:
            raise CommandCrashError(f"{self._name}: killed by signal {-code}{self._said()}")
        if code != 0:
            raise CommandCrashError(f"{self._name}: ended with exit code {code}{self._said()}")

    def _said(self, before: str = "; it said: ") -> str:
        """End of what the command wrote to standard error, on one line."""
        self._errors.seek(0)
        text = " ".join(self._errors.read().decode("utf-8", "replace").split())
        return before + text[-2000:] if text else ""

    def _expire(self) -> None:
        self._timed_out = True
        self._process.kill()
