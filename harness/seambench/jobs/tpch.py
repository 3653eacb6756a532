"""Make data sets under spark-submit: `spark-submit .../seambench/jobs/tpch.py --scale 0.1 ...`.

Runs the same code as `seambench data`, on whatever master spark-submit was given. If spark-submit
lacks the table format's jars (`--packages`), a second Java process with the same settings fetches
them. The Python that runs it (PYSPARK_PYTHON) needs this package, also on the workers of a cluster.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __package__ in (None, ""):
    # spark-submit puts this file's folder first on the path; the package is two folders up.
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from seambase.errors import SeambenchError
from seambench.data import DEFAULT_TABLES, GenerateOptions, default_data_folder
from seambench.data import generate as _generate
from seambench.engines.spark import parse_settings


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tpch.py", description="Make TPC-H data sets with Spark.")
    add = parser.add_argument
    add("--scale", type=float, default=0.01, help="TPC-H scale")
    add("--data", type=Path, default=default_data_folder(), help="data folder")
    add("--format", action="append", default=[], help="table format of the curve, repeatable")
    add("--layout", action="append", default=[], help="layout, repeatable (default: the curve)")
    add("--table", action="append", help="table of the layout's format, repeatable, or `all`")
    add("--slices", type=int, help="slices of each such table")
    add("--seed", type=int, default=42, help="decides which rows are touched")
    add("--force", action="store_true", help="make data sets again that exist")
    add("--no-wait", action="store_true", help="fail if another process writes to the data folder")
    add("--master", help="Spark master (default: spark-submit's)")
    add("--memory", default="4g", help="heap of Spark's driver, where this starts it")
    add("--jars", action="append", default=[], metavar="PATH", help="jar to use, repeatable")
    add(
        "--conf", action="append", default=[], metavar="KEY=VALUE", help="Spark setting, repeatable"
    )
    add("--quiet", action="store_true", help="show no progress")
    return parser


def _options(arguments: argparse.Namespace) -> GenerateOptions:
    return GenerateOptions(
        scale=arguments.scale,
        data=arguments.data,
        formats=tuple(arguments.format),
        layouts=tuple(arguments.layout),
        tables=tuple(arguments.table or DEFAULT_TABLES),
        slices=arguments.slices,
        seed=arguments.seed,
        force=arguments.force,
        wait=not arguments.no_wait,
        master=arguments.master,
        memory=arguments.memory,
        jars=tuple(arguments.jars),
        conf=parse_settings(arguments.conf),
        quiet=arguments.quiet,
    )


def main(argv: list[str] | None = None) -> int:
    """Run with command-line arguments; returns the exit code.

    Prints the folder of each data set on standard output; everything else goes to standard error.
    """
    try:
        datasets = _generate(_options(_parser().parse_args(argv)))
    except SeambenchError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; nothing unfinished is left\n")
        return 130
    sys.stdout.writelines(f"{dataset.path}\n" for dataset in datasets)
    return 0


if __name__ == "__main__":
    sys.exit(main())
