"""`seambench peers`: foreign systems in versions, each in an environment of its own."""

from __future__ import annotations

import shutil
from typing import Annotated

import typer

from seambase.command.terminal import JSON_SCHEMA, print_json
from seambase.errors import SeambenchError, UsageError
from seambench.cli.shared import completing
from seambench.cli.shared.common import console, error_console
from seambench.contracts.peers.catalogue import AT, Peer, catalogue, peer_of
from seambench.contracts.peers.environments import made_environments, python_of

app = typer.Typer(
    help="Foreign systems in versions: NAME@VERSION is an implementation wherever a name goes.",
    no_args_is_help=True,
)
_Names = Annotated[
    list[str],
    typer.Argument(
        help="NAME, NAME@VERSION or NAME@all; without a version the newest.",
        autocompletion=completing.peers,
    ),
]


@app.command("list")
def list_peers(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """List peers, their versions, and which are installed; then what each says it can do."""
    rows = [
        {
            "seam": peer.seam,
            "name": peer.name,
            "package": peer.package,
            "versions": list(peer.versions),
            "installed": sorted(made_environments(peer)),
            "states": {version: sorted(peer.capabilities(version)) for version in peer.versions},
            "documents": sorted({one.link for one in peer.states}),
        }
        for peer in catalogue().values()
    ]
    if as_json:
        print_json({"schema": JSON_SCHEMA, "peers": rows})
        return
    out = console()
    for row in rows:
        versions = [v + ("*" if v in row["installed"] else "") for v in row["versions"]]
        out.print(f"{row['seam']:9} {row['name']:18} {' '.join(versions)}", soft_wrap=True)
    out.print("\n* installed here; others are when they are first named: --impl NAME@VERSION")


@app.command("install")
def install(names: _Names) -> None:
    """Install versions of peers now, which otherwise happens when one is first named."""
    failed = False
    for name in names:
        for peer, version in _chosen(name):
            title = f"{peer.name}@{version}"
            try:
                with error_console().status(f"installing {title}"):
                    python = python_of(peer, version)
            except SeambenchError as error:
                failed = True
                error_console().print(str(error), markup=False)
            else:
                console().print(f"{title}: {python}", markup=False, soft_wrap=True)
    if failed:
        raise typer.Exit(1)


@app.command("remove")
def remove(names: _Names) -> None:
    """Remove installed versions of peers; a name without a version means all of them."""
    for name in names:
        for peer, version in _chosen(name if "@" in name else f"{name}@all"):
            for folder in made_environments(peer).get(version, []):
                shutil.rmtree(folder)
                console().print(f"{peer.name}@{version}: removed", markup=False)


def _chosen(name: str) -> list[tuple[Peer, str]]:
    """The peers and versions that a name stands for; one name may be a peer of several seams."""
    base, _, version = name.partition(AT)
    peers = [peer for peer in catalogue().values() if peer.name == base]
    if not peers:
        known = ", ".join(sorted({peer.name for peer in catalogue().values()}))
        raise UsageError(f"no peer {base!r} can be had in versions; these can: {known}")
    if version == "all":
        return [
            (peer, each)
            for peer in peers
            for each in dict.fromkeys([*peer.versions, *made_environments(peer)])
        ]
    return [
        (peer, peer_version)
        for peer in peers
        for peer_version in [version or peer.versions[-1]]
        if peer_of(peer.seam, f"{base}{AT}{peer_version}")
    ]
