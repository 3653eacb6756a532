"""Build the libFuzzer targets with clang and run each for a while.

Without clang the targets are `unavailable`: that is said, and is neither a pass nor a failure.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "fuzz"


def main() -> int:
    """Exit code 1 when a target found something, 2 when it could not be built."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="time for each target")
    seconds = parser.parse_args().seconds
    clang = shutil.which("clang")
    if clang is None:
        print("unavailable: the fuzz targets need clang (Debian: apt-get install clang)")
        return 0
    options = ["-DSEAM_FUZZ=ON", "-DSEAM_SANITIZE=ON", f"-DCMAKE_C_COMPILER={clang}"]
    commands = (
        ["cmake", "-S", str(ROOT), "-B", str(BUILD), "-G", "Ninja", *options],
        ["cmake", "--build", str(BUILD)],
    )
    for command in commands:
        if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
            return 2
    failed = 0
    for target in sorted(Path(__file__).parent.glob("fuzz_*.c")):
        corpus = BUILD / "corpus" / target.stem
        corpus.mkdir(parents=True, exist_ok=True)
        # What was found once is kept beside the targets, and tried first.
        known = Path(__file__).parent / "found" / target.stem
        folders = [str(folder) for folder in (corpus, known) if folder.is_dir()]
        program = [str(BUILD / target.stem), f"-max_total_time={seconds}", "-verbosity=0"]
        program.append(f"-artifact_prefix={BUILD}/{target.stem}-")
        failed |= subprocess.run([*program, *folders], check=False).returncode != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
