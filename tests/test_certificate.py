"""What training reports: gap, history, status, and errors that name the example."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest

import bcfw
from bcfw.dual import snapshots
from bcfw.dual.certify import certify_dual_point, certify_state
from bcfw.solvers import BCFW, BatchFW
from problems import (
    CASES,
    EXACT_VARIANTS,
    Case,
    Pairs,
    block_state,
    calls_every_visit,
    continue_with,
    returns_the_dual_point,
)
from reference import naive_bcfw

KEYS = {"passes", "seconds", "primal", "dual", "gap", "oracle_calls"}

# The objective is of order one and a certificate is a few thousand additions.
ROUNDING = 1e-11


# --- the gap -----------------------------------------------------------------------------------------------------


def test_certificate_holds_when_recomputed_from_scratch(case, solver):
    """Each block's (v_i, ell_i) is a convex combination of its corners, so D is a lower bound; P is enumerated."""
    result = case.few_passes(4, solver=solver)
    objective = case.enumerated()
    point = result if result.last is None else result.last
    assert result.certified
    for one in {id(result): result, id(point): point}.values():
        assert one.gap >= 0.0
        assert one.primal == pytest.approx(objective.primal(one.w), abs=ROUNDING)
        assert one.gap == pytest.approx(one.primal - one.dual, abs=ROUNDING)
    problem = case.problem()
    snapshots.restore(problem, result.snapshot)
    blocks = [block_state(problem, i) for i in range(len(case.y))]
    for i, (v_i, ell_i) in enumerate(blocks):
        assert objective.outside(i, v_i, ell_i) <= 1e-9
    v = sum(v_i for v_i, _ in blocks)
    if returns_the_dual_point(solver):
        np.testing.assert_allclose(case.clip(v), point.w, rtol=0, atol=ROUNDING)
    assert objective.dual(v, sum(ell_i for _, ell_i in blocks)) == pytest.approx(point.dual, abs=ROUNDING)


@pytest.mark.parametrize("sample_weight", [False, True])
def test_block_gaps_sum_to_the_gap(case, sample_weight):
    s = 0.5 + np.random.default_rng(1).random(len(case.y)) if sample_weight else None
    problem, objective = case.problem(s), case.enumerated(s)
    order = list(range(len(case.y))) * 3
    *_, state = naive_bcfw(objective, order)
    continue_with(problem, BCFW(sampling="cyclic"), 3)
    certificate = certify_state(problem)
    corners = [objective.corner(i, state.w) for i in range(objective.n)]
    gaps = [
        objective.lam * (state.v_blocks[i] - v_s) @ state.w - state.ell_blocks[i] + ell_s
        for i, (v_s, ell_s) in enumerate(corners)
    ]
    np.testing.assert_allclose(problem.state.gap, gaps, rtol=0, atol=ROUNDING)
    assert problem.state.gap.sum() == pytest.approx(certificate.gap, abs=ROUNDING)
    assert certificate.gap == pytest.approx(
        objective.primal(state.w) - objective.dual(state.v, state.ell), abs=ROUNDING
    )


def test_first_row_is_the_mean_worst_loss(case):
    """At w = 0; where that is not allowed, at the nearest weights that are."""
    objective = case.enumerated()
    history = case.few_passes(1).history
    w = case.clip(np.zeros(case.dim))
    worst = objective.primal(w) if w.any() else objective.c @ [loss.max() for loss in objective.loss]
    assert history["primal"][0] == pytest.approx(worst, abs=1e-12)
    assert history["dual"][0] == pytest.approx(0.5 * case.lam * w @ w, abs=1e-14 if w.any() else 0.0)


def test_tolerance_is_relative_to_the_mean_worst_loss(case, solver):
    """The run ends at the first certificate with gap <= tol P(0)."""
    worst = case.enumerated().primal(np.zeros(case.dim))
    result = case.train(solver=solver, tol=0.2)
    above = result.history["gap"][:-1]
    assert result.gap <= 0.2 * worst
    assert np.all(above > 0.2 * worst)


def test_no_loss_at_all_is_converged_at_the_start():
    result = bcfw.train(bcfw.models.Multiclass(n_labels=1), np.ones((3, 2)), [0, 0, 0])
    assert (result.status, result.gap, result.n_passes) == ("converged", 0.0, 0)
    assert not result.w.any()


# --- history -----------------------------------------------------------------------------------------------------


def test_history_has_equal_columns_and_ends_at_the_result(case, solver):
    result = case.few_passes(4, solver=solver)
    history = result.history
    assert set(history) >= KEYS
    assert {len(column) for column in history.values()} == {len(history["passes"])}
    assert history["passes"][0] == 0.0
    for key in ("primal", "dual", "gap"):
        assert history[key][-1] == getattr(result, key)
    assert history["passes"][-1] == result.n_passes
    np.testing.assert_allclose(history["gap"], history["primal"] - history["dual"], rtol=0, atol=1e-14)
    assert np.all(np.diff(history["passes"]) > 0)
    assert np.all(np.diff(history["seconds"]) >= 0)
    assert np.all(np.diff(history["oracle_calls"]) >= len(case.y))
    assert history["seconds"][-1] <= result.seconds
    assert np.all(history["gap"] >= 0.0)


@pytest.mark.parametrize("solver", EXACT_VARIANTS.values(), ids=EXACT_VARIANTS.keys())
def test_exact_steps_never_decrease_the_dual(case, solver):
    if "gap_every" in type(solver)._options:
        solver = type(solver)(**{key: getattr(solver, key) for key in type(solver)._options} | {"gap_every": 1})
    result = case.few_passes(15, solver=solver)
    dual = result.history["dual"]
    assert len(dual) >= 15 or result.status == "stalled"
    assert np.all(np.diff(dual) >= -1e-13)


@pytest.mark.parametrize(
    ("gap_every", "max_passes", "rows"), [(3, 7, [0, 3, 6, 7]), (3, 6, [0, 3, 6]), (10, 4, [0, 4]), (1, 2, [0, 1, 2])]
)
def test_certificates_come_every_gap_every_passes_and_at_exit(gap_every, max_passes, rows):
    for averaging in (False, True):
        solver = BCFW(gap_every=gap_every, averaging=averaging)
        with pytest.warns(bcfw.ConvergenceWarning, match="max_passes"):
            result = CASES["chain-cost"].train(solver=solver, tol=1e-6, max_passes=max_passes)
        assert result.history["passes"].tolist() == rows


def test_batch_certifies_every_pass():
    with pytest.warns(bcfw.ConvergenceWarning):
        result = CASES["multiclass-cost"].train(solver=BatchFW(), tol=1e-9, max_passes=5)
    assert result.history["passes"].tolist() == [0, 1, 2, 3, 4, 5]


class Counting(Pairs):
    """Counts the calls of its oracle."""

    def __init__(self, K, cost):
        super().__init__(K, cost)
        self.calls = []

    def oracle(self, w, x, y_true=None):
        self.calls.append(y_true)
        return super().oracle(w, x, y_true)


def own_model(kind, *args) -> Case:
    """The black-box case with another kind of model."""
    base = CASES["dense-features"]
    model = kind(base.model.K, base.model.cost, *args)
    return Case(kind.__name__, model, base.X, base.y, base.outputs, base.phi, base.delta, base.lam)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_oracle_calls_are_counted_and_bounded(solver, n_jobs):
    case = own_model(Counting)
    result = case.few_passes(6, solver=solver, n_jobs=n_jobs)
    n = len(case.y)
    assert result.n_oracle_calls == len(case.model.calls)
    # Draws by gap need the gaps of the iterate itself, besides the certificate of the average.
    each = 2 if result.last is not None and getattr(solver, "sampling", "") == "gap" else 1
    certificates = each * len(result.history["passes"]) + 1 + (result.last is not None)
    assert result.n_oracle_calls <= n * (result.n_passes + certificates)


# --- how a run ends ----------------------------------------------------------------------------------------------


def test_status_max_passes(case, solver):
    with pytest.warns(bcfw.ConvergenceWarning, match="max_passes"):
        result = case.train(solver=solver, tol=1e-12, max_passes=2)
    assert (result.status, result.n_passes) == ("max_passes", 2)


def test_part_of_a_pass_is_a_limit_too():
    case = CASES["multiclass-wide"]
    with pytest.warns(bcfw.ConvergenceWarning, match="max_passes"):
        result = case.train(tol=1e-9, max_passes=0.1)
    assert 0 < result.n_passes <= 1 / len(case.y)


def test_long_runs_of_short_passes():
    """Calls grow with the speed of a pass, but never beyond a pass."""
    result = CASES["multiclass-cost"].few_passes(1500, solver=bcfw.solvers.BCFW(gap_every=500))
    assert result.n_passes == 1500


def test_infinite_max_passes_leaves_the_other_limits(solver):
    result = CASES["multiclass-cost"].train(solver=solver, tol=0.1, max_passes=np.inf)
    assert result.status == "converged"


def test_status_max_seconds(solver):
    with pytest.warns(bcfw.ConvergenceWarning, match="max_seconds"):
        result = CASES["chain-cost"].train(solver=solver, tol=1e-12, max_seconds=1e-9)
    assert result.status == "max_seconds"
    assert result.n_passes <= 1


def test_status_stopped_by_a_callback(case, solver):
    seen = []

    def stop(info):
        seen.append(info)
        return len(seen) == 3

    result = case.train(solver=solver, tol=1e-12, callbacks=[stop])
    assert (result.status, len(seen)) == ("stopped", 3)
    assert result.primal == pytest.approx(case.enumerated().primal(result.w), abs=ROUNDING)
    passes = [info.n_passes for info in seen]
    assert passes == [1, 2, 3] or (not calls_every_visit(solver) and passes == sorted(passes) and passes[-1] <= 3)
    assert seen[-1].primal - seen[-1].dual == pytest.approx(seen[-1].gap, abs=1e-14)
    assert seen[0].seconds <= seen[1].seconds <= seen[2].seconds
    assert seen[0].w.shape == result.w.shape


def test_callback_may_answer_with_numpys_true():
    """Comparisons of arrays give numpy's own True, as in ``np.linalg.norm(info.w) > 0``."""
    result = CASES["multiclass-cost"].train(tol=1e-3, callbacks=[lambda info: np.linalg.norm(info.w) > 0.0])
    assert result.status == "stopped"
    assert result.n_passes == 1


@pytest.mark.parametrize("answer", [None, False, np.False_])
def test_other_answers_of_a_callback_go_on(answer):
    result = CASES["multiclass-cost"].train(tol=0.1, callbacks=[lambda info: answer])
    assert result.status == "converged"


def test_callback_sees_the_point_that_would_be_returned():
    """The weights of the last call are those of the result, averaged or not, and are the caller's own copy."""
    for averaging in (False, True):
        seen = []

        def look(info, seen=seen):
            seen.append(info.w)
            info.w[:] = np.nan
            return len(seen) == 4

        solver = BCFW(averaging=averaging)
        result = CASES["chain-cost"].train(solver=solver, tol=1e-9, callbacks=[look])
        np.testing.assert_array_equal(seen[-1], result.w)


def test_status_interrupted_by_ctrl_c(case, solver):
    assert threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    result = case.train(solver=solver, tol=1e-12, callbacks=[lambda info: signal.raise_signal(signal.SIGINT)])
    assert result.status == "interrupted"
    assert result.n_passes == 1 or not calls_every_visit(solver)
    assert result.certified
    assert signal.getsignal(signal.SIGINT) is handler


def test_second_ctrl_c_raises():
    def insist(info):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        CASES["multiclass-cost"].train(tol=1e-12, callbacks=[insist])
    assert signal.getsignal(signal.SIGINT) is handler


def test_training_works_outside_the_main_thread():
    results = []
    thread = threading.Thread(target=lambda: results.append(CASES["multiclass-cost"].train(tol=0.1)))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(results[0].w, CASES["multiclass-cost"].train(tol=0.1).w)


@pytest.mark.parametrize("sampling", ["permuted", "uniform", "cyclic"])
def test_status_stalled(sampling):
    """Two contradicting examples with huge features: a step on one undoes the other, and steps of 1e-20 gain nothing.

    The optimum w = 0 needs both blocks at their wrong corners at once, so that the gap stays at P(0).
    """
    X = np.full((2, 1), 1e10)
    with pytest.warns(bcfw.ConvergenceWarning, match="stalled"):
        result = bcfw.train(bcfw.models.Multiclass(), X, [0, 1], lam=1.0, solver=BCFW(sampling=sampling))
    assert result.status == "stalled"
    assert result.gap > 0.5
    assert result.n_passes <= 20


def test_limit_holds_when_a_run_stalls():
    X = np.full((2, 1), 1e10)
    with pytest.warns(bcfw.ConvergenceWarning):
        result = bcfw.train(bcfw.models.Multiclass(), X, [0, 1], lam=1.0, max_passes=1)
    assert result.n_passes <= 1


def test_converged_and_stopped_runs_are_silent(recwarn):
    CASES["multiclass-cost"].train(tol=0.1)
    CASES["multiclass-cost"].train(tol=1e-12, callbacks=[lambda info: True])
    assert not [warning for warning in recwarn if issubclass(warning.category, bcfw.ConvergenceWarning)]


# --- models that are unusual or wrong ----------------------------------------------------------------------------


class WithoutTruth(Pairs):
    """Outputs with two different labels only, though some truths have equal ones."""

    def outputs(self):
        return [(a, b) for a, b in super().outputs() if a != b]


def test_truth_outside_the_outputs_counts_as_an_output(solver):
    """P* with the truth added to every Y_i; without it a hinge could be negative."""
    base = CASES["dense-features"]
    model = WithoutTruth(base.model.K, base.model.cost)
    y = [(0, 0), (1, 1), (2, 2), (0, 1), (2, 0), (1, 1)]
    case = Case("no truth", model, base.X, y, lambda x, y: model.outputs(), base.phi, base.delta, base.lam)
    for lam in (0.001, 0.1):
        objective, best = case.enumerated(lam=lam), case.enumerated(lam=lam).optimum
        result = case.few_passes(200, solver=solver, lam=lam, tol=0.03)
        assert result.primal == pytest.approx(objective.primal(result.w), abs=ROUNDING)
        assert result.gap >= 0.0
        assert result.primal - best.primal <= result.gap + 1e-9
        assert best.dual - result.dual <= result.gap + 1e-9


def test_truth_is_needed_where_the_outputs_alone_would_give_a_negative_hinge():
    """The weights that training finds put the truth above every output of the oracle, and P must count it as 0."""
    model = WithoutTruth(2, 1.0 - np.eye(2))
    X, y = [np.ones(1)], [(0, 0)]
    result = bcfw.train(model, X, y, lam=0.01, tol=1e-6)
    values = [
        model.loss(y[0], z) + result.w @ (model.features(X[0], z) - model.features(X[0], y[0])) for z in model.outputs()
    ]
    assert max(values) <= 1e-6
    large = 10.0 * (model.features(X[0], y[0]) - model.features(X[0], (0, 1)))
    problem = Case("far", model, X, y, None, None, None).problem()
    assert certify_dual_point(problem, large, 0.0).primal == pytest.approx(0.5 * 0.1 * large @ large, abs=1e-12)


class Failing(Pairs):
    """Works for a number of calls, then does something wrong on one example."""

    fault = staticmethod(lambda model, w, x, y_true: None)

    def __init__(self, K, cost, example, after):
        super().__init__(K, cost)
        self.x = CASES["dense-features"].X[example]
        self.after = after
        self.calls = 0

    def oracle(self, w, x, y_true=None):
        self.calls += 1
        if self.calls > self.after and x is self.x:
            return self.fault(w, x, y_true)
        return super().oracle(w, x, y_true)


class Raising(Failing):
    def fault(self, w, x, y_true):
        raise ZeroDivisionError("no answer")


class NotMaximal(Failing):
    """Returns the worst labeling, which is below the block's average as soon as that has moved."""

    def fault(self, w, x, y_true):
        return min(self.outputs(), key=lambda y: self.loss(y_true, y) + w @ self.features(x, y))


class NegativeLoss(Failing):
    def fault(self, w, x, y_true):
        return "bad"

    def loss(self, y_true, y):
        return -1.0 if isinstance(y, str) else super().loss(y_true, y)


class NotANumber(Failing):
    def fault(self, w, x, y_true):
        return "bad"

    def loss(self, y_true, y):
        return 0.5 if isinstance(y, str) else super().loss(y_true, y)

    def features(self, x, y):
        if isinstance(y, str):
            return np.full(super().features(x, (0, 0)).size, np.nan)
        return super().features(x, y)


class WrongSize(NotANumber):
    def features(self, x, y):
        return np.zeros(2) if isinstance(y, str) else super().features(x, y)


FAULTS = [
    (Raising, "ZeroDivisionError.*no answer"),
    (NotMaximal, "not maximal"),
    (NegativeLoss, "loss"),
    (NotANumber, "NaN"),
    (WrongSize, "2 features"),
]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("example", [0, 4])
@pytest.mark.parametrize(("kind", "message"), FAULTS, ids=[kind.__name__ for kind, _ in FAULTS])
def test_faulty_oracle_is_an_error_that_names_the_example(kind, message, example, n_jobs, solver):
    """The first certificate and a few passes go well; what was reached comes with the error."""
    n = len(CASES["dense-features"].y)
    case = own_model(kind, example, 5 * n)
    with pytest.raises(bcfw.OracleError, match=rf"(?s)example {example}\b.*{message}") as caught:
        case.train(solver=solver, tol=1e-9, n_jobs=n_jobs)
    assert caught.value.example == example
    reached = caught.value.result
    assert isinstance(reached, bcfw.Result)
    assert not reached.certified
    assert np.all(np.isfinite(reached.w))
    assert reached.w.any()
    assert len(reached.history["passes"]) >= 1


@pytest.mark.parametrize(("kind", "message"), FAULTS[:1] + FAULTS[2:], ids=["raising", "loss", "nan", "size"])
def test_oracle_that_fails_on_the_first_call_has_no_result(kind, message):
    case = own_model(kind, 2, 0)
    with pytest.raises(bcfw.OracleError, match=rf"(?s)example 2\b.*{message}") as caught:
        case.train()
    assert caught.value.result is None


def test_features_of_a_truth_that_are_not_finite():
    case = CASES["dense-features"]
    X = [x.copy() for x in case.X]
    X[3][0] = np.nan
    with pytest.raises(bcfw.OracleError, match=r"example 3\b.*NaN") as caught:
        bcfw.train(case.model, X, case.y)
    assert caught.value.example == 3


class Writing(Pairs):
    """An oracle that scribbles on the weights it is given."""

    def oracle(self, w, x, y_true=None):
        w[0] = 1.0
        return super().oracle(w, x, y_true)


def test_oracle_cannot_change_the_weights():
    with pytest.raises(bcfw.OracleError, match="read-only"):
        own_model(Writing).train()
