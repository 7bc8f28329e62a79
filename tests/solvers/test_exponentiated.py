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
    """With alpha over all outputs instead of marginals of parts; the first alpha falls with the loss.

    One case has features that are large enough for less mass at the start.
    """
    s = 0.2 + np.random.default_rng(3).random(len(case.y)) if weighted else None
    largest = [0.0] * len(case.y)
    for i, (x, y) in enumerate(case.examples()):
        largest[i] = largest_part_loss(case, x, y)
    wrong = [np.array([wrong_parts(y, z) for z in case.outputs(x, y)]) for x, y in case.examples()]
    *_, state = naive_exponentiated(case.enumerated(s), list(range(len(case.y))) * 3, largest, wrong)
    result = case.few_passes(3, solver=ExponentiatedGradient(sampling="cyclic"), sample_weight=s)
    np.testing.assert_allclose(result.snapshot["w"], state.w, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(result.snapshot["ell"], state.ell_blocks, rtol=0, atol=ROUNDING)


def largest_part_loss(case, x, y):
    """The largest loss of one part: of outputs that differ from the truth in one place."""
    if np.ndim(y) == 0:
        return max(case.delta(y, z) for z in case.outputs(x, y))
    return max(case.delta(y, z) for z in case.outputs(x, y) if np.sum(np.asarray(z) != np.asarray(y)) <= 1)


def wrong_parts(y, z):
    """In how many places that have a label z differs from it."""
    return np.sum((np.asarray(z) != np.asarray(y)) & (np.asarray(y) >= 0))


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


def large_features(seed):
    """Arguments of ``train`` for a small problem with features of 20 to 200, and lam."""
    rng = np.random.default_rng(seed)
    n, F, K, size = rng.integers(1, 9), rng.integers(1, 5), int(rng.integers(2, 6)), rng.uniform(20, 200)
    lam = 10.0 ** rng.uniform(-3, -1)
    if seed % 3 == 2:
        X = [size * rng.standard_normal((3, F)) for _ in range(n)]
        return (bcfw.models.Chain(K), X, [rng.integers(K, size=3) for _ in range(n)]), lam
    X = size * rng.standard_normal((n, F))
    if seed % 3 == 1:
        return (bcfw.models.Multilabel(), X, rng.integers(2, size=(n, K))), lam
    return (bcfw.models.Multiclass(K), X, rng.integers(K, size=n)), lam


@pytest.mark.filterwarnings("ignore::bcfw.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(120))
def test_features_that_are_large_for_their_regularisation(seed):
    """Little mass is enough for them: the first mass fits, steps come back from corners, and the dual goes on rising.

    A step that gains less than the rounding of the scores is not seen: then the gap is small already.
    """
    problem, lam = large_features(seed)
    solver = ExponentiatedGradient(gap_every=1)
    result = bcfw.train(*problem, lam=lam, solver=solver, max_passes=200)
    dual = result.history["dual"]
    assert result.dual >= 0.0
    assert np.all(np.diff(dual) >= 0.0)
    if result.status == "stalled":
        assert result.gap <= 0.01 * result.history["primal"][0]
    elif result.status != "converged":
        assert result.status == "max_passes"
        assert dual[-1] > dual[len(dual) // 2] > dual[0]


def test_one_example_with_large_features():
    result = bcfw.train(
        bcfw.models.Multiclass(5), [[30.0, -20.0]], [0], lam=1e-3, solver=ExponentiatedGradient(), max_passes=100
    )
    assert (result.status, result.certified) == ("converged", True)
