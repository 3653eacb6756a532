"""A version of a peer that reads tables, as a program in an environment of its own.

`python -m seambench.seams.scan.peer_program NAME@VERSION` answers one request as `docs/doors.md`
says.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import SeambenchError
from seambench.conformance.doors.facts import Facts
from seambench.contracts.peers.catalogue import Peer
from seambench.contracts.peers.environments import MARK, python_of
from seambench.contracts.registry import resolve
from seambench.contracts.scan import Scan, ScanRequest
from seambench.seams.scan.doors import CommandScanner, DoorScanner, Read


class ServedScanner(CommandScanner):
    """A peer in a version; started anew for each read."""

    path = "served"

    def __init__(self, peer: Peer, version: str) -> None:
        """Note what it states; its environment is made when it is first read with."""
        self._peer, self.timeout = peer, 600.0
        self.xfails: Path | None = None
        facts = Facts(f"{peer.name}@{version}", version, peer.capabilities(version))
        DoorScanner.__init__(self, facts)

    def start(self, request: ScanRequest) -> Read:
        """Start the program in its environment, for one read."""
        python = str(python_of(self._peer, self.version))
        clean = ["env", f"{MARK}={self.name}", "PYTHONPATH=", "PYTHONNOUSERSITE=1"]
        self.arguments = [*clean, python, "-m", __name__, self.name]
        return super().start(request)


def main() -> None:
    """Answer one request."""
    scanner = resolve("scan", sys.argv[1])
    try:
        scan: Scan = scanner.open(_request(json.load(sys.stdin)))
        with pa.ipc.new_stream(sys.stdout.buffer, scan.schema) as sink, scan.to_reader() as reader:
            for batch in reader:
                sink.write_batch(batch)
    except SeambenchError as error:
        sys.stderr.write(f"refused: {' '.join(str(error).split())}\n")
        sys.exit(2)


def _request(content: Mapping[str, Any]) -> ScanRequest:
    query = dict(content["query"])
    return ScanRequest(
        table=content["table"],
        query=query.pop("type"),
        columns=content.get("columns"),
        where=content.get("where"),
        batch_rows=content.get("batch_size"),
        threads=content.get("threads"),
        memory_limit_bytes=content.get("memory_limit"),
        strict=content.get("strict", False),
        storage_options=content.get("storage_options", {}),
        allow=content.get("allow", ()),
        **query,
    )


if __name__ == "__main__":
    main()
