"""What importing and reading bring into a process: what they need, and nothing else."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import seamkit
from seamkit_tests.samples.golden_tables import unpack, unpack_table

_HEAVY = ("pandas", "duckdb", "typer", "polars", "fsspec", "isal", "google.protobuf")


def modules_after(program: str, *arguments: object) -> set[str]:
    """Names of all modules of a fresh process that has run a program."""
    whole = f"{program}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", whole, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_library_imports_next_to_nothing() -> None:
    """`import seamkit` waits for no Arrow: what is asked for comes when it is asked for."""
    found = modules_after("import seamkit")
    assert {name for name in found if name.split(".")[0] in ("pyarrow", "numpy", "cffi")} == set()


def test_reading_tables_imports_what_reading_needs(tmp_path: Path) -> None:
    """Neither the harness, nor DuckDB, nor pandas: not even where they are installed.

    (pyarrow itself looks for pandas when it makes an array of Python's values, as it must for
    ordering values of texts, several ordering columns and partitions.)
    """
    # Of `mixed` the key is a number.
    kinds = ("base-only", "commit", "int-ordering", "parquet-blocks", "mixed")
    tables = [unpack_table(f"mor-v9-{kind}", tmp_path / kind) for kind in kinds]
    program = (
        "import sys, seamkit\n"
        "for path in sys.argv[1:]:\n"
        "    table = seamkit.open_table(path).scan().to_table()\n"
        "    assert {'id', 'k'} & {*table.column_names} and table.num_rows"
    )
    found = modules_after(program, *tables)
    assert {module for module in found if module.split(".")[0].startswith("seambench")} == set()
    assert {module for module in _HEAVY if module in found} == set()


def test_importing_a_format_makes_no_value_of_arrow() -> None:
    """For the first one Arrow imports pandas where it is installed, which takes a second."""
    formats = ("delta", "hive", "hudi", "iceberg", "paimon")
    found = modules_after("\n".join(f"import seamkit.tables.{name}.table" for name in formats))
    assert "seamkit.tables.paimon.table" in found
    assert {module for module in _HEAVY if module in found} == set()


def test_importing_an_exchange_makes_no_value_of_arrow() -> None:
    """Each of its processes would wait for pandas."""
    found = modules_after("import seamkit.exchange.sink, seamkit.exchange.local.threads")
    assert {"seamkit.exchange.sink"} <= found - {"pandas"} == found


def test_every_name_of_the_package_is_there() -> None:
    """What `seamkit` announces can be had, and what it lacks is told as modules tell it."""
    for name in seamkit.__all__:
        assert getattr(seamkit, name) is not None
    assert dir(seamkit) == sorted(seamkit.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'read_table': call open_table"):
        _ = seamkit.read_table
    with pytest.raises(AttributeError, match="did you mean 'open_table'"):
        _ = seamkit.opentable
    with pytest.raises(TypeError, match=r"call open_table\(path\)"):
        seamkit.Table("x")  # type: ignore[abstract, call-arg]


def test_a_call_of_the_package_scan_names_the_function() -> None:
    """Before anything was scanned it is no attribute yet, later a package that cannot be called."""
    for names, says in (
        ("", "AttributeError: module 'seamkit' has no attribute 'scan': call open_table(path)"),
        ("; seamkit.Scan", "TypeError: seamkit.scan is a package: call seamkit.scan_table(path, "),
    ):
        asked = [sys.executable, "-c", f"import seamkit{names}; seamkit.scan('trips')"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=600)
        assert says in done.stderr


@pytest.mark.parametrize("name", ["paimon/pk-levels", "iceberg/equality-and-positions"])
def test_a_command_does_without_pandas(tmp_path: Path, name: str) -> None:
    """The command `seamkit` keeps pyarrow from importing pandas, which takes a second."""
    program = (
        "import sys; from seamkit.command import main\n"
        "sys.argv[1:] = ['scan', sys.argv[1]]\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code"
    )
    found = modules_after(program, unpack(name, tmp_path))
    assert f"seamkit.tables.{name.split('/')[0]}.planning" in found
    assert {module for module in _HEAVY if module in found} == set()
