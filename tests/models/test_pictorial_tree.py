"""Pictorial trees: the oracle on drawn problems, scales and losses, signs of squared weights, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bcfw
from bcfw.dual.snapshots import restore, take
from bcfw.errors import InputError, OptionError
from bcfw.models import PictorialTree, displacement_types
from oracle_checks import ROUNDING, check_oracle
from problems import CASES, VARIANTS, build_pictorial_tree, matches, pictorial_case

PLACES = st.one_of(st.integers(-2, 2).map(float), st.just(-np.inf))


@st.composite
def drawn_trees(draw, V):
    """A tree with its parts in any order and its edges in either direction."""
    names = draw(st.permutations(range(V)))
    pairs = [(names[draw(st.integers(0, q - 1))], names[q]) for q in range(1, V)]
    return [pair if draw(st.booleans()) else pair[::-1] for pair in pairs]


@st.composite
def drawn_cases(draw):
    """Small whole numbers, so that ties are frequent, weights of squares that are often zero, forbidden places."""
    T = draw(st.integers(1, 2))
    V = draw(st.integers(1, 3 if T > 1 else 4))
    H, W = draw(st.sampled_from([(1, 1), (1, 2), (2, 1)] if T * V > 3 else [(2, 2), (1, 4), (3, 1), (2, 1)]))
    edges = draw(drawn_trees(V))
    halves = st.integers(-3, 3).map(lambda number: number / 2.0)
    anchors = np.array(draw(st.lists(halves, min_size=2 * T * (V - 1), max_size=2 * T * (V - 1))))
    model = PictorialTree(edges, T, anchors.reshape(V - 1, T, 2), unit=draw(st.sampled_from([1.0, 0.5, 4.0])))
    shape = (V, T, H, W) if draw(st.booleans()) else (V, H, W)
    size = int(np.prod(shape))
    scores = np.array(draw(st.lists(PLACES, min_size=size, max_size=size))).reshape(shape)
    scores[..., 0, 0] = np.maximum(scores[..., 0, 0], 0.0)  # allowed for all parts and types
    y = np.zeros((V, 2 if T == 1 else 3), int)
    case = pictorial_case("drawn", model, [(scores, draw(st.sampled_from([0.5, 2.0, 9.0])))], [y])
    w = np.array(draw(st.lists(st.integers(-2, 2).map(float), min_size=case.dim, max_size=case.dim)))
    return case, case.clip(w)


@settings(max_examples=200)
@given(drawn_cases())
def test_oracle_is_the_best_of_all_outputs(drawn):
    check_oracle(*drawn)


@given(drawn_cases())
def test_features_losses_and_outputs_agree_with_naive_formulas(drawn):
    case, w = drawn
    (x, y_true), model = next(case.examples()), case.model.bind(case.X, case.y)
    outputs = case.outputs(x, y_true)
    for y in outputs[:50]:
        np.testing.assert_allclose(model.features(x, y), case.phi(x, y), rtol=0, atol=ROUNDING)
        assert model.loss(y_true, y) == pytest.approx(case.delta(y_true, y), abs=ROUNDING)
    for truth in (None, y_true):
        answer = model.oracle(w, x, truth)
        assert answer.dtype == np.int64
        assert any(np.array_equal(answer, y) for y in outputs)


@pytest.mark.parametrize("square", [0.0, 1e-310, 1e-9])
def test_zero_and_tiny_squares_leave_the_linear_terms(square):
    """Without squares a slope drives a part to the side of the grid; its score decides between the rows."""
    scores = np.zeros((2, 3, 6))
    scores[0, 1, 2], scores[1, 2, 1] = 5.0, 0.5
    model = PictorialTree([(0, 1)], anchors=[[[0.5, -1.0]]])
    w = np.array([1.0, 1.0, 0.0, square, 1.0, square])
    case = pictorial_case("slope", model, [(scores, 4.0)], [np.zeros((2, 2), int)])
    check_oracle(case, w)
    assert model.oracle(w, (scores, 4.0))[1, 1] == 5


def test_larger_grids_against_all_pairs():
    """A star: the parts at its ends are independent given the centre, so that all pairs can be looked at."""
    rng = np.random.default_rng(0)
    edges, shape = [(0, 1), (2, 0), (0, 3)], (11, 17)
    r, c = (one.ravel() for one in np.indices(shape))
    for _ in range(20):
        model = PictorialTree(edges, anchors=4.0 * rng.standard_normal((3, 1, 2)), unit=2.5)
        x = (rng.standard_normal((4, *shape)) * 3.0, 30.0)
        w = rng.standard_normal(model.dim)
        U, _, D = model.weight_parts(w)
        D[:, :, 1::2] = np.abs(D[:, :, 1::2]) * rng.choice([0.0, 0.01, 1.0], size=(3, 1, 2))
        total = U[0, 0] * x[0][0].ravel()
        for e, (p, q) in enumerate(edges):
            end = p + q
            pairs = U[end, 0] * x[0][end].ravel()[:, None] + np.zeros((r.size, r.size))
            for axis, places in enumerate((r, c)):
                d = (places[:, None] - places) * (1 if end == q else -1) - model.anchors[e, 0, axis]
                d = d / model.unit
                pairs += D[e, 0, 2 * axis] * d - D[e, 0, 2 * axis + 1] * d**2
            total += pairs.max(axis=0)
        found = model.oracle(w, x)
        assert w @ model.features(x, found) == pytest.approx(total.max(), rel=1e-12, abs=1e-9)


# --- scales and losses -------------------------------------------------------------------------------------------


def test_the_loss_is_cut_at_one_and_divided_by_the_scale():
    model = PictorialTree([(0, 1)])
    y_true = [[3, 3], [0, 0]]
    assert model.loss(y_true, [[3, 4], [0, 0]], scale=4.0) == 0.125
    assert model.loss(y_true, [[3, 5], [0, 0]], scale=4.0) == 0.5
    assert model.loss(y_true, [[30, 50], [1, 1]], scale=4.0) == 0.75
    assert model.loss(y_true, y_true) == 0.0
    with pytest.raises(InputError, match="the loss needs the scale of the example"):
        model.loss(y_true, [[3, 4], [0, 0]])
    with pytest.raises(InputError, match="scale must be a finite number > 0, got -1"):
        model.loss(y_true, y_true, scale=-1)
    typed = PictorialTree([(0, 1)], 2)
    assert typed.loss([[3, 3, 0], [0, 0, 1]], [[3, 3, 1], [0, 0, 0]]) == 0.0


def test_a_bound_model_knows_a_common_scale():
    one, two = build_pictorial_tree()
    y_true, y = one.y[0], np.zeros_like(one.y[0])
    assert one.model.bind(one.X, one.y).loss(y_true, y) == pytest.approx(one.delta(y_true, y))
    assert two.model.bind(two.X, two.y).scale is None


def test_scores_and_validation_use_the_scale_of_each_input():
    case = CASES["pictorial-two-types"]
    svm = bcfw.StructuralSVM(case.model, lam=0.1).fit(case.X, case.y)
    outputs = svm.predict(case.X)
    losses = [case.delta(truth, y) for truth, y in zip(case.y, outputs, strict=True)]
    assert svm.score(case.X, case.y) == pytest.approx(1.0 - np.mean(losses))
    path = bcfw.regularization_path(case.model, case.X, case.y, eps=0.3, lam_min=0.1)
    found = path.validate(case.X, case.y)
    outputs = path.predict(path.lambdas[-1], case.X)
    losses = [case.delta(truth, y) for truth, y in zip(case.y, outputs, strict=True)]
    assert found.losses[-1] == pytest.approx(np.mean(losses))


def test_check_model_finds_no_mistake():
    for case in build_pictorial_tree():
        assert bcfw.check_model(case.model, case.X, case.y) == []


# --- weights -----------------------------------------------------------------------------------------------------


def test_layout_of_the_weights_and_bounds_on_the_squares_alone():
    model = PictorialTree([(0, 1), (1, 2)], n_types=3)
    assert model.dim == 3 * 3 + 2 * 9 + 2 * 3 * 4
    lower, upper = model.bounds()
    U, C, D = model.weight_parts(lower)
    assert [one.shape for one in (U, C, D)] == [(3, 3), (2, 3, 3), (2, 3, 4)]
    assert np.isneginf(U).all()
    assert np.isneginf(C).all()
    assert np.isneginf(D[:, :, ::2]).all()
    np.testing.assert_array_equal(D[:, :, 1::2], 0.0)
    assert np.isposinf(upper).all()
    assert PictorialTree([(0, 1), (1, 2)]).dim == 3 + 2 * 4


@pytest.mark.parametrize("solver", VARIANTS.values(), ids=VARIANTS.keys())
@pytest.mark.parametrize("name", ["pictorial-one-type", "pictorial-two-types"])
def test_every_solver_keeps_the_sign_of_the_squares(name, solver):
    case = CASES[name]
    if not matches(solver, case):
        pytest.skip("the solver does not match the model")
    result = case.few_passes(15, solver=solver)
    weights = [result.w, case.clip(result.snapshot["w"])]  # the best ones, which may be 0, and the latest
    assert all((case.model.weight_parts(w)[2][:, :, 1::2] >= 0.0).all() for w in weights)
    assert any(w.any() for w in weights)


def test_negative_weights_of_squares_are_refused():
    model, x = PictorialTree([(0, 1)]), (np.zeros((2, 2, 2)), 1.0)
    with pytest.raises(InputError, match=r"edge 0 has the weight -0.5 of squared displacements along axis 1"):
        model.oracle(np.array([1.0, 1.0, -3.0, 0.0, -3.0, -0.5]), x)
    with pytest.raises(InputError, match=r"w has shape \(3,\), expected \(6,\)"):
        model.predict(np.zeros(3), [x])


def test_shared_scores_are_those_of_every_type():
    case = CASES["pictorial-two-types"]
    X = [(x[0] if x[0].ndim == 3 else x[0].mean(axis=1), x[1]) for x in case.X]
    repeated = [(np.repeat(scores[:, None], 2, axis=1), scale) for scores, scale in X]
    w = case.clip(np.random.default_rng(0).standard_normal(case.dim))
    for one, other in zip(case.model.predict(w, X), case.model.predict(w, repeated), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(case.model.features(X[0], case.y[0]), case.model.features(repeated[0], case.y[0]))


@pytest.mark.usefixtures("steady_stopwatch")
def test_float32_lists_and_whole_floats_are_accepted():
    case = CASES["pictorial-one-type"]
    X = [(scores.astype(np.float32).astype(float), scale) for scores, scale in case.X]
    expected = bcfw.train(case.model, X, case.y, lam=0.1, tol=0.1).w
    others = [(scores.astype(np.float32), np.float32(scale)) for scores, scale in X]
    listed = [[scores.tolist(), scale] for scores, scale in X]
    for forms in (others, listed):
        y = [one.astype(float).tolist() for one in case.y]
        np.testing.assert_array_equal(bcfw.train(case.model, forms, y, lam=0.1, tol=0.1).w, expected)


def test_a_single_part_is_a_tree():
    scores = np.arange(6.0).reshape(1, 2, 3)
    X, y = [(scores, 1.0), (scores[:, ::-1], 1.0)], [[[1, 2]], [[0, 2]]]
    result = bcfw.train(PictorialTree([]), X, y, lam=0.01)
    assert [found.tolist() for found in result.predict(X)] == y
    assert PictorialTree([], anchors=[]).dim == 1


def test_predicting_nothing_gives_nothing():
    assert PictorialTree([(0, 1)]).predict(np.zeros(6), []) == []


def test_saved_states_outside_their_own_grid_are_refused():
    """The state would be one of the largest grid, but not of its own."""
    case = CASES["pictorial-one-type"]
    problem = case.problem()
    problem.open_store(4, active=True)
    snapshot = take(problem)
    restore(case.problem(), snapshot)
    assert np.shape(case.X[-1][0]) == (3, 1, 1)
    snapshot["store_labels"][-1] = 1
    with pytest.raises(InputError, match="the saved state is damaged: store_labels"):
        restore(case.problem(), snapshot)


# --- bad input ---------------------------------------------------------------------------------------------------

GOOD_X, GOOD_Y = (np.zeros((2, 3, 4)), 1.0), np.array([[1, 0], [2, 3]])


def changed(place, value):
    scores = GOOD_X[0].copy()
    scores[place] = value
    return scores, 1.0


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.zeros((2, 3, 4)), GOOD_Y, r"example 1: x must be a pair \(scores, scale\), got ndarray"),
        ((np.zeros((3, 3, 4)), 1.0), GOOD_Y, r"example 1: scores must have shape \(2, H, W\), got \(3, 3, 4\)"),
        ((np.zeros((2, 2, 3, 4)), 1.0), GOOD_Y, r"example 1: scores must have shape \(2, H, W\), got \(2, 2, 3, 4\)"),
        ((np.zeros((2, 0, 4)), 1.0), GOOD_Y, r"example 1: scores must have shape \(2, H, W\), got \(2, 0, 4\)"),
        ((np.zeros((2, 12)), 1.0), GOOD_Y, r"example 1: scores must have shape"),
        (([["a"]], 1.0), GOOD_Y, "example 1: scores must hold real numbers"),
        (changed((1, 2, 0), np.nan), GOOD_Y, r"example 1: part 1 has the score nan at row 2, column 0"),
        (changed((0, 0, 3), np.inf), GOOD_Y, r"example 1: part 0 has the score inf at row 0, column 3"),
        (changed((1,), -np.inf), GOOD_Y, "example 1: all scores of part 1 are -inf"),
        (changed((0, 1, 0), -np.inf), GOOD_Y, "example 1: part 0 is at row 1, column 0, where its score is -inf"),
        ((GOOD_X[0], 0.0), GOOD_Y, "example 1: scale must be a finite number > 0, got 0.0"),
        ((GOOD_X[0], -2), GOOD_Y, "example 1: scale must be a finite number > 0, got -2"),
        ((GOOD_X[0], np.nan), GOOD_Y, "example 1: scale must be a finite number > 0, got nan"),
        ((GOOD_X[0], None), GOOD_Y, "example 1: scale must be a finite number > 0, got None"),
        (GOOD_X, GOOD_Y[:1], r"example 1: y must have shape \(2, 2\), row, column; got \(1, 2\)"),
        (GOOD_X, np.zeros((2, 3)), r"example 1: y must have shape \(2, 2\), row, column; got \(2, 3\)"),
        (GOOD_X, [[0, 0], [3, 0]], "example 1: part 1 is at row 3, column 0, outside the grid of 3 x 4"),
        (GOOD_X, [[0, 4], [0, 0]], "example 1: part 0 is at row 0, column 4, outside the grid of 3 x 4"),
        (GOOD_X, [[0, -1], [0, 0]], r"example 1: part 0 is at \[0, -1\]; y must hold whole numbers >= 0"),
        (GOOD_X, [[0, 0], [0.5, 0]], r"example 1: part 1 is at \[0.5, 0.0\]; y must hold whole numbers"),
        (GOOD_X, [[0, 0], [np.nan, 0]], r"example 1: part 1 is at \[nan, 0.0\]; y must hold whole numbers"),
        (GOOD_X, [["a", "b"], ["c", "d"]], "example 1: labels must be whole numbers"),
    ],
)
def test_bad_examples_are_named(x, y, message):
    with pytest.raises(InputError, match=message):
        bcfw.train(PictorialTree([(0, 1)]), [GOOD_X, x], [GOOD_Y, y])


def test_bad_types_are_named():
    model = PictorialTree([(0, 1)], n_types=2)
    with pytest.raises(InputError, match=r"example 0: y must have shape \(2, 3\), row, column, type; got \(2, 2\)"):
        bcfw.train(model, [GOOD_X], [GOOD_Y])
    with pytest.raises(InputError, match=r"example 0: part 1 has type 2; types are 0 .. 1"):
        bcfw.train(model, [GOOD_X], [[[0, 0, 1], [0, 0, 2]]])
    with pytest.raises(InputError, match=r"scores must have shape \(2, H, W\) or \(2, 2, H, W\), got \(2, 3, 3, 4\)"):
        bcfw.train(model, [(np.zeros((2, 3, 3, 4)), 1.0)], [[[0, 0, 1], [0, 0, 0]]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"edges": [(0, 1), (1, 0)]}, r"edge 1 of edges, \(1, 0\), closes a cycle"),
        ({"edges": [(0, 1), (2, 3)]}, r"edge 1 of edges is \(2, 3\); it must join two different parts of 0 .. 2"),
        ({"edges": [(0, 0)]}, r"edge 0 of edges is \(0, 0\); it must join two different parts"),
        ({"edges": [(0, -1)]}, r"edge 0 of edges is \(0, -1\)"),
        ({"edges": [(0, 1, 2)]}, r"edges must be an \(E, 2\) array of pairs of parts, got int64 of shape \(1, 3\)"),
        ({"edges": [(0.5, 1)]}, r"edges must be an \(E, 2\) array"),
        ({"edges": [(0, 1)], "n_types": 0}, "n_types must be a whole number >= 1, got 0"),
        ({"edges": [(0, 1)], "n_types": 1.5}, "n_types must be a whole number >= 1"),
        ({"edges": [(0, 1)], "anchors": [[1.0, 2.0]]}, r"anchors must have shape \(1, 1, 2\), got \(1, 2\)"),
        ({"edges": [(0, 1)], "n_types": 2, "anchors": np.zeros((1, 1, 2))}, r"anchors must have shape \(1, 2, 2\)"),
        ({"edges": [(0, 1)], "anchors": [[[np.nan, 0]]]}, "anchors must be finite"),
        ({"edges": [(0, 1)], "anchors": [[["a", 0]]]}, "anchors must hold real numbers"),
        ({"edges": [(0, 1)], "unit": 0.0}, "unit must be a finite number > 0, got 0.0"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(OptionError, match=message):
        PictorialTree(**options)


# --- types -------------------------------------------------------------------------------------------------------


def test_types_are_clusters_of_displacements():
    """Clusters far apart are found, anchors are their means, and a part may hang on two others."""
    rng = np.random.default_rng(0)
    edges, n = np.array([(0, 1), (2, 1), (2, 3)]), 60
    drawn = rng.integers(2, size=(n, 4))
    places = np.zeros((n, 4, 2))
    places[:, 2] = [10, 0]
    places[:, 1] = np.where(drawn[:, [1]], [20.0, 5.0], [-20.0, 5.0])
    places[:, 3] = np.where(drawn[:, [3]], [10.0, 30.0], [10.0, -30.0])
    places += rng.standard_normal(places.shape) + 100.0 * rng.standard_normal((n, 1, 2))
    anchors, types = displacement_types(places, edges, 2)
    assert anchors.shape == (3, 2, 2)
    assert not types[:, [0, 2]].any()
    for q in (1, 3):
        assert (types[:, q] == drawn[:, q]).all() or (types[:, q] == 1 - drawn[:, q]).all()
    for e, (p, q) in enumerate(edges):
        for t in (0, 1):
            moves = (places[:, q] - places[:, p])[types[:, q] == t]
            np.testing.assert_allclose(anchors[e, t], moves.mean(axis=0), atol=1e-9)
    again = displacement_types(places.tolist(), edges.tolist(), 2)
    np.testing.assert_array_equal(again.types, types)


@pytest.mark.parametrize(
    ("locations", "n_types", "error", "message"),
    [
        (np.zeros((5, 2)), 1, InputError, r"locations must have shape \(n, 2, 2\), got \(5, 2\)"),
        (np.zeros((5, 3, 2)), 1, InputError, r"locations must have shape \(n, 2, 2\), got \(5, 3, 2\)"),
        (np.full((1, 2, 2), np.nan), 1, InputError, "example 0: part 0 is at nan; locations must be finite"),
        (np.zeros((5, 2, 2)), 2, InputError, "part 1 has only 1 different displacements, too few for n_types = 2"),
        (np.zeros((5, 2, 2)), 0, OptionError, "n_types must be a whole number >= 1, got 0"),
    ],
)
def test_bad_locations_are_named(locations, n_types, error, message):
    with pytest.raises(error, match=message):
        displacement_types(locations, [(0, 1)], n_types)
