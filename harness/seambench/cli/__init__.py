"""The command line: `seambench COMMAND`. Tables go to standard output, all else to standard error.

Exit codes: 0 right, 1 a check failed or an unexpected error, 2 wrong usage or a refused input,
130 interrupted. SEAMBENCH_DEBUG=1 shows tracebacks.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import typer

from seambase.errors import SeambenchError
from seambench.cli import (
    bench,
    check,
    data,
    doctor,
    exchange,
    inspect,
    listing,
    matrix,
    page,
    report,
    run,
    scan,
    throughput,
)

__all__ = ["app", "main"]

_INTERRUPTED = 130
_INTERRUPTED_TEXT = "interrupted; nothing half-written is left"

app = typer.Typer(
    name="seambench",
    help="Are scanners, columns and serdes of query engines right, and how fast are they?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("data")(data.data)
app.command("check")(check.check)
app.command("matrix")(matrix.matrix)
app.command("bench")(bench.bench)
app.command("exchange")(exchange.exchange)
app.command("throughput")(throughput.throughput)
app.command("report")(report.report)
app.command("list")(listing.list_all)
app.command("scan")(scan.scan)
app.command("doctor")(doctor.doctor)
app.add_typer(page.app, name="page")
app.command("inspect")(inspect.inspect)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    code = _run(arguments)
    _flush()
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = app(
            args=None if arguments is None else list(arguments),
            prog_name="seambench",
            standalone_mode=False,
        )
    except typer.TyperException as error:
        error.show()  # type: ignore[attr-defined]  # every one that reaches here has it
        return int(error.exit_code)
    except SeambenchError as error:
        return _tell(error, str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort) as error:
        return _tell(error, _INTERRUPTED_TEXT, _INTERRUPTED)
    except SystemExit as error:
        # So typer ends when whoever read our output has seen enough; that is no failure of ours.
        if isinstance(error.__context__, BrokenPipeError):
            _silence_stdout()
            return 0
        raise
    except Exception as error:
        if str(error) == "Query interrupted":
            return _tell(error, _INTERRUPTED_TEXT, _INTERRUPTED)
        kind, text = type(error).__name__, str(error).strip().splitlines()
        reason = f"{kind}: {text[0]}" if text else kind
        return _tell(error, f"unexpected: {reason} (SEAMBENCH_DEBUG=1 shows where)", 1)
    if code == _INTERRUPTED:
        sys.stderr.write(f"seambench: {_INTERRUPTED_TEXT}\n")
    return code if isinstance(code, int) else 0


def _tell(error: BaseException, text: str, code: int) -> int:
    if os.environ.get("SEAMBENCH_DEBUG", "") not in ("", "0"):
        traceback.print_exception(error)
    sys.stderr.write(f"seambench: {text}\n")
    return code


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()


def _silence_stdout() -> None:
    """What is still buffered has nowhere to go; the interpreter's last flush must not complain."""
    assert sys.__stdout__ is not None
    sys.stdout = sys.__stdout__
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
