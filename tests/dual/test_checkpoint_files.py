"""Checkpoint files: when they are written, what survives a failure, and files that are none."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import bcfw
from bcfw.dual import snapshots
from bcfw.models import Multiclass
from problems import CASES, Case, Pairs
from small_data import X2, Y2


def test_file_that_is_no_checkpoint(tmp_path):
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.savez(tmp_path / "other.npz", a=1)
    np.savez(tmp_path / "foreign.npz", version=1, a=1)
    np.save(tmp_path / "array.npy", np.ones(3))
    for name in ("text.npz", "empty.npz", "other.npz", "foreign.npz", "array.npy", "missing.npz"):
        with pytest.raises(bcfw.InputError, match=re.escape(name)):
            bcfw.train(Multiclass(), X2, Y2, warm_start=tmp_path / name)


def test_checkpoint_of_a_newer_version(tmp_path):
    path = tmp_path / "state.npz"
    bcfw.train(Multiclass(), X2, Y2, lam=1.0, tol=0.5, checkpoint=path)
    arrays = dict(np.load(path)) | {"version": 999}
    np.savez(path, **arrays)
    with pytest.raises(bcfw.InputError, match="newer"):
        bcfw.train(Multiclass(), X2, Y2, warm_start=path)


def test_checkpoint_that_cannot_be_written_fails_before_training(tmp_path):
    """Not after hours of work."""
    passes = []
    for path, message in ((tmp_path / "no" / "a.npz", "does not exist"), (tmp_path, "is a folder")):
        with pytest.raises(bcfw.InputError, match=f"checkpoint.*{message}"):
            bcfw.train(Multiclass(), X2, Y2, lam=1.0, tol=0.01, checkpoint=path, callbacks=[passes.append])
    assert passes == []
    assert list(tmp_path.iterdir()) == []


def test_checkpoint_is_written_during_training(tmp_path):
    """With zero seconds between saves every pass leaves a readable file, each at least as good as the one before."""
    case, path = CASES["chain-cost"], tmp_path / "state.npz"
    duals = []

    def read_back(info):
        problem = case.problem()
        snapshots.restore(problem, snapshots.read(path))
        duals.append(problem.dual_value())

    case.few_passes(4, checkpoint=(path, 0.0), callbacks=[read_back])
    assert len(duals) == 4
    assert duals[0] > 0.0
    assert np.all(np.diff(duals) >= -1e-12)


class Exhausted(Pairs):
    """An oracle that fails after a number of calls."""

    calls = 0

    def oracle(self, w, x, y_true=None):
        type(self).calls += 1
        if type(self).calls > 30:
            raise RuntimeError("out of memory")
        return super().oracle(w, x, y_true)


def test_checkpoint_survives_a_failing_oracle(tmp_path):
    base, path = CASES["dense-features"], tmp_path / "state.npz"
    model = Exhausted(base.model.K, base.model.cost)
    case = Case("exhausted", model, base.X, base.y, base.outputs, base.phi, base.delta, base.lam)
    with pytest.raises(bcfw.OracleError) as caught:
        case.train(tol=1e-9, checkpoint=path, solver="bcfw")
    n = len(base.y)
    assert caught.value.result.n_passes == pytest.approx((30 - n) / n)  # the first n calls gave P(0)
    assert pickle.loads(pickle.dumps(caught.value)).example == caught.value.example
    Exhausted.calls = -(10**9)
    for source in (path, caught.value.result):
        resumed = case.few_passes(1, warm_start=source)
        assert resumed.history["dual"][0] == pytest.approx(caught.value.result.dual, abs=1e-12)
        assert resumed.history["dual"][0] > 0.0


def test_failed_write_leaves_the_older_checkpoint(tmp_path, monkeypatch):
    case, path = CASES["multiclass-cost"], tmp_path / "state.npz"
    case.few_passes(1, checkpoint=path)
    before = path.read_bytes()

    def broken(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", broken)
    with pytest.warns(RuntimeWarning, match=r"state.npz was not written: disk full"):
        result = case.train(checkpoint=path)
    assert result.status == "converged"
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["state.npz"]
