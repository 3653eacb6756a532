"""Run the C tests and the fuzz targets with a model where a sanitizer alone does not look.

`widest`: as users' builds are, with the widest vectors of this machine; inputs end where a page
begins that nobody may touch. Neither GCC nor clang makes vector loops of what AddressSanitizer
instruments, so under it those loops never run. `avx2`: the same build under valgrind, which has no
wider ones. `recycling`: AddressSanitizer, with freed blocks used again and hidden until then.
`races`: ThreadSanitizer, four threads, blocks used again. What this machine lacks is `unavailable`.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_RELEASE = ("-DCMAKE_BUILD_TYPE=Release",)
_WATCHED = ("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DSEAM_RECYCLING=ON")
#: Of each: options of the build, what programs run under, inputs of a thread, threads.
CHECKS = {
    "widest": ((*_RELEASE, "-DSEAM_POISON=ON"), (), 2_000, 1),
    "avx2": (
        (*_RELEASE, "-DSEAM_POISON=ON", "-DCMAKE_C_FLAGS=-g"),
        ("valgrind", "-q", "--error-exitcode=9", "--exit-on-first-error=yes"),
        100,
        1,
    ),
    "recycling": ((*_WATCHED, "-DSEAM_SANITIZE=ON"), (), 5_000, 4),
    "races": ((*_WATCHED, "-DSEAM_RACES=ON"), (), 1_000, 4),
}


def main() -> int:
    """Exit code 1 when something was found, 2 when a build fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checks", nargs="*", choices=[*CHECKS, []], help="all without")
    failed = 0
    for name in parser.parse_args().checks or CHECKS:
        failed = max(failed, _check(name))
    return failed


def _check(name: str) -> int:
    options, under, inputs, threads = CHECKS[name]
    if under and shutil.which(under[0]) is None:
        print(f"{name}: unavailable: there is no {under[0]}")
        return int(under[0] not in os.environ.get("SEAMBENCH_MAY_LACK", under[0]))
    build = ROOT / "build" / name
    stated = ("-DSEAM_TESTS=ON", "-DSEAM_STRESS=ON", *options)
    for command in (
        ["cmake", "-S", str(ROOT), "-B", str(build), "-G", "Ninja", *stated],
        ["cmake", "--build", str(build)],
    ):
        if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
            return 2
    # A machine with few bits of addresses to spare is no place for ThreadSanitizer's random ones.
    fixed = ["setarch", "-R"] if name == "races" and shutil.which("setarch") else []
    found = 0
    for program in sorted([*build.glob("test_*"), *build.glob("stress_*")]):
        if program.is_dir():
            continue
        words = [str(inputs), str(threads)] if program.name.startswith("stress_") else []
        command = [*fixed, *under, str(program), *words]
        if code := subprocess.run(command, check=False).returncode:
            print(f"{name}: {program.name} ended with {code}")
            found = 1
    print(f"{name}: {'found something' if found else 'nothing found'}")
    return found


if __name__ == "__main__":
    sys.exit(main())
