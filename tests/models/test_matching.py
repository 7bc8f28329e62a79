"""Matchings: the oracle on drawn problems, the meaning of possible links, empty sides, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import bcfw
from bcfw.errors import InputError, OptionError
from bcfw.models import Matching
from bcfw.models.matching import best_links
from problems import CASES, build_matching, matching_case, matchings

# Sums of a few values of a few units.
ROUNDING = 1e-12


def whole_numbers(shape, low, high):
    size = int(np.prod(shape))
    return st.lists(st.integers(low, high), min_size=size, max_size=size).map(
        lambda values: np.array(values, dtype=np.int64).reshape(shape)
    )


@st.composite
def drawn_cases(draw):
    """Small whole numbers, so that ties and zero gains are frequent; sides may be empty."""
    I, J, F = draw(st.integers(0, 4)), draw(st.integers(0, 4)), draw(st.integers(1, 3))
    x = draw(whole_numbers((I, J, F), -2, 2)).astype(float)
    y = draw(whole_numbers((I, J), -1, 1))
    costs = st.sampled_from([0.0, 0.5, 1.0, 3.0])
    case = matching_case("drawn", [x], [y], draw(costs), draw(costs), draw(st.booleans()))
    return case, draw(whole_numbers((F,), -2, 2)).astype(float)


@settings(max_examples=300)
@given(drawn_cases())
def test_oracle_is_the_best_of_all_matchings(drawn):
    case, w = drawn
    x, y_true = case.X[0], case.y[0]
    model = case.model.bind(case.X, case.y)
    outputs = matchings(*y_true.shape)
    for truth in (y_true, None):

        def value(y, truth=truth):
            return w @ case.phi(x, y) + (0.0 if truth is None else case.delta(truth, y))

        answer = model.oracle(w, x, truth)
        assert any(np.array_equal(answer, y) for y in outputs)
        assert value(answer) == pytest.approx(max(map(value, outputs)), abs=ROUNDING)
    for y in [*outputs, y_true]:
        np.testing.assert_array_equal(model.features(x, y), case.phi(x, y))
        assert model.loss(y_true, y) == pytest.approx(case.delta(y_true, y), abs=ROUNDING)
    assert model.loss(y_true, y_true) == 0.0


@pytest.mark.parametrize("shape", [(2, 5), (5, 2), (4, 4), (1, 1), (3, 0)])
def test_best_links_with_real_gains(shape):
    rng = np.random.default_rng(0)
    for _ in range(50):
        gain = rng.standard_normal(shape)
        best = max(float((gain * y).sum()) for y in matchings(*shape))
        links = best_links(gain)
        assert gain.ravel()[links].sum() == pytest.approx(best, abs=ROUNDING)
        assert (gain.ravel()[links] > 0).all()


def test_cases_have_truths_that_are_no_matching_and_possible_links():
    truths = [y for case in build_matching() for y in case.y]
    no_matching = [y for y in truths if max((y == 1).sum(0).max(), (y == 1).sum(1).max()) > 1]
    assert 0 < len(no_matching) < len(truths)
    assert any((y == -1).any() for y in truths)


@pytest.mark.usefixtures("steady_stopwatch")
def test_packed_training_is_that_of_the_public_methods():
    """Training on packed pairs, and by the three public methods as a user's own model, find the same weights."""

    class Public(Matching):
        _open = bcfw.Model._open

    for case in build_matching():
        packed = case.few_passes(5)
        public = Public(case.model.cost_miss, case.model.cost_extra, case.model.normalize)
        with pytest.warns(bcfw.ConvergenceWarning):
            other = bcfw.train(public, case.X, case.y, lam=case.lam, tol=0.0, max_passes=5)
        np.testing.assert_allclose(packed.w, other.w, rtol=0, atol=1e-12)
        assert packed.dual == pytest.approx(other.dual, abs=1e-12)
        np.testing.assert_allclose(packed.history["gap"], other.history["gap"], rtol=0, atol=1e-12)


def test_possible_links_cost_nothing_and_are_absent_from_phi():
    x, y_true = np.arange(8.0).reshape(2, 2, 2), np.array([[1, -1], [-1, 0]])
    model = Matching(cost_miss=3.0, cost_extra=2.0).bind([x], [y_true])
    np.testing.assert_array_equal(model.features(x, y_true), x[0, 0])
    np.testing.assert_array_equal(model.features(x, [[0, 1], [1, 0]]), x[0, 1] + x[1, 0])
    assert model.loss(y_true, [[0, 1], [1, 0]]) == 3.0
    assert model.loss(y_true, [[1, 0], [0, 1]]) == 2.0
    assert model.loss(y_true, [[1, 0], [0, 0]]) == 0.0


def test_possible_links_are_neither_right_nor_wrong():
    y = [np.array([[0, 1, 0], [1, 0, 0]]), np.array([[1, -1]])]
    X = [np.stack([np.ones(one.shape), one == 1], axis=2) for one in y]
    svm = bcfw.StructuralSVM(Matching(), lam=0.01, scoring="exact").fit(X, y)
    assert svm.score(X, y) == 1.0
    assert svm.score(X, [y[0], np.array([[-1, 1]])]) == 0.5


@pytest.mark.usefixtures("steady_stopwatch")
def test_sparse_truths_and_iterators_are_accepted():
    y = [np.array([[0, 1, 0], [1, 0, 0]]), np.array([[1, -1]])]
    X = [np.stack([np.ones(one.shape), one == 1], axis=2) for one in y]
    plain, sparse = (bcfw.MatchingSVM().fit(X, truths) for truths in (y, [sp.csr_array(one) for one in y]))
    np.testing.assert_array_equal(plain.coef_, sparse.coef_)
    assert plain.score(iter(X), iter(y)) == 1.0


def test_normalized_loss_is_divided_by_the_number_of_sure_links():
    y_true = np.array([[1, 0, 0], [0, 1, -1]])
    assert Matching(normalize=True).loss(y_true, np.zeros((2, 3))) == 1.0
    assert Matching(normalize=True).loss(y_true, [[0, 1, 0], [0, 0, 0]]) == 1.5
    assert Matching(normalize=True).loss(np.zeros((1, 2)), [[0, 1]]) == 1.0


def test_check_model_finds_no_mistake_and_remarks_on_a_truth_that_is_no_matching():
    for case in build_matching():
        remarks = bcfw.check_model(case.model, case.X, case.y)
        assert all("the truth is not among the oracle's outputs" in remark for remark in remarks)
    (remark, *_) = bcfw.check_model(Matching(), [np.ones((2, 2, 1))], [np.ones((2, 2))])
    assert "the truth is not among the oracle's outputs" in remark


def test_pairs_with_an_empty_side_train_and_predict():
    case = CASES["matching-costs"]
    X, y = [np.zeros((0, 4, 3)), *case.X, np.zeros((2, 0, 3))], [np.zeros((0, 4)), *case.y, np.zeros((2, 0))]
    result = bcfw.train(case.model, X, y, lam=0.1)
    assert result.status == "converged"
    outputs = result.predict(X)
    assert [output.shape for output in outputs] == [one.shape for one in y]
    assert all(output.dtype == np.int64 for output in outputs)


def test_warm_start_needs_the_same_features_labels_and_costs():
    """The features of the truths alone would not tell these data apart."""
    case = CASES["matching-costs"]
    result = case.train(tol=0.1)
    assert case.train(tol=0.1, warm_start=result).n_passes == 0
    X = [np.where((y == 1)[..., None], x, 2 * x) for x, y in zip(case.X, case.y, strict=True)]
    y = [np.where(y == -1, 0, y) for y in case.y]
    others = [(case.model, X, case.y), (case.model, case.X, y), (Matching(9.0, 0.6), case.X, case.y)]
    for model, X, y in others:
        with pytest.raises(InputError, match="warm_start belongs to other data"):
            bcfw.train(model, X, y, lam=case.lam, warm_start=result)


@pytest.mark.usefixtures("steady_stopwatch")
def test_float32_lists_and_bools_are_accepted():
    x, y = np.array([[[1.0, 0.5], [1.0, -0.5]]]), np.array([[1, 0]])
    expected = bcfw.train(Matching(), [x], [y], lam=0.1).w
    for x_form, y_form in ((x.astype(np.float32), y == 1), (x.tolist(), y.tolist()), (x, y.astype(float))):
        np.testing.assert_array_equal(bcfw.train(Matching(), [x_form], [y_form], lam=0.1).w, expected)


# --- bad input ---------------------------------------------------------------------------------------------------

GOOD_X, GOOD_Y = np.ones((2, 3, 4)), np.array([[1, 0, 0], [0, 0, -1]])


def changed(array, place, value):
    copy = np.array(array, dtype=float)
    copy[place] = value
    return copy


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.ones((2, 3)), GOOD_Y, r"example 1: x must be an \(I, J, F\) array of link features, got shape \(2, 3\)"),
        (np.ones((2, 3, 0)), GOOD_Y, r"example 1: x must be an \(I, J, F\) array .* got shape \(2, 3, 0\)"),
        (np.ones((2, 3, 5)), GOOD_Y, "example 1 has 5 features, expected 4"),
        (changed(GOOD_X, (1, 2, 3), np.nan), GOOD_Y, r"example 1: link \(1, 2\) has a NaN .* in feature 3"),
        (changed(GOOD_X, (0, 1, 0), np.inf), GOOD_Y, r"example 1: link \(0, 1\) has a NaN or an infinity in feature 0"),
        ([[["a"]]], GOOD_Y, "example 1: X must hold real numbers"),
        (GOOD_X, GOOD_Y.T, r"example 1: y has shape \(3, 2\), expected \(2, 3\)"),
        (GOOD_X, [1, 0, 0], r"example 1: y has shape \(3,\), expected \(2, 3\)"),
        (GOOD_X, [[1, 0, 0], [0]], r"example 1: y must be an \(I, J\) array"),
        (GOOD_X, changed(GOOD_Y, (1, 0), 2), r"example 1: y\[1, 0\] is 2.0; use 1 \(link\), 0 \(none\) or -1"),
        (GOOD_X, changed(GOOD_Y, (0, 0), np.nan), r"example 1: y\[0, 0\] is nan"),
        (GOOD_X, np.full((2, 3), "link"), r"example 1: y\[0, 0\] is link"),
    ],
)
def test_bad_examples_are_named(x, y, message):
    with pytest.raises(InputError, match=message):
        bcfw.train(Matching(), [GOOD_X, x], [GOOD_Y, y])


def test_bad_input_of_single_calls_and_of_predict():
    model = Matching().bind([GOOD_X], [GOOD_Y])
    with pytest.raises(InputError, match="X has 2 examples and y has 1"):
        Matching().bind([GOOD_X, GOOD_X], [GOOD_Y])
    with pytest.raises(InputError, match="X is empty"):
        Matching().bind([], [])
    with pytest.raises(InputError, match=r"w has shape \(3,\), expected \(4,\)"):
        model.oracle(np.zeros(3), GOOD_X)
    with pytest.raises(InputError, match=r"y has shape \(2, 2\), expected \(2, 3\)"):
        model.features(GOOD_X, np.zeros((2, 2)))
    with pytest.raises(InputError, match=r"y_true: y has shape \(2,\), expected \(I, J\)"):
        model.loss([1, 0], [1, 0])
    with pytest.raises(InputError, match="example 1 has 5 features, expected 4"):
        model.predict(np.zeros(4), [GOOD_X, np.ones((1, 1, 5))])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cost_miss": -1.0}, "cost_miss must be a finite number >= 0, got -1.0"),
        ({"cost_extra": np.inf}, "cost_extra must be a finite number >= 0"),
        ({"cost_extra": "1"}, "cost_extra must be a finite number >= 0"),
        ({"normalize": 1}, "normalize must be True or False"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(OptionError, match=message):
        Matching(**options)
