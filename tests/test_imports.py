"""The layers of the package: imports point upward in one table only, and ``import bcfw`` stays cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bcfw

PACKAGE = Path(bcfw.__file__).parent

#: Layers from the top of the design's table (docs/design.md); each may import those before it, and its own folder.
ORDER = [
    "errors",
    "options",
    "records",
    "files",
    "memory",
    "saved_arrays",
    "model_file",
    "saved_values",
    "saved_objects",
    "loading",
    "kernels",
    "inputs",
    "tagging",
    "input_kernels",
    "run",
    "selection",
    "progress",
    "passes",
    "models",
    "dual",
    "solvers",
    "product",
    "domains",
    "objectives",
    "steps",
    "result",
    "training",
    "path",
    "cluster",
    "metrics",
    "estimators",
    "formats",
    "text",
    "datasets",
    "report",
    "commands",
]

BASE = {"errors", "options", "records", "files", "memory"}

#: What is saved in files, and how.
SAVED = {"saved_arrays", "model_file", "saved_values", "saved_objects", "loading"}

#: Layers that may import less than everything before them.
NARROW = {
    "errors": set(),
    "options": {"errors"},
    "records": set(),
    "files": {"errors"},
    "memory": {"errors"},
    "saved_arrays": {"errors"},
    "model_file": {"errors", "files", "saved_arrays"},
    "saved_values": {"errors", "options", "saved_arrays"},
    "saved_objects": {"errors", "saved_arrays", "saved_values"},
    "loading": {"errors", "files", "saved_arrays", "model_file", "saved_objects"},
    "kernels": BASE,
    "inputs": BASE,
    "tagging": BASE | {"kernels", "inputs"},
    "input_kernels": {"errors", "options"},
    "run": {"errors"},
    "selection": {"errors", "options", "records", "kernels"},
    "progress": {"errors", "kernels", "run"},
    "passes": {"errors", "records", "kernels"},
    "models": BASE | SAVED | {"kernels", "inputs", "input_kernels", "passes"},
    "dual": BASE | SAVED | {"kernels", "inputs", "input_kernels", "passes", "models"},
    "solvers": BASE | SAVED | {"kernels", "inputs", "input_kernels", "run", "selection", "passes", "models", "dual"},
    "product": BASE | {"kernels", "inputs", "run", "selection", "progress"},
    **{face: {"product"} for face in ("domains", "objectives", "steps")},
    "path": BASE | SAVED | {"inputs", "run", "progress", "dual", "solvers", "result", "training"},
    "metrics": BASE | {"inputs"},
    "formats": BASE | {"inputs"},
    "datasets": BASE | {"inputs", "formats"},
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
    tree = ast.parse((PACKAGE / path).read_text())
    for block in [one for one in tree.body if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING"]:
        tree.body.remove(block)  # nothing runs it
    for node in ast.walk(tree):
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
        "import bcfw.dual.certify": {"dual"},
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


def test_a_run_knows_nothing_of_models():
    """Any optimisation can use it: neither models nor what they load come along."""
    code = "import bcfw.run, bcfw.progress, sys; print(*(name for name in sys.modules if name.startswith('bcfw.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.split(".")[1] in ("models", "dual", "solvers", "inputs", "passes")} == set()
    assert not loaded_after("import bcfw.run, bcfw.progress") & (HEAVY - {"rich"})


def test_training_loads_no_estimators():
    code = "import bcfw, numpy as np; bcfw.train(bcfw.models.Multiclass(), np.eye(2), [0, 1], lam=1.0)"
    assert not loaded_after(code) & {"sklearn", "matplotlib", "rich", "click"}


def test_reading_a_model_file_loads_nothing_heavy():
    assert not loaded_after("import bcfw.model_file") & HEAVY


def test_minimize_loads_no_compiler():
    code = "import bcfw; bcfw.minimize((lambda x: 0.0, lambda x: [0 * x[0]]), [bcfw.domains.Simplex(2)])"
    assert not loaded_after(code) & {"numba", "sklearn", "scipy", "matplotlib", "rich", "click"}


def test_formats_load_next_to_nothing():
    """Predictions in a pipe begin soon."""
    code = "import bcfw.formats as formats; list(formats.Columns().examples(['a A'], 'text'))"
    assert not loaded_after(code) & (HEAVY | {"numpy"})


def test_importing_bcfw_does_not_import_scikit_learn():
    code = "import bcfw, sys; assert 'sklearn' not in sys.modules; bcfw.datasets; assert 'sklearn' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_exists():
    for name in bcfw.__all__:
        assert getattr(bcfw, name) is not None
        assert name in dir(bcfw)
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        bcfw.trian  # noqa: B018
