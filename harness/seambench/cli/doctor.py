"""`seambench doctor`: what this machine has, and what to do about what is missing."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from seambase.command.terminal import JSON_SCHEMA, print_json
from seambase.errors import SeambenchError
from seambase.extras import how_to_install
from seambase.wording import counted
from seambench.cli.shared.common import (
    NARROW,
    WIDE,
    DataFolder,
    console,
    data_folder,
    narrow_table,
    plain_table,
)
from seambench.contracts.peers.catalogue import Peer, catalogue, packages_of_peers

#: Packages of extras: module, distribution, what people call it, what brings it, what needs it.
_PACKAGES = (
    ("pyspark", "pyspark", "Spark", "seambench[spark]", "seambench data, readers on Spark"),
    ("jpype", "jpype1", "JPype", "seambench[jvm]", "serdes presto-jvm and spark-jvm"),
    ("google.protobuf", "protobuf", "protobuf", "seambench[exchange]", "exchanges of ours"),
    ("grpc", "grpcio", "gRPC", "seambench[exchange]", "exchanges over grpc"),
    ("pandas", "pandas", "pandas", "pandas", "data frames of pandas"),
    ("polars", "polars", "Polars", "polars", "data frames of Polars"),
    ("s3fs", "s3fs", "s3fs", "seamkit[s3]", "tables at s3://"),
    ("gcsfs", "gcsfs", "gcsfs", "seamkit[gcs]", "tables at gs://"),
)
_GIB = 1 << 30
_ENOUGH_MEMORY, _ENOUGH_DISK = 8 * _GIB, 5 * _GIB


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for."""

    subject: str
    ok: bool
    found: str
    advice: str = ""  # what to do when it is not ok; empty otherwise
    needed_for: str = ""  # what does not work without it


def doctor(
    folder: DataFolder = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Tell what this machine has, and what to do about what is missing."""
    findings = list(examine(data_folder(folder)))
    if as_json:
        print_json({"schema": JSON_SCHEMA, "findings": [asdict(finding) for finding in findings]})
        return
    out, rows = console(NARROW), []
    for finding in findings:
        mark = "[green]ok[/green]" if finding.ok else "[yellow]--[/yellow]"
        needed = f" (needed for: {finding.needed_for})" if finding.needed_for else ""
        rows.append((mark, finding, "" if finding.ok else f"{finding.advice}{needed}"))
    if out.width < WIDE:
        narrow_table(out, ((mark, f"{of.subject}: {of.found}", do) for mark, of, do in rows))
        return
    table = plain_table(["", "subject", "found", "what to do"])
    for mark, of, advice in rows:
        table.add_row(mark, of.subject, escape(of.found), escape(advice))
    out.print(table)


def examine(data: Path) -> Iterator[Finding]:
    """Look for everything that any part of Seambench needs, and at the disk of the data folder."""
    yield _python()
    yield _program(
        "C compiler",
        ("cc", "gcc", "clang"),
        "building from source",
        "install gcc or clang",
    )
    yield _core()
    yield from _seams()
    yield _java()
    yield from _formats()
    peers = {name: peer for (_, name), peer in catalogue().items()}
    for distribution, names in packages_of_peers().items():
        yield _peer(distribution, [peers[name] for name in names])
    yield from _machine(data)
    for package in _PACKAGES:
        yield _package(*package)
    yield _program("Chromium", ("chromium", "chromium-browser"), "tests of the page", "install it")
    yield _program("clang", ("clang",), "fuzz targets", "install clang")


def _python() -> Finding:
    version = platform.python_version()
    known = sys.version_info[:2] in ((3, 11), (3, 12), (3, 13), (3, 14))
    return Finding("Python", known, f"{version} ({sys.executable})", "use Python 3.11 to 3.14")


def _core() -> Finding:
    """The library's C core, found by asking the registry for a reader made of it."""
    from seambench.contracts import registry

    name = ""
    try:
        name = registry.default_reader()
        reader = registry.resolve("scan", name)
    except SeambenchError as error:
        advice = how_to_install("seambench[seamkit]")
        found = str(error).removesuffix(f": {advice}")
        return Finding("own readers", False, found, advice, f"reader {name}".rstrip())
    return Finding("own readers", True, f"version {reader.version}")


def _seams() -> Iterator[Finding]:
    """Every installed seam, with the implementations that can be had here."""
    from seambench.contracts import registry

    for seam in registry.seams():
        try:
            names = registry.names(seam, without=(None,))
        except SeambenchError as error:
            advice = "mend it, or install anew what announces it"
            yield Finding(f"{seam} seam", False, str(error), advice)
            continue
        listed = f"{counted(len(names), 'implementation')}: {', '.join(names)}"
        yield Finding(
            f"{seam} seam", bool(names), listed, "`seambench list implementations` says why"
        )


def _java() -> Finding:
    from seambase.java import find_java

    try:
        java = find_java()
    except SeambenchError as error:
        return Finding("Java", False, "no", str(error), "seambench data, readers on Spark")
    return Finding("Java", True, f"Java {java.major} from {java.origin} ({java.home})")


def _formats() -> Iterator[Finding]:
    """Jars of every table format."""
    from seambench.contracts.formats import format_names, resolve_format

    for name in format_names():
        try:
            format_ = resolve_format(name)
        except SeambenchError as error:
            yield Finding(f"table format {name}", False, "no", str(error))
            continue
        for package in format_.bundle(None).packages:
            yield _jar(format_.title, package)


def _jar(title: str, package: str) -> Finding:
    """Whether Spark has fetched a jar before; without it a network is needed once."""
    subject = f"{title}'s jar"
    group, artifact, version = package.split(":")
    home = Path.home()
    name = f"{group}_{artifact}-{version}.jar"
    for jar in (
        home / ".ivy2" / "jars" / name,
        home / ".ivy2.5.2" / "jars" / name,
        home / ".ivy2" / "cache" / group / artifact / "jars" / f"{artifact}-{version}.jar",
    ):
        if jar.exists():
            return Finding(subject, True, str(jar))
    advice = "Spark fetches it on first use; without network, name a downloaded one with --jars"
    return Finding(subject, False, "not fetched yet", advice, "seambench data")


def _machine(data: Path) -> Iterator[Finding]:
    import psutil

    from seambench.records.facts import machine_info

    machine = machine_info()
    yield Finding("cores", True, f"{machine.cores} ({machine.cpu})")
    memory = psutil.virtual_memory()
    yield Finding(
        "memory",
        memory.available >= _ENOUGH_MEMORY,
        f"{memory.available / _GIB:.1f} GiB free of {memory.total / _GIB:.1f}",
        "scale 1 wants about 8 GiB; take a smaller --scale",
    )
    folder = next(path for path in (data.absolute(), *data.absolute().parents) if path.exists())
    free = shutil.disk_usage(folder).free
    writable = os.access(folder, os.W_OK)
    yield Finding(
        "data folder",
        writable and free >= _ENOUGH_DISK,
        f"{data}: {free / _GIB:.1f} GiB free{'' if writable else ', not writable'}",
        "choose another folder with --data or SEAMBENCH_DATA",
        "seambench data",
    )
    load = machine.load_before[0]
    yield Finding(
        "load",
        load < machine.cores,
        f"{load:g}",
        "other work disturbs measurements; wait for it to end",
    )


def _package(
    module: str, distribution: str, name: str, requirement: str, needed_for: str
) -> Finding:
    try:
        there = importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it is there
        there = False
    if not there:
        return Finding(name, False, "no", how_to_install(requirement), needed_for)
    from importlib import metadata

    return Finding(name, True, f"{distribution} {metadata.version(distribution)}")


def _peer(package: str, peers: Sequence[Peer]) -> Finding:
    version = _installed(package)
    if version is None:
        needed_for = f"peers {', '.join(peer.name for peer in peers)}"
        return Finding(package, False, "no", _how_to_get(package, peers[0]), needed_for)
    lacking = {
        peer.name: _how_to_get(other, peer)
        for peer in peers
        for other in peer.others
        if _installed(other) is None
    }
    there = [peer.name for peer in peers if peer.name not in lacking]
    advice = "; ".join(dict.fromkeys(lacking.values()))
    found = f"{package} {version}: {', '.join(there) or 'not enough for its peers'}"
    return Finding(
        package, not lacking, found, advice, f"peers {', '.join(lacking)}" if lacking else ""
    )


def _installed(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _how_to_get(package: str, peer: Peer) -> str:
    """The version that is judged here, or an environment of its own where it has what it needs."""
    from importlib import metadata

    for line in metadata.requires("seambench") or ():
        requirement = line.partition(";")[0].strip()
        if re.split("[^A-Za-z0-9_-]", requirement)[0] == package:
            return how_to_install(requirement)
    return f"name {peer.name}@{peer.versions[-1]}: it gets an environment of its own"


def _program(subject: str, names: tuple[str, ...], needed_for: str, advice: str) -> Finding:
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return Finding(subject, True, f"{_version(path)} ({path})")
    return Finding(subject, False, "no", advice, needed_for)


def _version(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return "does not run"
    lines = done.stdout.strip().splitlines()
    return lines[0].strip() if lines else "version unknown"
