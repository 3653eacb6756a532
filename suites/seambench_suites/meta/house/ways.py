"""Ways to the library's classes: from commands, entry points and the package, by names in code.

A node is a name defined at the top of a module, or the rest of the module's text. A definition
leads to the names that it mentions, as its module's imports resolve them; to attributes of modules
that it imports whole; and, where it names a module in a string, as whoever imports late does, to
what its other strings name there. Names in type hints count: what a signature asks for, a caller
makes.
"""

import ast
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Node = tuple[str, str]
"""Module, and a name defined at its top; an empty name is what runs when it is imported."""


@dataclass
class _Module:
    """What a module's text says."""

    names: dict[str, Node] = field(default_factory=dict)
    parts: dict[str, list[ast.AST]] = field(default_factory=dict)


class Code:
    """All definitions of some modules, and what each leads to.

    Args:
        modules: source files by module name.
    """

    def __init__(self, modules: Mapping[str, Path]) -> None:
        self._known = set(modules)
        self._modules = {
            name: self._read(name, path.read_text(encoding="utf-8"))
            for name, path in modules.items()
        }

    def _read(self, module: str, text: str) -> _Module:
        found = _Module()
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    target = (whole, "") if whole in self._known else (node.module, alias.name)
                    found.names[alias.asname or alias.name] = target
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    found.names[name] = (alias.name if alias.asname else name, "")
        for part in tree.body:
            for name in _defined(part):
                found.names[name] = (module, name)
                found.parts.setdefault(name, []).append(part)
            if not list(_defined(part)) and not isinstance(part, ast.Import | ast.ImportFrom):
                found.parts.setdefault("", []).append(part)
        return found

    def classes(self, package: str) -> list[Node]:
        """Public classes of a package."""
        return [
            (module, name)
            for module, content in self._modules.items()
            if module == package or module.startswith(f"{package}.")
            for name, parts in content.parts.items()
            if not name.startswith("_") and any(isinstance(one, ast.ClassDef) for one in parts)
        ]

    def has(self, node: Node) -> bool:
        """Whether a module defines or imports a name."""
        return node[0] in self._modules and (not node[1] or node[1] in self._modules[node[0]].names)

    def leads_to(self, node: Node) -> Iterator[Node]:
        """What a definition mentions."""
        module, name = node
        content = self._modules.get(module)
        if content is None:
            return
        if name in content.names and content.names[name] != node:
            yield content.names[name]  # an import handed on
            return
        if name:
            yield (module, "")
        for part in content.parts.get(name, ()):
            yield from self._mentioned(content, part)

    def _mentioned(self, content: _Module, part: ast.AST) -> Iterator[Node]:
        strings = set()
        for inner in ast.walk(part):
            if isinstance(inner, ast.Name) and inner.id in content.names:
                yield content.names[inner.id]
            elif isinstance(inner, ast.Attribute):
                yield from self._attribute(content, inner)
            elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                strings.update(inner.value.split(":"))
        for module in strings & self._known:
            yield (module, "")
            yield from ((module, name) for name in strings if self.has((module, name)) and name)

    def _attribute(self, content: _Module, node: ast.Attribute) -> Iterator[Node]:
        """`module.name`, of a module that was imported whole."""
        root = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and content.names.get(root.id, ("", "-"))[1] == "":
            module = content.names[root.id][0] + ast.unparse(node.value)[len(root.id) :]
            if module in self._known:
                yield (module, node.attr)


def _defined(part: ast.stmt) -> Iterator[str]:
    """Names that a statement at the top of a module defines."""
    if isinstance(part, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield part.name
    elif isinstance(part, ast.Assign):
        yield from (target.id for target in part.targets if isinstance(target, ast.Name))
    elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
        yield part.target.id


def ways(code: Code, roots: Iterable[Node]) -> dict[Node, list[Node]]:
    """The shortest way to each definition that is reached, from its root on."""
    found: dict[Node, list[Node]] = {root: [root] for root in roots if code.has(root)}
    left = deque(found)
    while left:
        node = left.popleft()
        for target in code.leads_to(node):
            if target not in found and code.has(target):
                found[target] = [*found[node], target]
                left.append(target)
    return found
