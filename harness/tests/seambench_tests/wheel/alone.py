"""Judges a program in an environment that has the judge's wheel and nothing else.

    python alone.py

In an empty folder, with no compiler and no Java on the path, the reader beside this file is put to
cases of the scan seam. Our own library is not there: whoever brings a reader needs no C core.
"""

import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

#: Patterns of cases, the exit code that must come, and words of the output.
_CHECKS = (
    ("scan/delta/schema/overwritten/newest", 0, ("1",)),
    ("scan/delta/checkpoints/commits-gone", 1, ("4 rows expected, 2 read", "- k=", "explain")),
)
#: What must be said of our own implementations, and of a machine that has none.
_OWN = (
    (("check", "--seam", "scan", "--impl", "auto"), 1, "pip install 'seambench[seamkit]'"),
    (("doctor",), 0, "pip install 'seambench[seamkit]'"),
    (("doctor",), 0, "name pypaimon@"),
    (("doctor",), 0, "pip install 'hudi=="),
    (("demo",), 0, "broken  10 fail, 6 pass"),
    (("run", "--quick"), 0, "left out: native, auto, merge, connector: needs the package"),
    (("check", "--seam", "exchange", "--case", "*/flat/plain/*"), 1, "arrow-flight"),
    (("list", "implementations"), 0, "hudi-rs"),
)
_CAPABILITIES = {"formats.delta": True, "query.snapshot": True}


def _write(folder: Path) -> None:
    """The reader as a command, and what it states."""
    reader = folder / "reader"
    text = (Path(__file__).parent / "delta_reader.py").read_text()
    reader.write_text(f"#!{sys.executable}\n{text}")
    reader.chmod(0o755)
    facts = {"name": "reader", "version": "1", "capabilities": _CAPABILITIES}
    (folder / "reader.seambench.json").write_text(json.dumps(facts))


def _said(folder: Path, *arguments: str) -> tuple[int, str]:
    """What the command ends with and says, in a folder, without a compiler or Java on the path."""
    path = str(Path(sys.executable).parent)
    command = shutil.which("seambench", path=path)
    if command is None or any(shutil.which(tool, path=path) for tool in ("java", "cc", "gcc")):
        sys.exit(f"seambench: {command}; and neither Java nor a compiler may be on {path}")
    done = subprocess.run(
        [command, *arguments],
        cwd=folder,
        env={
            "PATH": path,
            "HOME": str(folder),
            "COLUMNS": "200",
            "LANG": os.environ.get("LANG", "C.UTF-8"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def main() -> int:
    """Check; the exit code."""
    wheel = importlib.metadata.distribution("seambench").read_text("WHEEL") or ""
    if "Tag: py3-none-any" not in wheel or importlib.util.find_spec("seamkit") is not None:
        sys.exit(f"the judge is pure Python, and alone: {wheel}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder)
        put = ("check", "--seam", "scan", "--impl", "cmd:./reader", "--case")
        checks = [((*put, case), code, words) for case, code, words in _CHECKS]
        for arguments, code, words in [*checks, *((a, c, (w,)) for a, c, w in _OWN)]:
            came, said = _said(folder, *arguments)
            missing = [word for word in words if word not in said]
            if came != code or missing:
                sys.exit(f"{' '.join(arguments)}: {came}, no {missing}\n{said}")
            sys.stdout.write(f"{' '.join(arguments)}: code {code}, as it must be\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
