"""Every command with its options. Imports nothing heavy: help is there at once."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from seambase.wording import did_you_mean, nearest

#: Names of the commands.
COMMANDS = ("scan", "plan", "tables", "inspect", "page")

#: What others call an option, and what it is called here.
_INSTEAD = {"--select": "--columns", "--version": "--as-of", "--where": "--filter"}
_EPILOG = (
    "Ends with 0: right; 1: an unexpected error, or output that nobody took; 2: wrong usage, or an "
    "input that is refused; 130: interrupted."
)
_ABOUT = "Read tables of Hudi, Delta, Iceberg, Paimon and Hive: merged, exact, without a JVM."
_TABLE = "Folder of the table, or its address (s3://, gs://, hdfs://, hive://, iceberg://)."
_OUTPUT = "FILE.arrow|.parquet|.csv|.jsonl, or - (Arrow stream)."


def run(arguments: Sequence[str]) -> int:
    """Run one command; its exit code."""
    parser = _parser()
    if not arguments:
        parser.print_help(sys.stderr)
        return 2
    given, rest = parser.parse_known_args(arguments)
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}{_meant(given.options, rest)}")
    module, _, name = given.run.partition(":")
    command: Any = getattr(importlib.import_module(module), name)
    return int(command(given))


class _Parser(argparse.ArgumentParser):
    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse passes over what cannot be written, and ends with 0.
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        known = re.findall(r"[\w-]+", wrong[2]) if wrong else ()
        super().error(message + (did_you_mean(wrong[1], known) if wrong else ""))


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"seamkit {version('seamkit')}")  # noqa: T201
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser("seamkit", None, _ABOUT, _EPILOG, allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and end")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _scan(commands)
    _plan(commands)
    _tables(commands)
    _inspect(commands)
    _page(commands)
    return parser


def _command(commands: Any, name: str, target: str, about: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=about, description=about, epilog=_EPILOG, allow_abbrev=False
    )
    made.set_defaults(run=target, options=made._option_string_actions)
    return made


def _meant(known: Iterable[str], rest: Sequence[str]) -> str:
    """The option that the first unknown one may stand for, as the end of a sentence."""
    unknown = next((word.partition("=")[0] for word in rest if word.startswith("--")), "")
    if unknown in _INSTEAD and _INSTEAD[unknown] in known:
        return f": say {_INSTEAD[unknown]}"
    near = nearest(unknown[2:], [name[2:] for name in known if name.startswith("--")])
    return f"; did you mean '--{near[0]}'?" if near else ""


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
    plan = _command(commands, "plan", "seamkit.command.scan:plan", about)
    plan.add_argument("table", metavar="TABLE", help=_TABLE)
    _reading(plan)
    plan.add_argument("-o", "--output", metavar="FILE", required=True, help="File for the plan.")


def _tables(commands: Any) -> None:
    about = "List the tables of a catalog, by the names with which its databases have them."
    tables = _command(commands, "tables", "seamkit.command.tables:tables", about)
    about = "hive://HOST:PORT, iceberg://CATALOG, or a folder of databases or its address."
    tables.add_argument("catalog", metavar="CATALOG", help=about)
    tables.add_argument("--database", metavar="NAME", help="Of this database alone.")
    about = "Open each, and tell its format and columns, or why it cannot be opened."
    tables.add_argument("--columns", action="store_true", help=about)
    _storage(tables)
    tables.add_argument("--json", action="store_true", help="One JSON object per table.")


def _inspect(commands: Any) -> None:
    about = (
        "Explain bytes field by field with their offsets, and show where broken ones break. Of a "
        "table it tells properties, history and files, of a log its blocks and their records, of a "
        "Parquet file its columns and row groups."
    )
    inspect = _command(commands, "inspect", "seamkit.command.inspect:inspect", about)
    about = "File of pages or rows, a table's folder or address, a log."
    inspect.add_argument("table", metavar="FILE", help=about)
    about = (
        "presto, unsaferow, compactrow, table or parquet (default: table for folders and logs, "
        "parquet for Parquet files, else presto)."
    )
    inspect.add_argument("--format", help=about)
    _schema(inspect, required=False)
    about = "Of a table: rows, bytes, nulls and ranges, and how sure they are."
    inspect.add_argument("--statistics", action="store_true", help=about)
    _storage(inspect)
    inspect.add_argument("--json", action="store_true", help="One JSON object per field.")


def _page(commands: Any) -> None:
    about = "Turn bytes of an engine into rows, and back."
    page = commands.add_parser("page", help=about, description=about, allow_abbrev=False)
    ways = page.add_subparsers(required=True, metavar="decode|encode")
    about = "Read bytes: a short table here, or all rows into a file."
    decode = _command(ways, "decode", "seamkit.command.page:decode", about)
    decode.add_argument("file", metavar="FILE", help="File of pages or rows.")
    decode.add_argument("-o", "--output", metavar="FILE", help=_OUTPUT)
    about = "Write the rows of a file as bytes of a format, one page for each batch."
    encode = _command(ways, "encode", "seamkit.command.page:encode", about)
    encode.add_argument("file", metavar="FILE", help="FILE.arrow or FILE.parquet.")
    encode.add_argument("-o", "--output", metavar="FILE", required=True, help="For the bytes.")
    for way in (decode, encode):
        way.add_argument("--format", default="presto", help="presto, unsaferow or compactrow.")
        _schema(way, required=True)


def _schema(command: argparse.ArgumentParser, *, required: bool) -> None:
    """Options that say what the bytes of pages and rows are."""
    about = (
        "`id bigint, tags array(varchar)`, for rows `id:bigint,tags:array<string>`, or a golden "
        "file's .json."
    )
    command.add_argument("--schema", required=required, help=about)
    about = "NAME=VALUE of the format, repeatable: codec=lz4."
    command.add_argument("--option", action="append", default=[], help=about)


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
    about = "Incremental: all rows that were written, with their kinds (Paimon)."
    add("--row-kinds", action="store_true", help=about)
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
