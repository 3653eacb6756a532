"""Values that a shell completes: what there is is asked when the key is pressed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import typer


def seams(incomplete: str) -> list[str]:
    """Names of seams."""
    from seambench.contracts import registry

    return _begun(registry.seams(), incomplete)


def implementations(context: typer.Context, incomplete: str) -> list[str]:
    """Names of implementations of the seam that was typed; behind `@`, versions of a peer."""
    return _of_seam(context.params.get("seam") or "scan", incomplete)


def exchanges(incomplete: str) -> list[str]:
    """Names of implementations of the exchange."""
    return _of_seam("exchange", incomplete)


def peers(incomplete: str) -> list[str]:
    """Names of peers that can be had in versions; behind `@`, their versions."""
    from seambench.contracts.peers.catalogue import AT, catalogue

    if AT not in incomplete:
        return _begun(dict.fromkeys(name for _, name in catalogue()), incomplete)
    return _versions(None, incomplete)


def formats(incomplete: str) -> list[str]:
    """Names of table formats."""
    from seambench.contracts.formats import format_names

    return _begun(format_names(), incomplete)


def layouts(incomplete: str) -> list[str]:
    """Names of the layouts of the curves, and of plain files."""
    from seambench.data.layouts import default_layouts

    return _begun(default_layouts(), incomplete)


def cases(incomplete: str) -> list[str]:
    """Ids of cases, a part between slashes at a time."""
    from seambench.contracts import registry

    begins = [f"{name}/" for name in registry.seams()]
    is_within = incomplete.startswith(tuple(begins))
    found = _next_parts(incomplete) if is_within else _begun(begins, incomplete)
    # A shell puts a space behind the only choice: it has to be an id.
    while len(found) == 1 and found[0].endswith("/"):
        found = _next_parts(found[0])
    return found


def _next_parts(incomplete: str) -> list[str]:
    """What ids may be up to the next slash behind what was typed, which names a seam at least."""
    from seambench.conformance.load import load_cases, roots

    parent = incomplete.rpartition("/")[0]
    entries = [entry for root in roots() for entry in _entries(root / "cases" / parent)]
    named = (f"{parent}/{entry.name}/" for entry in entries if entry.is_dir())
    parts = set(_begun(named, incomplete))
    if not parts or any(entry.is_file() for entry in entries):
        # A file may hold many cases; few files are read, those of what was typed.
        ids = (case.id for case in load_cases(incomplete.partition("/")[0], begins=[incomplete]))
        for rest in (one.removeprefix(incomplete) for one in ids if one.startswith(incomplete)):
            part, slash, _ = rest.partition("/")
            parts.add(f"{incomplete}{part}{slash}")
    return sorted(parts)


def passes(context: typer.Context, incomplete: str) -> list[str]:
    """Extra passes of the seam that was typed."""
    from seambench.contracts import registry

    seam = registry.find_seam(context.params.get("seam") or "scan")
    return _begun(sorted(seam.passes), incomplete)


def findings(incomplete: str) -> list[str]:
    """Names of reported defects."""
    from seambench.contracts.findings import read_findings

    return _begun((one.name for one in read_findings()), incomplete)


def bars(incomplete: str) -> list[str]:
    """Runs that bars come from, and names of bars, where the shell takes their spaces."""
    from seambench.contracts import registry
    from seambench.records.bars import load_bars

    declared = load_bars(registry.resolve_suite("tpch").bars)
    names = [bar.name for bar in declared.bar]
    shell = os.environ.get("_SEAMBENCH_COMPLETE", "")
    if shell == "complete_zsh":
        names = []
    found = _begun([*declared.run, *names], incomplete)
    return [re.sub(r"([^\w,./%-])", r"\\\1", one) for one in found] if "bash" in shell else found


def one_of(*words: str) -> Callable[[str], list[str]]:
    """Completes these words."""
    return lambda incomplete: _begun(words, incomplete)


def _of_seam(seam: str, incomplete: str) -> list[str]:
    from seambench.contracts import registry
    from seambench.contracts.peers.catalogue import AT

    is_version = AT in incomplete
    return _versions(seam, incomplete) if is_version else _begun(registry.names(seam), incomplete)


def _versions(seam: str | None, incomplete: str) -> list[str]:
    """Versions of the peers of a seam, or of all."""
    from seambench.contracts.peers.catalogue import AT, catalogue

    peers = [peer for (of, _), peer in catalogue().items() if seam in (None, of)]
    named = (f"{peer.name}{AT}{each}" for peer in peers for each in (*peer.versions, "all"))
    return _begun(dict.fromkeys(named), incomplete)


def _begun(known: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in known if name.startswith(incomplete)]


def _entries(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [one for one in folder.iterdir() if not one.name.startswith(("_", "."))]
