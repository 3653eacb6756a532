"""Format the C sources with clang-format, or check that they are formatted."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def main() -> int:
    """Return clang-format's exit code."""
    sources = sorted(str(path) for path in FOLDER.rglob("*.[ch]"))
    mode = ["--dry-run", "--Werror"] if "--check" in sys.argv[1:] else ["-i"]
    return subprocess.run(["clang-format", *mode, *sources], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
