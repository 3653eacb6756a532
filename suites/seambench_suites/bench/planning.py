"""Measures how long tables of many files take to plan, and in how much memory.

    seambench kernels seambench_suites.bench.planning --set files=100000 --set partitions=10000

Tables are real ones multiplied: what Iceberg, Delta and Paimon wrote of one small file is written
again for as many, with the writers' own schemas of metadata; a table of Hudi's has its names and a
timeline, one of Hive's its names. Data files do not exist but for these names: planning reads none.
`far` is the same table as on an object store, where each request waits. A plan must
have a unit for each file, or slice; all of them are made, also where a scan would make each as its
part is opened, and nothing is kept from one plan to the next. Other libraries plan tables of theirs
beside it, and must find as many files.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from seambench.bench import delayed_storage
from seambench.bench.apart import Task
from seambench.bench.kernels import Kernel, Kernels
from seambench.bench.measure import Competitor, RepeatingClock, growth_of
from seambench.formats.forms.containers import avro_content, write_avro
from seambench.records.model import Moved, Rows
from seambench.records.verdicts import Arrived
from seambench_suites.bench.metadata_tables import add_metadata_table
from seambench_suites.history.kernels import feature
from seambench_suites.history.plan_kernels import write_table

_GOLDEN = Path(str(files("seambench_suites"))) / "golden"


def _hudi(root: Path, n_files: int, partitions: int) -> None:
    write_table(root, n_files // 2, partitions)


def _hudi_listed(root: Path, n_files: int, partitions: int) -> None:
    """The same, with a metadata table that lists the files."""
    _hudi(root, n_files, partitions)
    add_metadata_table(root)


def _delta(root: Path, n_files: int, partitions: int) -> None:
    """One commit that adds all files, each as Spark wrote the first one's line."""
    log = root / "_delta_log"
    log.mkdir()
    with zipfile.ZipFile(_GOLDEN / "delta" / "pruning" / "table.zip") as archive:
        first = [n for n in archive.namelist() if n.endswith((f"{0:020}.json", f"{1:020}.json"))]
        lines = [json.loads(line) for n in first for line in archive.read(n).splitlines()]
    (metadata,) = [line for line in lines if "metaData" in line]
    (protocol,) = [line for line in lines if "protocol" in line]
    metadata["metaData"]["partitionColumns"] = ["p"]
    schema = json.loads(metadata["metaData"]["schemaString"])
    schema["fields"].append({"name": "p", "type": "integer", "nullable": True, "metadata": {}})
    metadata["metaData"]["schemaString"] = json.dumps(schema)
    add = next(line for line in lines if "add" in line)["add"]
    with (log / f"{0:020}.json").open("w") as out:
        for line in (protocol, metadata):
            out.write(json.dumps(line) + "\n")
        for number in range(n_files):
            part = str(number % partitions)
            path = f"p={part}/part-{number:05}-{add['path'][-40:]}"
            one = {**add, "path": path, "partitionValues": {"p": part}}
            out.write(json.dumps({"add": one}) + "\n")


def _delta_checkpoint(root: Path, n_files: int, partitions: int) -> None:
    """The same, and a checkpoint of it by delta-rs; the commits before it are gone."""
    from deltalake import DeltaTable

    _delta(root, n_files, partitions)
    DeltaTable(str(root)).create_checkpoint()
    (root / "_delta_log" / f"{0:020}.json").unlink()


def _iceberg(root: Path, n_files: int, partitions: int, of_manifest: int = 10_000) -> None:
    """The first commit of a partitioned table, its one entry multiplied over manifests."""
    with zipfile.ZipFile(_GOLDEN / "iceberg" / "pruning" / "table.zip") as archive:
        names = archive.namelist()
        document = json.loads(archive.read("metadata/v2.metadata.json"))
        snapshot = document["snapshots"][0]
        list_name = next(n for n in names if n.endswith(Path(snapshot["manifest-list"]).name))
        listed = avro_content(archive.read(list_name))
        (manifest,) = listed.rows
        name = next(n for n in names if n.endswith(Path(manifest["manifest_path"]).name))
        first = avro_content(archive.read(name))
        (entry,) = first.rows
    old, folder = document["location"], root / "metadata"
    folder.mkdir()
    entries: list[dict[str, Any]] = []
    for number in range(n_files):
        part = number % partitions
        file = {
            **entry["data_file"],
            "file_path": f"{root}/data/p={part}/{number:05}-0001.parquet",
            "partition": {"p": part},
        }
        entries.append({**entry, "data_file": file})
    manifests = []
    for number in range(0, n_files, of_manifest):
        path, some = folder / f"m{number}.avro", entries[number : number + of_manifest]
        write_avro(path, replace(first, rows=some))
        (bounds,) = manifest["partitions"]
        ends = [0, partitions - 1]
        lower, upper = (end.to_bytes(4, "little") for end in ends)
        manifests.append(
            {
                **manifest,
                "manifest_path": str(path),
                "manifest_length": path.stat().st_size,
                "added_files_count": len(some),
                "added_rows_count": len(some) * entry["data_file"]["record_count"],
                "partitions": [{**bounds, "lower_bound": lower, "upper_bound": upper}],
            }
        )
    write_avro(folder / Path(list_name).name, replace(listed, rows=manifests))
    text = json.dumps(document).replace(old, str(root))
    (folder / "v2.metadata.json").write_text(text)
    (folder / "version-hint.text").write_text("2")


def _paimon(root: Path, n_files: int, partitions: int) -> None:
    """The first commit of a partitioned table, an entry of it multiplied over ten manifests."""
    with zipfile.ZipFile(_GOLDEN / "paimon" / "append-partitions" / "table.zip") as archive:
        snapshot = json.loads(archive.read("snapshot/snapshot-1"))
        base = f"manifest/{snapshot['baseManifestList']}"
        for name in ("schema/schema-0", base):
            archive.extract(name, root)
        list_path = f"manifest/{snapshot['deltaManifestList']}"
        listed = avro_content(archive.read(list_path))
        manifest = listed.rows[0]
        first = avro_content(archive.read(f"manifest/{manifest['_FILE_NAME']}"))
    entry = first.rows[0]
    file, values = entry["_FILE"], entry["_PARTITION"]
    entries: list[dict[str, Any]] = []
    for number in range(n_files):
        # The last of three columns, a bigint, behind the arity and the bits of nulls.
        part = values[:28] + (number % partitions).to_bytes(8, "little") + values[36:]
        one = {**file, "_FILE_NAME": f"data-{number:08}-0.parquet"}
        entries.append({**entry, "_PARTITION": part, "_FILE": one})
    manifests = []
    share = -(-n_files // 10)
    for number in range(0, n_files, share):
        path, some = root / "manifest" / f"manifest-{number}", entries[number : number + share]
        write_avro(path, replace(first, rows=some))
        size = path.stat().st_size
        stated = {"_FILE_NAME": path.name, "_FILE_SIZE": size, "_NUM_ADDED_FILES": len(some)}
        manifests.append({**manifest, **stated})
    write_avro(root / list_path, replace(listed, rows=manifests))
    rows = file["_ROW_COUNT"] * n_files
    snapshot.update(totalRecordCount=rows, deltaRecordCount=rows)
    (root / "snapshot").mkdir()
    (root / "snapshot" / "snapshot-1").write_text(json.dumps(snapshot))
    for name in ("LATEST", "EARLIEST"):
        (root / "snapshot" / name).write_text("1")


def _hive(root: Path, n_files: int, partitions: int) -> None:
    """Names of files in folders of partitions, which are all that such a table has."""
    descriptor = {
        "format": "parquet",
        "columns": [{"name": "k", "type": "int"}],
        "partitions": [{"name": "p", "type": "int"}],
    }
    (root / "_hive_table.json").write_text(json.dumps(descriptor))
    for number in range(n_files):
        folder = root / f"p={number % partitions}"
        if number < partitions:
            folder.mkdir()
        (folder / f"part-{number:08}").touch()


FORMATS: Mapping[str, Callable[[Path, int, int], None]] = {
    "hudi": _hudi,
    "hudi-metadata-table": _hudi_listed,
    "delta": _delta,
    "delta-checkpoint": _delta_checkpoint,
    "iceberg": _iceberg,
    "iceberg-manifests": partial(_iceberg, of_manifest=10),
    "paimon": _paimon,
    "hive": _hive,
}
"""Makes a table of a format below an empty folder: of so many files in so many partitions."""


def kernels(
    folder: Path, files: int = 100_000, partitions: int = 10_000, delay_ms: float = 30.0
) -> Kernels:
    """A plan of each format's table, here and far away."""
    over = Rows(name=f"{files} files in {partitions} partitions", scale=0)
    listed = []
    for name, make in FORMATS.items():
        root = folder / name
        root.mkdir()
        make(root, files, partitions)
        # A slice of Hudi's has two.
        units = files // 2 if name.startswith("hudi") else files
        # Of its own accord a table that is here lists folders.
        how = {"listing": "metadata"} if name == "hudi-metadata-table" else {}
        for where, address, delay in (("here", root, 0.0), ("far", f"delayed://{root}", delay_ms)):
            task = Task(_planning, (str(address), how, units, delay / 1000), memory=True)
            listed.append(Kernel(f"planning/{name}/{where}/seamkit", task, over, "step"))
        for peer, plan in _PEERS.get(name.partition("-")[0], {}).items():
            task = Task(_planning_by, (plan, str(root), units))
            listed.append(Kernel(f"planning/{name}/here/{peer}", task, over, "step"))
    return Kernels("scan", "auto", listed)


def _planning(address: str, how: Mapping[str, Any], units: int, delay_seconds: float) -> Competitor:
    """In a process of its own: plan, and make the units that are planned."""
    seamkit = feature("seamkit", "keep_at_most")
    seamkit.keep_at_most(0)

    def run() -> Any:
        with delayed_storage.delay(delay_seconds):
            return list(seamkit.open_table(address, **how).scan().plan.units)

    def judge(parts: Sequence[object]) -> Arrived:
        return Arrived(Moved(unit="units", sent=units, arrived=len(parts)))

    return Competitor(run, judge, RepeatingClock(), growth_of(run, judge))


def _planning_by(plan: Callable[[str], Sequence[Any]], root: str, units: int) -> Competitor:
    """In a process of its own: another library says which files are to be read."""

    def judge(files: Sequence[Any]) -> Arrived:
        return Arrived(Moved(unit="units", sent=units, arrived=len(files)))

    return Competitor(partial(plan, root), judge, RepeatingClock())


def _by_deltalake(root: str) -> Sequence[Any]:
    from deltalake import DeltaTable

    return DeltaTable(root).file_uris()


def _by_pyiceberg(root: str) -> Sequence[Any]:
    from pyiceberg.table import StaticTable

    table = StaticTable.from_metadata(f"{root}/metadata/v2.metadata.json")
    return list(table.scan().plan_files())


_PEERS: Mapping[str, Mapping[str, Callable[[str], Sequence[Any]]]] = {
    "delta": {"deltalake": _by_deltalake},
    "iceberg": {"pyiceberg": _by_pyiceberg},
}
