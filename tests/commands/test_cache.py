"""``bcfw cache``: what is kept where, and code that is compiled ahead."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from bcfw.commands import cache_fill, main
from bcfw.compile import RoutineSet


def ask(*words):
    answer = CliRunner().invoke(main, ["cache", *words])
    return answer.exit_code, answer.output


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A cache with one compiled file and one of somebody else."""
    monkeypatch.setenv("BCFW_CACHE_DIR", str(tmp_path / "compiled"))
    (tmp_path / "compiled").mkdir()
    (tmp_path / "compiled" / "pass.nbc").write_bytes(b"x" * 200_000)
    (tmp_path / "compiled" / "thesis.txt").write_text("not ours")
    return tmp_path / "compiled"


@pytest.mark.parametrize("words", [[], ["where"]])
def test_it_shows_the_folder_and_what_chose_it(words, folder):
    code, said = ask(*words)
    assert code == 0
    assert f"{folder}: 1 files, 0.2 MB; new code is kept here" in said
    assert f"BCFW_CACHE_DIR is {folder}" in said
    assert (folder / "pass.nbc").exists()


@pytest.mark.parametrize("words", [["--clear"], ["clear"]])
def test_clearing_deletes_compiled_code_only(words, folder):
    code, said = ask(*words)
    assert code == 0
    assert "Cleared." in said
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_a_folder_that_cannot_be_written_to_is_named_with_the_reason(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("BCFW_CACHE_DIR", str(tmp_path / "file"))
    code, said = ask("where")
    assert code == 0
    assert "file: 0 files, 0.0 MB; not writable (File exists)" in said
    assert "every process compiles" in said
    for words in (["clear"], ["fill", "tagger"]):
        code, said = ask(*words)
        assert code == 2
        assert "file: File exists); set BCFW_CACHE_DIR" in said


def test_the_users_cache_stands_behind_the_package(monkeypatch, tmp_path):
    from bcfw.compile import disk_cache

    monkeypatch.delenv("BCFW_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(disk_cache, "PACKAGE", tmp_path / "bcfw")
    said = ask("where")[1].splitlines()
    assert said[0].endswith("kernels: 0 files, 0.0 MB; new code is kept here")
    assert said[1] == f"{tmp_path / 'user' / 'bcfw' / 'kernels'}: 0 files, 0.0 MB; not needed"
    assert said[2].startswith("BCFW_CACHE_DIR is not set")


def test_an_unknown_name_is_refused_with_those_that_are_known():
    code, said = ask("fill", "chian")
    assert code == 2
    assert "'chian' cannot be filled; choose from multiclass, chain" in said


FITS = {
    "matching": "y = [np.eye(3, dtype=int)] * 4; X = [rng.random((3, 3, 5)) for _ in y]; "
    "bcfw.MatchingSVM(max_passes=50).fit(X, y).predict(X)",
    "tagger": "from tests_of_filling import tagger; tagger().tag([[['b', 'c'], ['a']]] * 500)",
    "multiclass": "X = rng.random((40, 7)); y = rng.integers(4, size=40); "
    "svm = bcfw.MulticlassSVM(probability=True, lam=1e-3).fit(X, y); svm.predict_proba(X); svm.predict(X)",
}

PROCESS = """
import json, sys, warnings
import numpy as np
from numba.core import event
import bcfw
warnings.simplefilter("ignore")
rng = np.random.default_rng(3)
with event.install_recorder("numba:compile") as recorder:
    {fit}
print(json.dumps([entry.data["dispatcher"].py_func.__name__ for _, entry in recorder.buffer if entry.is_start]))
"""

TAGGER = """
import numpy as np
from bcfw.formats import Columns
from bcfw.text.attributes.vocabulary import Vocabulary
from bcfw.text.source import TextSource
from bcfw.text.tagger import Tagger

def tagger():
    names = Vocabulary(["a", "b", "c"])
    return Tagger("chain", TextSource(Columns()), ["X", "Y"], None, None, names, np.arange(5), np.ones(5))
"""


def compiled_by(fit, folder):
    """Names of the functions that a fresh process compiles."""
    (folder / "tests_of_filling.py").write_text(TAGGER)
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", PROCESS.format(fit=fit)],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_after_filling_a_fresh_process_compiles_nothing(monkeypatch, tmp_path):
    """What these two need compiles fast."""
    monkeypatch.setenv("BCFW_CACHE_DIR", str(tmp_path / "cache"))
    command = [sys.executable, "-m", "bcfw", "cache", "fill", "matching", "tagger"]
    filled = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert filled.returncode == 0, filled.stderr
    assert "tagger: compiling " in filled.stderr
    assert " s of compilation" in filled.stderr
    assert filled.stdout.startswith(f"{tmp_path / 'cache'}: ")
    for name in ("matching", "tagger"):
        assert compiled_by(FITS[name], tmp_path) == []
    assert len(list((tmp_path / "cache").glob("*.nbi"))) >= 6


def test_estimators_find_what_was_filled(monkeypatch, tmp_path):
    """In the folder that other tests have filled, too; float32 would be compiled for this test alone."""
    monkeypatch.setattr(cache_fill, "TYPES", (np.float64,))
    assert ask("fill", "multiclass")[0] == 0
    assert compiled_by(FITS["multiclass"], tmp_path) == []


@pytest.mark.parametrize("name", sorted(cache_fill.MODELS))
@pytest.mark.parametrize("kind", cache_fill.TYPES)
def test_every_model_has_a_tiny_problem(name, kind, monkeypatch):
    """Each is trained in all ways, as Python as far as nothing has been compiled yet."""
    make = RoutineSet._make_pass
    monkeypatch.setattr(RoutineSet, "_make_pass", lambda routines, template: make(routines.interpreted(), template))
    monkeypatch.setattr(cache_fill, "TYPES", (kind,))
    problems = [model for model, _, _ in cache_fill.tiny_problems(name, kind)]
    assert {type(model) for model in problems} == {cache_fill.MODELS[name]}
    cache_fill.fill(name)
