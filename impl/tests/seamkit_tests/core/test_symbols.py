"""What the built module shows to whoever loads it."""

import struct
from collections.abc import Iterator
from pathlib import Path

from seamkit.core import _seam

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
