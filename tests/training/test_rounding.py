"""Numbers that rounding has moved: losses just below zero, gaps just below zero, checkpoints of a later folder."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.dual.certificates import HingeSums, certificate
from bcfw.solvers import BCFW
from problems import CASES, Pairs

CASE = CASES["dense-features"]


class Rounded(Pairs):
    """A loss such as 1 - NDCG, which is a little below zero on a perfect output."""

    error = -2.3e-16

    def loss(self, y_true, y):
        return super().loss(y_true, y) or self.error


def test_a_loss_that_rounding_made_negative_is_zero():
    model = Rounded(CASE.model.K, CASE.model.cost)
    assert bcfw.check_model(model, CASE.X, CASE.y) == []
    result = bcfw.train(model, CASE.X, CASE.y, lam=CASE.lam, tol=0.01)
    np.testing.assert_array_equal(result.w, CASE.train(tol=0.01).w)


def test_a_loss_that_is_negative_is_an_error():
    model = Rounded(CASE.model.K, CASE.model.cost)
    model.error = -1e-6
    with pytest.raises(bcfw.ModelError, match=r"example 0: loss\(y, y\) = -1e-06 on the truth; it must be 0"):
        bcfw.train(model, CASE.X, CASE.y, lam=CASE.lam)


def test_a_gap_that_rounding_made_negative_is_zero():
    assert certificate(0.1, HingeSums(0.9, 0.9), np.nextafter(1.0, 2.0)).gap == 0.0
    assert certificate(0.1, HingeSums(0.9, 0.9), 1.0 + 1e-6).gap == pytest.approx(-1e-6)


@pytest.mark.parametrize("name", ["chain-cost", "multiclass-cost", "dense-features"])
def test_the_last_iterate_is_certified_where_it_is_returned(name):
    case = CASES[name]
    last = case.few_passes(30, solver=BCFW(averaging=True)).last
    assert last.primal == pytest.approx(case.enumerated().primal(last.w), abs=1e-12)


def test_a_checkpoint_stays_in_its_folder(tmp_path, monkeypatch):
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    monkeypatch.chdir(tmp_path / "first")

    def leave(info):
        monkeypatch.chdir(tmp_path / "second")

    CASE.train(tol=0.1, checkpoint="state.npz", callbacks=[leave])
    assert (tmp_path / "first" / "state.npz").exists()
    assert not (tmp_path / "second" / "state.npz").exists()
