"""How commands end: a run of `main` in this process, and rules that hold for each command."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest


class Ended(NamedTuple):
    """What a command left: exit code and what it printed."""

    code: int
    out: str
    err: str


def run_main(
    main: Callable[[list[str]], object], capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """What runs a command in this process."""

    def run(*arguments: object) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Ended(int(ended.value.code or 0), out, err)

    return run


def check_a_full_disk_is_one_line(command: Sequence[str]) -> None:
    """A full disk behind standard output is exit code 1 and a sentence, with a buffer or none."""
    for unbuffered in ("", "1"):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                command,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
                timeout=600,
                env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            )

        assert done.returncode == 1
        assert ": standard output: No space left on device" in done.stderr
        assert "Traceback" not in done.stderr


def check_a_name_that_is_no_utf8_is_refused(command: Sequence[str], folder: Path) -> None:
    """Such a name of a table is exit code 2 and one sentence."""
    done = subprocess.run(
        [*command, os.fsencode(folder) + b"/t\xff"], capture_output=True, check=False, timeout=600
    )

    assert done.returncode == 2
    assert b"is not UTF-8" in done.stderr
    assert b"Traceback" not in done.stderr


def check_the_version_is_a_line(command: Sequence[str], name: str) -> None:
    """`--version` prints the command's name and its version."""
    done = subprocess.run(
        [*command, "--version"], capture_output=True, text=True, check=True, timeout=600
    )

    found, version = done.stdout.split()
    assert found == name
    assert version[0].isdigit()


def check_nothing_heavy_is_imported(program: str) -> str:
    """A program that ends with what it found too heavy finds nothing; what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=600
    )

    assert done.returncode == 0, done.stderr
    return done.stdout
