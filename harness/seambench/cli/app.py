"""All commands, and what the process ends with; see `seambench.cli` for the exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from seambase.command.ending import INTERRUPTED, INTERRUPTED_TEXT, ended, untaken
from seambench.cli import (
    audit,
    bars,
    bench,
    data,
    doctor,
    exchange,
    kernels,
    listing,
    report,
    throughput,
)
from seambench.cli import run as run_
from seambench.cli.checks import check, demo, explain, lint, new, peers
from seambench.cli.shared.config import read_config

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
app.command("lint")(lint.lint)
app.command("new")(new.new)
app.command("bench")(bench.bench)
app.command("bars")(bars.bars)
app.command("exchange")(exchange.exchange)
app.command("throughput")(throughput.throughput)
app.command("kernels")(kernels.kernels)
app.command("report")(report.report)
app.command("list")(listing.list_all)
app.command("doctor")(doctor.doctor)
app.add_typer(peers.app, name="peers")
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
    return ended("seambench", given, lambda: _run(given))


def _run(arguments: list[str]) -> int:
    try:
        code = app(args=arguments, prog_name="seambench", standalone_mode=False)
    except typer.TyperException as error:
        error.show()  # type: ignore[attr-defined]  # every one that reaches here has it
        return int(error.exit_code)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except SystemExit as error:
        # So typer ends when whoever read our output has seen enough.
        if isinstance(error.__context__, BrokenPipeError):
            return untaken()
        raise
    if code == INTERRUPTED:
        sys.stderr.write(f"seambench: {INTERRUPTED_TEXT}\n")
    return code if isinstance(code, int) else 0
