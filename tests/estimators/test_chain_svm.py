"""ChainSVM: weights by name, forms of labels, max-marginals as decisions, scores."""

from __future__ import annotations

import numpy as np
import pytest

from bcfw.errors import OptionError
from bcfw.estimators import ChainSVM
from bcfw.inputs.feature_matrices import with_constant


def test_chain_without_end_bias_with_intercept(sequences):
    X, y = sequences
    svm = ChainSVM(end_bias=False, fit_intercept=True, intercept_scaling=2.0, normalize=False, tol=0.02).fit(X, y)
    assert svm.coef_.shape == (3, 5)
    assert not svm.first_.any()
    assert not svm.last_.any()
    assert svm.intercept_.any()
    assert np.array_equal(svm.intercept_, 2.0 * svm.result_.w[15:18])
    assert np.array_equal(svm.transitions_.ravel(), svm.result_.w[18:])
    svm.set_params(fit_intercept=False)  # options count at the next fit only
    assert svm.score(X, y) > 0.9


def test_chain_labels_may_be_arrays_strings_or_of_a_type_per_sequence():
    X = [np.eye(2)[[0, 1]], np.eye(2)[[1, 1]]]
    assert [labels.tolist() for labels in ChainSVM().fit(X, ["ab", "bb"]).predict(X)] == [["a", "b"], ["b", "b"]]
    arrays = ChainSVM().fit(X, np.array([[3, 8], [8, 8]]))
    assert arrays.predict(X)[0].dtype.kind == "i"
    mixed = ChainSVM().fit(X, [np.array([1, 2]), ["x", "x"]])
    assert mixed.classes_.tolist() == [1, 2, "x"]
    assert mixed.score(X, [[1, "x"], ["x", "x"]]) == mixed.score(X, [np.array([1, "x"], object), ["x", "x"]])


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_chain_decision_function_agrees_with_predict_and_the_model(sequences, fit_intercept):
    X, y = sequences
    svm = ChainSVM(fit_intercept=fit_intercept).fit(X, y)
    model, w = svm.result_.model, svm.result_.w
    for x, labels, marginals in zip(X, svm.predict(X), svm.decision_function(X), strict=True):
        codes = marginals.argmax(axis=1)
        assert np.array_equal(svm.classes_[codes], labels)
        seen = with_constant(x, 1.0) if fit_intercept else x
        assert np.allclose(marginals.max(axis=1), w @ model.features(seen, codes))


def test_scores_per_label_per_sequence_and_weighted(sequences):
    X, y = sequences
    svm = ChainSVM(lam=1.0).fit(X, y)
    right = [np.asarray(a) == b for a, b in zip(y, svm.predict(X), strict=True)]
    weight = np.linspace(1.0, 3.0, len(y))
    total = sum(s * len(r) for s, r in zip(weight, right, strict=True))
    assert svm.score(X, y) == pytest.approx(np.concatenate(right).mean())
    assert svm.score(X, y, weight) == pytest.approx(
        sum(s * r.sum() for s, r in zip(weight, right, strict=True)) / total
    )
    svm.set_params(scoring="sequence")
    assert svm.score(X, y, weight) == pytest.approx(weight @ [r.all() for r in right] / weight.sum())
    with pytest.raises(OptionError, match="'label' or 'sequence'"):
        svm.set_params(scoring="word").score(X, y)
