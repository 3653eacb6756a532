"""Make data sets: the one function behind `seambench data` and the spark-submit entry.

Work is shared: one Spark session for all, the generator's rows once per scale, each Hudi base once
for all update ratios (a base without the held-back rows; ratio 0 has its own, complete one).
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import seambench
from seambase.errors import SeambenchError, UnavailableError, UsageError
from seambench.data.dataset import (
    Dataset,
    State,
    data_lock,
    dataset_folder,
    default_data_folder,
    open_dataset,
    remove_leftovers,
    staging,
    write_manifest,
)
from seambench.data.layouts import DEFAULT_LAYOUTS, Layout, parse_layout
from seambench.data.oracle import DIGEST_KIND, Expectation, digest_parquet, write_expected
from seambench.data.progress import Steps
from seambench.data.tpch import (
    TABLES,
    expected_row_count,
    format_scale,
    generate_single_process,
    generator_version,
    part_count,
    part_reader,
)
from seambench.data.updates import BASE_TS, Updates
from seambench.engines import spark as spark_start
from seambench.engines.digest import rows_of
from seambench.formats.hudi.writer import HudiTable, check_files, ddl, map_rows

__all__ = ["DEFAULT_TABLES", "GenerateOptions", "default_slices", "generate"]

#: Tables that Hudi layouts hold as Hudi tables when nothing else is said.
DEFAULT_TABLES = ("lineitem", "orders")

# Bytes at scale 1, seen and rounded up: the eight tables; a Hudi base of lineitem and orders; the
# expected rows of both states; logs when every row is touched.
_PARQUET_BYTES, _BASE_BYTES, _EXPECTED_BYTES, _LOG_BYTES = 300e6, 300e6, 500e6, 2500e6

# Up to this scale a run is over before Java's second compiler has paid off.
_BRIEF_SCALE = 0.1


@dataclass(frozen=True)
class GenerateOptions:
    """What to make. Each attribute is a flag of `seambench data` and of the spark-submit entry.

    Attributes:
        scale: `--scale`: TPC-H scale.
        data: `--data`: data folder (default: SEAMBENCH_DATA, else `data`).
        layouts: `--layout`, repeatable: names as `seambench.data.layouts` spells them. `parquet`
            is always made too, since the others refer to it.
        tables: `--table`, repeatable: tables to be Hudi tables in Hudi layouts; `all` for all
            eight. The others are those of the `parquet` layout.
        slices: `--slices`: slices (buckets) of each Hudi table; None takes what an existing data
            set has, else 5 below scale 1 (20 % of them is exactly one) and 8 per unit of scale
            above.
        seed: `--seed`: decides which rows are touched and what they become.
        force: `--force`: make data sets again that exist.
        wait: `--wait/--no-wait`: wait for another process that writes to the same data folder.
        master: `--master`: Spark master; None means spark-submit's, else `local[*]`.
        memory: `--memory`: heap of Spark's driver.
        jars: `--jars`, repeatable: paths of jars, in place of fetching Hudi's bundle.
        conf: `--conf KEY=VALUE`, repeatable: further Spark settings.
        quiet: `--quiet`: show no progress.
    """

    scale: float = 0.01
    data: Path = field(default_factory=default_data_folder)
    layouts: tuple[str, ...] = DEFAULT_LAYOUTS
    tables: tuple[str, ...] = DEFAULT_TABLES
    slices: int | None = None
    seed: int = 42
    force: bool = False
    wait: bool = True
    master: str | None = None
    memory: str = "4g"
    jars: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    quiet: bool = False


def default_slices(scale: float) -> int:
    """Slices of a Hudi table when nothing is said."""
    return 5 if scale < 1 else 8 * int(-(-scale // 1))


def generate(options: GenerateOptions) -> list[Dataset]:
    """Make the data sets that are missing, and return all that were asked for, in their order.

    Needs no Java and no Spark when nothing is missing. What is half-made when something fails, or
    Ctrl-C comes, is removed; data sets finished before stay.

    Raises:
        UsageError: an unknown layout or table; a data set exists with other knobs; no permission.
        UnavailableError: no Java, no pyspark, no jars, no disk space.
        SeambenchError: Spark failed, or rows are not what TPC-H or the oracle asks for.
    """
    # Spark wants addresses, and those are absolute.
    options = replace(options, data=options.data.resolve())
    layouts = _layouts(options)
    tables = _tables(options)
    plan = _Plan(options, layouts, tables)
    if options.force or plan.missing():
        with (
            Steps(quiet=options.quiet) as steps,
            data_lock(options.data, wait=options.wait, on_wait=steps.say),
        ):
            remove_leftovers(options.data)
            missing = list(layouts) if options.force else plan.missing()
            if missing:
                _check_space(options, missing)
                _Run(options, tables, missing, steps).run()
    return [plan.existing(layout) for layout in layouts if layout.name in _asked(options)]


def _asked(options: GenerateOptions) -> set[str]:
    return {parse_layout(name).name for name in options.layouts}


def _layouts(options: GenerateOptions) -> tuple[Layout, ...]:
    """The layouts asked for, each once, `parquet` among them and first if it was not named."""
    format_scale(options.scale)
    asked = list(dict.fromkeys(parse_layout(name) for name in options.layouts))
    plain = Layout("parquet")
    return tuple(asked) if plain in asked else (plain, *asked)


def _tables(options: GenerateOptions) -> tuple[str, ...]:
    if "all" in options.tables:
        return tuple(TABLES)
    unknown = [name for name in options.tables if name not in TABLES]
    if unknown or not options.tables:
        raise UsageError(
            f"unknown table {', '.join(unknown) or '(none)'}: known are {', '.join(TABLES)}, all"
        )
    return tuple(name for name in TABLES if name in options.tables)


def _bytes_at_scale_one(layout: Layout) -> float:
    if layout.kind == "parquet":
        return _PARQUET_BYTES
    if not layout.has_logs:
        return _BASE_BYTES
    touched = layout.ratio * layout.share / 1e4
    return _BASE_BYTES + _EXPECTED_BYTES + touched * _LOG_BYTES


def _check_space(options: GenerateOptions, missing: list[Layout]) -> None:
    wanted = 50e6 + options.scale * sum(_bytes_at_scale_one(layout) for layout in missing)
    free = shutil.disk_usage(options.data).free
    if free < wanted:
        raise UnavailableError(
            f"{options.data} has {free / 1e9:.1f} GB free, but about {wanted / 1e9:.1f} GB are "
            "needed: free some, or choose another folder with --data"
        )


class _Plan:
    """What exists already, and whether it is what was asked for."""

    def __init__(
        self, options: GenerateOptions, layouts: tuple[Layout, ...], tables: tuple[str, ...]
    ) -> None:
        self._options = options
        self._layouts = layouts
        self._tables = tables

    def missing(self) -> list[Layout]:
        """Layouts without a complete data set.

        Raises:
            UsageError: one exists, but with other knobs.
        """
        return [layout for layout in self._layouts if self._find(layout) is None]

    def existing(self, layout: Layout) -> Dataset:
        return open_dataset(self._folder(layout))

    def _folder(self, layout: Layout) -> Path:
        return dataset_folder(self._options.data, self._options.scale, layout.name)

    def _find(self, layout: Layout) -> Dataset | None:
        folder = self._folder(layout)
        if not folder.exists():
            return None
        dataset = open_dataset(folder)
        wanted = _knobs(layout, self._options, self._tables, self._options.slices)
        found = dataset.manifest["knobs"]
        for name, value in wanted.items():
            if name == "slices" and self._options.slices is None:
                continue
            if found.get(name) != value:
                raise UsageError(
                    f"data set {folder} exists with {name} {found.get(name)}, asked for was "
                    f"{value}: choose another folder with --data, or make it again with --force"
                )
        return dataset


def _knobs(
    layout: Layout, options: GenerateOptions, tables: tuple[str, ...], slices: int | None
) -> dict[str, Any]:
    """What a data set was made with; two with equal knobs hold equal rows."""
    knobs: dict[str, Any] = {"generator": generator_version(), "digest_kind": DIGEST_KIND}
    if layout.kind == "parquet":
        return knobs
    knobs |= {
        "hudi_tables": list(tables),
        "slices": slices,
        "table_version": layout.version,
    }
    if layout.kind == "mor":
        knobs |= {
            "seed": options.seed,
            "ordering": layout.ordering,
            "log_format": layout.log_format,
            "update_ratio": layout.ratio,
            "slice_share": layout.share,
        }
    return knobs


class _Run:
    """One run that makes data sets.

    Steps call Spark one after the other; the oracle, which is Python's work, goes on beside them
    in a thread.
    """

    def __init__(
        self,
        options: GenerateOptions,
        tables: tuple[str, ...],
        layouts: list[Layout],
        steps: Steps,
    ) -> None:
        self._options = options
        self._tables = tables
        self._layouts = layouts
        self._steps = steps
        self._slices = options.slices or default_slices(options.scale)
        self._scale_folder = dataset_folder(options.data, options.scale, "x").parent
        self._parquet = self._scale_folder / "parquet"
        self._session: Any = None
        self._log: Path | None = None
        self._bases: dict[tuple[Layout, str], Path] = {}
        self._stop = threading.Event()

    def run(self) -> None:
        hudi = [layout for layout in self._layouts if layout.kind != "parquet"]
        self._steps.plan(1 + self._count_parquet() + sum(self._count(layout) for layout in hudi))
        with contextlib.ExitStack() as stack:
            work = stack.enter_context(self._work_folder())
            pool = stack.enter_context(ThreadPoolExecutor(max_workers=1))
            stack.callback(pool.shutdown, wait=True, cancel_futures=True)
            check: Future[dict[str, str]] | None = None
            if self._makes_parquet():
                check = pool.submit(self._digest_single_process)
            with self._steps.step("starting Spark"):
                starting = spark_start.SparkOptions(
                    self._options.master,
                    self._options.memory,
                    self._options.jars,
                    self._options.conf,
                    brief=self._options.scale <= _BRIEF_SCALE,
                )
                session = spark_start.spark_session(starting)
                self._session, self._log = stack.enter_context(session)
            if check is not None:
                self._make_parquet(check)
            for layout in hudi:
                self._make_hudi(layout, work, pool)

    def _makes_parquet(self) -> bool:
        return any(layout.kind == "parquet" for layout in self._layouts)

    def _count_parquet(self) -> int:
        return len(TABLES) + 1 if self._makes_parquet() else 0

    def _count(self, layout: Layout) -> int:
        return len(self._tables) * (3 if layout.has_logs else 1) + 1

    @contextlib.contextmanager
    def _work_folder(self) -> Iterator[Path]:
        """Folder for the shared bases; leftovers of it are removed like those of data sets."""
        target = self._scale_folder / "bases"
        with contextlib.suppress(_Discard), staging(target) as folder:
            yield folder
            raise _Discard

    @contextlib.contextmanager
    def _spark_step(self, what: str) -> Iterator[None]:
        with self._steps.step(what):
            try:
                yield
            except SeambenchError:
                raise
            except Exception as error:
                # A lost connection is an OSError too, but not the disk's.
                if isinstance(error, OSError) and not isinstance(error, ConnectionError):
                    raise
                raise spark_start.explain_failure(error, self._log, what) from error

    # -- the generator's rows ------------------------------------------------------------------

    def _digest_single_process(self) -> dict[str, str]:
        """Digests of what the generator makes alone, without Spark and in one process."""
        with tempfile.TemporaryDirectory(prefix="seambench-check-") as folder:
            generate_single_process(self._options.scale, Path(folder), tuple(TABLES))
            return {
                table: digest_parquet(Path(folder) / f"{table}.parquet", table) for table in TABLES
            }

    def _make_parquet(self, check: Future[dict[str, str]]) -> None:
        scale = self._options.scale
        digests: dict[str, str] = {}
        with staging(self._parquet, replace=self._options.force) as folder:
            for table in TABLES:
                with self._spark_step(f"generating {table}"):
                    self._write_generated(table, folder / table)
                    digests[table] = digest_parquet(folder / table, table)
                    _check_count(table, scale, rows_of(digests[table]))
            with self._steps.step("comparing with a single process"):
                alone = check.result()
                for table in TABLES:
                    if digests[table] != alone[table]:
                        raise SeambenchError(
                            f"table {table} from Spark differs from a single process of the "
                            f"generator: {digests[table]} against {alone[table]}"
                        )
            layout = Layout("parquet")
            tables = {name: {"kind": "parquet", "path": name} for name in TABLES}
            state = {name: _entry(name, None, digests[name]) for name in TABLES}
            self._write_manifest(folder, layout, tables, {"snapshot": state, "base": state})

    def _write_generated(self, table: str, path: Path) -> None:
        scale = self._options.scale
        cores = self._session.sparkContext.defaultParallelism
        parts = part_count(table, scale, cores)
        numbers = self._session.range(0, parts, 1, parts)
        rows = numbers.mapInArrow(part_reader(table, scale, parts), ddl(TABLES[table].schema))
        rows.write.mode("overwrite").option("compression", "zstd").parquet(path.as_uri())

    # -- Hudi tables -----------------------------------------------------------------------------

    def _make_hudi(self, layout: Layout, work: Path, pool: ThreadPoolExecutor) -> None:
        target = self._scale_folder / layout.name
        with staging(target, replace=self._options.force) as folder:
            expecting = {
                name: pool.submit(self._expect, name, layout, folder) for name in self._tables
            }
            for name in self._tables:
                self._write_table(layout, name, folder / name, work)
            with self._steps.step(f"{layout.name}: checking"):
                found = {name: expected.result() for name, expected in expecting.items()}
                for name, (expectation, _) in found.items():
                    check_files(folder / name, expectation.base_slices, expectation.log_slices)
                self._finish(layout, folder, found)

    def _updates(self, layout: Layout, table: str) -> Updates:
        share = layout.share if layout.has_logs else 0
        ratio = layout.ratio if layout.has_logs else 0
        return Updates(table, self._options.seed, ratio, share, self._slices)

    def _expect(
        self, table: str, layout: Layout, folder: Path
    ) -> tuple[Expectation, dict[State, dict[str, Any]]]:
        """The oracle's part: expected rows and their digests."""
        updates = self._updates(layout, table)
        folders: dict[State, Path] = {}
        if layout.has_logs:
            folders = {state: folder / "expected" / state for state in ("snapshot", "base")}
        source = self._parquet / table
        expectation = write_expected(source, updates, layout.ordering, folders)
        entries: dict[State, dict[str, Any]] = {}
        states: tuple[State, ...] = ("snapshot", "base")
        for state in states:
            ts = None if state in folders else BASE_TS
            file = folders[state] / f"{table}.parquet" if state in folders else source
            path = (
                f"expected/{state}/{table}.parquet" if state in folders else f"../parquet/{table}"
            )
            entries[state] = _entry(path, ts, digest_parquet(file, table, ts, with_ts=True))
            if entries[state]["rows"] != expectation.rows[state]:
                raise SeambenchError(f"expected rows of {table} were not written whole")
        return expectation, entries

    def _write_table(self, layout: Layout, name: str, path: Path, work: Path) -> None:
        table = HudiTable(name, layout, self._slices)
        updates = self._updates(layout, name)
        source = self._session.read.parquet((self._parquet / name).as_uri())
        with self._spark_step(f"{layout.name}: base of {name}"):
            base = self._bases.get((layout.base(), name))
            if base is None:
                # Without logs the base is used once: no copy to keep.
                base = work / f"{len(self._bases)}-{name}" if layout.has_logs else path
                # A complete base is the generator's rows: no need to take them through Python.
                rows = (
                    map_rows(source, name, updates.base_rows)
                    if layout.has_logs
                    else source.selectExpr("*", f"{BASE_TS}L AS ts")
                )
                table.write(rows, base, "bulk_insert")
                if layout.has_logs:
                    self._bases[layout.base(), name] = base
            if base != path:
                shutil.copytree(base, path)
        if not layout.has_logs:
            return
        with self._spark_step(f"{layout.name}: updates of {name}"):
            table.write(map_rows(source, name, updates.log_rows), path, "upsert")
        with self._spark_step(f"{layout.name}: deletes of {name}"):
            table.write(map_rows(source, name, updates.delete_rows), path, "delete")

    def _finish(
        self,
        layout: Layout,
        folder: Path,
        found: Mapping[str, tuple[Expectation, dict[State, dict[str, Any]]]],
    ) -> None:
        plain = open_dataset(self._parquet).manifest
        tables: dict[str, Any] = {}
        expected: dict[State, dict[str, Any]] = {"snapshot": {}, "base": {}}
        for name in TABLES:
            hudi = name in found
            tables[name] = (
                {
                    "kind": "hudi",
                    "path": name,
                    "slices": len(found[name][0].base_slices),
                    "slices_with_logs": sorted(found[name][0].log_slices),
                }
                if hudi
                else {"kind": "parquet", "path": f"../parquet/{name}"}
            )
            for state, entries in expected.items():
                if hudi:
                    entries[name] = found[name][1][state]
                else:
                    entries[name] = plain["expected"][state][name] | {"path": f"../parquet/{name}"}
        self._write_manifest(folder, layout, tables, expected)

    def _write_manifest(
        self,
        folder: Path,
        layout: Layout,
        tables: Mapping[str, Any],
        expected: Mapping[State, Mapping[str, Any]],
    ) -> None:
        content = {
            "layout": layout.name,
            "scale": self._options.scale,
            "knobs": _knobs(layout, self._options, self._tables, self._slices),
            "versions": {
                "seambench": seambench.__version__,
                "spark": self._session.version,
                "hudi": None if layout.kind == "parquet" else self._hudi_origin(),
            },
            "note": "derived from TPC-H, not comparable with published TPC-H results",
            "tables": tables,
            "expected": expected,
        }
        write_manifest(folder, content)

    def _hudi_origin(self) -> str:
        """Which Hudi wrote the tables: the bundle's coordinates, or the jars given by hand."""
        if self._options.jars:
            return ",".join(Path(jar).name for jar in self._options.jars)
        return spark_start.HUDI_PACKAGE


class _Discard(Exception):  # noqa: N818 - a signal to drop a staging folder, not an error
    """Ends the staging of a folder that is not to stay."""


def _entry(path: str, ts: int | None, digest: str) -> dict[str, Any]:
    return {"path": path, "ts": ts, "rows": rows_of(digest), "digest": digest}


def _check_count(table: str, scale: float, rows: int) -> None:
    wanted = expected_row_count(table, scale)
    if wanted is not None and rows != wanted:
        raise SeambenchError(
            f"table {table} has {rows} rows at scale {format_scale(scale)}, TPC-H asks for {wanted}"
        )
