"""Slack rescaling: the enumerated optimum, plain predictions, what it shares with margin rescaling, errors."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
from scipy.special import softmax

import bcfw
from bcfw.errors import InputError, ModelError, OptionError
from bcfw.models import Chain, Multiclass
from problems import CASES, Bits, Pairs, SlackPairs

SLACK = [name for name, case in CASES.items() if case.slack]


def naive_primal(case, w):
    """``lam/2 |w|^2 + mean_i max_y L (1 - <w, psi>)`` in plain loops."""
    total = 0.0
    for x, y_true in case.examples():
        truth = w @ case.phi(x, y_true)
        values = [case.delta(y_true, y) * (1.0 - truth + w @ case.phi(x, y)) for y in case.outputs(x, y_true)]
        total += max(0.0, *values)
    return 0.5 * case.lam * w @ w + total / len(case.y)


def by_margin(model):
    """The same model with margin rescaling."""
    return Multiclass(model.n_labels, model.cost) if isinstance(model, Multiclass) else Pairs(model.K, model.cost)


@pytest.mark.parametrize("name", SLACK)
def test_the_optimum_is_the_enumerated_one(name):
    case = CASES[name]
    result = case.train(tol=1e-6)
    best = case.enumerated().optimum
    assert result.certified
    assert result.primal == pytest.approx(naive_primal(case, result.w), abs=1e-12)
    assert best.dual - 1e-9 <= result.primal <= best.primal + result.gap + 1e-9
    other = bcfw.train(by_margin(case.model), case.X, case.y, lam=case.lam, tol=1e-6)
    assert abs(other.primal - result.primal) > 1e-2
    assert naive_primal(case, other.w) > result.primal


@pytest.mark.parametrize("name", SLACK)
def test_predictions_are_the_best_scores(name):
    case = CASES[name]
    model = case.model.bind(case.X, case.y)
    w = np.random.default_rng(0).standard_normal(case.dim)
    for x, y in zip(case.X, model.predict(w, case.X), strict=True):
        outputs = case.outputs(x, None)
        assert w @ case.phi(x, y) == pytest.approx(max(w @ case.phi(x, one) for one in outputs), abs=1e-12)
    assert bcfw.check_model(case.model, case.X, case.y) == []


def test_the_zero_one_loss_knows_no_difference():
    case = CASES["multiclass-csr"]
    models = [Multiclass(3, rescale=rescale) for rescale in ("margin", "slack")]
    results = [dataclasses.replace(case, model=model).few_passes(5, solver="bcfw") for model in models]
    np.testing.assert_allclose(results[0].w, results[1].w, rtol=0, atol=1e-12)


def test_a_label_that_costs_nothing_is_free():
    """Margin rescaling wants it not to be ahead of the truth; slack rescaling does not look at it."""
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), [0, 1, 2]
    cost = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    result = bcfw.train(Multiclass(3, cost, rescale="slack"), X, y, lam=0.01, tol=1e-6)
    W = result.w.reshape(2, 3)
    hinges = [max(0.0, *(cost[t] * (1.0 - x @ W[:, t] + x @ W))) for x, t in zip(X, y, strict=True)]
    assert result.primal == pytest.approx(0.005 * np.sum(W**2) + np.mean(hinges), abs=1e-12)


def test_probabilities_after_slack_rescaling():
    case = CASES["multiclass-cost-slack"]
    result = case.train()
    scores = case.X @ result.w.reshape(-1, 4)
    found = result.model.probabilities(result.w, case.X, temperature=0.5)
    np.testing.assert_allclose(found.labels, softmax(scores / 0.5, axis=1), atol=1e-12)
    with pytest.raises(OptionError, match="BlockSolves needs"):
        case.train(solver="block-solves")
    with pytest.raises(OptionError, match="ExponentiatedGradient needs"):
        case.train(solver="exponentiated-gradient")


@pytest.mark.parametrize("name", ["multiclass-cost-slack", "dense-slack"])
def test_states_of_the_other_rescaling_are_refused(name):
    case, rescaled = CASES[name], CASES[name].train()
    other = bcfw.train(by_margin(case.model), case.X, case.y, lam=case.lam)
    message = "belongs to another problem: model is (Multiclass|Pairs|SlackPairs)"
    with pytest.raises(InputError, match=message):
        case.train(warm_start=other)
    with pytest.raises(InputError, match=message):
        bcfw.train(by_margin(case.model), case.X, case.y, lam=case.lam, warm_start=rescaled)
    if isinstance(case.model, Multiclass):
        costs = Multiclass(case.model.n_labels, 2.0 * case.model.cost, rescale="slack")
        with pytest.raises(InputError, match="Multiclass with slack rescaling can only continue on the same"):
            bcfw.train(costs, case.X, case.y, lam=case.lam, warm_start=rescaled)
    assert case.train(warm_start=rescaled).n_passes <= 1


def test_structural_svm_and_paths():
    case = CASES["multiclass-cost-slack"]
    svm = bcfw.StructuralSVM(case.model, lam=case.lam).fit(case.X, case.y)
    assert svm.duality_gap_ <= 2e-3
    path = bcfw.regularization_path(case.model, case.X, case.y, eps=0.05, lam_min=0.01)
    for lam in (1.0, 0.1, 0.02):
        objective = case.enumerated(lam=lam)
        assert objective.primal(path.weights(lam)) <= objective.optimum.primal + 0.05 + 1e-9


def test_an_oracle_for_the_margin_is_found_out():
    class Wrong(Pairs):
        slack_rescaling = True

    case = CASES["dense-slack"]
    with pytest.raises(ModelError, match=r"oracle\(w, x, y_true\) is not maximal"):
        bcfw.check_model(Wrong(case.model.K, case.model.cost), case.X, case.y)


def test_where_slacks_cannot_be_rescaled():
    for base in (Chain, Bits, bcfw.models.Multilabel, bcfw.models.Tree, Multiclass):
        with pytest.raises(
            ModelError, match=r"Own: slack_rescaling is for models with an oracle in Python .* no parts"
        ):
            type("Own", (base,), {"slack_rescaling": True})
    with pytest.raises(OptionError, match="Own: slack_rescaling must be True or False, got 'yes'"):
        type("Own", (bcfw.Model,), {"slack_rescaling": "yes"})
    with pytest.raises(OptionError, match="Multiclass: rescale must be 'margin' or 'slack', got 'both'"):
        Multiclass(rescale="both")
    case = CASES["dense-features"]
    late = copy.copy(case.model)
    late.slack_rescaling = True
    with pytest.raises(ModelError, match="Pairs: slack_rescaling is True here but not in the body of the class"):
        bcfw.train(late, case.X, case.y, lam=0.1)
    heuristic = type("Own", (Multiclass,), {"exact_oracle": False})
    with pytest.raises(OptionError, match="rescale='slack' needs exact_oracle"):
        heuristic(rescale="slack")


def test_upper_bounds_are_those_of_the_rescaled_value():
    class Bounded(SlackPairs):
        exact_oracle = False

        def upper_bound(self, w, x, y_true):
            y, truth = self.oracle(w, x, y_true), w @ self.features(x, y_true)
            return self.loss(y_true, y) * (1.0 + w @ self.features(x, y) - truth)

    case = CASES["dense-slack"]
    model = Bounded(case.model.K, case.model.cost)
    assert bcfw.check_model(model, case.X, case.y) == []
    result = bcfw.train(model, case.X, case.y, lam=case.lam, tol=1e-3)
    assert result.certified
    best = case.enumerated().optimum
    assert result.primal - result.gap <= best.primal + 1e-9
