"""arrow-go: Parquet files of Arrow's Go, by a program that is built when it first writes."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from seambase.errors import RefusedError, UnavailableError
from seambase.written import cache_folder, whole_file
from seambench_impl.peers.peer_writer import CODEC, DICTIONARY, GROUP_ROWS, FileWriter

_SOURCE = Path(__file__).parent
_FILES = ("main.go", "go.mod", "go.sum")
_SECONDS = 900


class ArrowGoFiles(FileWriter):
    """arrow-go: `pqarrow.FileWriter`."""

    name = "arrow-go"
    keywords: ClassVar = {CODEC: "codec", DICTIONARY: "dictionary", GROUP_ROWS: "rows"}

    def released(self) -> str:
        """See `PeerWriter`."""
        if shutil.which("go") is None:
            raise UnavailableError(f"{self.name} needs Go, which is not installed")
        [version] = re.findall(r"arrow-go/v18 v(\S+)", (_SOURCE / "go.mod").read_text())
        return str(version)

    def write(self, rows: pa.Table, file: Path, given: Mapping[str, Any]) -> None:
        """See `FileWriter`."""
        options = [str(given.get(word, "")).lower() for word in self.keywords.values()]
        with tempfile.NamedTemporaryFile(suffix=".arrow") as source:
            with pa.ipc.new_file(source.name, rows.schema) as sink:
                sink.write_table(rows)
            command = [str(_program()), source.name, str(file), *options]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RefusedError(done.stderr.strip() or f"it ended with {done.returncode}")


def _program() -> Path:
    """The program, built once of each of its sources."""
    text = b"".join((_SOURCE / name).read_bytes() for name in _FILES)
    program = cache_folder() / "go" / f"arrow-go-{hashlib.sha256(text).hexdigest()[:12]}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(program) as made:  # others may build it at the same time
            command = ["go", "build", "-mod=readonly", "-o", str(made), "."]
            built = subprocess.run(
                command, cwd=_SOURCE, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
            if built.returncode:
                raise UnavailableError(f"arrow-go cannot be built: {built.stderr.strip()[-400:]}")
    return program
