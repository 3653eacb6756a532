"""Shared libraries in C, compiled for tests of the doors."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

import pytest

_FLAGS = ("-std=gnu17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", "-pthread")


def compiled(source: Path, target: Path, stated: Sequence[str] = ()) -> Path:
    """The library of a source, which may include Arrow's structures as new templates have them.

    `stated` are its capabilities, in the file of facts beside it; none: there is no such file.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler on this machine")
    with as_file(files("seambench.conformance") / "templates/every_seam/native") as headers:
        command = [compiler, *_FLAGS, f"-I{headers}", "-o", str(target), str(source)]
        subprocess.run(command, check=True)
    if stated:
        facts = {"name": "clib", "version": "1", "capabilities": dict.fromkeys(stated, True)}
        target.with_name(f"{target.name}.seambench.json").write_text(json.dumps(facts))
    return target
