"""Build the libFuzzer targets with clang and run each for a while.

Without clang, or without libFuzzer's runtime, the targets are `unavailable`: that is said,
and is neither a pass nor a failure.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "fuzz"
_MODEL_SHARE = 5


def main() -> int:
    """Exit code 1 when a target found something, 2 when it could not be built."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, help="explore: time for each target")
    parser.add_argument("--runs", type=int, default=100_000, help="inputs, the same every time")
    options = parser.parse_args()
    clang = shutil.which("clang")
    if clang is None or not links_fuzzers(clang):
        print(
            "unavailable: the fuzz targets need clang and libFuzzer's runtime "
            "(Debian 12: apt-get install clang libclang-rt-14-dev)"
        )
        # Where tests say what they may lack (docs: CONTRIBUTING.md), this is no success.
        return int("clang" not in os.environ.get("SEAMBENCH_MAY_LACK", "clang"))
    flags = ["-DSEAM_FUZZ=ON", "-DSEAM_SANITIZE=ON", f"-DCMAKE_C_COMPILER={clang}"]
    commands = (
        ["cmake", "-S", str(ROOT), "-B", str(BUILD), "-G", "Ninja", *flags],
        ["cmake", "--build", str(BUILD)],
    )
    for command in commands:
        if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
            return 2
    failed = 0
    for target in sorted(Path(__file__).parent.glob("fuzz_*.c")):
        # One with a model looks at every row of every column: it does more for an input.
        share = _MODEL_SHARE if '"columns.h"' in target.read_text() else 1
        bound = [f"-runs={options.runs // share}", "-seed=1"]
        if options.seconds is not None:
            bound = [f"-max_total_time={options.seconds}"]
        # What was found once is kept beside the targets, and tried first.
        # libFuzzer adds to the first folder, so that one is never the one in the repository.
        corpus = BUILD / "corpus" / target.stem
        if options.seconds is None:
            shutil.rmtree(corpus, ignore_errors=True)
        corpus.mkdir(parents=True, exist_ok=True)
        folders = [corpus, Path(__file__).parent / "found" / target.stem]
        program = [str(BUILD / target.stem), *bound, "-verbosity=0"]
        program.append(f"-artifact_prefix={BUILD}/{target.stem}-")
        program += [str(folder) for folder in folders if folder.is_dir()]
        failed |= subprocess.run(program, check=False).returncode != 0
    return int(failed)


def links_fuzzers(clang: str) -> bool:
    """Whether clang finds the runtimes of libFuzzer and of the sanitizers."""
    target = "int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return !d && n; }"
    with tempfile.TemporaryDirectory() as folder:
        flags = ["-x", "c", "-", "-fsanitize=fuzzer,address,undefined", "-o", f"{folder}/probe"]
        tried = subprocess.run([clang, *flags], input=target.encode(), capture_output=True)
    return tried.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
