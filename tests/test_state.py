"""The dual state: audits after random histories, averages, warm starts, weights, checkpoints, reproducibility."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bcfw
from bcfw.dual import snapshots
from bcfw.dual.certify import certify_state
from bcfw.solvers import BCFW, BatchFW
from problems import CASES, VARIANTS, Case, Pairs, block_state, continue_with, repeats_visits
from reference import naive_batch_fw, naive_bcfw, weighted_average

# Steps add rounding of the last place of numbers of order one; a few hundred of them stay below this.
ROUNDING = 1e-10

ALL_CASES = pytest.mark.parametrize("name", CASES)


def same_run(a, b):
    """Equal to the last bit, apart from the clock."""
    np.testing.assert_array_equal(a.w, b.w)
    assert (a.primal, a.dual, a.gap, a.n_passes, a.status) == (b.primal, b.dual, b.gap, b.n_passes, b.status)
    for key in set(a.history) - {"seconds"}:
        np.testing.assert_array_equal(a.history[key], b.history[key])


# --- random histories --------------------------------------------------------------------------------------------

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
    assert dual <= best.primal + 1e-9
    assert primal - best.primal <= gap + 1e-9


def perform(problem, action, fresh, objective):
    if action == "rebuild":
        problem.rebuild()
    elif action == "certificate":
        certify_state(problem)
    elif action == "restore":
        snapshot = snapshots.take(problem)
        problem = fresh()
        snapshots.restore(problem, snapshot)
    else:
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
        problem = perform(problem, action, lambda: case.problem(s), objective)
    assert max(problem.audit().values()) <= ROUNDING
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
    if isinstance(problem.form, bcfw.models.Multiclass):
        unary = problem.form.marginals(data, mu)
    elif isinstance(problem.form, bcfw.models.Chain):
        unary, transitions = problem.form.marginals(data, mu)
        assert transitions.min() >= 0.0
        for i in range(problem.n_blocks):
            own = unary[data.y_off[i] : data.y_off[i + 1]]
            np.testing.assert_allclose(transitions[i].sum(axis=1), own[:-1].sum(axis=0), rtol=0, atol=ROUNDING)
            np.testing.assert_allclose(transitions[i].sum(axis=0), own[1:].sum(axis=0), rtol=0, atol=ROUNDING)
    elif isinstance(problem.form, bcfw.models.Multilabel):
        on, pairs = problem.form.marginals(data, mu)
        assert pairs.min(initial=0.0) >= 0.0
        for place in (0, 1):
            ends = on[:, data.edges[:, place]]
            np.testing.assert_allclose(pairs.sum(axis=3 - place)[..., 1], ends, rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(pairs.sum(axis=(2, 3)), 1.0, rtol=0, atol=ROUNDING)
        unary = np.column_stack([1.0 - on.ravel(), on.ravel()])
    else:
        return
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
        snapshot, fresh = snapshots.take(problem), case.problem()
        snapshots.restore(problem, snapshot)
        snapshots.restore(fresh, snapshot)
        outcome = continue_with(problem, VARIANTS[variant], 2, seed)
        expected = continue_with(fresh, VARIANTS[variant], 2, seed)
        np.testing.assert_array_equal(outcome.w, expected.w)
        assert outcome.certificate == expected.certificate


def test_state_is_consistent_after_many_steps():
    """Rounding does not grow with the number of steps, and averages stay probability vectors."""
    for name in ("multiclass-wide", "chain-wide", "multilabel-tree"):
        case = CASES[name]
        problem = case.problem(lam=0.003)
        continue_with(problem, BCFW(sampling="uniform", gap_every=10**6), 20_000 // len(case.y))
        assert max(problem.audit().values()) <= 1e-9
        check_marginals(problem)


# --- the iterates themselves -------------------------------------------------------------------------------------


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
    np.testing.assert_allclose(result.w, states[-1].w, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(result.snapshot["ell"], states[-1].ell_blocks, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("n_passes", [0.01, 0.5, 1, 5])
@ALL_CASES
def test_lazy_average_is_the_naive_average_of_all_iterates(name, n_passes):
    """Also within a pass: a limit of a fraction of a pass ends it after a few steps."""
    case = CASES[name]
    solver = BCFW(sampling="cyclic", averaging=True)
    result = case.few_passes(n_passes, solver=solver)
    n_steps = round(result.n_passes * len(case.y))
    assert n_steps >= 1
    states = list(naive_bcfw(case.enumerated(), [k % len(case.y) for k in range(n_steps)]))
    average = weighted_average([state.v for state in states])
    ell = weighted_average([np.array(state.ell) for state in states])
    np.testing.assert_allclose(result.w, case.clip(average), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(result.last.w, states[-1].w, rtol=0, atol=ROUNDING)
    assert result.dual == pytest.approx(case.enumerated().dual(average, float(ell)), abs=ROUNDING)
    assert result.last.dual == pytest.approx(case.enumerated().dual(states[-1].v, states[-1].ell), abs=ROUNDING)


@ALL_CASES
def test_batch_steps_follow_the_naive_method(name):
    case = CASES[name]
    v, ell = naive_batch_fw(case.enumerated(), 6)
    result = case.few_passes(6, solver=BatchFW())
    np.testing.assert_allclose(result.w, case.clip(v), rtol=0, atol=ROUNDING)
    assert result.dual == pytest.approx(case.enumerated().dual(v, ell), abs=ROUNDING)


# --- warm starts -------------------------------------------------------------------------------------------------


def test_warm_start_is_never_worse(case, solver):
    first = case.few_passes(3, solver=solver)
    reached = first if first.last is None else first.last
    second = case.few_passes(2, solver=solver, warm_start=first)
    assert second.history["dual"][0] >= reached.dual - 1e-12
    assert second.history["primal"][0] == pytest.approx(first.primal, abs=ROUNDING)


@pytest.mark.parametrize("lam", [0.01, 1.0])
def test_warm_start_with_another_lam_keeps_alpha(case, lam):
    """v follows lam: the same dual variables give v lam_old / lam_new, which is feasible for the new problem."""
    first = case.few_passes(3, solver="bcfw")
    start = case.few_passes(1, lam=lam, warm_start=first, solver="bcfw")
    objective = case.enumerated(lam=lam)
    v, ell = first.snapshot["w"] * case.lam / lam, first.snapshot["ell"].sum()
    np.testing.assert_array_equal(case.clip(first.snapshot["w"]), first.w)
    assert start.history["primal"][0] == pytest.approx(objective.primal(case.clip(v)), abs=ROUNDING)
    assert start.history["dual"][0] == pytest.approx(objective.dual(v, ell), abs=ROUNDING)
    result = case.train(lam=lam, tol=0.05, max_passes=5000, warm_start=first)
    best = objective.optimum
    assert (result.status, result.lam) == ("converged", lam)
    assert result.primal - best.primal <= result.gap + 1e-9


def test_warm_start_with_other_sample_weights(case):
    s = 0.2 + np.random.default_rng(0).random(len(case.y))
    result = case.train(sample_weight=s, tol=0.05, max_passes=5000, warm_start=case.few_passes(3))
    assert result.primal - case.enumerated(s).optimum.primal <= result.gap + 1e-9


def test_warm_start_at_the_solution_converges_at_once(case):
    first = case.train(tol=0.05)
    again = case.train(tol=0.051, warm_start=first)
    assert (again.status, again.n_passes) == ("converged", 0)


def test_warm_start_does_not_change_the_result_it_starts_from(case, solver):
    first = case.few_passes(2, solver=solver)
    before = copy.deepcopy(first.snapshot), first.w.copy()
    case.few_passes(2, solver=solver, warm_start=first)
    np.testing.assert_array_equal(first.w, before[1])
    assert before[0].keys() == first.snapshot.keys()
    for key, value in before[0].items():
        np.testing.assert_array_equal(first.snapshot[key], value)


@pytest.mark.parametrize("step_size", ["exact", "decay"])
def test_two_halves_are_a_whole(case, step_size):
    """In cyclic order a run that is interrupted and continued takes the same steps, predefined ones included."""
    solver = BCFW(sampling="cyclic", step_size=step_size)
    whole = case.few_passes(7, solver=solver)
    half = case.few_passes(3, solver=solver)
    np.testing.assert_allclose(case.few_passes(4, solver=solver, warm_start=half).w, whole.w, rtol=0, atol=ROUNDING)


# --- checkpoints -------------------------------------------------------------------------------------------------


def test_checkpoint_resumes_as_the_result_itself(case, solver, tmp_path):
    path = tmp_path / "state.npz"
    first = case.few_passes(3, solver=solver, checkpoint=path)
    assert [file.name for file in tmp_path.iterdir()] == ["state.npz"]
    same_run(case.few_passes(2, solver=solver, warm_start=path), case.few_passes(2, solver=solver, warm_start=first))
    same_run(
        case.few_passes(2, solver=solver, warm_start=str(path)), case.few_passes(2, solver=solver, warm_start=first)
    )


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


# --- reproducibility ---------------------------------------------------------------------------------------------


def test_refit_is_a_fresh_fit(case, solver):
    """Also with the bound copy that a result carries."""
    first = case.few_passes(3, solver=solver)
    same_run(first, case.few_passes(3, solver=solver))
    fresh = dataclasses.replace(case, model=copy.deepcopy(case.model))
    again = dataclasses.replace(case, model=first.model)
    same_run(fresh.train(solver=solver, tol=0.9), again.train(solver=solver, tol=0.9))


def test_seed_decides_the_order(case):
    for sampling in ("permuted", "uniform"):
        solver = BCFW(sampling=sampling)
        a, b = case.few_passes(2, solver=solver, seed=1), case.few_passes(2, solver=solver, seed=1)
        same_run(a, b)
        others = [case.few_passes(2, solver=solver, seed=seed).w for seed in range(2, 6)]
        assert any(not np.array_equal(a.w, w) for w in others)


def test_global_random_state_is_neither_read_nor_written(case, solver):
    legacy = np.random.get_state()[1].copy()  # noqa: NPY002
    first = case.few_passes(2, solver=solver)
    np.testing.assert_array_equal(np.random.get_state()[1], legacy)  # noqa: NPY002
    np.random.seed(99)  # noqa: NPY002
    same_run(first, case.few_passes(2, solver=solver))


@pytest.mark.parametrize("n_jobs", [2, 40, -1])
def test_threads_change_nothing(case, solver, n_jobs):
    same_run(case.few_passes(3, solver=solver), case.few_passes(3, solver=solver, n_jobs=n_jobs))


def test_train_does_not_change_the_model_or_the_data(case, solver):
    def everything():
        return pickle.dumps((vars(case.model), case.X, case.y))

    before = everything()
    result = case.few_passes(2, solver=solver, sample_weight=np.ones(len(case.y)))
    result.predict(case.X)
    assert everything() == before
    assert result.model is not case.model


# --- sample weights ----------------------------------------------------------------------------------------------


def test_whole_weights_are_repetitions(case, solver):
    """The same objective, and the same optimum within the two gaps."""
    s = np.random.default_rng(5).integers(1, 4, size=len(case.y))
    repeated = case.take(np.repeat(np.arange(len(s)), s))
    weighted = case.train(solver=solver, tol=0.05, max_passes=5000, sample_weight=s)
    other = repeated.train(solver=solver, tol=0.05, max_passes=5000)
    assert weighted.primal == pytest.approx(repeated.enumerated().primal(weighted.w), abs=ROUNDING)
    assert weighted.history["primal"][0] == pytest.approx(other.history["primal"][0], abs=1e-12)
    assert abs(weighted.primal - other.primal) <= max(weighted.gap, other.gap) + 1e-9


def test_whole_weights_are_repetitions_step_by_step_in_batch(case):
    """Repeated blocks move together under batch steps, so that the two runs coincide."""
    s = np.random.default_rng(5).integers(1, 4, size=len(case.y))
    repeated = case.take(np.repeat(np.arange(len(s)), s))
    a = case.few_passes(8, solver=BatchFW(), sample_weight=s)
    b = repeated.few_passes(8, solver=BatchFW())
    np.testing.assert_allclose(a.w, b.w, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(a.history["gap"], b.history["gap"], rtol=0, atol=ROUNDING)


def test_zero_weights_are_removals(case, solver):
    """The same steps as if the examples were not there, whatever they contain."""
    s = np.ones(len(case.y))
    s[[1, 3]] = 0.0
    removed = case.take(np.flatnonzero(s))
    a = case.few_passes(4, solver=solver, sample_weight=s)
    b = removed.few_passes(4, solver=solver)
    if repeats_visits(solver):
        assert abs(a.primal - b.primal) <= max(a.gap, b.gap) + ROUNDING
        return
    np.testing.assert_allclose(a.w, b.w, rtol=0, atol=ROUNDING)
    assert (a.n_passes, a.n_oracle_calls) == (b.n_passes, b.n_oracle_calls)
    assert a.gap == pytest.approx(b.gap, abs=ROUNDING)


def test_only_the_ratio_of_weights_matters(case, solver):
    s = 0.2 + np.random.default_rng(6).random(len(case.y))
    a, b = (case.few_passes(3, solver=solver, sample_weight=factor * s) for factor in (1.0, 1024.0))
    np.testing.assert_allclose(a.w, b.w, rtol=0, atol=ROUNDING)
    c = case.few_passes(3, solver=solver, sample_weight=np.full(len(s), 7.0))
    np.testing.assert_allclose(c.w, case.few_passes(3, solver=solver).w, rtol=0, atol=ROUNDING)


# --- results -----------------------------------------------------------------------------------------------------


def test_result_survives_pickling(case, solver):
    result = case.few_passes(2, solver=solver)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.w, result.w)
    for a, b in zip(again.predict(case.X), result.predict(case.X), strict=True):
        np.testing.assert_array_equal(a, b)
    same_run(case.few_passes(1, solver=solver, warm_start=again), case.few_passes(1, solver=solver, warm_start=result))


def test_a_block_that_lost_its_weight_keeps_its_loss():
    """It has moved in a run that gave it weight; when it gets weight again, its averaged loss must still be known."""
    case = CASES["multiclass-cost"]
    some = np.where(np.arange(len(case.y)) < 3, 0.0, 1.0)
    first = case.few_passes(5, solver=BCFW())
    second = case.few_passes(3, solver=BCFW(step="pairwise"), warm_start=first, sample_weight=some)
    third = case.few_passes(10, solver=BCFW(step="pairwise", averaging=True), warm_start=second)
    assert third.dual <= case.enumerated().optimum.primal + 1e-9
    assert third.gap >= 0.0
