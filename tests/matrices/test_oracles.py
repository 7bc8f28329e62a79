"""Oracles, features and losses of every model against enumeration and naive formulas."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from oracle_checks import check_oracle
from problems import BUILDERS, CASES, dense


def test_every_model_of_the_registry_has_cases():
    missing = set(bcfw.models.MODELS) - set(BUILDERS)
    assert not missing, f"write a builder of cases in tests/problems.py for {sorted(missing)}"
    covered = {type(case.model) for case in CASES.values()}
    assert set(bcfw.models.MODELS.values()) <= covered


@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 10.0])
def test_oracle_is_a_maximum_over_all_labelings(case, scale):
    check_oracle(case, case.clip(scale * np.random.default_rng(1).standard_normal(case.dim)))


def test_oracle_breaks_ties_correctly(case):
    """Weights -1, 0 and 1 give many equal values; any of the maximal outputs is right."""
    rng = np.random.default_rng(2)
    for _ in range(5):
        check_oracle(case, case.clip(rng.integers(-1, 2, size=case.dim).astype(float)))


def test_features_and_losses_agree_with_naive_formulas(case):
    model = case.model.bind(case.X, case.y)
    for x, y_true in case.examples():
        for y in [*case.outputs(x, y_true), y_true]:
            np.testing.assert_allclose(dense(model.features(x, y)).ravel(), case.phi(x, y), rtol=0, atol=1e-13)
            assert model._loss_of(x, y_true, y) == pytest.approx(case.delta(y_true, y), abs=1e-13)
        assert model.loss(y_true, y_true) == 0.0


def test_predict_is_the_plain_oracle_on_every_input(case):
    model = case.model.bind(case.X, case.y)
    w = case.clip(np.random.default_rng(3).standard_normal(model.dim))
    outputs = model.predict(w, case.X)
    assert len(outputs) == len(case.y)
    for output, (x, _) in zip(outputs, case.examples(), strict=True):
        np.testing.assert_array_equal(output, model.oracle(w, x))


def test_binding_sets_the_sizes_of_a_copy(case):
    bound = case.model.bind(case.X, case.y)
    assert bound is not case.model
    assert bound.dim == case.dim
