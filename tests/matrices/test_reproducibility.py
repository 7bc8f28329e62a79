"""The same seed gives the same run: refits, threads, pickles; models, data and global state are left alone."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

from bcfw.solvers import BCFW
from problems import in_turn, same_run


@pytest.mark.part(3, of=16)
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
        others = [case.few_passes(2, solver=solver, seed=seed).snapshot["w"] for seed in range(2, 6)]
        assert any(not np.array_equal(a.snapshot["w"], w) for w in others)


@pytest.mark.part(4, of=16)
def test_global_random_state_is_neither_read_nor_written(case, solver):
    legacy = np.random.get_state()[1].copy()  # noqa: NPY002
    first = case.few_passes(2, solver=solver)
    np.testing.assert_array_equal(np.random.get_state()[1], legacy)  # noqa: NPY002
    np.random.seed(99)  # noqa: NPY002
    same_run(first, case.few_passes(2, solver=solver))


@pytest.mark.part(5, of=16)
@pytest.mark.parametrize("n_jobs", in_turn([2, 40, -1]))
def test_threads_change_nothing(case, solver, n_jobs):
    same_run(case.few_passes(3, solver=solver), case.few_passes(3, solver=solver, n_jobs=n_jobs))


@pytest.mark.part(8, of=16)
def test_train_does_not_change_the_model_or_the_data(case, solver):
    def everything():
        return pickle.dumps((vars(case.model), case.X, case.y))

    before = everything()
    result = case.few_passes(2, solver=solver, sample_weight=np.ones(len(case.y)))
    result.predict(case.X)
    assert everything() == before
    assert result.model is not case.model


@pytest.mark.part(9, of=16)
@pytest.mark.continued
def test_result_survives_pickling(case, solver):
    result = case.few_passes(2, solver=solver)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.w, result.w)
    for a, b in zip(again.predict(case.X), result.predict(case.X), strict=True):
        np.testing.assert_array_equal(a, b)
    same_run(case.few_passes(1, solver=solver, warm_start=again), case.few_passes(1, solver=solver, warm_start=result))
