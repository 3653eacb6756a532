"""Data sets end to end: Spark and Hudi write, Spark reads back, the oracle judges."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from seambase.errors import UsageError
from seambench.data import Dataset, GenerateOptions, generate, list_datasets
from seambench.data.dataset import State
from seambench.data.oracle import digest_parquet
from seambench.data.tpch import TABLES, expected_row_count, generate_single_process
from seambench.engines.digest import rows_of
from seambench.engines.spark import SparkOptions, spark_session
from seambench.formats.hudi import bundle
from seambench.formats.hudi.writer import table_files

pytestmark = [
    pytest.mark.spark,
    # pyspark leaves the sockets to its worker processes to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    # pyspark 3.5 compares versions with distutils, and calls what newer Pythons will drop.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

# Each version, ordering, kind of blocks and share of the slices is there once; all pairs of these
# are made by the nightly run.
_LAYOUTS = (
    "parquet",
    "cow-v9",
    "mor-v9-event-avro-u20-s100",
    "mor-v9-commit-parquet-u100-s20",
    "mor-v6-commit-avro-u20-s100",
)
_MORE = (
    "mor-v9-event-avro-u0-s100",
    "mor-v9-event-avro-u100-s20",
    "mor-v9-event-parquet-u20-s100",
    "mor-v9-commit-avro-u20-s100",
    "mor-v6-event-avro-u20-s100",
)
_HUDI = [*_LAYOUTS[1:], *(pytest.param(layout, marks=pytest.mark.slow) for layout in _MORE)]
_MERGED = _HUDI[1:]
_OPTIONS = {"scale": 0.01, "slices": 5, "memory": "2g", "quiet": True}


@pytest.fixture(scope="module")
def datasets(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Dataset]:
    """One data set of each kind at scale 0.01, by layout; those of slow tests where one runs."""
    slow = any(item.get_closest_marker("slow") for item in request.session.items)
    data = tmp_path_factory.mktemp("data")
    layouts = (*_LAYOUTS, *_MORE) if slow else _LAYOUTS
    made = generate(GenerateOptions(data=data, layouts=layouts, **_OPTIONS))  # type: ignore[arg-type]
    return {dataset.layout: dataset for dataset in made}


@pytest.fixture(scope="module")
def session(datasets: dict[str, Dataset]) -> Iterator[Any]:
    """A Spark session with Hudi, started after the data is there."""
    assert datasets
    with spark_session(SparkOptions(memory="2g", bundle=bundle())) as (spark, _log):
        yield spark


def test_all_layouts_are_made_in_order(datasets: dict[str, Dataset]) -> None:
    """What was asked for comes back in that order, and nothing else lies in the folder."""
    assert tuple(datasets)[: len(_LAYOUTS)] == _LAYOUTS
    folder = datasets["parquet"].path.parent
    assert sorted(path.name for path in folder.iterdir()) == sorted(datasets)


def test_generated_rows(datasets: dict[str, Dataset], tmp_path: Path) -> None:
    """Rows from Spark tasks are as many as TPC-H asks for, and those of a single process."""
    generate_single_process(0.01, tmp_path, tuple(TABLES))
    for table, entry in datasets["parquet"].expected().items():
        assert entry.rows == expected_row_count(table, 0.01)
        assert entry.digest == digest_parquet(tmp_path / f"{table}.parquet", table), table
        assert entry.digest == digest_parquet(datasets["parquet"].tables[table].path, table), table


@pytest.mark.parametrize("state", ["snapshot", "base"])
@pytest.mark.parametrize("table", ["lineitem", "orders"])
@pytest.mark.parametrize("layout", _HUDI)
def test_hudi_returns_what_the_oracle_expects(
    layout: str,
    table: str,
    state: State,
    datasets: dict[str, Dataset],
    session: Any,
    tmp_path: Path,
) -> None:
    """Hudi's own reader returns the expected rows: merged, and of the base files alone."""
    dataset = datasets[layout]
    query = {"snapshot": "snapshot", "base": "read_optimized"}[state]
    reader = session.read.format("hudi").option("hoodie.datasource.query.type", query)
    frame = reader.load(str(dataset.tables[table].path))
    names = [*TABLES[table].schema.names, "ts"]
    frame.select(names).write.parquet(str(tmp_path / "rows"))
    got = digest_parquet(tmp_path / "rows", table, with_ts=True)
    assert got == dataset.expected(state)[table].digest


@pytest.mark.parametrize("layout", _MERGED)
def test_files_of_merge_on_read_tables(layout: str, datasets: dict[str, Dataset]) -> None:
    """One base file per slice; logs of update and delete in the chosen slices, none elsewhere."""
    logs = {"u0-s100": 0, "u20-s100": 5, "u100-s20": 1}[layout.split("-", 4)[4]]
    for table in ("lineitem", "orders"):
        found_bases, found_logs = table_files(datasets[layout].tables[table].path)
        assert found_bases == dict.fromkeys(range(5), 1)
        assert len(found_logs) == logs
        assert set(found_logs.values()) <= {2}
        entry = datasets[layout].manifest["tables"][table]
        assert sorted(found_logs) == entry["slices_with_logs"]


@pytest.mark.parametrize("layout", _HUDI)
def test_table_properties(layout: str, datasets: dict[str, Dataset]) -> None:
    """The tables are of the version, type and ordering mode that the layout names."""
    kind, version, *more = layout.split("-")
    file = datasets[layout].tables["orders"].path / ".hoodie" / "hoodie.properties"
    lines = dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)
    types = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}
    assert lines["hoodie.table.version"] == version.removeprefix("v")
    assert lines["hoodie.table.type"] == types[kind]
    if more and version == "v9":
        assert lines["hoodie.record.merge.mode"] == f"{more[0].upper()}_TIME_ORDERING"
        assert more[0] == "commit" or lines["hoodie.table.ordering.fields"] == "ts"


@pytest.mark.parametrize(
    ("layout", "kind"), [("mor-v9-event-avro-u20-s100", 3), ("mor-v9-commit-parquet-u100-s20", 5)]
)
def test_log_blocks(layout: str, kind: int, datasets: dict[str, Dataset]) -> None:
    """The data blocks are of the asked kind: the block type is the big-endian word at offset 18."""
    table = datasets[layout].tables["orders"].path
    first = min(path for path in table.iterdir() if ".log." in path.name and path.suffix != ".crc")
    assert int.from_bytes(first.read_bytes()[18:22], "big") == kind


def test_tables_not_asked_for_are_the_plain_ones(datasets: dict[str, Dataset]) -> None:
    """In a Hudi layout the other tables are those of the Parquet layout, not copies."""
    tables = datasets["mor-v9-event-avro-u20-s100"].tables
    assert {name for name, table in tables.items() if table.kind == "hudi"} == {
        "lineitem",
        "orders",
    }
    assert tables["part"].path == datasets["parquet"].path / "part"


@pytest.mark.slow
def test_ratio_zero_is_the_generator_s(datasets: dict[str, Dataset]) -> None:
    """Without updates every table has exactly TPC-H's rows, so that published answers hold."""
    for table, entry in datasets["mor-v9-event-avro-u0-s100"].expected().items():
        assert entry.rows == expected_row_count(table, 0.01)


def test_second_run_needs_nothing(
    datasets: dict[str, Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there is found again without Java, and its files stay as they are."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    data = datasets["parquet"].path.parent.parent
    stamp = (datasets["cow-v9"].path / "manifest.json").stat().st_mtime_ns
    options = GenerateOptions(data=data, layouts=("cow-v9",), quiet=True)
    [found] = generate(options)
    assert (found.path / "manifest.json").stat().st_mtime_ns == stamp


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"slices": 4}, "slices 5, asked for was 4"),
        ({"seed": 1}, "seed 42, asked for was 1"),
        ({"tables": ("orders",)}, "hudi_tables"),
    ],
)
def test_other_knobs_need_force(
    changes: dict[str, Any], words: str, datasets: dict[str, Dataset]
) -> None:
    """An existing data set with other knobs is neither used nor overwritten."""
    data = datasets["parquet"].path.parent.parent
    layouts = ("mor-v9-event-avro-u20-s100",)
    with pytest.raises(UsageError, match=words):
        generate(GenerateOptions(data=data, layouts=layouts, quiet=True, **changes))


def _launch(data: Path) -> subprocess.Popen[str]:
    """Start the spark-submit entry as a plain process."""
    snippet = """
        import sys
        from seambench.jobs.tpch import main
        sys.exit(main(sys.argv[1:]))
    """
    arguments = ["--data", str(data), "--memory", "2g", "--layout", "mor-v9-event-avro-u20-s100"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(snippet), *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=environment,
    )


def _start(data: Path, *, stop_at: str) -> subprocess.Popen[str]:
    """Launch it, and return when a step is done."""
    process = _launch(data)
    assert process.stderr is not None
    for line in process.stderr:
        if stop_at in line:
            return process
    raise AssertionError(f"ended with {process.wait()} before {stop_at}")


def _javas(process: subprocess.Popen[str]) -> list[psutil.Process]:
    children = psutil.Process(process.pid).children(recursive=True)
    return [child for child in children if child.name() == "java"]


def _gone(processes: list[psutil.Process]) -> bool:
    _ended, alive = psutil.wait_procs(processes, timeout=600)
    return not alive


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stop_at", "complete"), [("generating region", []), ("base of orders", ["parquet"])]
)
@pytest.mark.parametrize("how", ["SIGINT", "SIGKILL", "Java killed"])
def test_stopped_run_leaves_only_whole_data_sets(
    how: str, stop_at: str, complete: list[str], tmp_path: Path
) -> None:
    """Ctrl-C and a killed Spark leave nothing half-made, a killed run nothing that looks made."""
    process = _start(tmp_path, stop_at=stop_at)
    javas = _javas(process)
    assert javas
    if how == "Java killed":
        for java in javas:
            java.kill()
    else:
        process.send_signal(getattr(signal, how))
    _out, printed = process.communicate(timeout=120)
    assert process.returncode == {"SIGINT": 130, "SIGKILL": -signal.SIGKILL, "Java killed": 1}[how]
    assert _gone(javas)
    assert [dataset.layout for dataset in list_datasets(tmp_path)] == complete
    left = [path.name for path in (tmp_path / "sf0.01").iterdir()]
    if how == "SIGKILL":
        left = [name for name in left if not name.startswith(".tmp-")]
    else:
        assert "Traceback" not in printed
        assert (
            printed.strip()
            .splitlines()[-1]
            .startswith(("seambench: Spark", "seambench: interrupted"))
        )
    assert left == complete


def _wait_for_java(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The Java that a process has just started."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if javas := _javas(process):
            return javas
        time.sleep(0.02)
    raise AssertionError("no Java was started")


@pytest.mark.parametrize("seconds", [pytest.param(0.0, marks=pytest.mark.slow), 1.5])
def test_interrupted_start_leaves_no_java(seconds: float, tmp_path: Path) -> None:
    """Ctrl-C while Spark starts ends the Java that was being started, too."""
    process = _launch(tmp_path)
    javas = _wait_for_java(process)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _out, printed = process.communicate(timeout=600)
    assert process.returncode == 130, printed
    assert not any(java.is_running() for java in javas)
    assert list_datasets(tmp_path) == []


@pytest.mark.slow
def test_spark_submit_runs_the_same(datasets: dict[str, Dataset], tmp_path: Path) -> None:
    """`spark-submit jobs/tpch.py`, on a master it names, makes the same rows."""
    import pyspark

    import seambench.jobs.tpch

    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    layout = "mor-v9-event-avro-u20-s100"
    arguments = f"--data {tmp_path} --layout {layout} --slices 5 --memory 2g --quiet".split()
    done = subprocess.run(
        [submit, "--master", "local[1]", seambench.jobs.tpch.__file__, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(tmp_path / "sf0.01" / layout)]
    [_plain, made] = sorted(list_datasets(tmp_path), key=lambda d: d.layout == layout)
    assert made.digest == datasets[layout].digest


@pytest.mark.slow
def test_all_eight_tables(session: Any, tmp_path: Path) -> None:
    """All tables can be merge-on-read; inside a running session that one is used, and stays."""
    layout = "mor-v9-event-avro-u50-s100"
    options = GenerateOptions(data=tmp_path, layouts=(layout,), tables=("all",), quiet=True)
    [dataset] = generate(options)
    for name, table in dataset.tables.items():
        rows = session.read.format("hudi").load(str(table.path))
        assert rows.count() == rows_of(dataset.expected()[name].digest)
    assert not session.sparkContext._jsc.sc().isStopped()


@pytest.mark.slow
def test_a_file_with_many_changes_has_one_deletion_vector(tmp_path: Path) -> None:
    """Changes of a file are written by one task, however long they are for a task of Spark's."""
    layout = "iceberg-v3-event-u100-s100"
    conf = {"spark.sql.iceberg.advisory-partition-size": "40000"}
    options = GenerateOptions(data=tmp_path, layouts=(layout,), conf=conf, **_OPTIONS)  # type: ignore[arg-type]
    assert layout in {dataset.layout for dataset in generate(options)}
