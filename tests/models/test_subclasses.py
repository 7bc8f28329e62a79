"""Classes derived from built-in models, and hooks in unusual forms: what a user overrides counts, nothing else."""

from __future__ import annotations

import copy
import functools
import itertools

import numpy as np
import pytest

import bcfw
from bcfw.models import Chain, Matching, Multiclass
from bcfw.models.base.hooks import is_overridden
from problems import CASES, Pairs

CHAIN, PAIRS, MATCHING = CASES["chain-cost"], CASES["dense-features"], CASES["matching-costs"]


def test_an_overridden_pack_counts_in_training_and_prediction():
    class Scaled(Chain):
        def pack(self, X, y=None):
            return super().pack([10.0 * np.asarray(x) for x in X], y)

    model = Scaled(CHAIN.model.n_labels, CHAIN.model.cost)
    result = bcfw.train(model, CHAIN.X, CHAIN.y, lam=CHAIN.lam, tol=0.05)
    scaled = bcfw.train(CHAIN.model, [10.0 * x for x in CHAIN.X], CHAIN.y, lam=CHAIN.lam, tol=0.05)
    np.testing.assert_array_equal(result.w, scaled.w)
    for one, other in zip(result.predict(CHAIN.X), scaled.predict([10.0 * x for x in CHAIN.X]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_overridden_bind_counts_in_training():
    class Doubled(Multiclass):
        def bind(self, X, y):
            bound = super().bind(X, y)
            bound.extra, bound.cost = 3, 2.0 * bound.cost
            return bound

    case = CASES["multiclass-cost"]
    result = bcfw.train(Doubled(4, case.model.cost), case.X, case.y, lam=case.lam, tol=0.1)
    assert result.model.extra == 3
    assert result.history["primal"][0] == pytest.approx(2.0 * case.train(tol=0.1).history["primal"][0])


def test_a_subclass_of_matching_is_trained_by_its_own_methods():
    class Dearer(Matching):
        def bind(self, X, y):
            bound = super().bind(X, y)
            bound.cost_miss = 3.0 * self.cost_miss
            return bound

    class Guess(Matching):
        exact_oracle = False

        def upper_bound(self, w, x, y_true):
            return 1e6

    model = MATCHING.model
    options = (model.cost_miss, model.cost_extra, model.normalize)
    first = bcfw.train(Dearer(*options), MATCHING.X, MATCHING.y, lam=MATCHING.lam, tol=0.1)
    same = bcfw.train(Matching(3.0 * options[0], *options[1:]), MATCHING.X, MATCHING.y, lam=MATCHING.lam, tol=0.1)
    assert first.history["primal"][0] == pytest.approx(same.history["primal"][0], rel=1e-12)
    assert not bcfw.train(Guess(*options), MATCHING.X, MATCHING.y, lam=MATCHING.lam, tol=0.5).certified


def test_attributes_of_a_subclass_are_its_own():
    """Also those that solvers use of built-in models, on the instance."""

    class Named(Chain):
        def __init__(self, *options):
            super().__init__(*options)
            self.name, self.model, self.needs, self.offers = "own", object(), 3, None
            self.bounds, self.fingerprint, self.make_work, self.in_part_space = (0, 1), "x", 1, "no"

    result = bcfw.train(
        Named(CHAIN.model.n_labels, CHAIN.model.cost), CHAIN.X, CHAIN.y, lam=CHAIN.lam, solver="bcfw", tol=0.05
    )
    np.testing.assert_array_equal(result.w, CHAIN.train(solver="bcfw", tol=0.05).w)


def test_routines_with_bind_and_pack_alone_are_enough():
    """The three steps that read data once need not be written."""
    case = CASES["multiclass-cost"]

    class Own(bcfw.models.KernelModel):
        routines, in_part_space = Multiclass.routines, True
        make_work, initial_mu = Multiclass.make_work, Multiclass.initial_mu

        def bind(self, X, y):
            bound = copy.copy(self)
            bound.inner = Multiclass(4, case.model.cost).bind(X, y)
            bound.dim = bound.inner.dim
            return bound

        def pack(self, X, y=None):
            return self.inner.pack(X, y)

    own = bcfw.train(Own(), case.X, case.y, lam=case.lam, tol=0.1)
    assert isinstance(own.solver, bcfw.solvers.BCFW)  # it does not say that it solves blocks
    np.testing.assert_array_equal(own.w, case.train(tol=0.1, solver="bcfw").w)
    Own.solves_blocks = True
    own = bcfw.train(Own(), case.X, case.y, lam=case.lam, tol=0.1)
    assert repr(own.solver) == "BlockSolves()"  # nor that it has features in rows, for which there is a ratio
    np.testing.assert_array_equal(own.w, case.train(tol=0.1, solver="block-solves").w)


def test_routines_may_have_their_former_name():
    class Former(bcfw.models.KernelModel):
        kernels = Multiclass.routines

    class Heuristic(Former):
        exact_oracle = False

    assert Former.routines is Multiclass.routines
    assert Heuristic.routines.bindings["EXACT"] is False


def test_what_a_kernel_model_lacks_is_named():
    class Empty(bcfw.models.KernelModel):
        routines = Multiclass.routines

    with pytest.raises(bcfw.ModelError, match=r"Empty needs a method _read \(see bcfw.models.KernelModel\)"):
        bcfw.train(Empty(), [[1.0]], [0])


@pytest.mark.parametrize("value", [functools.partial(max, 1), itertools.count(), max, type("Callable", (), {})()])
def test_objects_that_can_be_called_are_no_methods(value):
    own = type("Own", (Pairs,), {"predict": value, "bounds": value})
    model = own(PAIRS.model.K, PAIRS.model.cost)
    result = bcfw.train(model, PAIRS.X, PAIRS.y, lam=PAIRS.lam, tol=0.1)
    assert result.predict(PAIRS.X) == PAIRS.train(tol=0.1).predict(PAIRS.X)
    remarks = bcfw.check_model(model, PAIRS.X, PAIRS.y)
    assert [remark.split()[0] for remark in remarks] == ["predict", "bounds"]


def test_a_method_behind_that_of_model_overrides_nothing():
    mixin = type("Mixin", (), {"bounds": lambda self: 1 / 0})
    behind = type("Behind", (bcfw.Model, mixin), {})()
    before = type("Before", (mixin, bcfw.Model), {})()
    assert not is_overridden(behind, "bounds")
    assert is_overridden(before, "bounds")


def test_bind_gets_the_sample_weights_if_it_takes_them():
    class Weighted(Pairs):
        def bind(self, X, y, sample_weight=None):
            self.seen.append(sample_weight)
            return super().bind(X, y)

    model = Weighted(PAIRS.model.K, PAIRS.model.cost)
    model.seen = []
    s = np.arange(1.0, len(PAIRS.y) + 1)
    bcfw.train(model, PAIRS.X, PAIRS.y, lam=PAIRS.lam, tol=0.5, sample_weight=s.tolist())
    (seen,) = model.seen
    np.testing.assert_array_equal(seen, s)


def test_bind_may_return_the_model_itself_but_not_nothing():
    class Itself(Pairs):
        def bind(self, X, y):
            return self

    class Nothing(Pairs):
        def bind(self, X, y):
            """Forgets to return."""

    model = Itself(PAIRS.model.K, PAIRS.model.cost)
    result = bcfw.train(model, PAIRS.X, PAIRS.y, lam=PAIRS.lam, tol=0.5)
    assert result.model is not model
    assert model.dim is None
    with pytest.raises(bcfw.ModelError, match=r"Nothing\.bind must return a copy of the model, got None"):
        bcfw.train(Nothing(PAIRS.model.K, PAIRS.model.cost), PAIRS.X, PAIRS.y)
