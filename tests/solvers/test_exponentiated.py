"""Online exponentiated gradient: the steps of the naive method on all outputs, a dual that never falls."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.solvers import BCFW, ExponentiatedGradient
from problems import CASES, label_graph_cases
from reference import naive_exponentiated

ROUNDING = 1e-9

#: Also trees with nodes that have no label.
SOME_CASES = [
    *(CASES[name] for name in ("multiclass-cost", "chain-cost", "chain-no-ends-sum-csr")),
    *(CASES[name] for name in ("multilabel-tree", "multilabel-independent")),
    *(case for case in label_graph_cases() if case.name.startswith("tree")),
]

some_cases = pytest.mark.parametrize("case", SOME_CASES, ids=[case.name for case in SOME_CASES])


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@some_cases
def test_cyclic_steps_follow_the_naive_method(case, weighted):
    """With alpha over all outputs instead of marginals of parts; the first alpha falls with the loss."""
    s = 0.2 + np.random.default_rng(3).random(len(case.y)) if weighted else None
    largest = [0.0] * len(case.y)
    for i, (x, y) in enumerate(case.examples()):
        largest[i] = largest_part_loss(case, x, y)
    *_, state = naive_exponentiated(case.enumerated(s), list(range(len(case.y))) * 3, largest)
    result = case.few_passes(3, solver=ExponentiatedGradient(sampling="cyclic"), sample_weight=s)
    np.testing.assert_allclose(result.w, state.w, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(result.snapshot["ell"], state.ell_blocks, rtol=0, atol=ROUNDING)


def largest_part_loss(case, x, y):
    """The largest loss of one part: of outputs that differ from the truth in one place."""
    if np.ndim(y) == 0:
        return max(case.delta(y, z) for z in case.outputs(x, y))
    return max(case.delta(y, z) for z in case.outputs(x, y) if np.sum(np.asarray(z) != np.asarray(y)) <= 1)


@pytest.mark.parametrize("lam", [0.01, 1.0])
@some_cases
def test_it_reaches_the_optimum_and_the_dual_never_falls(case, lam):
    result = case.train(solver=ExponentiatedGradient(gap_every=1), lam=lam, tol=0.01, max_passes=20_000)
    best = case.enumerated(lam=lam).optimum
    assert result.status == "converged"
    assert result.primal == pytest.approx(case.enumerated(lam=lam).primal(result.w), abs=1e-10)
    assert result.primal - best.primal <= result.gap + 1e-9
    assert best.dual - result.dual <= result.gap + 1e-9
    assert np.all(np.diff(result.history["dual"]) >= -1e-13)


def test_warm_starts_are_one_error():
    case = CASES["chain-cost"]
    first = case.few_passes(2, solver=BCFW())
    with pytest.raises(bcfw.OptionError, match="ExponentiatedGradient cannot go on from a warm start"):
        case.train(solver=ExponentiatedGradient(), warm_start=first)
    result = case.few_passes(5, solver=ExponentiatedGradient())
    assert case.train(solver=BCFW(), tol=0.01, warm_start=result).history["dual"][0] >= result.dual - 1e-12


@pytest.mark.parametrize("name", ["matching-costs", "dense-features", "pairwise-forest-cost"])
def test_models_without_marginals_are_one_error(name):
    with pytest.raises(bcfw.OptionError, match="ExponentiatedGradient needs expected parts of a distribution"):
        CASES[name].train(solver=ExponentiatedGradient())


def test_bounds_are_one_error():
    with pytest.raises(bcfw.OptionError, match="ExponentiatedGradient cannot handle bounds"):
        CASES["bounded-multiclass-cost"].train(solver=ExponentiatedGradient())


def test_certificates_hold_for_exponents_of_any_size(real_data):
    """On longer chains marginals of large exponents must still be averages of outputs."""
    real_data(bcfw.datasets.ocr.SOURCE)
    words = bcfw.datasets.fetch_ocr("small")
    solver = ExponentiatedGradient(gap_every=1)
    with pytest.warns(bcfw.ConvergenceWarning):
        result = bcfw.train(bcfw.models.Chain(), words.X_train, words.y_train, lam=0.01, solver=solver, max_passes=100)
    assert result.certified
    assert np.all(np.diff(result.history["dual"]) >= -1e-13)
