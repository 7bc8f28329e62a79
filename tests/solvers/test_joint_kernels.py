"""Models with a joint kernel: steps of explicit features, the enumerated optimum, support vectors, mistakes."""

from __future__ import annotations

import itertools
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import bcfw
from bcfw.errors import InputError, ModelError, OptionError, OracleError
from bcfw.solvers import BCFW, BatchFW, KernelBCFW
from bcfw.solvers.counted_run import CountedRun
from problems import CASES, drift

NAMES = [name for name, case in CASES.items() if case.box is None and case.model.exact_oracle]
NAMES = [name for name in NAMES if name.startswith(("multiclass", "chain", "matching", "multilabel", "dense", "slack"))]
IDS = {"ids": str}

# Steps add rounding of the last place of numbers of order one; a few hundred of them stay below this.
ROUNDING = 1e-10


class Joint(bcfw.JointKernelModel):
    """The mathematics of a case with the inner product of its features as a kernel; inputs are (x, y_true)."""

    def __init__(self, case):
        self.case = case

    def joint_kernel(self, pairs, others):
        A, B = (np.array([self.case.phi(x[0], y) for x, y in some]) for some in (pairs, others))
        return A @ B.T

    def loss(self, y_true, y):
        return self.case.delta(y_true, y)

    def outputs(self, x):
        return self.case.outputs(*x)


class JointWithSlack(Joint):
    slack_rescaling = True


def joint_of(case):
    """The model, inputs and outputs of a case."""
    inputs = [(case.X[i], case.y[i]) for i in range(len(case.y))]
    return (JointWithSlack if case.slack else Joint)(case), inputs, list(case.y)


def few_passes(case, max_passes, **options):
    model, X, y = joint_of(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        return bcfw.train(model, X, y, **{"lam": case.lam, "tol": 0.0, "max_passes": max_passes, **options})


# --- steps -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES, **IDS)
@pytest.mark.parametrize(
    ("options", "same"),
    [
        ({"step": "fw", "gap_every": 1}, BCFW(gap_every=1)),
        ({"step": "fw", "sampling": "gap", "gap_every": 1}, BCFW(sampling="gap", gap_every=1)),
        ({"step": "batch"}, BatchFW()),
    ],
    ids=["permuted", "gap", "batch"],
)
def test_steps_are_those_of_explicit_features(name, options, same):
    case = CASES[name]
    if case.settled is not None:
        pytest.skip("its options follow the sample weights")
    for sample_weight in (None, 0.5 + np.random.default_rng(1).random(len(case.y))):
        by_kernel = few_passes(case, 6, solver=KernelBCFW(kernel="joint", **options), sample_weight=sample_weight)
        explicit = case.few_passes(6, solver=same, sample_weight=sample_weight)
        for column in ("passes", "primal", "dual", "gap", "oracle_calls"):
            np.testing.assert_allclose(by_kernel.history[column], explicit.history[column], rtol=0, atol=ROUNDING)
        w = np.zeros(case.dim)
        weights = by_kernel.kernel_weights
        for (x, y), beta in zip(weights.support, weights.coefficients, strict=True):
            w += beta * case.phi(x[0], y)
        np.testing.assert_allclose(w, explicit.w, rtol=0, atol=1e-9)


def product_kernel(gamma):
    def joint_kernel(self, pairs, others):
        squares = [[np.sum((x - u) ** 2) for u, _ in others] for x, _ in pairs]
        return np.exp(-gamma * np.array(squares)) * np.array([[y == v for _, v in others] for _, y in pairs])

    return joint_kernel


@pytest.mark.parametrize("step", ["fw", "batch"])
def test_an_input_kernel_times_labels_is_that_of_multiclass(step):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.integers(3, size=30)
    classes = {"joint_kernel": product_kernel(0.4), "loss": lambda self, a, b: float(a != b)}
    model = type("Labels", (bcfw.JointKernelModel,), {**classes, "outputs": lambda self, x: [0, 1, 2]})()
    options = {"lam": 0.05, "tol": 0.03, "max_passes": 5000}
    joint = bcfw.train(model, X, y, solver=KernelBCFW(kernel="joint", step=step), **options)
    same = KernelBCFW(kernel="rbf", gamma=0.4, step=step)
    product = bcfw.train(bcfw.models.Multiclass(3), X, y, solver=same, **options)
    np.testing.assert_allclose(joint.history["gap"], product.history["gap"], rtol=0, atol=ROUNDING)
    assert joint.kernel_weights.n_examples == product.kernel_weights.n_examples
    new = rng.standard_normal((20, 3))
    assert joint.predict(new) == product.predict(new).tolist()
    scores = np.array([joint.kernel_weights.score(x)([0, 1, 2]) for x in new])
    np.testing.assert_allclose(scores, product.kernel_weights.scores(new), rtol=0, atol=1e-9)
    np.testing.assert_allclose(joint.kernel_weights.output_scores(new, joint.predict(new)), scores.max(axis=1))


# --- optimum and certificate -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES, **IDS)
def test_the_optimum_is_reached_within_the_reported_gap(name):
    case = CASES[name]
    best = case.enumerated().optimum
    model, X, y = joint_of(case)
    result = bcfw.train(model, X, y, lam=case.lam, tol=0.05, max_passes=5000)
    assert (result.status, result.certified, result.w) == ("converged", True, None)
    assert result.solver.kernel == "joint"
    assert result.dual <= best.primal + 1e-8
    assert result.primal >= best.dual - 1e-8
    assert result.primal - best.primal <= result.gap + 1e-8
    w = sum(b * case.phi(x[0], y) for (x, y), b in zip(*support_of(result), strict=True))
    assert result.primal == pytest.approx(case.enumerated().primal(w), abs=1e-9)
    assert result.gap == pytest.approx(result.primal - result.dual, abs=1e-11)


def support_of(result):
    return result.kernel_weights.support, result.kernel_weights.coefficients


@pytest.mark.parametrize("step", ["fw", "batch"])
def test_the_dual_never_decreases(step):
    every = {} if step == "batch" else {"gap_every": 1}
    result = few_passes(CASES["chain-cost"], 15, solver=KernelBCFW(kernel="joint", step=step, **every))
    assert np.all(np.diff(result.history["dual"]) >= -1e-13)


# --- support vectors and rows ------------------------------------------------------------------------------------


def test_a_step_adds_one_example_and_two_pairs_at_most():
    """bcfw-2013, section 5: after k steps no more than k outputs besides the truths have mass."""
    case = CASES["chain-cost"]
    model, X, y = joint_of(case)
    for k in range(1, 3 * len(y)):
        problem = KernelBCFW(kernel="joint").open(bcfw.dual.open_problem(model, X, y, case.lam))
        BCFW(sampling="uniform").solve(problem, CountedRun(problem, 0.0, k / len(y)), np.random.default_rng(k))
        weights = problem.weights()
        wrong = sum(beta < 0.0 for beta in weights.coefficients)
        assert wrong <= k
        assert weights.n_examples <= min(k, len(y))
        assert len(weights.support) == wrong + weights.n_examples
        assert drift(problem)["w"] <= 1e-12
        assert drift(problem)["ell"] <= 1e-12


def test_a_small_cache_changes_nothing_but_the_time():
    case = CASES["multiclass-wide"]
    model, X, y = joint_of(case)
    found, computed = [], []
    for mb in (500, 0.0005):
        solver = KernelBCFW(kernel="joint", cache_mb=mb)
        problem = solver.open(bcfw.dual.open_problem(model, X, y, case.lam))
        run = CountedRun(problem, 0.05, 1000)
        BCFW().solve(problem, run, np.random.default_rng(0))
        found.append(run.history()["gap"])
        computed.append(problem.pairs.computed)
        assert 8e-6 * sum(map(len, problem.pairs._rows.values())) <= mb
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=ROUNDING)
    assert computed[1] > 5 * computed[0]


def test_every_kernel_value_is_computed_once():
    """With room for all rows: of every output with every support vector, and of pairs of one example."""
    case = CASES["multiclass-wide"]
    model, X, y = joint_of(case)
    problem = KernelBCFW(kernel="joint").open(bcfw.dual.open_problem(model, X, y, case.lam))
    BCFW().solve(problem, CountedRun(problem, 0.01, 1000), np.random.default_rng(0))
    pairs, K = problem.pairs, len(case.outputs(None, None))
    own = sum(pairs.example.count(i) ** 2 for i in range(len(y)))
    assert pairs.computed <= len(y) * K * len(pairs.support) + own


def test_n_jobs_changes_nothing():
    case = CASES["chain-cost"]
    a, b = (few_passes(case, 5, n_jobs=n) for n in (1, 3))
    np.testing.assert_allclose(a.history["gap"], b.history["gap"], rtol=0, atol=ROUNDING)


# --- oracles -----------------------------------------------------------------------------------------------------


class Viterbi(bcfw.JointKernelModel):
    """Chains with ``sum_{t, s} k(x_t, x'_s) [y_t = y'_s]`` and counts of transitions; the oracle lists no outputs."""

    K = 3

    def joint_kernel(self, pairs, others):
        return [[self.value(x, y, u, v) for u, v in others] for x, y in pairs]

    def value(self, x, y, u, v):
        return np.sum(self.positions(x, u) * np.equal.outer(y, v)) + np.sum(self.counts(y) * self.counts(v))

    def positions(self, x, u):
        return np.exp(-0.3 * np.sum((x[:, None] - u[None]) ** 2, axis=2))

    def counts(self, y):
        table = np.zeros((self.K, self.K))
        np.add.at(table, (y[:-1], y[1:]), 1.0)
        return table

    def loss(self, y_true, y):
        return float(np.mean(y_true != y))

    def oracle(self, score, x, y_true=None):
        """Dynamic programming over tables that are sums over the support."""
        unary, trans = np.zeros((len(x), self.K)), np.zeros((self.K, self.K))
        for (u, v), beta in zip(score.support, score.coefficients, strict=True):
            unary += beta * self.positions(x, u) @ np.eye(self.K)[v]
            trans += beta * self.counts(v)
        if y_true is not None:
            unary += (1.0 - np.eye(self.K)[y_true]) / len(x)
        best, back = unary[0], []
        for row in unary[1:]:
            table = best[:, None] + trans
            back.append(table.argmax(axis=0))
            best = table.max(axis=0) + row
        y = [int(best.argmax())]
        for pointers in reversed(back):
            y.append(int(pointers[y[-1]]))
        return np.array(y[::-1])


class Listed(Viterbi):
    """The same with all outputs in a list."""

    def outputs(self, x):
        return [np.array(y) for y in itertools.product(range(self.K), repeat=len(x))]

    oracle = bcfw.JointKernelModel.oracle


def sequences(n=12, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, size=n)
    return [rng.standard_normal((T, 2)) for T in lengths], [rng.integers(3, size=T) for T in lengths]


def test_an_oracle_may_work_on_the_expansion_of_w():
    X, y = sequences()
    options = {"lam": 0.1, "tol": 0.05, "max_passes": 2000}
    chain = bcfw.models.Chain(3, end_bias=False)
    same = bcfw.train(chain, X, y, solver=KernelBCFW(kernel="rbf", gamma=0.3), **options)
    new = sequences(seed=5)[0]
    for model in (Viterbi(), Listed()):
        assert bcfw.check_model(model, X, y) == []
        result = bcfw.train(model, X, y, **options)
        assert result.certified
        assert abs(result.primal - same.primal) <= result.gap + same.gap
    close = bcfw.train(Viterbi(), X, y, lam=0.1, tol=0.002, max_passes=5000)
    explicit = bcfw.train(chain, X, y, lam=0.1, tol=0.002, max_passes=5000, solver=KernelBCFW(gamma=0.3))
    scores = close.kernel_weights.output_scores(new, close.predict(new))
    np.testing.assert_allclose(scores, explicit.kernel_weights.output_scores(new, explicit.predict(new)), atol=0.15)


class Reused(Listed):
    """Returns the same array again and again."""

    def oracle(self, score, x, y_true=None):
        found = super().oracle(score, x, y_true)
        if not hasattr(self, "room"):
            self.room = {}
        room = self.room.setdefault(len(found), np.zeros(len(found), np.int64))
        room[:] = found
        return room


def test_outputs_may_be_written_to_again():
    X, y = sequences()
    a, b = (bcfw.train(model, X, y, lam=0.1, tol=0.05, max_passes=2000) for model in (Listed(), Reused()))
    np.testing.assert_allclose(a.history["gap"], b.history["gap"], rtol=0, atol=ROUNDING)


# --- in scikit-learn ---------------------------------------------------------------------------------------------


class Words(bcfw.JointKernelModel):
    """Strings of which the output is a class; the kernel counts letters that both have."""

    def joint_kernel(self, pairs, others):
        return [[(y == v) * len(set(x) & set(u)) for u, v in others] for x, y in pairs]

    def loss(self, y_true, y):
        return float(y != y_true)

    def outputs(self, x):
        return ["vowels", "consonants"]


WORDS = ["aei", "bcd", "iou", "fgh", "aou", "klm"]
KINDS = ["vowels", "consonants"] * 3


def test_an_estimator_takes_the_model():
    svm = bcfw.StructuralSVM(Words(), lam=0.01).fit(WORDS, KINDS)
    assert svm.predict(["ea", "gd"]) == KINDS[:2]
    assert svm.score(WORDS, KINDS) == 1.0
    assert not hasattr(svm, "coef_")
    assert svm.result_.n_support == len(svm.result_.kernel_weights.support) > 0
    scores = [svm.result_.kernel_weights.score(x)([y])[0] for x, y in zip(WORDS, KINDS, strict=True)]
    np.testing.assert_allclose(svm.decision_function(WORDS), scores)
    twin = pickle.loads(pickle.dumps(svm))
    assert twin.predict(["ea", "gd"]) == KINDS[:2]
    assert clone(svm).fit(WORDS, KINDS).duality_gap_ == svm.duality_gap_
    assert "support vectors" in repr(svm.result_.kernel_weights)


def test_estimators_with_paths_refuse_it():
    with pytest.raises(OptionError, match="known by a joint kernel alone"):
        bcfw.StructuralSVMCV(Words(), cv=2).fit(WORDS, KINDS)
    with pytest.raises(OptionError, match="known by a joint kernel alone"):
        bcfw.grid_path(Words(), WORDS, KINDS, [0.1, 0.01], solver="auto")


# --- mistakes ----------------------------------------------------------------------------------------------------


def changed(**methods):
    """The model with other methods."""
    return type("Changed", (Words,), methods)()


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (
            {"joint_kernel": lambda self, a, b: np.zeros((1, 2, 3))},
            r"joint_kernel.*an array of shape \(\d+, \d+\), got",
        ),
        ({"joint_kernel": lambda self, a, b: np.full((len(a), len(b)), np.nan)}, "joint_kernel.* a NaN"),
        ({"joint_kernel": lambda self, a, b: 1 / 0}, "joint_kernel.*ZeroDivisionError"),
        ({"joint_kernel": lambda self, a, b: -Words.joint_kernel(self, a, b)}, "TypeError"),
        ({"joint_kernel": bcfw.JointKernelModel.joint_kernel}, r"needs a method joint_kernel\(self, pairs, others\)"),
        ({"outputs": bcfw.JointKernelModel.outputs}, r"needs a method outputs\(self, x\), or oracle\(self, score"),
        ({"loss": lambda self, a, b: 1.0}, "loss"),
    ],
)
def test_mistakes_are_named(methods, message):
    for call in (bcfw.check_model, bcfw.train):
        with pytest.raises((ModelError, OracleError), match=message):
            call(changed(**methods), WORDS, KINDS)


def negative(self, pairs, others):
    return [[-float(x == u and y == v) for u, v in others] for x, y in pairs]


def skew(self, pairs, others):
    return [[len(x) + 2.0 * len(u) * (y == v) + ord(x[0]) for u, v in others] for x, y in pairs]


def in_company(self, pairs, others):
    return np.array(Words.joint_kernel(self, pairs, others), float) * (1.0 + (len(pairs) > 1))


def shy(self, score, x, y_true=None):
    """Never answers the second output with a truth."""
    return "vowels" if y_true else Words.oracle(self, score, x)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"joint_kernel": negative}, "not positive semidefinite"),
        ({"joint_kernel": skew}, "not symmetric"),
        ({"joint_kernel": in_company}, "among others and .* alone"),
        ({"oracle": shy}, r"oracle\(w, x, y_true\) is not maximal"),
        ({"loss": lambda self, a, b: -float(a != b)}, "it must be finite and >= 0"),
    ],
)
def test_checks_find_mistakes(methods, message):
    with pytest.raises(ModelError, match=message):
        bcfw.check_model(changed(**methods), WORDS, KINDS)


def test_a_kernel_that_is_no_inner_product_is_found_in_training():
    with pytest.raises(OracleError, match="must be symmetric and positive semidefinite"):
        bcfw.train(changed(joint_kernel=negative), WORDS, KINDS)


def test_what_was_reached_before_an_error_is_there():
    calls = itertools.count()

    def failing(self, score, x, y_true=None):
        if y_true is not None and next(calls) > 40:
            raise RuntimeError("broken")
        return Words.oracle(self, score, x, y_true)

    with pytest.raises(OracleError, match="broken") as caught:
        bcfw.train(changed(oracle=failing), WORDS, KINDS, lam=1e-4, tol=0.0)
    reached = caught.value.result
    assert reached.dual > 0.0
    assert reached.n_support > 0
    assert reached.predict(WORDS) == KINDS


def test_an_oracle_that_overlooks_the_loss_is_found_out():
    def blind(self, score, x, y_true=None):
        return Words.oracle(self, score, x) if y_true is None else y_true

    with pytest.raises(OracleError, match="at w = 0 the oracle returned an output without loss"):
        bcfw.train(changed(oracle=blind), WORDS, KINDS)


def test_what_does_not_go_together():
    with pytest.raises(OptionError, match="BCFW cannot handle features that are known by a joint kernel alone"):
        bcfw.train(Words(), WORDS, KINDS, solver="bcfw")
    with pytest.raises(OptionError, match="which Words does not offer"):
        bcfw.train(Words(), WORDS, KINDS, solver="kernel-bcfw")
    with pytest.raises(OptionError, match="which Multiclass does not offer"):
        bcfw.train(bcfw.models.Multiclass(), np.eye(2), [0, 1], solver=KernelBCFW(kernel="joint"))
    with pytest.raises(OptionError, match="the best average of a block"):
        bcfw.train(Words(), WORDS, KINDS, solver=KernelBCFW(kernel="joint", step="solve"))
    with pytest.raises(OptionError, match="bias is only read with an input kernel"):
        KernelBCFW(kernel="joint", bias=1.0)
    with pytest.raises(OptionError, match="no state that can be saved"):
        bcfw.train(Words(), WORDS, KINDS, checkpoint="state.npz")
    with pytest.raises(ModelError, match="has a joint kernel and no features"):
        Words().features(WORDS[0], KINDS[0])
    heuristic = type("Heuristic", (Words,), {"exact_oracle": False})()
    with pytest.raises(OptionError, match="an oracle that may miss the maximum"):
        bcfw.train(heuristic, WORDS, KINDS)


def test_results_cannot_be_saved_in_model_files(tmp_path):
    with pytest.raises(InputError, match=r"support vectors of a joint kernel .* cannot be saved; pickle"):
        few_passes(CASES["multiclass-cost"], 1).save(tmp_path / "model")
