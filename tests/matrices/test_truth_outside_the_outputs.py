"""A truth that the oracle cannot return counts as an output."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.dual.certify import certify_dual_point
from problems import CASES, Case, Pairs

# The objective is of order one and a certificate is a few thousand additions.
ROUNDING = 1e-11


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
        if not solver.certifies:
            continue
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
