"""Read a table under spark-submit: `spark-submit .../seambench/jobs/scan.py TABLE -o rows.parquet`.

Tasks read the table's parts by any reader whose scans can be cut, on whatever master spark-submit
was given; rows, warnings and counts come together on the driver. The Python that runs it
(PYSPARK_PYTHON) needs this package, also on the workers of a cluster.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

if __package__ in (None, ""):
    # spark-submit puts this file's folder first on the path; the package is two folders up.
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from seambase.command.ending import ended
from seambase.command.export import check_target, export
from seambase.command.terminal import parse_list, parse_options, plain_text
from seambase.scan import Query, ScanReport
from seambase.wording import counted


def main(argv: Sequence[str] | None = None) -> None:
    """Run with command-line arguments, and end the process with an exit code."""
    given = sys.argv[1:] if argv is None else list(argv)
    sys.exit(ended("seambench", given, lambda: _run(_parser().parse_args(given))))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("jobs/scan.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("table", help="Folder of the table, or its address.")
    parser.add_argument("-o", "--output", required=True, help="FILE.arrow|.parquet|.csv|.jsonl")
    parser.add_argument("--master", help="Master, where none was given (default: local[*]).")
    parser.add_argument("--reader", help="One whose scans can be cut (default: the library's).")
    parser.add_argument("--columns", help="Names between commas (default: all).")
    parser.add_argument("--filter", help="One DuckDB SQL expression over the table's columns.")
    parser.add_argument("--query", default="snapshot", help="snapshot, incremental, ...")
    parser.add_argument("--as-of", help="Only changes up to this instant.")
    parser.add_argument("--begin", help="Incremental: after this instant.")
    parser.add_argument("--end", help="Incremental: up to this instant.")
    parser.add_argument("--strict", action="store_true", help="Refuse what is otherwise skipped.")
    parser.add_argument("--storage-option", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--allow", action="append", default=[], metavar="ADDRESS")
    return parser


def _run(given: argparse.Namespace) -> int:
    check_target(given.output)
    from seambench.contracts import registry
    from seambench.contracts.scan import Scanner, ScanRequest
    from seambench.engines.spark import SparkOptions, spark_session
    from seambench.engines.spark_scan import SparkScanner
    from seambench.engines.table_reading import TableReading

    scanner = cast("Scanner", registry.resolve("scan", given.reader or registry.default_reader()))
    request = ScanRequest(
        given.table,
        cast("Query", given.query),
        as_of=given.as_of,
        begin=given.begin,
        end=given.end,
        strict=given.strict,
        storage_options=parse_options(given.storage_option, "--storage-option"),
        allow=given.allow,
    )
    with spark_session(SparkOptions(master=given.master, memory="1g")) as (session, log):
        spread = SparkScanner(scanner, session, log)
        reading = TableReading(spread, request, parse_list(given.columns), where=given.filter)
        with reading.open() as stream:
            rows = export(stream, given.output)
        _tell(reading.report(), rows, given.output)
    return 0


def _tell(report: ScanReport, rows: int, output: str) -> None:
    for warning in report.warnings:
        sys.stderr.write(f"warning: {plain_text(str(warning))}\n")
    sys.stderr.write(plain_text(f"{counted(rows, 'row')} written to {output}") + "\n")


if __name__ == "__main__":
    main()
