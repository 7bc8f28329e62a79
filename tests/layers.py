"""Which layer of the source imports which: the imports of all files, and what is wrong with them.

A layer is a folder of the package, or a file beside the folders. Imports inside functions count, imports for type
checkers do not. ``from bcfw.dual import X`` counts for the package ``bcfw.dual`` and for the file that defines X.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import NamedTuple

#: The layers from the lowest to the highest. A layer may import itself and what is given here; with None, all before
#: it.
LAYERS: dict[str, set[str] | None] = {
    "errors": set(),
    "options": {"errors"},
    "storage": {"errors", "options"},
    "compile": {"errors", "options", "storage"},
    "algorithms": {"compile"},
    "inputs": {"errors", "options", "storage"},
    "run": {"errors"},
    "progress": {"errors", "compile", "run"},
    "passes": {"errors", "compile", "algorithms"},
    "selection": {"errors", "options", "algorithms", "passes"},
    "models": {"errors", "options", "storage", "compile", "algorithms", "inputs", "passes"},
    "dual": {"errors", "options", "storage", "compile", "inputs", "passes", "models"},
    "solvers": {
        *("errors", "options", "storage", "compile", "algorithms", "inputs"),
        *("run", "selection", "passes", "models", "dual"),
    },
    "product": {"errors", "options", "compile", "algorithms", "inputs", "run", "selection", "progress"},
    "domains": {"product"},
    "objectives": {"product"},
    "steps": {"product"},
    "result": None,
    "training": None,
    "path": {
        *("errors", "options", "storage", "inputs", "run", "progress"),
        *("passes", "models", "dual", "solvers", "result", "training"),
    },
    "metrics": {"errors", "options", "inputs"},
    "text": {
        *("errors", "options", "storage", "compile", "algorithms", "inputs"),
        *("models", "solvers", "result", "training", "path", "metrics"),
    },
    "formats": {"text"},
    "estimators": None,
    "datasets": {"errors", "options", "storage", "inputs", "text", "formats"},
    "report": {"errors", "path", "product", "result"},
    "commands": None,
}

#: Files that belong to no layer: the public face, which only loads names on first use, and ``python -m bcfw``.
FACE, MAIN = "__init__.py", "__main__.py"

#: The layers that may use the public face, ``import bcfw``, through which everything can be reached.
USERS_OF_THE_FACE = {"commands", "report"}


class Import(NamedTuple):
    """An imported name: its line, whether the import runs while the file is loaded, and the files that it reaches."""

    line: int
    at_once: bool
    reached: tuple[str, ...]


class Package:
    """The files of a package, by their paths inside it, and what they import from each other."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.trees = {path.relative_to(folder).as_posix(): read(path) for path in sorted(folder.rglob("*.py"))}
        self.files = {self._module(file): file for file in self.trees}
        self._given_on = {file: dict(self._names(file, tree)) for file, tree in self.trees.items()}

    def imports(self, file: str) -> list[Import]:
        """Every name that a file imports from the package."""
        tree = self.trees[file]
        functions = (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
        later = {id(inner) for function in functions for inner in ast.walk(function)}
        found = []
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                module = self._source(file, node)
                reached = [self._reached(module, alias.name) for alias in node.names]
            elif isinstance(node, ast.Import):
                reached = [self._reached(*alias.name.rpartition(".")[::2]) for alias in node.names]
            else:
                continue
            found += [Import(node.lineno, id(node) not in later, files) for files in reached if files]
        return found

    def _module(self, file: str) -> str:
        parts = [self.name, *file.removesuffix(".py").split("/")]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def _source(self, file: str, node: ast.ImportFrom) -> str:
        """The module that a from-import names, which may be relative."""
        if not node.level:
            return node.module or ""
        package = self._module(file).split(".")
        package = package if file.endswith("__init__.py") else package[:-1]
        return ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])

    def _names(self, file: str, tree: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
        """The names that a file has from other modules, with the module and the name there."""
        for node in tree.body:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    yield alias.asname or alias.name, (self._source(file, node), alias.name)

    def _reached(self, module: str, name: str) -> tuple[str, ...]:
        """The files that ``from module import name`` reaches: first those that hand the name on."""
        found: list[str] = []
        while True:
            submodule = self.files.get(".".join(filter(None, [module, name])))
            file = submodule or self.files.get(module)
            if file is None or file in found:
                return tuple(found)
            found.append(file)
            if submodule or name not in self._given_on[file]:
                return tuple(found)
            module, name = self._given_on[file][name]


def read(path: Path) -> ast.Module:
    """The syntax tree of a file, without the imports that only type checkers read."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [
        node for node in tree.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
    ]
    return tree


def layer_of(file: str) -> str:
    return file.split("/")[0].removesuffix(".py")


def allowed(layer: str, layers: Mapping[str, Set[str] | None] = LAYERS) -> set[str]:
    """The layers that a layer may import."""
    given, names = layers[layer], list(layers)
    return {layer, *(names[: names.index(layer)] if given is None else given)}


def violations(package: Package, layers: Mapping[str, Set[str] | None] = LAYERS) -> list[str]:
    """Files without a layer, and imports that are not allowed."""
    found = []
    for file in package.trees:
        layer = layer_of(file)
        if file in (FACE, MAIN):
            may_use = {"commands"}
        elif layer not in layers:
            found.append(f"{file}: {layer} is no layer")
            continue
        else:
            may_use = allowed(layer, layers) | ({layer_of(FACE)} if layer in USERS_OF_THE_FACE else set())
        for line, _, reached in package.imports(file):
            wrong = [other for other in reached if layer_of(other) not in may_use]
            found += [f"{file}:{line} must not import {other}" for other in wrong]
    return found


def cycles(package: Package) -> list[list[str]]:
    """Groups of files that import each other while they are loaded; ``__init__`` files only collect names."""
    graph: dict[str, set[str]] = defaultdict(set)
    for file in package.trees:
        targets = {one.reached[-1] for one in package.imports(file) if one.at_once}
        graph[file] = {other for other in targets if other != file and not other.endswith("__init__.py")}
    behind = {file: reachable(graph, file) for file in graph}
    groups = {
        tuple(sorted(one for one in behind[file] if file in behind[one])) for file in graph if file in behind[file]
    }
    return sorted(map(list, groups))


def reachable(graph: Mapping[str, Set[str]], start: str) -> set[str]:
    """All that can be reached from a file in one step or more."""
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += graph[file]
    return found
