"""The layers of the package: imports point upward in one table only, and ``import bcfw`` stays cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bcfw

PACKAGE = Path(bcfw.__file__).parent

#: Layers from the bottom of the design's table; each may import those before it, and its own folder.
ORDER = [
    "errors",
    "records",
    "options",
    "files",
    "kernels",
    "models",
    "selection",
    "run",
    "progress",
    "dual",
    "solvers",
    "product",
    "path",
    "cluster",
    "training",
    "estimators",
    "datasets",
    "formats",
    "report",
    "commands",
]

BASE = {"errors", "records", "options", "files"}

#: Layers that may import less than everything before them.
NARROW = {
    "errors": set(),
    "records": set(),
    "options": {"errors"},
    "files": {"errors"},
    "kernels": BASE,
    "product": BASE | {"kernels", "selection", "run", "progress"},
    "path": BASE | {"run", "progress", "dual", "solvers"},
    "cluster": BASE | {"run", "dual", "solvers"},
    "training": BASE | {"kernels", "models", "selection", "run", "progress", "dual", "solvers"},
    "datasets": BASE,
}

#: The thin end may use the public face, ``import bcfw``, which reaches everything.
FACE = {"commands", "report"}

MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def imported_layers(path: Path) -> set[str]:
    """First names below ``bcfw`` that a module imports, wherever in the module; "bcfw" for the package itself."""
    found = set()
    package = ("bcfw", *path.parts[:-1])
    for node in ast.walk(ast.parse((PACKAGE / path).read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            home = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            source = ".".join(part for part in (home, node.module) if part)
            names = [f"{source}.{alias.name}" for alias in node.names] if source == "bcfw" else [source]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "bcfw":
                found.add(parts[1] if len(parts) > 1 and parts[1] in ORDER else "bcfw")
    return found


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_point_upward(path):
    layer = layer_of(path)
    if layer in ("__init__", "__main__"):
        assert imported_layers(path) <= {"commands"}
        return
    assert layer in ORDER, f"{layer} has no place in the order of layers"
    allowed = NARROW.get(layer, set(ORDER[: ORDER.index(layer)])) | {layer} | ({"bcfw"} if layer in FACE else set())
    wrong = imported_layers(path) - allowed
    assert not wrong, f"{path} must not import {', '.join(sorted(wrong))}"


def test_the_parser_sees_every_form_of_import(tmp_path, monkeypatch):
    """Absolute, relative, nested in a function, and of the package itself."""
    forms = {
        "import bcfw.dual.gaps": {"dual"},
        "from bcfw.solvers import BCFW": {"solvers"},
        "from bcfw import models, train": {"models", "bcfw"},
        "from ..run import Run": {"run"},
        "from .. import selection": {"selection"},
        "from . import base": {"models"},
        "def f():\n    from bcfw.path import grid": {"path"},
        "import numpy, bcfw": {"bcfw"},
    }
    (tmp_path / "models").mkdir()
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    for text, expected in forms.items():
        (tmp_path / "models" / "x.py").write_text(text)
        assert imported_layers(Path("models/x.py")) == expected, text


def loaded_after(code: str) -> set[str]:
    code += "\nimport sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


HEAVY = {"numba", "llvmlite", "scipy", "sklearn", "rich", "click", "matplotlib", "highspy"}


def test_import_loads_nothing_heavy():
    assert not loaded_after("import bcfw; dir(bcfw); bcfw.__version__") & HEAVY


def test_training_loads_no_estimators():
    code = "import bcfw, numpy as np; bcfw.train(bcfw.models.Multiclass(), np.eye(2), [0, 1], lam=1.0)"
    assert not loaded_after(code) & {"sklearn", "matplotlib", "rich", "click"}


def test_every_public_name_exists():
    for name in bcfw.__all__:
        assert getattr(bcfw, name) is not None
        assert name in dir(bcfw)
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        bcfw.trian  # noqa: B018
