"""Warm starts from the state of something else: each is refused with the reason."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest

import bcfw
from bcfw.dual import snapshots
from bcfw.models import Chain, Multiclass
from bcfw.solvers import BCFW
from problems import CASES, Pairs
from small_data import CHAINS, LABELS, X2, Y2


def test_warm_start_of_another_problem(tmp_path):
    result = bcfw.train(Multiclass(), X2, Y2, lam=1.0, tol=0.5, checkpoint=tmp_path / "state.npz")
    for warm_start in (result, tmp_path / "state.npz"):
        with pytest.raises(bcfw.InputError, match="examples is 4 there and 3 here"):
            bcfw.train(Multiclass(), X2[:3], Y2[:3], warm_start=warm_start)
        with pytest.raises(bcfw.InputError, match="dim is 4 there and 6 here"):
            bcfw.train(Multiclass(n_labels=3), X2, Y2, warm_start=warm_start)
        with pytest.raises(bcfw.InputError, match="model is Multiclass there and Chain here"):
            bcfw.train(Chain(), [x[None] for x in X2], [[k] for k in Y2], warm_start=warm_start)


def test_warm_start_with_other_lengths_of_sequences():
    """As many examples and as many weights, but the positions do not fit."""
    model = Chain(n_labels=2)
    result = bcfw.train(model, CHAINS, LABELS, lam=1.0, tol=0.5)
    with pytest.raises(bcfw.InputError, match="other data"):
        bcfw.train(model, [x[:1] for x in CHAINS], [y[:1] for y in LABELS], warm_start=result)


def test_result_without_a_state():
    result = bcfw.train(Multiclass(), X2, Y2, lam=1.0, tol=0.5)
    with pytest.raises(bcfw.InputError, match="warm_start"):
        bcfw.train(Multiclass(), X2, Y2, warm_start=dataclasses.replace(result, snapshot={}))


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("dense-features", "mu_0"),
        ("dense-features", "mu_1"),
        ("chain-cost", "store_loss"),
        ("chain-cost", "store_alpha"),
    ],
)
def test_checkpoint_without_an_array_is_refused(name, missing):
    case = CASES[name]
    result = case.few_passes(2, solver=BCFW(step="pairwise"))
    assert missing in result.snapshot
    del result.snapshot[missing]
    with pytest.raises(bcfw.InputError, match="warm_start: the saved state is incomplete"):
        case.train(warm_start=result)


def everywhere(value):
    """A change that writes a value to all of an array."""
    return lambda array: np.full_like(array, value)


def shorter(array):
    return array[:-1]


#: What is done to the arrays of any model, where they are.
DAMAGES = {
    "ell": [everywhere(np.nan), lambda array: array[:, None]],
    "w": [everywhere(np.inf), shorter, lambda array: array.astype(np.float32)],
    "dim": [lambda array: np.ones(2, int), lambda array: 1.5],
    "lam": [everywhere(-1.0), everywhere(np.nan), lambda array: np.ones(3), lambda array: "much"],
    "steps": [everywhere(-1.0), everywhere(np.inf), lambda array: np.ones(2)],
    "weight": [everywhere(-0.5), everywhere(np.nan), shorter],
    "mu_0": [shorter, lambda array: array.astype(complex), lambda array: np.array([b"x"])],
    "mu_1": [shorter, lambda array: array[None]],
    "store_alpha": [everywhere(np.nan), everywhere(-1.0), everywhere(0.9), lambda array: array[:, :-1]],
    "store_loss": [everywhere(np.nan), shorter],
    "store_used": [lambda array: array.astype(float)],
    "store_size": [everywhere(0), everywhere(10**6), everywhere(-1), shorter],
    "store_labels": [shorter, lambda array: array.astype(np.int64)],
    "store_rest": [everywhere(np.nan), everywhere(-1.0), shorter],
    "store_rest_loss": [everywhere(np.inf)],
}

#: What is done to those of one model besides; of a user's compiled model only its routines know the labels.
LABEL_DAMAGES = {"store_labels": [everywhere(100), everywhere(-100), everywhere(1)]}
MORE_DAMAGES = {
    "multiclass-cost": LABEL_DAMAGES,
    "multilabel-tree": LABEL_DAMAGES,
    "graph-cost": LABEL_DAMAGES,
    "chain-cost": {
        **LABEL_DAMAGES,
        "mu_0": [everywhere(-1), everywhere(10**9), lambda array: array + 1],
        "mu_1": [everywhere(10**6), everywhere(-1), everywhere(0)],
        "mu_2": [everywhere(10**6), everywhere(-1)],
        "mu_3": [everywhere(np.nan), shorter],
        "mu_4": [everywhere(1)],
    },
    "user-compiled": {},
    "dense-features": {"mu_1": [everywhere(np.nan)]},
    "sparse-features": {
        "mu_0": [everywhere(np.nan)],
        "mu_1": [everywhere(10**6), everywhere(-1), lambda array: array[::-1]],
        "mu_2": [everywhere(10**6), everywhere(-1), lambda array: array[::-1]],
        "mu_3": [everywhere(np.nan), shorter],
    },
}


@pytest.mark.parametrize("name", MORE_DAMAGES)
def test_damaged_arrays_are_refused_by_name(name):
    """Compiled code would read outside of its arrays, or return NaN."""
    case = CASES[name]
    snapshot = case.few_passes(2, solver=BCFW(step="pairwise")).snapshot
    problem = case.problem()
    damages = [(array, damage) for table in (DAMAGES, MORE_DAMAGES[name]) for array in table for damage in table[array]]
    for array, damage in damages:
        if array in snapshot:
            with pytest.raises(bcfw.InputError, match=rf"^warm_start.*(\b{array}\b|other|dim|examples)"):
                snapshots.restore(problem, snapshot | {array: damage(np.asarray(snapshot[array]))})
    assert problem.is_initial


def test_states_of_another_python_model_or_other_inputs_are_refused():
    base = CASES["dense-features"]
    first = base.few_passes(2, solver="bcfw")
    X = [x.copy() for x in base.X]
    X[1][:] += 1.0
    other_y = [*base.y[:-1], base.y[0]]
    for model, inputs, outputs in (
        (type(base.model)(base.model.K, 2.0 * base.model.cost), base.X, base.y),
        (base.model, X, base.y),
        (base.model, base.X, other_y),
    ):
        with pytest.raises(bcfw.InputError, match="other data or options"):
            bcfw.train(model, inputs, outputs, lam=base.lam, warm_start=first)
    same = copy.deepcopy(base.model)
    again = bcfw.train(same, [x.copy() for x in base.X], list(base.y), lam=base.lam, warm_start=first, tol=0.5)
    assert again.history["dual"][0] == pytest.approx(first.dual, abs=1e-12)


class Counting(Pairs):
    """An oracle that counts its calls in an attribute."""

    calls = 0

    def oracle(self, w, x, y_true=None):
        self.calls += 1
        return super().oracle(w, x, y_true)


def test_attributes_that_the_oracle_changes_do_not_matter():
    base = CASES["dense-features"]
    case = dataclasses.replace(base, model=Counting(base.model.K, base.model.cost))
    first = case.few_passes(2, solver="bcfw")
    assert first.model.calls > 0
    assert case.few_passes(1, solver="bcfw", warm_start=first).history["dual"][0] == pytest.approx(first.dual)
