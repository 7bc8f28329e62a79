"""Compiled code on disk: never stale, never in the way."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numba
import pytest

import bcfw

PACKAGE = Path(bcfw.__file__).parent
ROUTINES = "bcfw/models/multiclass/multiclass_routines.py"

# Each test works on a copy of the package, in processes of its own. Cache files are named by what they contain and
# not by where the source lies, so copies that are equal share them.

TRAIN = """
import json, sys
import numpy as np
from numba.core import event

import bcfw

sys.path.insert(0, sys.argv[1])
rng = np.random.default_rng(0)
y = rng.integers(3, size=12)
X = np.eye(3)[y] + rng.standard_normal((12, 3))
with event.install_recorder("numba:compile") as recorder:
    {train}
compiled = [entry.data["dispatcher"].py_func.__qualname__ for _, entry in recorder.buffer if entry.is_start]
facts = {{"compiled": compiled, "value": value, "gap": gap, "home": bcfw.__file__}}
print(json.dumps(facts))
"""

MULTICLASS = """
    result = bcfw.train(bcfw.models.Multiclass(), X, y, lam=0.1, tol=0.1)
    result.predict(X)
    value, gap = result.history["primal"][0], result.gap
""".strip()

#: Decoding alone compiles faster than training. A mistake pays if its price is above the score of the truth, 2.
OWN = """
    import own
    w, x = np.array([2.0, 0.0, 0.0]), np.ones(3)
    model = own.Sign(3).bind([x], [1])
    value, gap = float(model.oracle(w, x, 1)[0]), 0.0
""".strip()

#: A user's module: the routines call a helper and read a constant of the module.
OWN_MODULE = """
from typing import NamedTuple
import numpy as np
import bcfw

PRICE = 1.0

class Examples(NamedTuple):
    y: np.ndarray
    y_off: np.ndarray
    x: np.ndarray

def score(data, i, w):
    total = 0.0
    for j in range(w.shape[0]):
        total += w[j] * data.x[i, j]
    return total

class Sign(bcfw.CompiledModel):
    Data = Examples

    def __init__(self, dim):
        self.dim = dim

    def pack(self, X, y=None):
        labels = np.ones(len(X)) if y is None else np.array(y)
        return Examples(labels.astype(np.int64), np.arange(len(X) + 1), np.array(X, float))

    @staticmethod
    def decode(data, i, w, loss_weight, y):
        y[0] = 1 if score(data, i, w) - loss_weight * PRICE * data.y[i] > 0 else -1

    @staticmethod
    def labeling_loss(data, i, y):
        return PRICE if y[0] != data.y[i] else 0.0

    @staticmethod
    def add_features(data, i, y, s, out):
        for j in range(out.shape[0]):
            out[j] += s * y[0] * data.x[i, j] / 2
"""


class Copy:
    """A copy of the package in a folder of its own, and processes that train with it."""

    def __init__(self, home: Path, cache: Path | None) -> None:
        self.home = home
        self.cache = cache
        shutil.copytree(PACKAGE, home / "bcfw", ignore=shutil.ignore_patterns("__pycache__"))

    def run(self, train: str, preexec_fn=None, **env: str) -> dict:
        script = self.home / "train.py"
        script.write_text(TRAIN.format(train=train))
        # Without byte code on disk an edit within the same second cannot be missed.
        variables = os.environ | {"PYTHONPATH": str(self.home), "PYTHONDONTWRITEBYTECODE": "1"}
        variables.pop("BCFW_CACHE_DIR", None)
        if self.cache is not None:
            variables["BCFW_CACHE_DIR"] = str(self.cache)
        done = subprocess.run(
            [sys.executable, str(script), str(self.home)],
            env=variables | env,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=300,
            preexec_fn=preexec_fn,
        )
        assert done.returncode == 0, done.stderr
        facts = json.loads(done.stdout) | {"stderr": done.stderr}
        assert Path(facts["home"]).parent == self.home / "bcfw"
        return facts

    def edit(self, file: str, pattern: str, replacement: str, at_least: int = 1) -> None:
        path = self.home / file
        text, count = re.subn(pattern, replacement, path.read_text())
        assert count >= at_least, f"{pattern!r} is no longer in {file}: adapt this test"
        path.write_text(text)

    def append(self, file: str, text: str) -> None:
        with open(self.home / file, "a") as source:
            source.write(text)


def files_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Names, sizes and times of all files below a folder."""
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A cache that an unedited copy has filled, and what its first process reported."""
    home = tmp_path_factory.mktemp("warm")
    cache = home / "cache"
    facts = Copy(home, cache).run(MULTICLASS)
    return cache, facts


@pytest.fixture
def copy_of_package(tmp_path, warm):
    """A fresh copy with a warm cache of its own."""
    cache = tmp_path / "cache"
    shutil.copytree(warm[0], cache)
    return Copy(tmp_path, cache)


def test_second_process_compiles_nothing(copy_of_package, warm):
    before = files_in(copy_of_package.cache)
    assert warm[1]["compiled"]
    assert before
    again = copy_of_package.run(MULTICLASS)
    assert again["compiled"] == []
    assert files_in(copy_of_package.cache) == before
    assert (again["value"], again["gap"]) == (warm[1]["value"], warm[1]["gap"])


DOUBLED_COSTS = """

_plain_scores, _plain_loss = scores, loss


def scores(data, i, w, loss_weight, work):
    _plain_scores(data, i, w, 2.0 * loss_weight, work)


def loss(data, i, work):
    return 2.0 * _plain_loss(data, i, work)
"""


def test_edited_routine_in_another_file_is_compiled_again(copy_of_package, warm):
    """The passes live in other files than the model's routines: doubled costs must double P(0)."""
    copy_of_package.append(ROUTINES, DOUBLED_COSTS)
    edited = copy_of_package.run(MULTICLASS)
    assert edited["compiled"]
    assert edited["value"] == pytest.approx(2.0 * warm[1]["value"], rel=1e-12)


def test_renamed_and_added_fields_of_a_record_do_not_crash(copy_of_package, warm):
    copy_of_package.edit(ROUTINES, r"\bsqnorms\b", "squares", at_least=2)
    copy_of_package.edit(ROUTINES, r"\n    n_labels: int\n", "\n    n_labels: int\n    extra: int = 0\n")
    edited = copy_of_package.run(MULTICLASS)
    assert edited["gap"] == pytest.approx(warm[1]["gap"], abs=1e-12)


def test_users_compiled_model_is_cached_and_never_stale(copy_of_package):
    """Not even when only a number changes that the routines read as a global."""
    own = copy_of_package.home / "own.py"
    own.write_text(OWN_MODULE)
    first = copy_of_package.run(OWN)
    assert first["compiled"]
    assert first["value"] == 1.0
    assert copy_of_package.run(OWN)["compiled"] == []
    own.write_text(OWN_MODULE.replace("PRICE = 1.0", "PRICE = 3.0"))
    edited = copy_of_package.run(OWN)
    assert edited["compiled"]
    assert edited["value"] == -1.0


def test_cache_lies_in_the_package_by_default(tmp_path, warm):
    copy = Copy(tmp_path, None)
    shutil.copytree(warm[0], tmp_path / "bcfw" / "__pycache__" / "kernels")
    assert copy.run(MULTICLASS, XDG_CACHE_HOME=str(tmp_path / "user"))["compiled"] == []
    assert not (tmp_path / "user").exists()


def test_read_only_package_falls_back_to_the_users_cache(tmp_path, warm):
    """A file in the place of the folder stops everyone, root included."""
    copy = Copy(tmp_path, None)
    (tmp_path / "bcfw" / "__pycache__").write_text("in the way")
    user = tmp_path / "user" / "bcfw" / "kernels"
    shutil.copytree(warm[0], user)
    assert copy.run(MULTICLASS, XDG_CACHE_HOME=str(tmp_path / "user"))["compiled"] == []


def obey_permissions():
    """In a new process: let permissions bind root, too (drop CAP_DAC_OVERRIDE from what its programs may have)."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.fixture
def read_only(tmp_path):
    """Function that copies a folder, which then nobody may write to; the test is skipped where that cannot be."""
    made = []

    def copy(folder, target):
        shutil.copytree(folder, target)
        target.chmod(0o555)
        made.append(target)
        attempt = [sys.executable, "-c", f"open({str(target / 'new')!r}, 'w')"]
        if subprocess.run(attempt, preexec_fn=obey_permissions, stderr=subprocess.DEVNULL).returncode == 0:
            pytest.skip("permissions do not bind this user")

    yield copy
    for folder in made:
        folder.chmod(0o755)


def test_filled_read_only_cache_is_read(tmp_path, warm, read_only):
    read_only(warm[0], tmp_path / "cache")
    copy, before = Copy(tmp_path, tmp_path / "cache"), files_in(tmp_path / "cache")
    assert copy.run(MULTICLASS, obey_permissions)["compiled"] == []
    assert files_in(tmp_path / "cache") == before


def test_filled_read_only_package_is_read_and_the_users_cache_takes_the_rest(tmp_path, warm, read_only):
    """One of the compiled functions is missing in the package: only that one is compiled, and kept for the next."""
    copy, package = Copy(tmp_path, None), tmp_path / "bcfw" / "__pycache__" / "kernels"
    partly = tmp_path / "partly"
    shutil.copytree(warm[0], partly)
    for path in partly.glob("*decode_pass*"):
        path.unlink()
    read_only(partly, package)
    options = {"preexec_fn": obey_permissions, "XDG_CACHE_HOME": str(tmp_path / "user")}
    first = copy.run(MULTICLASS, **options)["compiled"]
    assert "decode_pass" in first
    assert "block_pass" not in first
    assert copy.run(MULTICLASS, **options)["compiled"] == []


#: Functions that call each other in a circle, kept on disk as far as that is possible.
CIRCLE = """
    from bcfw.compile import RoutineSet
    import circle
    value, gap = RoutineSet({}).compiled_pass(circle.top)(7), 0.0
""".strip()

CIRCLE_MODULE = """
def even(k):
    return 1 if k == 0 else odd(k - 1)

def odd(k):
    return 0 if k == 0 else even(k - 1)

def top(k):
    return odd(k)
"""


def test_functions_in_a_circle_work_in_every_process(copy_of_package):
    """numba would load them with the addresses of the first process and crash."""
    (copy_of_package.home / "circle.py").write_text(CIRCLE_MODULE)
    for _ in range(2):
        facts = copy_of_package.run(CIRCLE)
        assert facts["value"] == 1
        assert facts["compiled"]


#: A black-box model compiles only a few short functions, of which the process is to tell at once.
TINY = """
from bcfw.compile import timing as compiling
compiling.QUIET_SECONDS = 0.0
class Sign(bcfw.Model):
    def features(self, x, y):
        return y * x / 2
    def loss(self, y_true, y):
        return float(y != y_true)
    def oracle(self, w, x, y_true=None):
        def value(y):
            return w @ self.features(x, y) + (0 if y_true is None else self.loss(y_true, y))
        return max((-1, 1), key=value)
result = bcfw.train(Sign(), X, list(2 * (y > 0) - 1), lam=0.1)
value, gap = result.history["primal"][0], result.gap
"""


def test_machine_without_any_writable_place_still_works(tmp_path):
    copy = Copy(tmp_path, None)
    (tmp_path / "bcfw" / "__pycache__").write_text("in the way")
    (tmp_path / "user").write_text("in the way")
    tiny = textwrap.indent(TINY, "    ")
    before = set(files_in(tmp_path))
    facts = copy.run(tiny.strip(), XDG_CACHE_HOME=str(tmp_path / "user"))
    assert facts["compiled"]
    assert set(files_in(tmp_path)) - before == {"train.py"}
    assert facts["stderr"].count("bcfw compiles in every process") == 1
    assert f"{tmp_path / 'bcfw' / '__pycache__' / 'kernels'}: Not a directory; {tmp_path / 'user'}" in facts["stderr"]


def double(x):
    return 2 * x


def test_two_processes_that_save_at_once_do_not_mix_their_code(tmp_path, monkeypatch):
    """One compiles for floats and one for integers; each has read the index before the other has written it."""
    from bcfw.compile import numba_internals

    def compiled():
        function = numba.njit(double)
        numba_internals.attach_cache(function, "5" * 64, [tmp_path])
        return function

    for_integers, kind, late = compiled(), type(compiled()._cache._cache_file), []
    save_index, save_data = kind._save_index, kind._save_data

    def first_waits(files, overloads):
        monkeypatch.setattr(kind, "_save_index", save_index)
        monkeypatch.setattr(kind, "_save_data", lambda *given: late.append(given))
        assert for_integers(3) == 6
        monkeypatch.setattr(kind, "_save_data", save_data)
        save_index(files, overloads)

    monkeypatch.setattr(kind, "_save_index", first_waits)
    assert compiled()(1.5) == 3.0
    save_data(*late[0])  # the second one's code is the last to be written
    again = compiled()
    assert (again(1.5), again(3)) == (3.0, 6)


def test_damaged_cache_files_are_replaced(copy_of_package, warm):
    """A file that is cut short or is none of ours costs a compilation, not the run."""
    for path in copy_of_package.cache.rglob("*.nbc"):
        path.write_bytes(b"")
    for path in list(copy_of_package.cache.rglob("*.nbi"))[:1]:
        path.write_bytes(b"not an index")
    repaired = copy_of_package.run(MULTICLASS)
    assert repaired["compiled"]
    assert repaired["gap"] == pytest.approx(warm[1]["gap"], abs=1e-12)
