"""Golden rows and random batches for the tests of both row formats."""

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from seambase.serde import SerdeField
from seambench.seams.serde.streams import batches_of
from seambench.seams.serde.vectors import load_golden as load_vector
from seamkit_tests import SUITES_GOLDEN

# Data only: nothing of the suites is imported.
GOLDEN = SUITES_GOLDEN / "unsaferow"


@dataclass(frozen=True)
class GoldenRows:
    """One golden file: its bytes, what they mean, and which of them are left to chance."""

    data: bytes
    framing: Any
    fields: list[SerdeField]
    batch: pa.RecordBatch
    offsets: list[int]
    lengths: list[int]
    dont_care: list[tuple[int, int]]

    @property
    def frames(self) -> dict[str, Any]:
        """What `deserialize` has to be told beside the bytes."""
        if self.framing == "be32":
            return {}
        return {"lengths": self.lengths, "offsets": self.offsets}

    def masked(self, data: bytes | memoryview) -> bytes:
        """The bytes without those that are left to chance."""
        masked = bytearray(data)
        for offset, length in self.dont_care:
            masked[offset : offset + length] = bytes(length)
        return bytes(masked)


def golden_names() -> list[str]:
    """Names of all golden files."""
    return sorted(file.stem for file in GOLDEN.glob("*.json"))


def fields_of(**types: str) -> list[SerdeField]:
    """Nullable columns by name."""
    return [SerdeField(name, type_) for name, type_ in types.items()]


def load_golden(name: str) -> GoldenRows:
    """A golden file, its stated values as a batch."""
    vector = load_vector(GOLDEN / f"{name}.json")
    rows = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))["rows"]
    assert vector.data is not None
    return GoldenRows(
        vector.data,
        vector.request.options["framing"],
        list(vector.request.fields),
        batches_of(vector)[0],
        [row["offset"] for row in rows],
        [row["length"] for row in rows],
        list(vector.dont_care),
    )
