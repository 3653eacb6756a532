"""Serdes that are commands or libraries: what they are told, and how their failures are told."""

import ctypes
import json
import shlex
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from seambase.errors import RefusedError, SeambenchError
from seambase.serde import SerdeField, SerdeRequest
from seambench.contracts import registry
from seambench.contracts.outcomes import CrashError, ProtocolError, TimedOutError
from seambench.seams.serde.doors import CommandSerde, LibrarySerde
from seambench_tests import SAMPLES
from seambench_tests.samples.compiled import compiled

HERE = SAMPLES
COMMAND = shlex.join([sys.executable, str(HERE / "serde_command.py")])
FIELDS = [SerdeField("id", "bigint"), SerdeField("name", "varchar", False)]
BATCH = pa.record_batch({"id": [1, None, 3], "name": ["a", "b", "c"]})


def _request(format_: str = "presto", **options: object) -> SerdeRequest:
    return SerdeRequest(format_, FIELDS, options)


def test_command_gets_line_and_stream_and_gives_them_back() -> None:
    """The first line is the request, the rest the content; what comes back is the other form."""
    serde = registry.resolve("serde", f"cmd:{COMMAND}")
    written = serde.serialize(_request(codec="lz4"), [BATCH, BATCH])
    line, _, stream = written.partition(b"\n")
    assert json.loads(line) == {
        "version": 1,
        "seam": "serde",
        "operation": "serialize",
        "format": "presto",
        "schema": [
            {"name": "id", "type": "bigint", "nullable": True},
            {"name": "name", "type": "varchar", "nullable": False},
        ],
        "options": {"codec": "lz4"},
    }
    with pa.ipc.open_stream(stream) as reader:
        assert list(reader) == [BATCH, BATCH]
    assert serde.deserialize(_request(), written) == [BATCH, BATCH]


def test_batches_of_changing_encodings_are_made_alike() -> None:
    """One Arrow stream has one schema: where encodings change, the values are sent flat."""
    coded = pa.RecordBatch.from_arrays(
        [BATCH.column(0), BATCH.column(1).dictionary_encode()], BATCH.schema.names
    )
    serde = CommandSerde(COMMAND)
    back = serde.deserialize(_request(), serde.serialize(_request(), [BATCH, coded]))
    assert [batch.to_pydict() for batch in back] == [BATCH.to_pydict()] * 2


@pytest.mark.parametrize(
    ("format_", "error", "says"),
    [
        ("refuse", RefusedError, "no such format"),
        ("fail", CrashError, "code 7"),
        ("garbage", ProtocolError, "no Arrow IPC stream"),
    ],
)  # fmt: skip
def test_failures_of_a_command(format_: str, error: type[SeambenchError], says: str) -> None:
    """A refusal, a crash and garbage are told apart."""
    with pytest.raises(error, match=says):
        CommandSerde(COMMAND).deserialize(SerdeRequest(format_, FIELDS), b"")


def test_a_command_that_hangs_is_killed() -> None:
    """A call that takes too long ends."""
    with pytest.raises(TimedOutError, match=r"0\.2 s"):
        CommandSerde("sleep 60", timeout=0.2).deserialize(_request(), b"")


def test_options_without_a_form_are_refused() -> None:
    """What JSON cannot carry is not dropped silently."""
    with pytest.raises(RefusedError, match="no form in JSON"):
        CommandSerde(COMMAND).deserialize(_request(codec=object()), b"")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C serde, compiled."""
    target = tmp_path_factory.mktemp("library") / "serde.so"
    return compiled(HERE / "reader_library.c", target)


def test_library_gives_bytes_and_batches(library: Path) -> None:
    """Batches go in as a C stream and bytes come out, and back; everything is released."""
    serde = registry.resolve("serde", f"lib:{library}")
    written = serde.serialize(_request(), [BATCH, BATCH])
    batches = serde.deserialize(_request(), written)
    assert written == (6).to_bytes(8, "little")
    assert [value for batch in batches for value in batch["id"].to_pylist()] == [0, 1, 2, 3, 4, 5]
    del batches
    assert ctypes.CDLL(str(library)).reader_open_streams() == 0


def test_failures_of_a_library(library: Path) -> None:
    """Its refusals carry its sentence."""
    serde = LibrarySerde(str(library))
    with pytest.raises(RefusedError, match="6 rows are expected at byte 0"):
        serde.deserialize(_request(), b"12345678")
    with pytest.raises(RefusedError, match="no such format"):
        serde.serialize(_request("refuse"), [BATCH])
