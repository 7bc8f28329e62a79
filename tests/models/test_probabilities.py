"""Probabilities of outputs against sums over all of them, at any temperature, and the likelihood's slope."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from bcfw.errors import OptionError
from bcfw.models.shared.sum_product import LogLikelihood
from problems import CASES, interpreted

OFFERING = [name for name, case in CASES.items() if "marginals" in case.problem().adapter.offers]
TEMPERATURES = (1.0, 0.3, 50.0, 1e-5)


def outputs_of(model, x, y):
    """All outputs for one input, in the form that users see."""
    kind, K = type(model).__name__, model.n_labels
    if kind == "Multiclass":
        return list(range(K))
    if kind == "Multilabel":
        return [np.array(one) for one in itertools.product(range(2), repeat=K)]
    size = x[0].shape[0] if kind == "Tree" else x.shape[0]
    return [np.array(one) for one in itertools.product(range(K), repeat=size)]


def parts_of(found, i, kind):
    """Of example i: ``log Z`` and the probabilities of its labels, with one row for every place."""
    if kind == "Multiclass":
        return found.log_partition[i], found.labels[i][None, :]
    if kind == "Multilabel":
        return found.log_partition[i], np.stack([1.0 - found.labels[i], found.labels[i]], axis=1)
    return found[i].log_partition, found[i].nodes if kind == "Tree" else found[i].positions


def bound(name, compiled=True):
    case = CASES[name] if compiled else interpreted(CASES[name])
    return case, case.problem().adapter.model


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("name", OFFERING)
def test_probabilities_are_sums_over_all_outputs(name, temperature):
    case, model = bound(name)
    kind = type(model).__name__
    w = np.random.default_rng(0).standard_normal(model.dim)
    found = model.probabilities(w, case.X, temperature=temperature)
    for i in range(len(case.y)):
        outputs = outputs_of(model, case.X[i], case.y[i])
        scores = np.array([w @ model.features(case.X[i], y) for y in outputs]) / temperature
        P = np.exp(scores - logsumexp(scores))
        rounding = 1e-13 * (1.0 + np.max(np.abs(scores)))
        log_partition, labels = parts_of(found, i, kind)
        assert log_partition == pytest.approx(logsumexp(scores), abs=10 * rounding)
        np.testing.assert_allclose(labels.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        for place, label in np.ndindex(*labels.shape):
            has = np.array([np.atleast_1d(y)[place] == label for y in outputs])
            assert labels[place, label] == pytest.approx(P[has].sum(), abs=100 * rounding)


@pytest.mark.parametrize("name", [name for name in OFFERING if not name.startswith("tree")])
def test_pairs_are_sums_over_all_outputs(name):
    case, model = bound(name)
    kind = type(model).__name__
    w = np.random.default_rng(1).standard_normal(model.dim)
    found = model.probabilities(w, case.X, temperature=0.7)
    for i in range(len(case.y)):
        outputs = outputs_of(model, case.X[i], case.y[i])
        scores = np.array([w @ model.features(case.X[i], y) for y in outputs]) / 0.7
        P = np.exp(scores - logsumexp(scores))
        if kind == "Chain":
            counts = np.zeros((model.n_labels, model.n_labels))
            for p, y in zip(P, outputs, strict=True):
                np.add.at(counts, (y[:-1], y[1:]), p)
            np.testing.assert_allclose(found[i].transitions, counts, rtol=0, atol=1e-12)
        if kind == "Multilabel":
            for e, (a, b) in enumerate(model.tree):
                for s, t in itertools.product(range(2), repeat=2):
                    both = np.array([y[a] == s and y[b] == t for y in outputs])
                    assert found.edges[i, e, s, t] == pytest.approx(P[both].sum(), abs=1e-12)


@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
@pytest.mark.parametrize("name", OFFERING)
def test_log_likelihood_and_its_slope(name, compiled):
    """Against psi of all outputs: the truth has psi = 0, so ``log P(y_i) = -log sum_y exp(-b <w, psi(y)>)``."""
    case, model = bound(name, compiled)
    objective = case.enumerated()
    w = np.random.default_rng(2).standard_normal(model.dim)
    likelihood = LogLikelihood(model, w, model.pack(case.X, case.y))
    for sharpness in (0.0, 0.4, 3.0):
        values, slopes = likelihood.values(sharpness), likelihood.slopes(sharpness)
        for i in range(len(case.y)):
            behind = -objective.psi[i][:-1] @ w  # the truth comes once more at the end
            P = np.exp(sharpness * behind - logsumexp(sharpness * behind))
            assert values[i] == pytest.approx(-logsumexp(sharpness * behind), abs=1e-11)
            assert slopes[i] == pytest.approx(-P @ behind, abs=1e-11)
    found = model.log_likelihood(w, case.X, case.y, temperature=2.5)
    np.testing.assert_allclose(found, likelihood.values(0.4), rtol=1e-14)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), "warm", None])
def test_a_temperature_is_positive(temperature):
    case, model = bound(OFFERING[0])
    with pytest.raises(OptionError, match="temperature must be"):
        model.probabilities(np.zeros(model.dim), case.X, temperature=temperature)
