"""Instructions of kernels, as valgrind's callgrind counts them: a figure that no load disturbs.

Callgrind counts only between two marks; reading of modules and making of data goes on uncounted and
fast. What is counted is everything that the process does in a run: our C core, Arrow, the
interpreter.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

#: How the reason begins why a kernel that is not there has no count.
LACKING = "lacks: "

_MARKS = """
#include <valgrind/callgrind.h>
void seam_count_begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void seam_count_end(const char *name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""  # noqa: E501 - C
_NAME = re.compile(r"^desc: Trigger: Client Request: (.+)$", re.MULTILINE)
_TOTAL = re.compile(r"^totals: (\d+)$", re.MULTILINE)
_SECONDS = 7200


def instructions(names: Sequence[str]) -> Mapping[str, int | str]:
    """Count in one run the instructions of each kernel named in `counted`.

    In place of a number may stand why there is none: what this commit lacks, or the kernel's error.
    """
    valgrind, compiler = _tools()
    with tempfile.TemporaryDirectory(prefix="seambench-counts-") as made:
        folder = Path(made)
        marks = _marks(compiler, folder)
        # Relative imports of this package, whatever it is called where this module was imported.
        package = Path(__file__).parents[1]
        command = [
            valgrind, "--quiet", "--tool=callgrind", "--instr-atstart=no", "--dump-line=no",
            f"--callgrind-out-file={folder / 'counted'}", sys.executable, "-m",
            f"{package.name}.counting.counted", str(marks), str(folder / "without"), *names,
        ]  # fmt: skip
        own = {
            "PYTHONPATH": str(package.parent),
            # What kernels unpack goes with the folder.
            "TMPDIR": str(folder),
            # The same run whenever it runs: order of sets, allocator, threads.
            "PYTHONHASHSEED": "0",
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            "OMP_NUM_THREADS": "1",
        }
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | own,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_SECONDS,
        )
        if done.returncode:
            raise RuntimeError(f"the counted process ended with {done.returncode}: {done.stderr}")
        found: dict[str, int | str] = {
            path.suffix[1:]: path.read_text("utf-8") for path in folder.glob("without.*")
        }
        for dump in folder.glob("dump-*"):
            text = dump.read_text("utf-8", errors="replace")
            name, total = _NAME.search(text), _TOTAL.search(text)
            if name and total:
                found[name[1]] = int(total[1])
        return {name: found[name] for name in names}


def require_counter() -> None:
    """End the process with a sentence where kernels cannot be counted on this machine."""
    try:
        with tempfile.TemporaryDirectory(prefix="seambench-counts-") as made:
            _marks(_tools()[1], Path(made))
    except NotImplementedError as error:
        raise SystemExit(str(error)) from error


def _tools() -> tuple[str, str]:
    valgrind, compiler = shutil.which("valgrind"), shutil.which("cc")
    if valgrind is None or compiler is None:
        raise NotImplementedError("unavailable: counting needs valgrind and a C compiler")
    return valgrind, compiler


def _marks(compiler: str, folder: Path) -> Path:
    """The two marks as a shared library: valgrind knows them by their instructions."""
    source, library = folder / "marks.c", folder / "marks.so"
    source.write_text(_MARKS, encoding="utf-8")
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(source)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        raise NotImplementedError("unavailable: counting needs valgrind's header callgrind.h")
    return library
