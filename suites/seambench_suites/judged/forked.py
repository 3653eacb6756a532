"""Tests in a fork of this process: everything is imported once, and then one function is changed.

To start an interpreter and import the judge takes longer than most of its tests. A fork has all of
it, compiles the wrong text, and hands its code to the functions that are there already. What a test
starts as a process of its own imports the judge from a copy, which is wrong on disk.
"""

from __future__ import annotations

import ast
import builtins
import gc
import importlib
import json
import os
import resource
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import psutil
import pytest

from seambase.errors import UsageError

Place = tuple[str, int]
"""A file, and the line at which a function's code, or a statement, begins."""

_MARKS = "not spark and not jvm and not storage and not browser and not slow"
#: The modules that pytest would rewrite are imported before: that is what a fork is for.
_IMPORTED = "ignore::pytest.PytestAssertRewriteWarning"
_OPTIONS = ("-q", "-p", "no:cacheprovider", "--pyargs", "-m", _MARKS, "-W", _IMPORTED)
_NOTE = "_judged_note"


class Seen(NamedTuple):
    """What a test did."""

    seconds: float  # what it took
    places: frozenset[Place]  # statements that ran in this process meanwhile
    passed: bool  # whether it did
    others: bool  # whether it had other processes


def preload(modules: Iterable[str], tests: Sequence[str]) -> None:
    """Import what is changed, which is imported late otherwise, and have pytest collect the tests.

    That takes longer than most of them, and no fork needs to do it again. A test that cannot be
    collected says so when it is run.
    """
    for name in modules:
        importlib.import_module(name)
    with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing):
        pytest.main(["--collect-only", *_OPTIONS, *tests])


def failure(tests: Sequence[str], prepare: Callable[[], object], seconds: float) -> str:
    """The first test that fails in a fork; empty where all pass.

    `prepare` is done in the fork before. No end within the seconds is a failure.
    """
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as result:
        code = _in_fork(lambda: _run(tests, ["-x"], prepare, result.name, Seeing(set())), seconds)
        found = result.read()
    return "" if code == 0 else found.partition("\0")[0] or f"it ended with {code}"


def seen(tests: Sequence[str], package: Path, seconds: float) -> Mapping[str, Seen]:
    """Which statements of a package each test runs."""
    _noted(package)  # once, and not in each fork
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as file:
        ran: set[Place] = set()
        code = _in_fork(
            lambda: _run(tests, [], lambda: _watch(package, ran), file.name, Seeing(ran)), seconds
        )
        failed, _, found = file.read().partition("\0")
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise UsageError(f"{', '.join(tests)}: {failed or f'ended with {code}'}")
    return {
        test: Seen(took, frozenset((file, line) for file, line in places), passed, others)
        for test, (took, places, passed, others) in json.loads(found).items()
    }


def changed(file: Path, text: str) -> Mapping[Place, CodeType]:
    """Functions of a module whose code is another in a text; none where what changes is no code."""
    right = _codes(compile(file.read_text(encoding="utf-8"), str(file), "exec"))
    tree = ast.parse(text)
    wrong = _codes(compile(tree, str(file), "exec"))
    lost = {
        line: names
        for (_, line), code in (right.items() if right.keys() == wrong.keys() else ())
        if (names := set(code.co_freevars) - set(wrong[(str(file), line)].co_freevars))
    }
    if lost:
        wrong = _codes(compile(_naming(tree, lost), str(file), "exec"))
    return {place: code for place, code in wrong.items() if place in right and right[place] != code}


def _naming(tree: ast.Module, lost: Mapping[int, Iterable[str]]) -> ast.Module:
    """Have functions name variables of others where nothing runs.

    Code takes another's place in a function only if it shares the same variables.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            for name in lost.get(first, ()):
                [never] = ast.parse(f"if False: {name}").body
                node.body.append(ast.fix_missing_locations(ast.copy_location(never, node.body[-1])))
    return tree


def put(codes: Mapping[Place, CodeType]) -> None:
    """Hand code to the functions that have been made of these places."""
    gc.unfreeze()  # what is frozen is not among the objects
    for one in gc.get_objects():
        if isinstance(one, FunctionType):
            code = codes.get((one.__code__.co_filename, one.__code__.co_firstlineno))
            # A default of a function may be another one, in the same line.
            if code is not None and (code.co_name, code.co_freevars) == (
                one.__code__.co_name,
                one.__code__.co_freevars,
            ):
                one.__code__ = code


def _codes(code: CodeType) -> dict[Place, CodeType]:
    found = {}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if not inner.co_name.startswith("<"):
                found[(inner.co_filename, inner.co_firstlineno)] = inner
            found |= _codes(inner)
    return found


def _watch(package: Path, places: set[Place]) -> None:
    """Have every statement of a package's functions say that it runs."""
    setattr(builtins, _NOTE, places.add)
    put(_noted(package))


@cache
def _noted(package: Path) -> Mapping[Place, CodeType]:
    """The functions of a package, with a note before each statement."""
    codes: dict[Place, CodeType] = {}
    for file in package.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]:
            _note(node, file)
        codes |= _codes(compile(tree, str(file), "exec"))
    return codes


def _note(function: ast.FunctionDef, file: Path) -> None:
    """Put a note before each statement of a function, but for those of functions within."""
    blocks = [function.body]
    while blocks:
        block = blocks.pop()
        for at in range(len(block) - 1, -1, -1):
            statement = block[at]
            [note] = ast.parse(f"{_NOTE}(({str(file)!r}, {statement.lineno}))").body
            for part in ast.walk(note):
                ast.copy_location(part, statement)
            if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
                blocks += [*_blocks(statement)]
            # Behind a docstring, and behind what says which names are another function's.
            if not isinstance(statement, ast.Nonlocal | ast.Global) and not _is_text(statement):
                block.insert(at, note)


def _blocks(statement: ast.stmt | ast.ExceptHandler | ast.match_case) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(statement, name, None):
            yield block
    for name in ("handlers", "cases"):
        for one in getattr(statement, name, ()):
            yield from _blocks(one)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


class Seeing:
    """A plugin that keeps the first failure, and of each test how long it took and what ran."""

    def __init__(self, places: set[Place]) -> None:
        self.failed = ""
        self.tests: dict[str, tuple[float, list[Place], bool, bool]] = {}
        self._places = places
        self._ok = True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note what runs while a test does."""
        self._places.clear()
        self._ok = True
        begin, others = time.perf_counter(), _of_others()
        done = yield
        took = time.perf_counter() - begin
        had = _of_others() != others or bool(psutil.Process().children())
        self.tests[item.nodeid] = (took, sorted(self._places), self._ok, had)
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the first failure."""
        if report.failed:
            self._ok = False
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Likewise of what cannot be collected."""
        if report.failed and not self.failed:
            self.failed = report.nodeid


def _of_others() -> int:
    """Pages that processes took which were started here and have ended; their time may be none."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt


def _run(
    tests: Sequence[str],
    more: Sequence[str],
    prepare: Callable[[], object],
    result: str,
    plugin: Seeing,
) -> int:
    """In the fork: run tests and tell what came of them."""
    prepare()
    code = pytest.main([*more, *_OPTIONS, *tests], plugins=[plugin])
    Path(result).write_text(f"{plugin.failed}\0{json.dumps(plugin.tests)}", encoding="utf-8")
    return int(code)


def _in_fork(work: Callable[[], int], seconds: float) -> int:
    """The exit code of work in a fork; -1 where it did not end."""
    child = os.fork()
    if child == 0:
        code: Any = 70
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            code = work()
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1
