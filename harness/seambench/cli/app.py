"""All commands, and what the process ends with; see `seambench.cli` for the exit codes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from seambase.errors import SeambenchError, UsageError
from seambase.scan import TableWarning
from seambench.cli import (
    audit,
    bench,
    data,
    doctor,
    exchange,
    inspect,
    listing,
    page,
    report,
    scan,
    throughput,
)
from seambench.cli import run as run_
from seambench.cli.checks import check, demo, explain, new, peers
from seambench.cli.shared.common import plain_text
from seambench.cli.shared.config import read_config

__all__ = ["app", "run"]

_FAILED, _INTERRUPTED = 1, 130
_INTERRUPTED_TEXT = "interrupted; nothing half-written is left"
_EPILOG = (
    "Ends with 0: right; 1: a check failed, or an unexpected error; 2: wrong usage, or an input "
    "that is refused; 130: interrupted."
)

app = typer.Typer(
    name="seambench",
    help="Are scanners, columns and serdes of query engines right, and how fast are they?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("run")(run_.run)
app.command("data")(data.data)
app.command("check")(check.check)
app.command("explain")(explain.explain)
app.command("new")(new.new)
app.command("bench")(bench.bench)
app.command("exchange")(exchange.exchange)
app.command("throughput")(throughput.throughput)
app.command("report")(report.report)
app.command("list")(listing.list_all)
app.command("scan")(scan.scan)
app.command("doctor")(doctor.doctor)
app.add_typer(page.app, name="page")
app.add_typer(peers.app, name="peers")
app.command("inspect")(inspect.inspect)
app.command("audit")(audit.audit)


@app.callback(invoke_without_command=True, epilog=_EPILOG)
def options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="File with options, a section for each command (default: seambench.toml in the "
            "current folder, if there is one); what is typed wins.",
        ),
    ] = None,
) -> None:
    """Are scanners, columns, serdes and exchanges of query engines right, and how fast are they?"""
    if version:
        typer.echo(f"seambench {metadata.version('seambench')}")
        raise typer.Exit
    read_config(context, config)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code, once all its output is written."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    _write_any_name()
    with _termination_as_interrupt():
        code = _run(given)
        return _flushed(code)


def _run(arguments: list[str]) -> int:
    try:
        _require_text(arguments)
        with warnings.catch_warnings():
            # Commands list what a scan's report warns of.
            warnings.simplefilter("ignore", TableWarning)
            code = app(args=arguments, prog_name="seambench", standalone_mode=False)
    except typer.TyperException as error:
        error.show()  # type: ignore[attr-defined]  # every one that reaches here has it
        return int(error.exit_code)
    except SystemExit as error:
        # So typer ends when whoever read our output has seen enough.
        if isinstance(error.__context__, BrokenPipeError):
            return _untaken()
        raise
    except (Exception, KeyboardInterrupt) as error:
        return _failed(error)
    if code == _INTERRUPTED:
        sys.stderr.write(f"seambench: {_INTERRUPTED_TEXT}\n")
    return code if isinstance(code, int) else 0


def _failed(error: BaseException) -> int:
    """Tell what a command ended with, and the exit code for it."""
    # The second is DuckDB's word for a Ctrl-C that comes while it runs.
    if isinstance(error, KeyboardInterrupt | typer.Abort) or str(error) == "Query interrupted":
        return _tell(error, _INTERRUPTED_TEXT, _INTERRUPTED)
    if isinstance(error, SeambenchError):
        return _tell(error, str(error), error.exit_code)
    if isinstance(error, BrokenPipeError):
        return _untaken()
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return _tell(error, f"{where}{error.strerror}", _FAILED)
    kind, text = type(error).__name__, str(error).strip().splitlines()
    reason = f"{kind}: {text[0]}" if text else kind
    return _tell(error, f"unexpected: {reason} (SEAMBENCH_DEBUG=1 shows where)", _FAILED)


def _tell(error: BaseException, text: str, code: int) -> int:
    if os.environ.get("SEAMBENCH_DEBUG", "") not in ("", "0"):
        traceback.print_exception(error)
    sys.stderr.write(f"seambench: {plain_text(text)}\n")
    return code


def _require_text(arguments: Sequence[str]) -> None:
    """Names that are no UTF-8 cannot be handed to Arrow, nor written into records."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{argument!r} is not UTF-8: rename it, or link to it") from error


def _write_any_name() -> None:
    """Names of files may hold bytes that are no UTF-8: they are written as escapes."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """SIGTERM ends a command as Ctrl-C does, so that nothing half-written is left either."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread, where no handler can be set
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _flushed(code: int) -> int:
    """The exit code, unless what was printed could not be written."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return max(code, _untaken())
    except OSError as error:
        _silence_stdout()
        return code or _tell(error, f"standard output: {error.strerror}", _FAILED)
    return code


def _untaken() -> int:
    """Whoever read our output has left: told by the exit code alone, as a lost verdict is none."""
    _silence_stdout()
    return _FAILED


def _silence_stdout() -> None:
    """What is still buffered has nowhere to go; the interpreter's last flush must not complain."""
    assert sys.__stdout__ is not None
    sys.stdout = sys.__stdout__
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
