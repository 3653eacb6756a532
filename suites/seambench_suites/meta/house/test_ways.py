"""Nothing in the library for tests alone: every public class lies on a way that users go."""

import functools
from importlib.metadata import distribution
from pathlib import Path

import pytest

from seambench_suites.meta.house.test_house import modules
from seambench_suites.meta.house.ways import Code, Node, ways


def _lines(way: list[Node]) -> str:
    return " > ".join(f"{module}:{name}" if name else module for module, name in way)


@functools.cache
def _found() -> tuple[Code, dict[Node, list[Node]]]:
    """The code that users run, and the ways through it.

    Suites are left out: they are tests, and measure parts by name. Ways begin at the command, at
    the entry points by which seams, formats and implementations come in, at what `import seamkit`
    offers, and at what `python -m` runs.
    """
    known = {name: path for name, path in modules().items() if "seambench_suites" not in name}
    code = Code(known)
    points = [
        entry.value.partition(":")
        for name in ("seamkit", "seambench")
        for entry in distribution(name).entry_points
    ]
    roots = [(module, name) for module, _, name in points]
    roots += [("seamkit", "__getattr__"), ("seamkit", "_HOMES")]
    main = '__name__ == "__main__"'
    roots += [(name, "") for name, path in known.items() if main in path.read_text("utf-8")]
    return code, ways(code, roots)


def test_every_class_of_the_library_is_on_a_way() -> None:
    """A command, a seam or `seamkit` itself leads to each public class, as code says."""
    code, found = _found()
    classes = code.classes("seamkit")
    lost = [".".join(one) for one in classes if one not in found]
    assert lost == []
    assert len(classes) > 200


@pytest.mark.parametrize(
    ("name", "by"),
    [
        (("seamkit.core.memory", "MemoryPool"), "seambench_impl.serde:SeambenchSerde"),
        (("seamkit.tables.delta.table", "DeltaTable"), "seamkit:_HOMES"),
        (
            ("seamkit.serde.stream.rows", "RowVectorSerde"),
            "seamkit.serde.stream.registry:_BUILT_IN",
        ),
        (("seamkit.offheap.connector.batches", "ParquetScanner"), "connector.factory:_CLASSES"),
    ],
)
def test_ways_are_told(name: Node, by: str) -> None:
    """The way to a class names what leads there, late imports by strings among them."""
    assert by in _lines(_found()[1][name])


def test_what_only_itself_mentions_is_found(tmp_path: Path) -> None:
    """The finder sees a class that nobody uses, and one that only such a class uses."""
    texts = {
        "kit": "_LATE = {'Late': 'kit.late'}\ndef names(): return _LATE",
        "kit.late": "from kit.base import Base\nclass Late(Base): pass\nclass Unused(Late): pass",
        "kit.base": "class Base: pass\nclass Helper: pass\ndef of(x: Helper): pass",
        "kit.test": "import kit.base\nclass Probe:\n    kind = kit.base.Helper",
    }
    files = {}
    for name, text in texts.items():
        files[name] = tmp_path / f"{name}.py"
        files[name].write_text(text, encoding="utf-8")
    code = Code(files)

    def lost(*roots: Node) -> set[str]:
        return {name for _, name in code.classes("kit")} - {n for _, n in ways(code, roots)}

    assert lost(("kit", "names")) == {"Unused", "Helper", "Probe"}
    assert lost(("kit", "names"), ("kit.base", "of")) == {"Unused", "Probe"}
    assert lost(("kit.test", "Probe")) == {"Late", "Unused", "Base"}
