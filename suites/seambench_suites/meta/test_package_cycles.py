"""Packages, which are folders, import each other in one direction only, lazy imports included."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from seambench_suites.meta.test_layering import _folder


def imported(source: str) -> Iterator[str]:
    """Dotted names that a module imports, anywhere in its text; of `from a import b` also `a.b`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def package_of(name: str, root: Path) -> str | None:
    """The package that a dotted name lies in; None if it is none of those below a folder.

    Args:
        name: of a package, a module, or something in a module.
        root: the folder of the package whose name comes first.
    """
    parts = name.split(".")
    if parts[0] != root.name:
        return None
    folder = root
    for number, part in enumerate(parts[1:], 1):
        if not (folder / part).is_dir():
            return ".".join(parts[:number])
        folder /= part
    return name


def imports_between_packages(root: Path) -> dict[str, set[str]]:
    """For each package below a folder the others that its modules import."""
    graph: dict[str, set[str]] = {}
    for file in root.rglob("*.py"):
        package = ".".join(file.parent.relative_to(root.parent).parts)
        names = (package_of(name, root) for name in imported(file.read_text(encoding="utf-8")))
        graph.setdefault(package, set()).update(n for n in names if n not in (None, package))
    return graph


def cycles(graph: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
    """The imports that lie on a cycle."""

    def reachable(start: str) -> set[str]:
        found: set[str] = set()
        waiting = [start]
        while waiting:
            fresh = set(graph.get(waiting.pop(), ())) - found
            found |= fresh
            waiting += fresh
        return found

    from_each = {package: reachable(package) for package in graph}
    return sorted(
        (package, other)
        for package, others in graph.items()
        for other in others
        if package in from_each.get(other, ())
    )


@pytest.mark.parametrize("package", ["seamkit", "seambase"])
def test_packages_do_not_wait_for_each_other(package: str) -> None:
    """There is no way back from a package to one that imports it."""
    assert cycles(imports_between_packages(_folder(package))) == []


def test_cycles_are_seen(tmp_path: Path) -> None:
    """Imports in functions and for types alone count; those inside one folder do not."""
    files = {
        "a/__init__.py": "",
        "a/one.py": "def f():\n    from top.b.two import g",
        "a/other.py": "from top.a import one\nimport top.c",
        "b/two.py": "if TYPE_CHECKING:\n    import top.a.one",
        "c/__init__.py": "import os",
    }
    for name, text in files.items():
        path = tmp_path / "top" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    graph = imports_between_packages(tmp_path / "top")

    assert graph == {"top.a": {"top.b", "top.c"}, "top.b": {"top.a"}, "top.c": set()}
    assert cycles(graph) == [("top.a", "top.b"), ("top.b", "top.a")]
