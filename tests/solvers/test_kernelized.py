"""Training by kernel values: steps of explicit features, the enumerated optimum, certificates, support vectors."""

from __future__ import annotations

import dataclasses
import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import bcfw
from bcfw.dual.certify import certify_state
from bcfw.errors import InputError, OptionError
from bcfw.solvers import BCFW, BatchFW, BlockSolves, KernelBCFW
from bcfw.solvers.counted_run import CountedRun
from problems import CASES, dense
from reference import Enumerated

MULTICLASS = [case for name, case in CASES.items() if name.startswith("multiclass") and not name.endswith("slack")]
CHAINS = [case for name, case in CASES.items() if name.startswith("chain")]
BOTH = MULTICLASS + CHAINS
IDS = {"ids": lambda case: case.name}

# Steps add rounding of the last place of numbers of order one; a few hundred of them stay below this.
ROUNDING = 1e-10

KERNELS = {
    "linear": {"kernel": "linear"},
    "bias": {"kernel": "linear", "bias": 0.7},
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "poly": {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0},
}


def naive_value(options, a, b):
    """The kernel of two inputs, written out."""
    kind, bias = options["kernel"], options.get("bias", 0.0)
    if kind == "linear":
        return a @ b + bias**2
    if kind == "rbf":
        return np.exp(-options["gamma"] * np.sum((a - b) ** 2))
    return (options["gamma"] * (a @ b) + options["coef0"]) ** options["degree"]


def stacked(case):
    """(N, F) inputs of all examples one after the other."""
    return np.vstack([np.atleast_2d(dense(case.X[i])) for i in range(len(case.y))])


def factored(case, options):
    """The case with explicit features whose inner products are the kernel's values, by a Cholesky-like factor."""
    rows = stacked(case)
    gram = np.array([[naive_value(options, a, b) for b in rows] for a in rows])
    values, vectors = np.linalg.eigh(gram)
    explicit = vectors * np.sqrt(np.maximum(values, 0.0))
    lengths = [len(np.atleast_1d(y)) for y in case.y]
    pieces = np.split(explicit, np.cumsum(lengths)[:-1])
    X = explicit if case in MULTICLASS else pieces
    return dataclasses.replace(case, X=X), gram


def explicit_problem(case, options):
    """The enumerated problem of the explicit features, and the gram matrix."""
    other, gram = factored(case, options)
    K = case.model.n_labels
    builder = CASES[case.name]
    N = len(gram)
    psi, loss = [], []
    for i in range(len(case.y)):
        x, given = other.X[i], case.X[i]
        labelings = [*builder.outputs(case.X[i], case.y[i]), case.y[i]]

        def phi(y, x=x, given=given):
            U = np.zeros((N, K))
            for t, label in enumerate(np.atleast_1d(y)):
                U[:, label] += np.atleast_2d(x)[t]
            F = np.atleast_2d(dense(given)).shape[1]
            return np.concatenate([U.ravel(), builder.phi(given, y)[F * K :]])

        psi.append(np.array([phi(case.y[i]) - phi(y) for y in labelings]))
        loss.append(np.array([builder.delta(case.y[i], y) for y in labelings]))
    return Enumerated(psi, loss, np.full(len(case.y), 1 / len(case.y)), case.lam)


# --- steps -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", BOTH, **IDS)
@pytest.mark.parametrize(
    ("options", "same"),
    [
        ({"step": "fw", "sampling": "permuted"}, BCFW(sampling="permuted", gap_every=1)),
        ({"step": "fw", "sampling": "gap"}, BCFW(sampling="gap", gap_every=1)),
        ({"step": "batch"}, BatchFW()),
    ],
    ids=["permuted", "gap", "batch"],
)
def test_the_linear_kernel_takes_the_steps_of_explicit_features(case, options, same):
    every = {} if options["step"] == "batch" else {"gap_every": 1}
    for sample_weight in (None, 0.5 + np.random.default_rng(1).random(len(case.y))):
        by_kernel = case.few_passes(
            6, solver=KernelBCFW(kernel="linear", **every, **options), sample_weight=sample_weight
        )
        explicit = case.few_passes(6, solver=same, sample_weight=sample_weight)
        for column in ("passes", "primal", "dual", "gap", "oracle_calls"):
            np.testing.assert_allclose(by_kernel.history[column], explicit.history[column], rtol=0, atol=ROUNDING)
        for a, b in zip(by_kernel.predict(case.X), explicit.predict(case.X), strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_linear_kernel_solves_blocks_as_explicit_features_do():
    for case in MULTICLASS:
        # One pass: later ones leave out blocks that have not moved, of which rounding decides.
        a = case.few_passes(1, solver=KernelBCFW(kernel="linear", gap_every=1))
        b = case.few_passes(1, solver=BlockSolves(acceleration=0, gap_every=1))
        for column in ("passes", "primal", "dual", "gap"):
            np.testing.assert_allclose(a.history[column], b.history[column], rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("case", BOTH, **IDS)
def test_the_state_is_that_of_its_block_averages(case):
    """Coefficients are ``c_j/lam (z(y_j) - mu_j)``, and scores their products with the kernel matrix."""
    solver = KernelBCFW(**KERNELS["rbf"], step="fw")
    problem = solver.open(case.problem())
    BCFW(sampling="gap").solve(problem, CountedRun(problem, 0.0, 5), np.random.default_rng(0))
    N, K = problem.shape
    np.testing.assert_allclose(problem.v_from_blocks(), problem.beta, rtol=0, atol=1e-12)
    gram = factored(case, KERNELS["rbf"])[1]
    scores = gram @ problem.beta[: N * K].reshape(N, K)
    np.testing.assert_allclose(problem.state.w[: N * K].reshape(K, N).T, scores, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(problem.state.w[N * K :], problem.beta[N * K :])


# --- optimum and certificate -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", BOTH, **IDS)
@pytest.mark.parametrize("options", KERNELS.values(), ids=KERNELS.keys())
def test_the_optimum_is_reached_within_the_reported_gap(case, options):
    best = explicit_problem(case, options).optimum
    result = case.train(solver=KernelBCFW(**options), tol=0.03, max_passes=5000)
    assert (result.status, result.certified, result.w) == ("converged", True, None)
    assert result.dual <= best.primal + 1e-8
    assert result.primal >= best.dual - 1e-8
    assert result.primal - best.primal <= result.gap + 1e-8
    assert best.dual - result.dual <= result.gap + 1e-8


@pytest.mark.parametrize("case", BOTH, **IDS)
@pytest.mark.parametrize("step", ["fw", "auto", "batch"])
def test_the_certificate_holds_when_recomputed_from_support_vectors(case, step):
    """``w = sum_s f(x_s) beta_s``: the primal is enumerated with its norm and scores written out."""
    options = KERNELS["rbf"]
    result = case.few_passes(4, solver=KernelBCFW(**options, step=step))
    weights, objective = result.kernel_weights, explicit_problem(case, options)
    N, K = len(stacked(case)), case.model.n_labels
    beta = np.zeros((N, K))
    beta[weights.support] = weights.coefficients
    explicit = factored(case, options)[0].X
    U = np.vstack(explicit).T @ beta if isinstance(explicit, list) else explicit.T @ beta
    w = np.concatenate([U.ravel(), weights.others])
    assert result.primal == pytest.approx(objective.primal(w), abs=1e-9)
    assert result.gap == pytest.approx(result.primal - result.dual, abs=1e-11)
    assert result.gap >= 0.0
    assert result.dual <= objective.optimum.primal + 1e-8


@pytest.mark.parametrize("step", ["fw", "solve", "batch"])
def test_the_dual_never_decreases(step):
    every = {} if step == "batch" else {"gap_every": 1}
    for case in MULTICLASS:
        result = case.few_passes(15, solver=KernelBCFW(**KERNELS["poly"], step=step, **every))
        assert np.all(np.diff(result.history["dual"]) >= -1e-13)


def test_whole_sample_weights_are_repetitions():
    for case in (MULTICLASS[0], CHAINS[0]):
        s = np.random.default_rng(5).integers(1, 4, size=len(case.y))
        repeated = case.take(np.repeat(np.arange(len(s)), s))
        solver = KernelBCFW(**KERNELS["rbf"], step="batch")
        a = case.few_passes(8, solver=solver, sample_weight=s)
        b = repeated.few_passes(8, solver=solver)
        np.testing.assert_allclose(a.history["gap"], b.history["gap"], rtol=0, atol=ROUNDING)


# --- rows --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", ["permuted", "gap"])
def test_a_small_cache_changes_nothing_but_the_time(sampling):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 4)), rng.integers(4, size=200)
    options = {"kernel": "rbf", "step": "fw", "sampling": sampling}
    results = [bcfw.train(bcfw.models.Multiclass(), X, y, lam=0.01, tol=0.1, solver=KernelBCFW(**options))]
    solver = KernelBCFW(**options, cache_mb=0.004)
    with pytest.warns(RuntimeWarning, match=r"rows of 200 inputs do not fit .* cache_mb=1 holds all of them"):
        results.append(bcfw.train(bcfw.models.Multiclass(), X, y, lam=0.01, tol=0.1, solver=solver))
    np.testing.assert_allclose(results[0].history["gap"], results[1].history["gap"], rtol=0, atol=ROUNDING)
    np.testing.assert_array_equal(results[0].predict(X), results[1].predict(X))


def test_a_cache_that_cannot_hold_one_example_is_refused():
    with pytest.raises(OptionError, match=r"cache_mb is 1e-06, but the kernel rows of one example take .* MB"):
        CHAINS[0].train(solver=KernelBCFW(cache_mb=1e-6))


def test_rows_are_computed_only_for_examples_that_move():
    """Of two far clusters a few examples near the border decide."""
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 2
    X = np.column_stack([4.0 * y, np.zeros(1000)]) + rng.standard_normal((1000, 2))
    solver = KernelBCFW(kernel="rbf", gamma=0.1)
    problem = solver.open(bcfw.dual.open_problem(bcfw.models.Multiclass(), X, y, 0.01))
    inner = BlockSolves(acceleration=0)
    inner.prepare(problem)
    inner.solve(problem, CountedRun(problem, 1e-3, 1000), np.random.default_rng(0))
    assert certify_state(problem).gap <= 1e-3
    assert problem.rows.computed < 600


# --- support vectors ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", BOTH, **IDS)
def test_a_step_adds_one_support_vector_at_most(case):
    """bcfw-2013, section 5: after k steps no more than k outputs besides the truths have mass."""
    n = len(case.y)
    for k in range(1, 2 * n):
        problem = KernelBCFW(**KERNELS["rbf"]).open(case.problem())
        BCFW(sampling="uniform").solve(problem, CountedRun(problem, 0.0, k / n), np.random.default_rng(k))
        weights = problem.weights()
        assert weights.n_examples <= min(k, n)
        if case in MULTICLASS:  # parts are outputs: count those with mass
            mu = problem.state.mu[0].reshape(n, -1).copy()
            mu[np.arange(n), case.y] = 0.0
            assert np.count_nonzero(mu) <= k


def test_few_support_vectors_suffice_for_a_given_accuracy():
    """``D* - D <= 2n/(k + 2n) (4 R^2/(lam n) + h_0)`` after k steps, hence O(R^2/(lam eps)) support vectors."""
    case = MULTICLASS[0]
    n, best = len(case.y), explicit_problem(case, KERNELS["rbf"]).optimum
    R2 = 2.0  # |psi|^2 = k(x, x) + k(x, x)
    result = case.few_passes(50, solver=KernelBCFW(**KERNELS["rbf"], step="fw", sampling="uniform", gap_every=1))
    for passes, dual in zip(result.history["passes"], result.history["dual"], strict=True):
        bound = 2.0 * n / (passes * n + 2.0 * n) * (4.0 * R2 / (case.lam * n) + best.primal)
        assert best.primal - dual <= bound + 1e-9


# --- forms of kernels --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", BOTH, **IDS)
def test_precomputed_values_and_functions_mean_the_same(case):
    options = KERNELS["poly"]
    first = case.few_passes(6, solver=KernelBCFW(**options))
    gram = factored(case, options)[1]
    rows = gram if case in MULTICLASS else np.split(gram, np.cumsum([len(y) for y in case.y])[:-1])
    given = dataclasses.replace(case, X=rows)
    second = given.few_passes(6, solver=KernelBCFW(kernel="precomputed"))

    def function(A, B):
        return (0.5 * (A @ B.T) + 1.0) ** 2 if not sp.issparse(A) else (0.5 * (A @ B.T).toarray() + 1.0) ** 2

    third = case.few_passes(6, solver=KernelBCFW(kernel=function))
    for other, X in ((second, rows), (third, case.X)):
        np.testing.assert_allclose(other.history["gap"], first.history["gap"], rtol=0, atol=1e-9)
        assert other.n_support == first.n_support
        for a, b in zip(first.predict(case.X), other.predict(X), strict=True):
            np.testing.assert_array_equal(a, b)


def test_sparse_inputs_stay_sparse_and_mean_the_same():
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 80), density=0.05, rng=rng, format="csr")
    y = rng.integers(3, size=60)
    for options in ({"kernel": "rbf"}, {"kernel": "linear"}, {"kernel": "poly", "coef0": 1.0}):
        a, b = (
            bcfw.train(bcfw.models.Multiclass(), x, y, lam=0.01, tol=0.05, solver=KernelBCFW(**options))
            for x in (X, np.asarray(X.todense()))
        )
        np.testing.assert_allclose(a.history["gap"], b.history["gap"], rtol=0, atol=ROUNDING)
        assert sp.issparse(a.kernel_weights.inputs)
        np.testing.assert_allclose(a.kernel_weights.scores(X), b.kernel_weights.scores(X.toarray()), atol=1e-9)


def test_gamma_means_what_it_means_in_scikit_learn():
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 5)) * 3, rng.integers(2, size=40)
    for gamma in ("scale", "auto", 0.2):
        result = bcfw.train(bcfw.models.Multiclass(), X, y, lam=0.1, tol=0.5, solver=KernelBCFW(gamma=gamma))
        assert result.kernel_weights.kernel.gamma == pytest.approx(SVC(gamma=gamma).fit(X, y)._gamma)


def test_prediction_is_the_sum_over_support_vectors():
    case, options = MULTICLASS[0], KERNELS["rbf"]
    result = case.train(solver=KernelBCFW(**options), tol=0.1)
    new = np.random.default_rng(3).standard_normal((7, 5))
    weights, rows = result.kernel_weights, stacked(case)
    naive = np.zeros((7, case.model.n_labels))
    for (p, s), beta in zip(enumerate(weights.support), weights.coefficients, strict=True):
        assert p < result.n_support
        for q, x in enumerate(new):
            naive[q] += naive_value(options, x, rows[s]) * beta
    np.testing.assert_allclose(weights.scores(new), naive, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(result.predict(new), naive.argmax(axis=1))
    twin = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(twin.predict(new), result.predict(new))


# --- options and errors ------------------------------------------------------------------------------------------


def test_callbacks_see_no_weights():
    seen = []
    for step in ("fw", "solve", "batch"):
        MULTICLASS[0].few_passes(2, solver=KernelBCFW(step=step), callbacks=[lambda info: seen.append(info.w)])
    assert seen
    assert all(w is None for w in seen)


def test_what_cannot_be_is_one_clear_error(tmp_path):
    case = MULTICLASS[0]
    first = case.few_passes(2, solver=KernelBCFW())
    explicit = case.few_passes(2, solver=BCFW())
    with pytest.raises(InputError, match="this Result carries no dual state"):
        case.train(solver=BCFW(), warm_start=first)
    with pytest.raises(OptionError, match="KernelBCFW cannot go on from a warm start"):
        case.train(solver=KernelBCFW(), warm_start=explicit)
    with pytest.raises(OptionError, match="KernelBCFW has no state that can be saved; leave checkpoint out"):
        case.train(solver=KernelBCFW(), checkpoint=tmp_path / "x.npz")
    with pytest.raises(OptionError, match="KernelBCFW needs scores that need inner products of inputs alone"):
        CASES["dense-features"].train(solver=KernelBCFW())
    with pytest.raises(OptionError, match="KernelBCFW needs the best average of a block"):
        CHAINS[0].train(solver=KernelBCFW(step="solve"))
    with pytest.raises(OptionError, match="KernelBCFW cannot handle bounds"):
        case.train(solver=KernelBCFW(), bounds=(0, None))
    with pytest.raises(OptionError, match="forms no weights, which a path is made of"):
        bcfw.regularization_path(case.model, case.X, case.y, solver=KernelBCFW())
    with pytest.raises(InputError, match=r"a square matrix, got shape \(8, 5\)"):
        case.train(solver=KernelBCFW(kernel="precomputed"))
    with pytest.raises(InputError, match="X is not symmetric"):
        dataclasses.replace(case, X=np.arange(64.0).reshape(8, 8)).train(solver=KernelBCFW(kernel="precomputed"))
    with pytest.raises(InputError, match=r"must return an array of shape \(8, 8\), got \(8,\)"):
        case.train(solver=KernelBCFW(kernel=lambda A, B: np.ones(len(A))))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "rfb"}, "kernel 'rfb' is unknown; did you mean 'rbf'"),
        ({"kernel": 3}, "kernel must be 'linear' or 'rbf'"),
        ({"gamma": -1.0}, "gamma must be a number > 0, 'scale' or 'auto'"),
        ({"kernel": "linear", "gamma": 1.0}, "gamma is only read with kernel='rbf' or 'poly'"),
        ({"degree": 2}, "degree is only read with kernel='poly'"),
        ({"step": "batch", "gap_every": 3}, "gap_every is only read with"),
        ({"step": "solve", "sampling": "gap"}, "sampling is only read with step='fw'"),
        ({"cache_mb": 0}, "cache_mb must be a finite number > 0"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(OptionError, match=message):
        KernelBCFW(**options)


def test_interpreted_kernels_take_the_same_steps():
    for case, step in itertools.product((MULTICLASS[2], CHAINS[0]), ("auto", "fw")):
        model = dataclasses.replace(case).model
        slow = type(model).__new__(type(model))
        slow.__dict__.update(vars(model), routines=model.routines.interpreted())
        a = case.few_passes(3, solver=KernelBCFW(**KERNELS["rbf"], step=step))
        b = dataclasses.replace(case, model=slow).few_passes(3, solver=KernelBCFW(**KERNELS["rbf"], step=step))
        np.testing.assert_allclose(a.history["gap"], b.history["gap"], rtol=0, atol=1e-12)
