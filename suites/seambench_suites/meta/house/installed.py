"""Packages from outside as they are installed: their metadata, beside modules that are there."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from seambench.cli.app import run

Command = Callable[..., "CompletedProcess[str]"]


def install(folder: Path, name: str, entry_points: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Announce what a package brings, here and in processes that are started."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("PYTEST_ADDOPTS", "")
    monkeypatch.syspath_prepend(folder)


def command_here(capsys: pytest.CaptureFixture[str]) -> Command:
    """What runs the command in this process, which has imported what it needs already."""

    def done(*arguments: object) -> CompletedProcess[str]:
        words = [str(argument) for argument in arguments]
        code = run(words)
        return CompletedProcess(words, code, *capsys.readouterr())

    return done


def command_apart(*arguments: object) -> CompletedProcess[str]:
    """The same for a module in a process of its own."""
    words = [sys.executable, "-m", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
