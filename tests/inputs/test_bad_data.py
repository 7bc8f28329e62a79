"""Bad data: one error that names the example, the position or the number that is wrong."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import bcfw
from bcfw.models import Chain, Matching, Multiclass
from problems import Pairs
from small_data import CHAINS, LABELS, X2, Y2, replaced, with_value

BAD_MULTICLASS = {
    "nan": (with_value(X2, 3, 0, np.nan), Y2, "example 3"),
    "inf": (with_value(X2, 1, 1, np.inf), Y2, "example 1"),
    "nan in csr": (sp.csr_matrix(with_value(X2, 2, 0, np.nan)), Y2, "example 2"),
    "nan in csc": (sp.csc_array(with_value(X2, 2, 0, np.nan)), Y2, "example 2"),
    "ragged": ([[0, 1], [1, 0], [1], [2, 0]], Y2, "example 2"),
    "complex": (X2 + 1j, Y2, "complex"),
    "text": ([["a", "b"]] * 4, Y2, "real numbers"),
    "one dimension": (X2[:, 0], Y2, "two-dimensional"),
    "three dimensions": (X2[None], Y2, "two-dimensional"),
    "lengths": (X2, Y2[:3], "4.*3"),
    "empty": (X2[:0], [], "empty"),
    "negative label": (X2, [0, 1, -1, 0], "example 2"),
    "fractional label": (X2, [0, 1, 1, 0.5], "example 3"),
    "nan label": (X2, [0, np.nan, 1, 0], "example 1"),
    "text label": (X2, ["a", "b", "a", "b"], "whole numbers"),
    "missing label": (X2, [0, 1, None, 0], "labels"),
    "two labels": (X2, [[0, 1]] * 4, "one label per example"),
    "dates": (np.full((4, 2), np.datetime64("2020-01-01")), Y2, "X must hold real numbers, got dates"),
    "durations": (np.full((4, 2), np.timedelta64(1, "D")), Y2, "X must hold real numbers, got durations"),
    "numbers as text": (X2.astype(str), Y2, "X must hold real numbers, got text"),
    "missing number": (replaced(X2.tolist(), 2, [1.0, None]), Y2, r"X has None at \[2, 1\]; fill in"),
    "beyond floats": (replaced(X2.tolist(), 2, [1.0, 10**400]), Y2, "X must hold real numbers .*too large"),
    "too large to be squared": (with_value(X2, 2, 1, 1e300), Y2, r"example 2 has 1e\+300, which is too large"),
}


@pytest.mark.parametrize(("X", "y", "message"), BAD_MULTICLASS.values(), ids=BAD_MULTICLASS.keys())
def test_bad_multiclass_data(X, y, message):
    with pytest.raises(bcfw.InputError, match=message):
        bcfw.train(Multiclass(), X, y)


BAD_CHAINS = {
    "nan": (replaced(CHAINS, 2, with_value(CHAINS[2], 1, 0, np.nan)), LABELS, "example 2.*position 1"),
    "inf": (replaced(CHAINS, 0, with_value(CHAINS[0], 1, 0, -np.inf)), LABELS, "example 0.*position 1"),
    "nan in csr": (replaced(CHAINS, 1, sp.csr_matrix([[0.0, np.nan]])), LABELS, "example 1.*position 0"),
    "features": (replaced(CHAINS, 1, np.ones((1, 3))), LABELS, "example 1 has 3 features, expected 2"),
    "empty sequence": (replaced(CHAINS, 1, np.ones((0, 2))), replaced(LABELS, 1, []), "example 1"),
    "one dimension": (replaced(CHAINS, 2, np.ones(3)), LABELS, "example 2"),
    "first of one dimension": (replaced(CHAINS, 0, np.ones(2)), LABELS, "example 0"),
    "ragged": (replaced(CHAINS, 2, [[1, 2], [1], [1, 2]]), LABELS, "example 2"),
    "first ragged": (replaced(CHAINS, 0, [[1, 2], [1]]), LABELS, "example 0"),
    "complex": (replaced(CHAINS, 1, np.array([[1j, 0]])), LABELS, "example 1.*complex"),
    "text": (replaced(CHAINS, 1, [["a", "b"]]), LABELS, "example 1"),
    "lengths": (CHAINS, LABELS[:2], "3.*2"),
    "empty": ([], [], "empty"),
    "too few labels": (CHAINS, replaced(LABELS, 2, [0, 1]), "example 2 has 3 positions"),
    "scalar label": (CHAINS, replaced(LABELS, 1, 1), "example 1"),
    "negative label": (CHAINS, replaced(LABELS, 2, [0, -1, 0]), "example 2"),
    "fractional label": (CHAINS, replaced(LABELS, 2, [0, 0.5, 0]), "example 2"),
    "nan label": (CHAINS, replaced(LABELS, 0, [0, np.nan]), "example 0"),
    "text label": (CHAINS, replaced(LABELS, 2, ["a", "b", "a"]), "example 2"),
    "missing label": (CHAINS, replaced(LABELS, 1, None), "example 1"),
    "1-D sparse": (replaced(CHAINS, 1, sp.coo_array(np.ones(2))), LABELS, r"example 1 must be a \(T, F\) array"),
    "all of it 1-D sparse": (sp.coo_array(np.ones(3)), LABELS, r"example 0 must be a \(T, F\) array"),
    "dates": (replaced(CHAINS, 1, np.full((1, 2), np.datetime64("2020-01-01"))), LABELS, "example 1.*dates"),
    "complex in csr": (replaced(CHAINS, 1, sp.csr_array([[1j, 0]])), LABELS, "example 1.*complex"),
    "set": (set("abc"), LABELS, "a set has no first"),
}


@pytest.mark.parametrize(("X", "y", "message"), BAD_CHAINS.values(), ids=BAD_CHAINS.keys())
def test_bad_chain_data(X, y, message):
    with pytest.raises(bcfw.InputError, match=message):
        bcfw.train(Chain(), X, y)


def test_labels_beyond_n_labels():
    with pytest.raises(bcfw.InputError, match=r"example 2 has label 5.*0 \.\. 1"):
        bcfw.train(Multiclass(n_labels=2), X2, [0, 1, 5, 0])
    with pytest.raises(bcfw.InputError, match=r"example 2 has label 7.*0 \.\. 1"):
        bcfw.train(Chain(n_labels=2), CHAINS, replaced(LABELS, 2, [0, 7, 1]))


def test_bad_data_for_prediction():
    flat = bcfw.train(Multiclass(), X2, Y2, lam=1.0, tol=0.5)
    chain = bcfw.train(Chain(), CHAINS, LABELS, lam=1.0, tol=0.5)
    with pytest.raises(bcfw.InputError, match="3 features, expected 2"):
        flat.predict(np.ones((2, 3)))
    with pytest.raises(bcfw.InputError, match="example 1"):
        flat.predict(with_value(X2, 1, 0, np.nan))
    with pytest.raises(bcfw.InputError, match="example 1 has 3 features"):
        chain.predict([np.ones((2, 2)), np.ones((2, 3))])
    with pytest.raises(bcfw.InputError, match="shape"):
        flat.model.predict(flat.w[:-1], X2)


@pytest.mark.parametrize("strange", [None, 3.0, {0: 1}, {1, 2}, sp.coo_array(np.ones(2)), object()])
def test_inputs_of_predict_that_are_no_sequences(strange):
    links = np.ones((2, 2, 1))
    for model, X, y in ((Chain(), CHAINS, LABELS), (Matching(), [links], [np.eye(2)]), (Multiclass(), X2, Y2)):
        result = bcfw.train(model, X, y, lam=1.0, tol=0.5)
        with pytest.raises(bcfw.InputError, match=type(model).__name__):
            result.predict(strange)


@pytest.mark.parametrize(
    "cost", [1j * (1 - np.eye(2)), np.full((2, 2), np.datetime64("2020-01-01")), [[0, None], [1, 0]]]
)
def test_costs_that_are_no_numbers(cost):
    for model, X, y in ((Multiclass(cost=cost), X2, Y2), (Chain(cost=cost), CHAINS, LABELS)):
        with pytest.raises(bcfw.OptionError, match="cost"):
            bcfw.train(model, X, y)


def test_links_that_are_no_numbers():
    X, y = [np.ones((2, 2, 1))], [np.eye(2)]
    with pytest.raises(bcfw.InputError, match=r"link \(0, 0\) has 1e\+200, which is too large"):
        bcfw.train(Matching(), [1e200 * X[0]], y)
    for strange in (np.eye(2) + 0j, np.full((2, 2), np.timedelta64(1, "D"))):
        with pytest.raises(bcfw.InputError, match="example 0: y must hold 1"):
            bcfw.train(Matching(), X, [strange])


@pytest.mark.parametrize(
    "data",
    [(None, [0]), ((x for x in X2), Y2), (X2, 5), (np.float64(3.0), Y2)],
    ids=["none", "generator", "number", "scalar"],
)
def test_data_that_are_no_sequences(data):
    for model in (Chain(), Matching(), Pairs(2, np.ones((2, 2)))):
        with pytest.raises(bcfw.InputError, match="X and y must be sequences of examples"):
            bcfw.train(model, *data)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1], "4"),
        (np.ones((4, 1)), "4"),
        (2.0, "4"),
        ([1, -1, 1, 1], "example 1"),
        ([1, 1, np.nan, 1], "example 2"),
        ([1, 1, 1, np.inf], "example 3"),
        ([0, 0, 0, 0], "zero"),
        ([1e308] * 4, "too large"),
        (["a", "b", "c", "d"], "number"),
        (np.ones(4) + 1j, "complex"),
        (np.full(4, np.timedelta64(1, "D")), "durations"),
        ([1, None, 1, 1], "None at"),
    ],
)
def test_wrong_sample_weights(weight, message):
    with pytest.raises(bcfw.InputError, match=rf"sample_weight.*{message}"):
        bcfw.train(Multiclass(), X2, Y2, sample_weight=weight)
