"""The dual state: consistent after any history, and the iterates those of the naive method."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bcfw
from bcfw.dual import snapshots
from bcfw.dual.certify import certify_state
from bcfw.solvers import BCFW, BatchFW
from problems import CASES, VARIANTS, block_state, continue_with, drift, matches
from reference import naive_batch_fw, naive_bcfw, weighted_average

# Steps add rounding of the last place of numbers of order one; a few hundred of them stay below this.
ROUNDING = 1e-10

ALL_CASES = pytest.mark.parametrize("name", CASES)

#: What may happen to a problem: a solver works on it for some passes, or w is rebuilt, or it is saved and restored.
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(list(VARIANTS)), st.sampled_from([0.3, 1, 2, 5]), st.integers(0, 3)),
        st.sampled_from(["rebuild", "certificate", "restore"]),
    ),
    min_size=1,
    max_size=6,
)


def check_outcome(outcome, objective):
    """The certificate belongs to the returned point and brackets the optimum."""
    primal, dual, gap, _ = outcome.certificate
    best = objective.optimum
    assert primal == pytest.approx(objective.primal(outcome.w), abs=ROUNDING)
    if np.isnan(dual):  # of a solver without a dual point
        return
    assert dual <= best.primal + 1e-9
    assert primal - best.primal <= gap + 1e-9


def perform(problem, action, case, s, objective):
    if action == "rebuild":
        problem.rebuild()
    elif action == "certificate":
        certify_state(problem)
    elif action == "restore":
        snapshot = snapshots.take(problem)
        problem = case.problem(s)
        snapshots.restore(problem, snapshot)
    elif matches(VARIANTS[action[0]], case) and VARIANTS[action[0]].can_resume:
        name, max_passes, seed = action
        check_outcome(continue_with(problem, VARIANTS[name], max_passes, seed), objective)
    return problem


@ALL_CASES
@settings(max_examples=15)
@given(actions=ACTIONS, weighted=st.booleans())
def test_state_is_consistent_after_any_history(name, actions, weighted):
    case = CASES[name]
    s = 0.2 + np.random.default_rng(0).random(len(case.y)) if weighted else None
    problem, objective = case.problem(s), case.enumerated(s)
    for action in actions:
        problem = perform(problem, action, case, s, objective)
    assert max(drift(problem).values()) <= ROUNDING
    for i in range(len(case.y)):
        assert objective.outside(i, *block_state(problem, i)) <= 1e-9
    w = problem.state.w
    np.testing.assert_array_equal(w, case.clip(problem.v))
    assert problem.dual_value() == pytest.approx(objective.dual(problem.v, problem.state.ell.sum()), abs=1e-12)
    assert certify_state(problem).primal == pytest.approx(objective.primal(w), abs=ROUNDING)
    check_marginals(problem)


def check_marginals(problem):
    """Averages of labelings: non-negative, one label per position, transitions that fit their two ends."""
    data, mu = problem.data, problem.state.mu
    if isinstance(problem.adapter.model, bcfw.models.Multiclass):
        unary = problem.adapter.model.marginals(data, mu)
    elif isinstance(problem.adapter.model, bcfw.models.Chain):
        unary, transitions = problem.adapter.model.marginals(data, mu)
        assert transitions.min() >= 0.0
        for i in range(problem.n_blocks):
            own = unary[data.y_off[i] : data.y_off[i + 1]]
            np.testing.assert_allclose(transitions[i].sum(axis=1), own[:-1].sum(axis=0), rtol=0, atol=ROUNDING)
            np.testing.assert_allclose(transitions[i].sum(axis=0), own[1:].sum(axis=0), rtol=0, atol=ROUNDING)
    elif isinstance(problem.adapter.model, bcfw.models.Multilabel):
        on, pairs = problem.adapter.model.marginals(data, mu)
        assert pairs.min(initial=0.0) >= 0.0
        for place in (0, 1):
            ends = on[:, data.edges[:, place]]
            np.testing.assert_allclose(pairs.sum(axis=3 - place)[..., 1], ends, rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(pairs.sum(axis=(2, 3)), 1.0, rtol=0, atol=ROUNDING)
        unary = np.column_stack([1.0 - on.ravel(), on.ravel()])
    else:
        return
    if not problem.adapter.model._rescales_slack:  # a loss above 1 takes more than all from the truth
        assert unary.min() >= 0.0
    np.testing.assert_allclose(unary.sum(axis=1), 1.0, rtol=0, atol=ROUNDING)


@ALL_CASES
@settings(max_examples=20)
@given(names=st.lists(st.sampled_from(list(VARIANTS)), min_size=2, max_size=4), seed=st.integers(0, 9))
def test_solver_takes_over_the_state_and_nothing_else(name, names, seed):
    """A solver on a problem that others have worked on does as on a new problem in the same state.

    Both are restored from one snapshot: an exact step makes the labelings it mixes equally good, so that w must agree
    to the last bit for the next solver to meet the same ties.
    """
    case = CASES[name]
    problem = case.problem()
    for variant in names:
        if not matches(VARIANTS[variant], case) or not VARIANTS[variant].can_resume:
            continue
        snapshot, fresh = snapshots.take(problem), case.problem()
        snapshots.restore(problem, snapshot)
        snapshots.restore(fresh, snapshot)
        outcome = continue_with(problem, VARIANTS[variant], 2, seed)
        expected = continue_with(fresh, VARIANTS[variant], 2, seed)
        np.testing.assert_array_equal(outcome.w, expected.w)
        np.testing.assert_array_equal(outcome.certificate, expected.certificate)  # NaN without a dual point


def test_state_is_consistent_after_many_steps():
    """Rounding does not grow with the number of steps, and averages stay probability vectors."""
    for name in ("multiclass-wide", "chain-wide", "multilabel-tree"):
        case = CASES[name]
        problem = case.problem(lam=0.003)
        continue_with(problem, BCFW(sampling="uniform", gap_every=10**6), 20_000 // len(case.y))
        assert max(drift(problem).values()) <= 1e-9
        check_marginals(problem)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("step_size", ["exact", "decay", "short"])
@ALL_CASES
def test_cyclic_steps_follow_the_naive_method(name, step_size, weighted):
    case = CASES[name]
    s = 0.2 + np.random.default_rng(3).random(len(case.y)) if weighted else None
    n_passes = 4
    states = list(naive_bcfw(case.enumerated(s), list(range(len(case.y))) * n_passes, step_size))
    solver = BCFW(sampling="cyclic", step_size=step_size)
    result = case.few_passes(n_passes, solver=solver, sample_weight=s)
    np.testing.assert_allclose(case.clip(result.snapshot["w"]), states[-1].w, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(result.snapshot["ell"], states[-1].ell_blocks, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("n_passes", [0.01, 0.5, 1, 5])
@ALL_CASES
def test_lazy_average_is_the_naive_average_of_all_iterates(name, n_passes):
    """Also within a pass: a limit of a fraction of a pass ends it after a few steps."""
    case, seen = CASES[name], []
    solver = BCFW(sampling="cyclic", averaging=True)
    result = case.few_passes(n_passes, solver=solver, callbacks=[lambda info: seen.append(info.w)])
    n_steps = round(result.n_passes * len(case.y))
    assert n_steps >= 1
    states = list(naive_bcfw(case.enumerated(), [k % len(case.y) for k in range(n_steps)]))
    average = weighted_average([state.v for state in states])
    ell = weighted_average([np.array(state.ell) for state in states])
    np.testing.assert_allclose(seen[-1], case.clip(average), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(result.last.w, states[-1].w, rtol=0, atol=ROUNDING)
    dual = max(case.enumerated().dual(average, float(ell)), result.history["dual"][0])
    assert result.dual == pytest.approx(dual, abs=ROUNDING)
    assert result.last.dual == pytest.approx(case.enumerated().dual(states[-1].v, states[-1].ell), abs=ROUNDING)


@ALL_CASES
def test_batch_steps_follow_the_naive_method(name):
    case = CASES[name]
    v, ell = naive_batch_fw(case.enumerated(), 6)
    result = case.few_passes(6, solver=BatchFW())
    np.testing.assert_allclose(result.snapshot["w"], v, rtol=0, atol=ROUNDING)
    assert result.dual == pytest.approx(case.enumerated().dual(v, ell), abs=ROUNDING)
