"""The rows that plans exchange: those that Spark made, else the generator's."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from seambase.errors import InputError
from seambench.bench.exchange.plans import Plan
from seambench.data.dataset import MANIFEST, dataset_folder, open_dataset
from seambench.data.oracle import DIGEST_KIND
from seambench.data.tpch import TABLES, generate_single_process, generator_version
from seambench.engines.digest import digest_reader

_LAYOUT = "parquet"


@dataclass(frozen=True)
class Written:
    """Tables that lie ready."""

    by: Literal["spark", "generator"]
    generator: str
    rows: dict[str, int]


def write_tables(
    folder: Path, plans: Sequence[Plan], scale: float, data: Path | None = None
) -> Written:
    """Write what plans need as `folder/TABLE.arrow`, of a data set of this scale or generated."""
    names = tuple(dict.fromkeys(name for plan in plans for name in plan.tables))
    path = None if data is None else dataset_folder(data, scale, _LAYOUT)
    if path is None or not (path / MANIFEST).exists():
        with tempfile.TemporaryDirectory(prefix="seambench-tpch-") as made:
            # All at once: a generator's start takes longer than small tables.
            generate_single_process(scale, Path(made), names)
            files = {name: Path(made) / f"{name}.parquet" for name in names}
            rows = {name: _write(folder, name, _batches([files[name]], name)) for name in names}
        return Written("generator", generator_version(), rows)
    dataset = open_dataset(path)
    expected = dataset.expected("base")
    rows = {}
    for name in names:
        files_of = sorted(dataset.tables[name].path.rglob("*.parquet"))
        rows[name] = _write(folder, name, _batches(files_of, name))
        if dataset.manifest["knobs"]["digest_kind"] == DIGEST_KIND:
            _check(folder, name, expected[name].digest)
    return Written("spark", str(dataset.manifest["knobs"]["generator"]), rows)


def _write(folder: Path, name: str, batches: Iterable[pa.RecordBatch]) -> int:
    count = 0
    with pa.ipc.new_file(folder / f"{name}.arrow", TABLES[name].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _batches(files: Sequence[Path], name: str) -> Iterable[pa.RecordBatch]:
    """The rows of a table's files, in the columns' own types."""
    schema = TABLES[name].schema
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(columns=schema.names):
            yield batch.cast(schema)


def _check(folder: Path, name: str, digest: str) -> None:
    """Whether what was read is what the data set was made of."""
    with pa.memory_map(str(folder / f"{name}.arrow")) as file:
        found = digest_reader(pa.ipc.open_file(file).read_all())
    if found != digest:
        raise InputError(f"table {name} has rows {found}, its data set says {digest}")
