"""Every command with its options. Imports nothing heavy: help is there at once."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import Any

__all__ = ["COMMANDS", "run"]

#: Names of the commands.
COMMANDS = ("scan", "plan")

_EPILOG = (
    "Ends with 0: right; 1: an unexpected error, or output that nobody took; 2: wrong usage, or an "
    "input that is refused; 130: interrupted."
)
_ABOUT = "Read tables of Hudi, Delta, Iceberg, Paimon and Hive: merged, exact, without a JVM."
_TABLE = "Folder of the table, or its address (s3://, gs://, hdfs://, hive://, iceberg://)."
_OUTPUT = "FILE.arrow|.parquet|.csv|.jsonl, or - (Arrow stream)."


def run(arguments: Sequence[str]) -> int:
    """Run one command; its exit code.

    Raises:
        SeambenchError: what the command refuses.
        SystemExit: wrong usage, or help, which is printed.
    """
    given = _parser().parse_args(arguments)
    module, _, name = given.run.partition(":")
    command: Any = getattr(importlib.import_module(module), name)
    return int(command(given))


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"seamkit {version('seamkit')}")  # noqa: T201
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("seamkit", None, _ABOUT, _EPILOG, allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and end")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _scan(commands)
    _plan(commands)
    return parser


def _command(commands: Any, name: str, target: str, about: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=about, description=about, epilog=_EPILOG, allow_abbrev=False
    )
    made.set_defaults(run=target)
    return made


def _scan(commands: Any) -> None:
    about = "Read a table, or what a plan says: a short table here, or all rows into a file."
    scan = _command(commands, "scan", "seamkit.command.scan:scan", about)
    scan.add_argument("table", metavar="TABLE", nargs="?", help=_TABLE)
    _reading(scan)
    scan.add_argument("--limit", type=_count, help="At most this many rows.")
    scan.add_argument("--unit", metavar="FILE", help="Read what this plan says, not a table.")
    scan.add_argument(
        "--index",
        type=_count,
        action="append",
        help="With --unit: the number of a unit of the plan, repeatable.",
    )
    scan.add_argument("-o", "--output", metavar="FILE", help=_OUTPUT)


def _plan(commands: Any) -> None:
    about = "Write what would be read, as JSON, and read nothing: `scan --unit` reads it elsewhere."
    plan = _command(commands, "plan", "seamkit.command.plans:plan", about)
    plan.add_argument("table", metavar="TABLE", help=_TABLE)
    _reading(plan)
    plan.add_argument("-o", "--output", metavar="FILE", required=True, help="File for the plan.")


def _reading(command: argparse.ArgumentParser) -> None:
    """Options that say what is read, and how."""
    add = command.add_argument
    add("--columns", help="Names between commas (default: all but meta columns).")
    add("--filter", help="A condition in DuckDB's SQL over the table's columns.")
    add("--query", help="snapshot (the default), read-optimized, incremental or cdc.")
    add("--as-of", help="The table as it was at an instant, in a version, at a branch or tag.")
    add("--begin", help="Incremental, cdc: after this instant.")
    add("--end", help="Incremental, cdc: up to this instant.")
    about = "Incremental: merge changes without the rows they changed."
    add("--changes-alone", action="store_true", help=about)
    add("--threads", type=_positive, help="Tasks at once (default: one per core).")
    add("--batch-size", dest="batch_rows", type=_positive, help="Most rows in a batch.")
    add("--memory-limit", help="Most memory for decoded logs and merged rows, e.g. 1GiB.")
    add("--strict", action="store_true", help="Refuse damage that is otherwise skipped.")
    add("--meta", action="store_true", help="Also the format's meta columns.")
    _storage(command)


def _storage(command: argparse.ArgumentParser) -> None:
    """Options that say where a table lies, and what else may be read."""
    command.add_argument(
        "--storage-option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="Of the storage's fsspec file system, repeatable: anon=true.",
    )
    command.add_argument(
        "--allow",
        metavar="ADDRESS",
        action="append",
        default=[],
        help="Folder's address on another host that the table's metadata may name, repeatable: "
        "hdfs://other:8020/data, or all of a scheme: s3://.",
    )


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 on")
    return int(text)


def _positive(text: str) -> int:
    if _count(text) == 0:
        raise argparse.ArgumentTypeError("a number from 1 on is meant")
    return int(text)
