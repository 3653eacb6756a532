"""Make data sets: the one function behind `seambench data` and the spark-submit entry."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from seambase.errors import UnavailableError, UsageError
from seambench.contracts.tables import Layout
from seambench.data.dataset import (
    Dataset,
    data_lock,
    dataset_folder,
    default_data_folder,
    is_half_made,
    open_dataset,
    remove_leftovers,
)
from seambench.data.layouts import PLAIN, default_layouts, parse_layout
from seambench.data.making import Making, make
from seambench.data.oracle import DIGEST_KIND
from seambench.data.progress import Steps
from seambench.data.tpch import TABLES, format_scale, generator_version
from seambench.engines.spark import SparkOptions, require_spark

#: Tables that are tables of a layout's format when nothing else is said.
DEFAULT_TABLES = ("lineitem", "orders")

# Bytes at scale 1, seen and rounded up: the eight tables; lineitem and orders as created; the
# expected rows of both states; what is added when every row is changed.
_PARQUET_BYTES, _BASE_BYTES, _EXPECTED_BYTES, _CHANGED_BYTES = 300e6, 300e6, 500e6, 2500e6

# Up to this scale a run is over before Java's second compiler has paid off.
_BRIEF_SCALE = 0.1


@dataclass(frozen=True)
class GenerateOptions:
    """What to make. Each attribute is a flag of `seambench data` and of the spark-submit entry."""

    scale: float = 0.01  # `--scale`: TPC-H scale
    # `--data`: data folder (default: SEAMBENCH_DATA, else `data`)
    data: Path = field(default_factory=default_data_folder)
    # `--format`, repeatable: table formats whose curves over update ratios are made where no layout
    # is named; none for all that are announced
    formats: tuple[str, ...] = ()
    # `--layout`, repeatable: names as the formats spell them. `parquet` is always made too, since
    # the others refer to it.
    layouts: tuple[str, ...] = ()
    # `--table`, repeatable: tables to be of the layout's format; `all` for all eight. The others
    # are those of the `parquet` layout.
    tables: tuple[str, ...] = DEFAULT_TABLES
    # `--slices`: slices of each such table, groups of rows in files of their own; None takes what
    # an existing data set has, else 5 below scale 1 (20 % of them is exactly one) and 8 per unit of
    # scale above
    slices: int | None = None
    seed: int = 42  # `--seed`: decides which rows are touched and what they become
    force: bool = False  # `--force`: make data sets again that exist
    # `--wait/--no-wait`: wait for another process that writes to the same data folder
    wait: bool = True
    # `--master`: Spark master; None means spark-submit's, else `local[*]`
    master: str | None = None
    memory: str = "4g"  # `--memory`: heap of Spark's driver
    # `--jars`, repeatable: paths of jars, in place of fetching the format's
    jars: tuple[str, ...] = ()
    # `--conf KEY=VALUE`, repeatable: further Spark settings
    conf: Mapping[str, str] = field(default_factory=dict)
    quiet: bool = False  # `--quiet`: show no progress


class PlannedDataset(NamedTuple):
    """A data set that is there or would be made: its name, its format, about how large it is."""

    name: str
    format: str
    is_there: bool
    size_bytes: int


def default_slices(scale: float) -> int:
    """Slices of a table when nothing is said: as many as shares of 5 % need, or times that."""
    return 20 * max(1, round(scale * 8 / 20))


def _require_share(layout: Layout, slices: int) -> None:
    """Refuse a share of slices that so many slices cannot show: it would be another one."""
    share = float(layout.dimensions().get("slice_share", 100))
    if not (share * slices / 100).is_integer():
        raise UsageError(
            f"{layout.name}: {share:g} % of {slices} slices is no whole number of them; "
            "20 slices (--slices 20, and --force where it is there already) show every 5 %"
        )


def generate(options: GenerateOptions) -> list[Dataset]:
    """Make the data sets that are missing, and return all that were asked for, in their order.

    Needs no Java and no Spark when nothing is missing. What is half-made when something fails, or
    Ctrl-C comes, is removed; data sets finished before stay.
    """
    # Spark wants addresses, and those are absolute.
    names = options.layouts or default_layouts(options.formats)
    options = replace(options, data=options.data.resolve(), layouts=names)
    layouts = _layouts(options)
    tables = _tables(options)
    for layout in layouts if options.slices or options.force else ():
        _require_share(layout, options.slices or default_slices(options.scale))
    plan = _Plan(options, layouts, tables)
    if options.force or plan.missing():
        require_spark()
        with (
            Steps(quiet=options.quiet) as steps,
            data_lock(options.data, wait=options.wait, on_wait=steps.say),
        ):
            remove_leftovers(options.data)
            missing = list(layouts) if options.force else plan.missing()
            if missing:
                _check_space(options, missing)
                make(_making(options, tables), missing, steps)
    named = {parse_layout(name).name for name in options.layouts}
    return [plan.existing(layout) for layout in layouts if layout.name in named]


def planned(options: GenerateOptions) -> list[PlannedDataset]:
    """The data sets that `generate` would hand out, plain Parquet first; makes none."""
    layouts = _layouts(
        replace(options, layouts=options.layouts or default_layouts(options.formats))
    )
    plan = _Plan(options, layouts, _tables(options))
    missing = list(layouts) if options.force else plan.missing()
    return [
        PlannedDataset(
            f"sf{format_scale(options.scale)}/{layout.name}",
            layout.format_name,
            is_there=layout not in missing,
            size_bytes=int(options.scale * _bytes_at_scale_one(layout)),
        )
        for layout in layouts
    ]


def _layouts(options: GenerateOptions) -> tuple[Layout, ...]:
    """The layouts asked for, each once, `parquet` among them and first if it was not named."""
    format_scale(options.scale)
    layouts = list(dict.fromkeys(parse_layout(name) for name in options.layouts))
    formats = {layout.format_name for layout in layouts if layout != PLAIN}
    if "PYSPARK_GATEWAY_PORT" in os.environ and len(formats) > 1:
        raise UsageError(
            "one spark-submit has the jars of one table format: start one for each of "
            f"{', '.join(sorted(formats))}"
        )
    return tuple(layouts) if PLAIN in layouts else (PLAIN, *layouts)


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
    if layout == PLAIN:
        return _PARQUET_BYTES
    if not layout.changes:
        return _BASE_BYTES
    touched = layout.ratio * layout.share / 1e4
    return _BASE_BYTES + _EXPECTED_BYTES + touched * _CHANGED_BYTES


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
        """Layouts without a complete data set."""
        return [layout for layout in self._layouts if self._find(layout) is None]

    def existing(self, layout: Layout) -> Dataset:
        return open_dataset(self._folder(layout))

    def _folder(self, layout: Layout) -> Path:
        return dataset_folder(self._options.data, self._options.scale, layout.name)

    def _find(self, layout: Layout) -> Dataset | None:
        folder = self._folder(layout)
        if not folder.exists() or is_half_made(folder):
            return None
        dataset = open_dataset(folder)
        wanted = _knobs(layout, self._options, self._tables, self._options.slices)
        knobs = dataset.manifest["knobs"]
        _require_share(layout, knobs.get("slices", 1))
        for name, value in wanted.items():
            if name == "slices" and self._options.slices is None:
                continue
            if knobs.get(name) != value:
                raise UsageError(
                    f"data set {folder} exists with {name} {knobs.get(name)}, asked for was "
                    f"{value}: choose another folder with --data, or make it again with --force"
                )
        return dataset


def _knobs(
    layout: Layout, options: GenerateOptions, tables: tuple[str, ...], slices: int | None
) -> dict[str, Any]:
    """What a data set was made with; two with equal knobs hold equal rows."""
    knobs: dict[str, Any] = {"generator": generator_version(), "digest_kind": DIGEST_KIND}
    if layout == PLAIN:
        return knobs
    dimensions = layout.dimensions()
    seed = {"seed": options.seed} if "update_ratio" in dimensions else {}
    return (
        knobs
        | {f"{layout.format_name}_tables": list(tables), "slices": slices}
        | seed
        | {**dimensions}
    )


def _making(options: GenerateOptions, tables: tuple[str, ...]) -> Making:
    """What does not change from layout to layout of a run."""
    slices = options.slices or default_slices(options.scale)
    return Making(
        scale=options.scale,
        folder=dataset_folder(options.data, options.scale, PLAIN.name).parent,
        tables=tables,
        slices=slices,
        seed=options.seed,
        force=options.force,
        spark=SparkOptions(
            options.master,
            options.memory,
            options.jars,
            options.conf,
            brief=options.scale <= _BRIEF_SCALE,
        ),
        knobs=lambda layout: _knobs(layout, options, tables, slices),
    )
