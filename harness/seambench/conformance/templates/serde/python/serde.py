"""A serde to begin with: it states what it will write and read, and refuses everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from seambase.errors import RefusedError
from seambase.serde import SerdeRequest
from seambench.contracts.common import Kind


class Serde:
    """Implements `seambench.contracts.serde.Serde`."""

    name = "NAME"
    version = "0.1"
    kind: Kind = "peer"
    #: Cases about anything else are not asked; `seambench list capabilities` has all words.
    capabilities: Mapping[str, bool] = dict.fromkeys(
        ("serialize", "deserialize", "formats.presto", "types.bigint", "types.varchar"), True
    )

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """Bytes of batches: a page each, with `request.fields` and `request.options`.

        Raises:
            RefusedError: always, so far.
        """
        raise RefusedError(f"NAME writes nothing yet, so no {request.format} of {len(batches)}")

    def deserialize(
        self, request: SerdeRequest, data: bytes | bytearray | memoryview
    ) -> list[pa.RecordBatch]:
        """Batches of bytes; damaged ones are an `InputError` that names the offset.

        Raises:
            RefusedError: always, so far.
        """
        raise RefusedError(f"NAME reads nothing yet, so no {len(data)} bytes of {request.format}")
