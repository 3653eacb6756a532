"""One run that makes data sets, from the generator's rows to the manifest.

Work is shared: one Spark session for all layouts of a format, the generator's rows once per scale,
each table as it was created once for all update ratios (without the rows that are inserted later;
ratio 0 has its own, complete one). Steps call Spark one after the other; the oracle, which is
Python's work, goes on beside them in a thread.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

import seambench
from seambase.errors import SeambenchError
from seambench.contracts.formats import TableFormat, resolve_format
from seambench.contracts.tables import Design, Layout, Step
from seambench.data.dataset import State, bytes_below, open_dataset, staging, write_manifest
from seambench.data.layouts import PLAIN
from seambench.data.oracle import Expectation, digest_parquet, write_expected
from seambench.data.progress import Steps
from seambench.data.tpch import (
    TABLES,
    expected_row_count,
    format_scale,
    generate_single_process,
    part_count,
    part_reader,
)
from seambench.data.updates import BASE_TS, Updates
from seambench.engines.digest import rows_of
from seambench.engines.spark import SparkOptions, explain_failure, spark_session

_STATES: tuple[State, ...] = ("snapshot", "base")

_Expected = tuple[Expectation, dict[State, dict[str, Any]]]
"""What the oracle found for a table, and the manifest's entry for each state."""


@dataclass(frozen=True)
class Making:
    """What does not change from layout to layout of a run."""

    scale: float
    folder: Path  # where the data sets of this scale lie
    tables: tuple[str, ...]  # those that are tables of the layout's format
    slices: int
    seed: int
    force: bool  # make again what exists
    spark: SparkOptions  # how to start Spark
    # what a data set is made with, by its layout, for the manifest
    knobs: Callable[[Layout], Mapping[str, Any]]

    @property
    def parquet(self) -> Path:
        """The data set with the generator's rows."""
        return self.folder / PLAIN.name

    def origin(self, format_: TableFormat) -> str:
        """What wrote the tables: the bundle's coordinates, or the jars given by hand."""
        if self.spark.jars:
            return ",".join(Path(jar).name for jar in self.spark.jars)
        return ",".join(format_.bundle(None).packages)


def make(making: Making, layouts: Sequence[Layout], steps: Steps) -> None:
    """Make the data sets of some layouts; see `seambench.data.generate.generate`."""
    plain = PLAIN in layouts
    by_format: dict[str, list[Layout]] = {} if layouts != [PLAIN] else {PLAIN.name: []}
    for layout in layouts:
        if layout != PLAIN:
            by_format.setdefault(layout.format_name, []).append(layout)
    count = [len(making.tables) * (3 if layout.changes else 1) + 1 for layout in layouts]
    steps.plan(len(by_format) + sum(count) + (len(TABLES) + 1 if plain else 0))
    with contextlib.ExitStack() as stack:
        work = stack.enter_context(_work_folder(making))
        pool = stack.enter_context(ThreadPoolExecutor(max_workers=1))
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        check = pool.submit(_digest_single_process, making.scale) if plain else None
        for name, chosen in by_format.items():
            format_ = None if name == PLAIN.name else resolve_format(name)
            with _session(making, format_, steps) as spark:
                if check is not None:
                    _make_parquet(making, check, spark)
                    check = None
                if format_ is not None:
                    writing = _Writing(making, format_, spark, work / name, pool)
                    for layout in chosen:
                        writing.make(layout)


@contextlib.contextmanager
def _work_folder(making: Making) -> Iterator[Path]:
    """Folder for the shared bases; leftovers of it are removed like those of data sets."""
    with contextlib.suppress(_Discard), staging(making.folder / "bases") as folder:
        yield folder
        raise _Discard


class _Discard(Exception):  # noqa: N818 - a signal to drop a staging folder, not an error
    """Ends the staging of a folder that is not to stay."""


@dataclass(frozen=True)
class _Spark:
    """A session, the file with what Spark prints, and the steps that the user sees."""

    session: Any
    log: Path | None
    steps: Steps

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        """A step in which Spark works; what it throws becomes one sentence."""
        with self.steps.step(what):
            try:
                yield
            except SeambenchError:
                raise
            except Exception as error:
                # A lost connection is an OSError too, but not the disk's.
                if isinstance(error, OSError) and not isinstance(error, ConnectionError):
                    raise
                raise explain_failure(error, self.log, what) from error


@contextlib.contextmanager
def _session(making: Making, format_: TableFormat | None, steps: Steps) -> Iterator[_Spark]:
    """Spark with the jars of a format, or of none."""
    bundle = None if format_ is None else format_.bundle(None)
    with contextlib.ExitStack() as stack:
        with steps.step("starting Spark" + (f" with {bundle.title}" if bundle else "")):
            starting = spark_session(replace(making.spark, bundle=bundle))
            session, log = stack.enter_context(starting)
        yield _Spark(session, log, steps)


# -- the generator's rows --------------------------------------------------------------------------


def _digest_single_process(scale: float) -> dict[str, str]:
    """Digests of what the generator makes alone, without Spark and in one process."""
    with tempfile.TemporaryDirectory(prefix="seambench-check-") as folder:
        generate_single_process(scale, Path(folder), tuple(TABLES))
        return {name: digest_parquet(Path(folder) / f"{name}.parquet", name) for name in TABLES}


def _make_parquet(making: Making, check: Future[dict[str, str]], spark: _Spark) -> None:
    digests: dict[str, str] = {}
    with staging(making.parquet, replace=making.force) as folder:
        for table in TABLES:
            with spark.step(f"generating {table}"):
                rows = generated_rows(spark.session, table, making.scale)
                path = folder / table
                rows.write.mode("overwrite").option("compression", "zstd").parquet(path.as_uri())
                digests[table] = digest_parquet(path, table)
                _check_count(table, making.scale, rows_of(digests[table]))
        with spark.steps.step("comparing with a single process"):
            alone = check.result()
            for table in TABLES:
                if digests[table] != alone[table]:
                    raise SeambenchError(
                        f"table {table} from Spark differs from a single process of the "
                        f"generator: {digests[table]} against {alone[table]}"
                    )
        tables = {name: {"kind": PLAIN.format_name, "path": name} for name in TABLES}
        state = {name: _entry(name, None, digests[name]) for name in TABLES}
        _write_manifest(making, folder, PLAIN, tables, dict.fromkeys(_STATES, state), spark)


def _check_count(table: str, scale: float, rows: int) -> None:
    wanted = expected_row_count(table, scale)
    if wanted is not None and rows != wanted:
        raise SeambenchError(
            f"table {table} has {rows} rows at scale {format_scale(scale)}, TPC-H asks for {wanted}"
        )


def _entry(path: str, ts: int | None, digest: str) -> dict[str, Any]:
    return {"path": path, "ts": ts, "rows": rows_of(digest), "digest": digest}


def _write_manifest(
    making: Making,
    folder: Path,
    layout: Layout,
    tables: Mapping[str, Any],
    expected: Mapping[State, Mapping[str, Any]],
    spark: _Spark,
    **versions: str,
) -> None:
    content = {
        "layout": layout.name,
        "scale": making.scale,
        "knobs": making.knobs(layout),
        "versions": {
            "seambench": seambench.__version__,
            "spark": spark.session.version,
            **versions,
        },
        "note": "derived from TPC-H, not comparable with published TPC-H results",
        "tables": tables,
        "expected": expected,
    }
    write_manifest(folder, content)


# -- tables of a format ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Writing:
    """The data sets of one format."""

    making: Making
    format: TableFormat
    spark: _Spark  # a session with its jars
    work: Path  # folder for tables as they were created
    pool: ThreadPoolExecutor  # where the oracle works
    # those tables by layout and name
    bases: dict[tuple[Layout, str], Path] = field(default_factory=dict)
    # the seconds that they took
    created: dict[tuple[Layout, str], float] = field(default_factory=dict)

    def make(self, layout: Layout) -> None:
        """Make the data set of a layout."""
        target = self.making.folder / layout.name
        in_place = self.format.home is not None
        with staging(target, replace=self.making.force, in_place=in_place) as folder:
            expecting = {
                name: self.pool.submit(self._expect, name, layout, folder)
                for name in self.making.tables
            }
            seconds = {
                name: self._write_table(layout, name, folder / name) for name in self.making.tables
            }
            with self.spark.step(f"{layout.name}: checking"):
                expectations = {name: expected.result() for name, expected in expecting.items()}
                for name, (expectation, _) in expectations.items():
                    self.format.writer.check(folder / name, expectation.groups)
                self._finish(layout, folder, expectations, seconds)

    def _updates(self, layout: Layout, table: str) -> Updates:
        share = layout.share if layout.changes else 0
        ratio = layout.ratio if layout.changes else 0
        groups = self.format.writer.groups
        return Updates(table, self.making.seed, ratio, share, self.making.slices, groups)

    def _expect(self, table: str, layout: Layout, folder: Path) -> _Expected:
        """The oracle's part: expected rows and their digests."""
        source = self.making.parquet / table
        folders: dict[State, Path] = {}
        if layout.changes:
            folders = {state: folder / "expected" / state for state in _STATES}
        updates = self._updates(layout, table)
        expectation = write_expected(source, updates, layout.ordering, folders)
        entries: dict[State, dict[str, Any]] = {}
        for state in _STATES:
            ts = None if state in folders else BASE_TS
            file = folders[state] / f"{table}.parquet" if state in folders else source
            path = (
                f"expected/{state}/{table}.parquet"
                if state in folders
                else f"../{PLAIN.name}/{table}"
            )
            entries[state] = _entry(path, ts, digest_parquet(file, table, ts, with_ts=True))
            if entries[state]["rows"] != expectation.rows[state]:
                raise SeambenchError(f"expected rows of {table} were not written whole")
        return expectation, entries

    def _write_table(self, layout: Layout, name: str, path: Path) -> dict[str, float]:
        """Write a table; seconds by operation, those of a base that is shared as it was made."""
        design = Design(name, TABLES[name].keys, layout, self.making.slices)
        updates = self._updates(layout, name)
        write = self.format.writer.write
        source = self.spark.session.read.parquet((self.making.parquet / name).as_uri())
        seconds: dict[str, float] = {}

        def timed(operation: Step, rows: Any, target: Path) -> None:
            begin = time.monotonic()
            write(operation, rows, design, target)
            seconds[operation] = round(time.monotonic() - begin, 3)

        with self.spark.step(f"{layout.name}: base of {name}"):
            base = self.bases.get((layout.base(), name))
            if base is None:
                # Without changes the base is used once: no copy to keep.
                base = self.work / f"{len(self.bases)}-{name}" if layout.changes else path
                # A complete base is the generator's rows: no need to take them through Python.
                rows = (
                    map_rows(source, name, updates.base_rows)
                    if layout.changes
                    else source.selectExpr("*", f"{BASE_TS}L AS ts")
                )
                timed("create", rows, base)
                self.created[layout.base(), name] = seconds["create"]
                if layout.changes:
                    self.bases[layout.base(), name] = base
            seconds["create"] = self.created[layout.base(), name]
            if base != path:
                shutil.copytree(base, path)
        if not layout.changes:
            return seconds
        with self.spark.step(f"{layout.name}: updates of {name}"):
            timed("upsert", map_rows(source, name, updates.log_rows), path)
        with self.spark.step(f"{layout.name}: deletes of {name}"):
            timed("delete", map_rows(source, name, updates.delete_rows), path)
        return seconds

    def _finish(
        self,
        layout: Layout,
        folder: Path,
        expectations: Mapping[str, _Expected],
        seconds: Mapping[str, Mapping[str, float]],
    ) -> None:
        plain = open_dataset(self.making.parquet).manifest
        tables: dict[str, Any] = {}
        expected: dict[State, dict[str, Any]] = {state: {} for state in _STATES}
        for name in TABLES:
            beside = f"../{PLAIN.name}/{name}"
            if name not in expectations:
                tables[name] = {"kind": PLAIN.format_name, "path": beside}
                for state in _STATES:
                    expected[state][name] = plain["expected"][state][name] | {"path": beside}
                continue
            expectation, entries = expectations[name]
            tables[name] = {
                "kind": self.format.name,
                "path": name,
                "slices": len(expectation.groups.base),
                "slices_with_logs": sorted(expectation.groups.changed),
                "bytes": bytes_below(folder / name),
                "seconds": dict(seconds[name]),
            }
            for state in _STATES:
                expected[state][name] = entries[state]
        versions = {self.format.name: self.making.origin(self.format)}
        _write_manifest(self.making, folder, layout, tables, expected, self.spark, **versions)


def generated_rows(session: Any, table: str, scale: float) -> Any:
    """Data frame of the generator's rows, made inside Spark tasks."""
    parts = part_count(table, scale, session.sparkContext.defaultParallelism)
    numbers = session.range(0, parts, 1, parts)
    return numbers.mapInArrow(part_reader(table, scale, parts), _ddl(TABLES[table].schema))


def map_rows(frame: Any, table: str, change: Callable[[pa.RecordBatch], pa.RecordBatch]) -> Any:
    """Data frame with `change`, which adds `ts`, applied to each batch of rows, in Spark tasks."""
    schema = TABLES[table].schema
    out = schema.append(pa.field("ts", pa.int64()))

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield change(batch.cast(schema))

    return frame.mapInArrow(run, _ddl(out))


def _ddl(schema: pa.Schema) -> str:
    """Spelling of an Arrow schema in Spark's DDL, for the types of TPC-H."""
    names = {pa.int64(): "bigint", pa.int32(): "int", pa.string(): "string", pa.date32(): "date"}
    spelled = []
    for column in schema:
        if pa.types.is_decimal(column.type):
            kind = f"decimal({column.type.precision},{column.type.scale})"
        else:
            kind = names[column.type]
        spelled.append(f"`{column.name}` {kind}")
    return ", ".join(spelled)
