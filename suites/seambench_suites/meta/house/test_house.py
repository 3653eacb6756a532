"""The house by its folders: no packages that wait for each other, and none too full to look at."""

import ast
import functools
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

PACKAGES = ("seambase", "seamkit", "seambench_impl", "seambench", "seambench_suites")


def package_folder(package: str) -> Path:
    """Where a package lies."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@functools.cache
def modules() -> dict[str, Path]:
    """Every module of the packages, by its name."""
    found = {}
    for package in PACKAGES:
        folder = package_folder(package)
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _when_loaded(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a text that run when it is imported: neither in functions nor for types."""
    yield node
    types_alone = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    parts = node.orelse if isinstance(node, ast.If) and types_alone else ast.iter_child_nodes(node)
    for part in parts:
        if not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from _when_loaded(part)


def imported(
    source: str,
    known: Mapping[str, object],
    parts: Callable[[ast.AST], Iterable[ast.AST]] = ast.walk,
) -> set[str]:
    """Modules of ours that a text imports, inside functions and for types, too."""
    names = set()
    for node in parts(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                names.add(inner if inner in known else node.module)
    return names & set(known)


def cycles(arrows: Mapping[str, set[str]]) -> list[set[str]]:
    """Sets of packages that reach each other."""
    reached: dict[str, set[str]] = {}
    for start in arrows:
        seen: set[str] = set()
        left = [start]
        while left:
            new = arrows.get(left.pop(), set()) - seen
            seen |= new
            left += new
        reached[start] = seen
    sets = {
        frozenset(b for b in seen if a in reached.get(b, ()))
        for a, seen in reached.items()
        if a in seen
    }
    return [set(one) for one in sorted(sets, key=sorted)]


@functools.cache
def package_arrows() -> dict[str, set[str]]:
    """Which package imports which others; a package is a folder."""
    known = modules()

    def package(module: str) -> str:
        return module if known[module].name == "__init__.py" else module.rpartition(".")[0]

    arrows: dict[str, set[str]] = {}
    for module, path in known.items():
        own = package(module)
        others = {package(name) for name in imported(path.read_text(encoding="utf-8"), known)}
        arrows.setdefault(own, set()).update(others - {own})
    return arrows


def test_no_packages_wait_for_each_other() -> None:
    """Imports between folders form no cycle, those inside functions counted as well."""
    assert cycles(package_arrows()) == []


def test_no_modules_wait_for_each_other() -> None:
    """Nor do imports between modules, also of one folder, that run when these are loaded."""
    known = modules()
    arrows = {
        module: imported(path.read_text(encoding="utf-8"), known, _when_loaded) - {module}
        for module, path in known.items()
    }
    assert cycles(arrows) == []


def test_harness_has_few_entries() -> None:
    """Whoever opens the harness sees at most twelve names."""
    unseen = ("__pycache__", "py.typed")
    entries = [p.name for p in package_folder("seambench").iterdir() if p.name not in unseen]
    assert len(entries) <= 12, sorted(entries)


def test_no_folder_is_too_full() -> None:
    """A folder holds at most twenty modules."""
    full = {
        str(folder): count
        for folder in {path.parent for path in modules().values()}
        if (count := len(list(folder.glob("*.py")))) > 20
    }
    assert full == {}


@pytest.mark.parametrize(
    ("arrows", "found"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, [{"a", "b", "c"}]),
        ({"a": {"b"}, "b": {"a"}, "c": {"d", "a"}, "d": {"c"}}, [{"a", "b"}, {"c", "d"}]),
    ],
)
def test_cycles_are_found(arrows: dict[str, set[str]], found: list[set[str]]) -> None:
    """The finder itself sees what it must, and no more."""
    assert cycles(arrows) == found


def test_imports_are_seen_wherever_they_stand() -> None:
    """In functions, in blocks for types, and of a module by its package."""
    source = (
        "if TYPE_CHECKING:\n    from a.b import c\ndef f():\n    import d.e\n    from a import g"
    )
    known = {"a.b.c": 0, "d.e": 0, "a": 0, "d": 0}
    assert imported(source, known) == {"a.b.c", "d.e", "a"}
    assert imported(source, known, _when_loaded) == set()


def test_imports_of_loading_are_seen() -> None:
    """In classes, after a failure, and where types are not asked for."""
    source = (
        "try:\n    import a\nexcept ImportError:\n    import b\nclass C:\n    import c\n"
        "if typing.TYPE_CHECKING:\n    import x\nelse:\n    import d\nif e:\n    import e"
    )
    assert imported(source, dict.fromkeys("abcdex", 0), _when_loaded) == set("abcde")
