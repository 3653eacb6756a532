"""A table format as an outside package would bring it: `toy.json` lists the Parquet files."""

# ruff: noqa: ARG002 - a toy does without most of what it is told
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset as ds

from seambase.errors import InputError, RefusedError, SeambenchError, UsageError
from seambase.scan import ScanReport
from seambench.contracts.common import Kind
from seambench.contracts.data_files import build
from seambench.contracts.formats import TableFormat
from seambench.contracts.scan import ScanRequest
from seambench.contracts.tables import (
    CommitRequest,
    Design,
    Groups,
    Layout,
    SparkBundle,
    Step,
    Written,
)
from seambench.formats.golden import read_declaration

#: Folder of the cases and golden tables that a test makes.
ROOT = Path(os.environ.get("TOY_SUITE", "nowhere"))
_LIST = "toy.json"


@dataclass(frozen=True)
class _Spec:
    """A golden table's declaration."""

    name: str
    columns: Mapping[str, str]
    steps: Sequence[str]


class _Golden:
    def load_table(self, folder: Path, file: Path | None = None) -> _Spec:
        file, data = read_declaration(folder, file, lambda _name, _file: {})
        return build(_Spec, data, file)

    def needs(self, spec: Any, request: CommitRequest) -> Sequence[str]:
        return []

    def settle(self, table: Path) -> None:
        """Archives hold all there is."""


def _lists(table: Path) -> Sequence[Path]:
    return [table / _LIST]


class _Damage:
    FILES: Mapping[str, Callable[[Path], Sequence[Path]]] = {"list": _lists}

    def position(self, data: bytes, name: str) -> int:
        raise UsageError(f"{name!r} is no position")

    def name_parts(self, name: str) -> Mapping[str, str]:
        return {}


@dataclass(frozen=True)
class _ToyLayout(Layout):
    format_name: ClassVar[str] = "toy"

    @property
    def name(self) -> str:
        """Name of the data set's folder."""
        return f"toy-u{self.ratio:g}-s{self.share:g}"

    def dimensions(self) -> Mapping[str, Any]:
        """Among them one that no other format has."""
        return {"update_ratio": self.ratio, "slice_share": self.share, "colour": "red"}


class _Layouts:
    SPELLING = "toy-u<ratio>-s<share>"

    def parse(self, name: str) -> Layout | None:
        match = re.fullmatch(r"toy-u(\d+)-s(\d+)", name)
        return _ToyLayout(float(match[1]), float(match[2])) if match else None

    def make(self, ratio: float, share: float, knobs: Mapping[str, str]) -> Layout:
        return _ToyLayout(ratio, share)


class _Writer:
    def write(self, step: Step, frame: Any, design: Design, path: Path) -> None:
        if step != "create":
            raise RefusedError("toys are never changed")
        frame.write.parquet(path.as_uri())
        names = sorted(file.name for file in path.glob("*.parquet"))
        (path / _LIST).write_text(json.dumps(names))

    def groups(self, keys: Sequence[npt.NDArray[np.int64]], count: int) -> npt.NDArray[np.int64]:
        return keys[0] % count

    def check(self, path: Path, groups: Groups) -> None:
        if not (path / _LIST).exists():
            raise SeambenchError(f"{path} has no {_LIST}")

    def writer_version(self, spec: Any) -> str | None:
        return None

    def write_table(
        self, session: Any, spec: Any, table: Path, *, lenient: bool = False
    ) -> Written:
        raise RefusedError("golden toys are made by hand")


FORMAT = TableFormat(
    name="toy",
    title="Toy",
    recognises=lambda path: (path / _LIST).is_file(),
    bundle=lambda version: SparkBundle("Toy", (f"org.toys:toy:{version or '1.0'}",), {}, ""),
    golden=_Golden(),
    damage=_Damage(),
    layouts=_Layouts(),
    writer=_Writer(),
)


class _ToyScan:
    def __init__(self, rows: ds.Dataset, columns: Sequence[str] | None) -> None:
        self._rows = rows
        self._columns = list(rows.schema.names if columns is None else columns)
        self._read = 0

    @property
    def schema(self) -> pa.Schema:
        """The columns asked for."""
        return pa.schema([self._rows.schema.field(name) for name in self._columns])

    def to_reader(self) -> pa.RecordBatchReader:
        """Their rows."""
        table = self._rows.to_table(columns=self._columns)
        self._read = table.num_rows
        return table.to_reader()

    def dataset(self) -> ds.Dataset:
        """The same for engines."""
        return self._rows

    def report(self) -> ScanReport:
        """Rows alone."""
        return ScanReport(rows=self._read)


class ToyReader:
    """Reads the files that are listed, and no others."""

    name = "toy-reader"
    version = "1.0"
    kind: Kind = "peer"
    capabilities: Mapping[str, bool] = {"formats.toy": True, "query.snapshot": True}

    def open(self, request: ScanRequest) -> _ToyScan:
        """Plan a read."""
        table = Path(request.table)
        try:
            names = json.loads((table / _LIST).read_text())
        except (OSError, ValueError) as error:
            raise InputError(f"{table / _LIST}: no list of files ({error})") from error
        return _ToyScan(ds.dataset([str(table / name) for name in names]), request.columns)
