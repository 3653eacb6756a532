"""Physical forms of Hive tables: data files, since nothing tells their names or sizes."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from seambench.contracts.tables import Form
from seambench.formats.forms.data import data_forms
from seambench.formats.hive.golden import DESCRIPTOR, FILES

#: Formats of lines, and the endings of files whose lines are compressed already.
_LINES = ("text", "csv", "json")
_PACKED = (".gz", ".bz2", ".deflate", ".snappy", ".lz4", ".zst")


def _texts(table: Path) -> list[Path]:
    """Files of lines that are not compressed."""
    descriptor = json.loads((table / DESCRIPTOR).read_text(encoding="utf-8"))
    if descriptor.get("format") not in _LINES:
        return []
    return [file for file in FILES["data"](table) if file.suffix not in _PACKED]


def _packed(ending: str, pack: Callable[[bytes], bytes]) -> Callable[[Path], int]:
    """Compresses files of lines; a file's ending says how."""

    def change(table: Path) -> int:
        files = _texts(table)
        for file in files:
            file.with_name(file.name + ending).write_bytes(pack(file.read_bytes()))
            file.unlink()
        return len(files)

    return change


def _is_cut_anywhere(table: Path) -> bool:
    """Whether lines are rows wherever they stand in a file, and end as lines do."""
    if any(file.read_bytes().startswith(codecs.BOM_UTF8) for file in _texts(table)):
        return False  # a mark is none in the middle of a file
    descriptor = json.loads((table / DESCRIPTOR).read_text(encoding="utf-8"))
    properties = descriptor.get("properties", {})
    return not any(name.startswith("skip.") or name == "line.delim" for name in properties)


def _split(table: Path) -> int:
    """A file for each line."""
    made = 0
    for file in _texts(table) if _is_cut_anywhere(table) else []:
        lines = file.read_bytes().split(b"\n")
        whole = [line + b"\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
        if len(whole) < 2:
            continue
        file.unlink()
        for number, line in enumerate(whole):
            file.with_name(f"{file.name}-{number:04}").write_bytes(line)
        made += len(whole)
    return made


def _joined(table: Path) -> int:
    """One file a folder."""
    folders: dict[Path, list[Path]] = {}
    for file in sorted(_texts(table)) if _is_cut_anywhere(table) else []:
        folders.setdefault(file.parent, []).append(file)
    done = 0
    for files in folders.values():
        parts = [data for file in files if (data := file.read_bytes())]
        if len(parts) > 1:
            for file in files:
                file.unlink()
            ended = [part if part.endswith(b"\n") else part + b"\n" for part in parts]
            files[0].write_bytes(b"".join(ended))
            done += 1
    return done


def forms() -> Sequence[Form]:
    """Every form."""
    return [
        *data_forms(FILES["data"]),
        Form("files-split", "a file for each line", _split),
        Form("files-joined", "one file a folder", _joined),
        Form("files-gzip", "files in gzip", _packed(".gz", lambda data: gzip.compress(data))),
        Form("files-bzip2", "files in bzip2", _packed(".bz2", bz2.compress)),
        Form("files-deflate", "files deflated", _packed(".deflate", zlib.compress)),
    ]
