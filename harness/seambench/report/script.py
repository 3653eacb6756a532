"""One script for the page out of modules: a page opened from disk may not import any.

The modules are ECMAScript as it is: named imports from files beside them, and exports where a thing
is declared. They are put one after another, each after those it imports, in one function.
"""

from __future__ import annotations

import re
from importlib.resources.abc import Traversable

_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const) )", re.MULTILINE)
_DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function|const|let) (\w+)", re.MULTILINE)


def joined(folder: Traversable, main: str = "main") -> str:
    """The modules that `main` needs, as one script."""
    sources: dict[str, str] = {}
    _collect(folder, main, sources, [])
    declared: dict[str, str] = {}
    for module, source in sources.items():
        for name in _DECLARED.findall(source):
            if name in declared:
                raise ValueError(f"{module}.js and {declared[name]}.js both declare {name}")
            declared[name] = module
        for names, origin in _IMPORT.findall(source):
            for name in names.split(", "):
                if not re.search(rf"^export .*?\b{name}\b", sources[origin], re.MULTILINE):
                    raise ValueError(
                        f"{module}.js imports {name}, which {origin}.js does not export"
                    )
    bodies = [_EXPORT.sub("", _IMPORT.sub("", source)).strip() for source in sources.values()]
    return '"use strict";\n(() => {\n' + "\n\n".join(bodies) + "\n})();\n"


def _collect(folder: Traversable, module: str, found: dict[str, str], path: list[str]) -> None:
    """Modules below one, each after those it imports."""
    if module in path:
        raise ValueError(f"modules import each other: {' -> '.join([*path, module])}")
    if module in found:
        return
    source = (folder / f"{module}.js").read_text("utf-8")
    for _, origin in _IMPORT.findall(source):
        _collect(folder, origin, found, [*path, module])
    found[module] = source
