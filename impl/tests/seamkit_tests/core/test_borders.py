"""What the core reads by a length that Python hands over is as long as that: the border says so.

Each case hands the core one buffer or column that is shorter than another it goes with, or of
another type. Without a check the core reads behind its end.
"""

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seamkit.core import _seam
from seamkit.core.border import ExportedBatch
from seamkit.core.memory import TrackedAllocator
from seamkit.scan.core_merges import LogIndex, RunMerge, assemble


def _keys(*values: int) -> pa.RecordBatch:
    return pa.record_batch({"k": pa.array(values, pa.int64())})


def _words(*values: int) -> Any:
    return np.array(values, np.int32)


def _index(**changed: Any) -> LogIndex:
    arguments = {"rows": _words(0, 1), "ordering": _keys(5, 6), "flags": None} | changed
    return LogIndex(_keys(1, 2), allocator=TrackedAllocator(), **arguments)


def _add(run: int, columns: pa.RecordBatch, kinds: Any = None, sources: Any = None) -> None:
    merge = RunMerge(2, 0, 1, 0, 0, "last", False, TrackedAllocator(), "runs")
    if run == 1:
        merge.add(0, _keys(1), None, _words(0))
    merge.add(run, columns, kinds, sources)


def _assemble(base: pa.RecordBatch, log: pa.RecordBatch, sources: Any) -> None:
    assemble(base, log, ExportedBatch(log), sources, TrackedAllocator())


_TEXTS = pa.record_batch({"k": pa.array(["a", "b"])})
_NARROW: Any = np.zeros(2, np.int8)
_NOT_ALL = pa.record_batch({"k": pa.array([1, None], pa.int64())})

CASES: dict[str, Callable[[], object]] = {
    "fewer rows than events": lambda: _index(rows=_words(0)),
    "fewer flags than events": lambda: _index(flags=np.zeros(1, np.uint8)),
    "fewer ordering values than events": lambda: _index(ordering=_keys(5)),
    "an event of a row that the log has not": lambda: _index(filling_rows=1),
    "fewer ordering values than base rows": lambda: _index().probe(_keys(1, 2), _keys(7)),
    "fewer losers than base rows": lambda: _index().probe(_keys(1, 2), None, _words(0)),
    "losers of another width": lambda: _index().probe(_keys(1, 2), None, _NARROW),
    "fewer kinds than rows": lambda: _add(0, _keys(1, 2), np.zeros(1, np.int8), _words(0, 0)),
    "fewer sources than rows": lambda: _add(0, _keys(1, 2), None, _words(0)),
    "a base without sources": lambda: _add(0, _keys(1, 2)),
    "a run of another type": lambda: _add(1, _TEXTS),
    "more sources than base rows": lambda: _assemble(_keys(1), _keys(9), _words(0, -2)),
    "more sources than base rows, nulls": lambda: _assemble(
        _NOT_ALL.slice(0, 1), _NOT_ALL, _words(0, -2)
    ),
    "a row that the log has not": lambda: _assemble(_keys(1, 2), _keys(9), _words(1, -1)),
    "a base column of another type": lambda: _assemble(_TEXTS, _keys(9), _words(0, -1)),
    "a base column of a narrower type": lambda: _assemble(
        pa.record_batch({"k": pa.array([1, 2], pa.int32())}), _keys(9), _words(0, -1)
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_lengths_are_not_believed(case: str) -> None:
    """A call that would read behind the end of a buffer is stopped before it."""
    with pytest.raises(AssertionError, match="broke its contract"):
        CASES[case]()


_SHT_DYNSYM = 11
_GLOBAL, _WEAK = 1, 2


def _defined(library: Path) -> Iterator[str]:
    """Names in the dynamic symbol table of a 64-bit ELF file that are defined there."""
    data = library.read_bytes()
    assert data[:5] == b"\x7fELF\x02", "the module is an ELF file of 64 bits"
    (sections,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    headers = [struct.unpack_from("<IIQQQQII", data, sections + n * size) for n in range(count)]
    for _, kind, _, _, offset, length, link, _ in headers:
        if kind != _SHT_DYNSYM:
            continue
        texts = headers[link][4]
        for at in range(offset, offset + length, 24):
            name, info, _, section = struct.unpack_from("<IBBH", data, at)
            if section != 0 and info >> 4 in (_GLOBAL, _WEAK):
                begin = texts + name
                yield data[begin : data.index(b"\0", begin)].decode()


def test_nothing_but_the_module_itself_is_visible() -> None:
    """Two libraries of one process may use the same names inside; only what is shown can clash."""
    shown = set(_defined(Path(_seam.__file__)))
    assert {name for name in shown if not name.startswith("seam_")} == {"PyInit__seam"}
