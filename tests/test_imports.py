"""The layers of the package: what each may import, and that ``import bcfw`` stays cheap."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import bcfw
from layers import LAYERS, Package, cycles, violations

FOLDER = Path(bcfw.__file__).parent
PACKAGE = Package(FOLDER)
ROOT = Path(__file__).resolve().parent.parent


def test_layers_import_only_what_they_may():
    assert violations(PACKAGE) == []


def test_no_files_import_each_other():
    assert cycles(PACKAGE) == []


def test_every_layer_exists():
    assert set(LAYERS) <= {file.split("/")[0].removesuffix(".py") for file in PACKAGE.trees}


def test_the_design_page_has_the_layers():
    """In their order, with what they may import; and every file that it names exists."""
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*) \|$", page, flags=re.MULTILINE)
    assert {
        layer: None if given == "all above" else set(re.findall(r"`(\w+)`", given)) for layer, given in rows
    } == LAYERS
    assert [layer for layer, _ in rows] == list(LAYERS)
    for file in re.findall(r"`((?:\w+/)+\w+\.py)`", page):
        assert (FOLDER / file).exists() or (ROOT / file).exists(), f"design.md names {file}"


def test_every_file_says_what_it_is():
    """By a first line that no other file has."""
    firsts = {file: (ast.get_docstring(tree) or "").split("\n")[0] for file, tree in PACKAGE.trees.items()}
    assert all(firsts.values())
    repeated = [line for line, times in Counter(firsts.values()).items() if times > 1]
    assert {file: line for file, line in firsts.items() if line in repeated} == {}


FORMS = {
    "import bcfw.dual.certify": {"dual/certify.py"},
    "from bcfw.solvers import BCFW": {"solvers/__init__.py", "solvers/bcfw.py"},
    "from bcfw import models, train": {"models/__init__.py", "__init__.py"},
    "from ..run import Run": {"run.py"},
    "from .. import selection": {"selection.py"},
    "from . import other": {"models/other.py"},
    "def f():\n    from bcfw.path import grid": {"path/grid.py"},
    "import numpy, bcfw": {"__init__.py"},
    "if TYPE_CHECKING:\n    import bcfw": set(),
}


@pytest.fixture
def small_package(tmp_path):
    """A package of a few files, most of them empty."""
    folder = tmp_path / "bcfw"
    files = ("dual/certify", "solvers/__init__", "solvers/bcfw", "models/__init__", "models/other", "path/grid", "run")
    for file in (*files, "selection", "path/__init__", "dual/__init__", "__init__"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{file}.py").write_text("")
    (folder / "solvers" / "__init__.py").write_text("from bcfw.solvers.bcfw import BCFW")
    return folder


def test_every_form_of_import_is_seen(small_package):
    """Absolute, relative, nested in a function, through a package, and of the package itself."""
    for text, expected in FORMS.items():
        (small_package / "models" / "x.py").write_text(text)
        found = Package(small_package).imports("models/x.py")
        assert {file for one in found for file in one.reached} == expected, text


def test_wrong_imports_and_cycles_are_found(small_package):
    (small_package / "run.py").write_text("import bcfw\nfrom bcfw.models.other import f")
    (small_package / "models" / "other.py").write_text("from bcfw import run\nfrom bcfw.errors import InputError")
    (small_package / "unknown.py").write_text("")
    package = Package(small_package)
    assert violations(package) == [
        "models/other.py:1 must not import run.py",
        "run.py:1 must not import __init__.py",
        "run.py:2 must not import models/other.py",
        "unknown.py: unknown is no layer",
    ]
    assert cycles(package) == [["models/other.py", "run.py"]]


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
    assert not loaded_after("import bcfw.storage.model_file") & HEAVY


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
