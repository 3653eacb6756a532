"""Who may import whom: implementations know the harness, never the other way round."""

import ast
import functools
from importlib.metadata import entry_points

import pytest

from seambench_suites.meta.house.test_house import package_folder

#: Arrows that exist; any other import between the packages is forbidden.
ALLOWED: dict[str, set[str]] = {
    "seambase": {"seambase"},
    "seamkit": {"seambase", "seamkit"},
    "seambench": {"seambase", "seambench"},
    "seambench_impl": {"seambase", "seamkit", "seambench", "seambench_impl"},
    "seambench_suites": {"seambase", "seambench", "seambench_suites"},
    # Tools around our own exchange see inside it; the suites that judge do not.
    "seambench_suites.exchange": {"seambase", "seamkit", "seambench", "seambench_suites"},
    # Runs from the checkout beside the packages of any commit, which may lack what it would import.
    "seambench_suites.history": set(),
}
#: Rooms of the library that reading a table does not need.
OTHER_SEAMS = {"connector", "exchange", "gluten", "jni", "offheap", "serde", "spark"}


@functools.cache
def imported_modules(source: str) -> frozenset[str]:
    """The modules that a text imports, or imports from, anywhere in it, by name if it is late."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module=str(module), level=0):
                found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
            case ast.Import():
                found |= {alias.name for alias in node.names}
            case ast.Call(
                ast.Name("import_module") | ast.Attribute(attr="import_module"),
                [ast.Constant(name), *_],
            ):
                found.add(str(name))
    return frozenset(found)


def forbidden(package: str, source: str) -> list[str]:
    """Our packages that a module of `package` imports and may not."""
    roots = {name.partition(".")[0] for name in imported_modules(source)}
    return sorted(root for root in roots & set(ALLOWED) if root not in ALLOWED[package])


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_imports_follow_the_arrows(package: str) -> None:
    """No module imports against the arrows, not even inside a function."""
    own_rules = [package_folder(other) for other in ALLOWED if other.startswith(f"{package}.")]
    found = {
        str(file): bad
        for file in package_folder(package).rglob("*.py")
        if not any(folder in file.parents for folder in own_rules)
        and (bad := forbidden(package, file.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("package", "source", "bad"),
    [
        ("seambench", "import seambench_impl", ["seambench_impl"]),
        ("seambench", "def f():\n    from seambench_suites.tpch import SUITE",
         ["seambench_suites"]),
        ("seambench", "importlib.import_module('seamkit.scan')", ["seamkit"]),
        ("seambench_suites", "from seamkit.scan import merge", ["seamkit"]),
        ("seamkit", "from seambench.contracts.scan import Scan", ["seambench"]),
        ("seambench_impl", "import seambench_suites.cases", ["seambench_suites"]),
        ("seambench_impl", "from seambench.contracts.scan import Scan", []),
        ("seambench_suites.history", "from seambench_suites.history.kernels import feature",
         ["seambench_suites"]),
    ],
)  # fmt: skip
def test_forbidden_imports_are_seen(package: str, source: str, bad: list[str]) -> None:
    """The reader of imports itself finds what it must."""
    assert forbidden(package, source) == bad


#: Names of implementations that are words of contracts and formats, too.
WORDS = {"engine", "merge", "metadata", "native", "positions"}
#: Where the library is a distribution or a command: what is installed, linked, or advised.
DISTRIBUTIONS = {
    "cli/app.py", "contracts/peers/environments.py", "records/facts.py", "seams/scan/doors.py",
}  # fmt: skip


def named(source: str, names: set[str]) -> set[str]:
    """Names that a module has as texts of their own."""
    nodes = ast.walk(ast.parse(source))
    return {str(one.value) for one in nodes if isinstance(one, ast.Constant)} & names


def _announced() -> tuple[set[str], set[str]]:
    """The library, and this project's readers by their short names."""
    readers = {
        point.name.partition(".")[2]
        for point in entry_points(group="seambench.impl")
        if point.name.startswith("scan.") and not point.value.startswith("seambench_impl.peers.")
    }
    return {point.name for point in entry_points(group="seambench.library")}, readers - WORDS


def test_the_harness_names_no_implementation() -> None:
    """Who is meant where nobody is named is announced, as is the library's name on pages."""
    harness, (library, readers) = package_folder("seambench"), _announced()
    assert library
    assert {"auto", "connector"} <= readers
    found = {}
    for file in harness.rglob("*.py"):
        place = file.relative_to(harness).as_posix()
        names = readers if place in DISTRIBUTIONS else readers | library
        if bad := named(file.read_text(encoding="utf-8"), names):
            found[place] = bad
    for file in (harness / "report/template").rglob("*.*"):
        if any(one in file.read_text(encoding="utf-8") for one in library):
            found[file.name] = library
    assert found == {}


def other_seams(source: str) -> set[str]:
    """Rooms that reading a table does not need, and from which a module imports."""
    names = imported_modules(source)
    return {name.split(".")[1] for name in names if name.startswith("seamkit.")} & OTHER_SEAMS


@pytest.mark.parametrize("room", ["core", "avro", "files", "scan", "catalogs", "tables"])
def test_reading_needs_no_other_seam(room: str) -> None:
    """Tables, and what they are read with, import no exchange, serde or off-heap column."""
    found = {
        str(file): others
        for file in (package_folder("seamkit") / room).rglob("*.py")
        if (others := other_seams(file.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_rooms_are_seen_within_functions() -> None:
    """An import that waits for its function is one."""
    source = "def f():\n    from seamkit.exchange.partition import hash_rows"
    assert other_seams(source) == {"exchange"}


def test_the_serde_does_not_read_pages_by_its_witness() -> None:
    """Only the command shows pages by the plain reader, by which the judge holds the serde."""
    users = {
        file.relative_to(package_folder("seamkit")).parts[0]
        for file in package_folder("seamkit").rglob("*.py")
        if "seambase.pages" in file.read_text(encoding="utf-8")
    }
    assert users == {"command"}


#: What the connector path is a witness for: no module of it may be behind what a witness imports,
#: but through what plans and reads files for both.
MERGES = (
    "seamkit.tables.hudi.merge",
    "seamkit.scan.merge_path",
    "seamkit.scan.core_merges",
    "seamkit.scan.events_cache",
    "seamkit.scan.masks",
    "seamkit.scan.runs_path",
    "seamkit.files.roaring",
    "seamkit.files.vectors",
    "seamkit.tables.paimon.merge_engines",
    "seamkit.tables.paimon.change_rows",
    "seamkit.tables.iceberg.changes",
    "seamkit.tables.iceberg.deletes",
    "seamkit.tables.delta.vectors",
    "seamkit.tables.states",
)


def merges_in(source: str) -> list[str]:
    """Modules of the merge path that a text imports."""
    return sorted(name for name in imported_modules(source) if name.startswith(MERGES))


def test_the_connector_path_shares_no_merge() -> None:
    """It imports nothing of the merge path that it is a witness for, nor do the logs it reads."""
    seamkit = package_folder("seamkit")
    folders = [seamkit / "connector", seamkit / "tables/hudi/log", seamkit / "tables/hudi/listing"]
    found = {
        str(file.relative_to(seamkit)): shared
        for folder in folders
        for file in folder.rglob("*.py")
        if (shared := merges_in(file.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("source", "shared"),
    [
        ("from seamkit.tables.hudi.merge.records import RecordReader", True),
        ("def f():\n    from seamkit.tables.hudi.merge import keys", True),
        ("import seamkit.scan.core_merges", True),
        ("from seamkit.scan import merge_path", True),
        ("from seamkit.tables.hudi.listing.log_blocks import read_ordered_blocks", False),
    ],
)
def test_a_shared_merge_is_seen(source: str, shared: bool) -> None:
    """Whichever way it is imported."""
    assert bool(merges_in(source)) is shared
