"""Judges a program in an environment that has the wheel with its extra `bench` and nothing else.

    python alone.py

In an empty folder, with no compiler and no Java on the path, the reader beside this file is put to
cases of the scan seam. Our own library stands behind a package that cannot be imported: whoever
brings a reader needs no C core.
"""

from __future__ import annotations

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
_CAPABILITIES = {"formats.delta": True, "query.snapshot": True}


def _write(folder: Path) -> None:
    """The reader as a command, what it states, and a library that nobody can import."""
    reader = folder / "reader"
    text = (Path(__file__).parent / "delta_reader.py").read_text()
    reader.write_text(f"#!{sys.executable}\n{text}")
    reader.chmod(0o755)
    facts = {"name": "reader", "version": "1", "capabilities": _CAPABILITIES}
    (folder / "reader.seambench.json").write_text(json.dumps(facts))
    hidden = folder / "hidden" / "seamkit"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('our own library was asked for')\n")


def main() -> int:
    """Check; the exit code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder)
        environment = {
            "PATH": str(Path(sys.executable).parent),
            "HOME": name,
            "PYTHONPATH": str(folder / "hidden"),
            "COLUMNS": "200",
        }
        command = shutil.which("seambench", path=environment["PATH"])
        if command is None or shutil.which("java", path=environment["PATH"]):
            sys.stdout.write(f"seambench: {command}; and no Java may be on the path\n")
            return 1
        for case, code, words in _CHECKS:
            done = subprocess.run(
                [command, "check", "--seam", "scan", "--impl", "cmd:./reader", "--case", case],
                cwd=folder,
                env={**environment, "LANG": os.environ.get("LANG", "C.UTF-8")},
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            missing = [word for word in words if word not in done.stdout]
            if done.returncode != code or missing:
                sys.stdout.write(f"{case}: {done.returncode}, no {missing}\n")
                sys.stdout.write(done.stdout + done.stderr)
                return 1
            sys.stdout.write(f"{case}: code {code}, as it must be\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
