"""What makes measuring many commits cheap: commits chosen by what they changed, objects kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seambench_tests.wheel.test_distributions import CHECKOUT

_STEPS = CHECKOUT / ".ci" / "history.py"
_OBJECTS = CHECKOUT / ".ci" / "objects.py"


def _git(folder: Path, *arguments: str) -> str:
    who = {"GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x@y"}
    who |= {"GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@y"}
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, env=os.environ | who)
    return done.stdout.decode().strip()


def test_every_tenth_change_and_the_newest_are_chosen(tmp_path: Path) -> None:
    """Documents and tests change nothing that is measured; the ends of the time come first."""
    _git(tmp_path, "init", "-q")
    changed = []
    for number in range(96):
        # Every third changes the library, which lay elsewhere at first.
        library = "impl/seambench_impl" if number < 30 else "impl/seamkit"
        path = tmp_path / (f"{library}/a.py" if number % 3 == 0 else "docs/a.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(number))
        _git(tmp_path, "add", "-A")
        _git(tmp_path, "commit", "-qm", str(number))
        if number % 3 == 0:
            changed.append(number)
    first = _git(tmp_path, "rev-list", "--max-parents=0", "HEAD")
    asked = [sys.executable, str(_STEPS), "choose", first]
    done = subprocess.run(asked, cwd=tmp_path, check=True, capture_output=True, text=True)
    chosen = [int(_git(tmp_path, "log", "-1", "--format=%s", one)) for one in done.stdout.split()]
    assert sorted(chosen) == [one for one in changed if one in changed[::10] or one >= 96 - 50]
    assert chosen[:3] == [93, 0, sorted(chosen)[len(chosen) // 2]]


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    """One that notes what it compiles."""
    path = tmp_path / "cc"
    path.write_text(f'#!/bin/sh\ncase "$*" in *-E*) ;; *-c*) echo "$*" >>{tmp_path}/said ;; esac\n')
    with path.open("a") as script:
        script.write('exec /usr/bin/env cc "$@"\n')
    path.chmod(0o755)
    return path


def test_the_same_text_is_compiled_once(tmp_path: Path, compiler: Path) -> None:
    """Wherever it lies; another header, option or value of a macro gives another object."""

    def made(folder: str, header: str, *options: str) -> bytes:
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        (place / "a.h").write_text(header)
        (place / "a.c").write_text('#include "a.h"\nint seven(void) { return SEVEN; }\n')
        where = [f"-I{place}", "-MD", "-MT", "a.o", "-MF", str(place / "a.d"), "-fPIC", *options]
        command = [str(compiler), *where, "-o", str(place / "a.o"), "-c", str(place / "a.c")]
        launched = [sys.executable, str(_OBJECTS), str(tmp_path / "kept"), *command]
        subprocess.run(launched, check=True)
        assert "a.h" in (place / "a.d").read_text()
        return (place / "a.o").read_bytes()

    seven = "#define SEVEN 7\n"
    assert made("one", seven) == made("two", seven)
    compiled = (tmp_path / "said").read_text().splitlines()
    assert len(compiled) == 1
    assert made("two", "#define SEVEN 8\n") != made("one", seven)
    made("two", seven, "-O3")
    made("two", seven.replace("7", "EIGHT"), "-DEIGHT=8")  # the text of above
    assert len((tmp_path / "said").read_text().splitlines()) == 3
    # An option in two words, or in a file; and lines that an object tells of, for the same text.
    for number, said in enumerate(("-O1", "-O2")):
        (tmp_path / "words").write_text(said)
        made("two", seven, "--param", f"ssp-buffer-size={4 + number}")
        made("two", seven, f"@{tmp_path / 'words'}")
        made("two", number * "\n" + seven, "-fsanitize=undefined")
        assert len((tmp_path / "said").read_text().splitlines()) == 6 + 3 * number


def test_text_that_is_no_c_ends_the_build(tmp_path: Path, compiler: Path) -> None:
    """And leaves nothing behind for the next."""
    for name, text in {"a.c": "int seven(void) { return }", "b.c": '#include "none.h"'}.items():
        (tmp_path / name).write_text(text)
        command = [str(compiler), "-c", str(tmp_path / name), "-o", str(tmp_path / "a.o")]
        launched = [sys.executable, str(_OBJECTS), str(tmp_path / "kept"), *command]
        assert subprocess.run(launched, check=False, capture_output=True).returncode == 1
    assert not (tmp_path / "kept").exists()
