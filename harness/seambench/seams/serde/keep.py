"""What a serde case reads, left in a folder, and the request that a program gets for it."""

from __future__ import annotations

from pathlib import Path

from seambase.errors import UsageError
from seambase.foreign_arrow import stream_of
from seambench.seams.serde.cases import SerdeCase
from seambench.seams.serde.doors import serde_request
from seambench.seams.serde.handed_batches import batches_of
from seambench.seams.serde.streams import steps_of, stream_batches


def keep_serde(case: SerdeCase, folder: Path) -> list[str]:
    """Leave the bytes as `input`, or the batches as an Arrow stream; see `Seam.keep`."""
    vector = case.vector()
    content = vector.data
    if case.operation in ("encode", "stream"):
        streamed = case.operation == "stream"
        batches = stream_batches(case) if streamed else batches_of(vector, case.given_types)
        content = stream_of(batches, batches[0].schema).to_pybytes()
    if content is None:
        raise UsageError(f"{case.id}: no bytes are known that could be kept")
    folder.mkdir(parents=True)
    (folder / "input").write_bytes(content)
    (folder / "request.json").write_text(asked_serde(case) + "\n", encoding="utf-8")
    files = f"{folder / 'request.json'} {folder / 'input'}"
    return [f"cat {files} | ./serde > output    # as the door for programs asks"]


def asked_serde(case: SerdeCase) -> str:
    """The request as the door for programs has it."""
    request = case.vector().request
    if case.operation == "stream":
        return serde_request("stream", request, steps_of(case))
    return serde_request("serialize" if case.operation == "encode" else "deserialize", request)
