"""Compiles C, or takes the object that the same text gave before: for builds of many commits.

    CMAKE_C_COMPILER_LAUNCHER="python;.ci/objects.py;CACHE"

What counts is the text behind the preprocessor, the options and the compiler: where files lie does
not. `-P` leaves out line marks, so no object that tells of lines is kept for another.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

#: Options that the preprocessor has used up, and whether a word of their own follows.
_USED_UP = {"-I": True, "-isystem": True, "-D": True, "-MD": False, "-MT": True, "-MF": True}

#: Options that put lines of the source into the object, or stand in a file.
_NEVER = ("-g", "-fsanitize", "-fprofile", "-ftest-coverage", "--coverage", "@")


def main(cache: Path, command: list[str]) -> int:
    """Compile, as the command says; its exit code."""
    if "-c" not in command or "-o" not in command or any(one.startswith(_NEVER) for one in command):
        return subprocess.call(command)
    at = command.index("-o")
    rest, made = [*command[:at], *command[at + 2 :]], Path(command[at + 1])
    # It writes what the object depends on, too: for ninja as well as a whole compilation.
    text = subprocess.run([*rest, "-E", "-P"], stdout=subprocess.PIPE, check=False)
    if text.returncode:
        return text.returncode
    about = [_version(command[0]), *_options(rest), made.stem]
    key = hashlib.sha256("\0".join(about).encode() + text.stdout).hexdigest()
    kept = cache / key[:2] / key
    if not kept.exists():
        if code := subprocess.call(command):
            return code
        kept.parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all, whoever else builds.
        part = kept.with_suffix(f".{os.getpid()}")
        shutil.copyfile(made, part)
        part.replace(kept)
        return 0
    shutil.copyfile(kept, made)
    return 0


def _options(command: list[str]) -> list[str]:
    """Words of a command that may change the object of the same text."""
    left, found = iter(command[1:]), []
    for word in left:
        used = next((one for one in _USED_UP if word.startswith(one)), None)
        if used is None and word != "-c" and not word.endswith(".c"):
            found.append(word)  # also the second word of an option, whatever that is
        elif used is not None and word == used and _USED_UP[used]:
            next(left)
    return found


def _version(compiler: str) -> str:
    return subprocess.run(
        [compiler, "--version"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
