"""Multilabel models: the oracle on drawn forests, Chow and Liu's tree, the layout of w, warm starts and bad input."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import bcfw
from bcfw.errors import InputError
from bcfw.models import Multilabel
from bcfw.models.shared.label_tree import chow_liu_tree, mutual_information, orient
from oracle_checks import WHOLE, arrays, check_oracle
from problems import multilabel_case

X3 = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
Y3 = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]])


@st.composite
def forests(draw, L):
    """Every node but the first may hang on an earlier one; names, directions and order of the pairs are drawn too."""
    names = draw(st.permutations(range(L)))
    pairs = []
    for node in range(1, L):
        below = draw(st.integers(-1, node - 1))
        if below >= 0:
            pair = (names[node], names[below])
            pairs.append(pair if draw(st.booleans()) else pair[::-1])
    return draw(st.permutations(pairs))


@st.composite
def multilabel_cases(draw):
    L, F = draw(st.integers(1, 7)), draw(st.integers(1, 4))
    X = draw(arrays((1, F)))
    y = np.array([draw(st.lists(st.integers(0, 1), min_size=L, max_size=L))])
    tree = draw(st.none() | forests(L))
    X = sp.csr_array(X) if draw(st.booleans()) else X
    case = multilabel_case("drawn", X, y, F, L, tree, draw(st.booleans()))
    elements = draw(st.sampled_from([WHOLE, st.floats(-3.0, 3.0)]))
    return case, draw(arrays(case.phi(X[0], y[0]).size, elements))


@settings(max_examples=400)
@given(multilabel_cases())
def test_oracle_on_drawn_forests(drawn):
    check_oracle(*drawn)


# --- Chow and Liu's tree


def naive_information(a, b):
    total = 0.0
    for s, t in itertools.product((0, 1), repeat=2):
        joint = np.mean((a == s) & (b == t))
        if joint > 0:
            total += joint * np.log(joint / (np.mean(a == s) * np.mean(b == t)))
    return total


def spanning_trees(L):
    """All spanning trees of the complete graph, from their Pruefer sequences."""
    for code in itertools.product(range(L), repeat=L - 2):
        degree = np.bincount(code, minlength=L) + 1
        edges = []
        for node in code:
            leaf = int(np.flatnonzero(degree == 1)[0])
            edges.append((leaf, node))
            degree[leaf] -= 1
            degree[node] -= 1
        yield [*edges, tuple(np.flatnonzero(degree == 1).tolist())]


@pytest.mark.parametrize("L", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(5))
def test_chow_liu_tree_has_the_largest_information_of_all_spanning_trees(L, seed):
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((30, 2)) @ rng.standard_normal((2, L))
    Y = (common + 0.5 * rng.standard_normal((30, L)) > 0).astype(int)
    table = np.array([[naive_information(Y[:, a], Y[:, b]) for b in range(L)] for a in range(L)])
    np.testing.assert_allclose(mutual_information(Y), table, rtol=0, atol=1e-14)
    trees = list(spanning_trees(L))
    assert len(trees) == L ** (L - 2)
    most = max(sum(table[a, b] for a, b in edges) for edges in trees)
    found = chow_liu_tree(Y)
    assert len(found) == L - 1
    assert sum(table[a, b] for a, b in found) == pytest.approx(most, abs=1e-12)
    np.testing.assert_array_equal(Multilabel(tree="auto").bind(np.ones((30, 1)), Y).tree, found)


def test_weights_of_chow_liu_count_repetitions():
    rng = np.random.default_rng(0)
    Y, weight = rng.integers(2, size=(12, 4)), rng.integers(4, size=12)
    np.testing.assert_allclose(
        mutual_information(Y, weight), mutual_information(np.repeat(Y, weight, axis=0)), rtol=0, atol=1e-14
    )


def test_constant_and_independent_labels_stay_alone():
    Y = np.array([[0, 0, 1, 0], [0, 1, 1, 0], [1, 0, 1, 1], [1, 1, 1, 1]])
    np.testing.assert_array_equal(chow_liu_tree(Y), [[0, 3]])
    assert chow_liu_tree(Y[:, :1]).shape == (0, 2)


def test_orientation_visits_every_label_after_the_one_above_it():
    edges = np.array([(4, 0), (2, 4), (3, 1)])
    forest = orient(edges, 6)
    assert sorted(forest.order) == list(range(6))
    place = np.argsort(forest.order)
    for label in range(6):
        if forest.above[label] < 0:
            assert forest.link[label] == -1
        else:
            assert place[forest.above[label]] < place[label]
            pair = (forest.above[label], label) if forest.stride[label] == 1 else (label, forest.above[label])
            assert pair == tuple(edges[forest.link[label]])
    assert np.count_nonzero(forest.above < 0) == 3


# --- w, states, forms of y


def test_layout_of_w():
    """Each group of weights alone decides the labels it is documented to decide."""
    x = np.array([1.0, 0.0])
    model = Multilabel(tree=[(2, 0), (0, 1)]).bind(X3, Y3)
    assert model.dim == 2 * 3 + 2 * 4
    w = np.zeros(model.dim)
    w[:6].reshape(2, 3)[0, 1] = 1.0
    w[:6].reshape(2, 3)[1, 2] = 1.0
    np.testing.assert_array_equal(model.oracle(w, x), [0, 1, 0])
    w[:] = 0.0
    V = w[6:].reshape(2, 2, 2)
    V[0, 1, 0] = 1.0  # label 2 on, label 0 off
    V[1, 0, 1] = 1.0  # label 0 off, label 1 on
    np.testing.assert_array_equal(model.oracle(w, x), [0, 1, 1])


def test_trees_learn_what_independent_labels_cannot():
    """Labels 1 and 2 equal label 0, but their own features say nothing: only the edges can tell."""
    rng = np.random.default_rng(0)
    on = rng.integers(2, size=200)
    X, Y = np.column_stack([2.0 * on - 1.0, rng.standard_normal(200)]), np.repeat(on[:, None], 3, axis=1)
    model = Multilabel(tree="auto")
    result = bcfw.train(model, X, Y, lam=0.1)
    masked = result.w.copy()
    masked[:6].reshape(2, 3)[:, 1:] = 0.0
    np.testing.assert_array_equal(result.model.predict(masked, X), Y)
    assert isinstance(model.tree, str)
    assert result.model.tree.shape == (2, 2)


def test_states_of_another_tree_are_refused():
    """Joint states of other pairs would be no average of labelings, and the gap no certificate."""
    chain = bcfw.train(Multilabel(tree=[(0, 1), (1, 2)]), X3, Y3, lam=0.1, tol=0.5)
    again = bcfw.train(chain.model, 2.0 * X3, Y3, lam=0.1, tol=0.5, warm_start=chain)
    assert again.status == "converged"
    with pytest.raises(bcfw.InputError, match="another tree"):
        bcfw.train(Multilabel(tree=[(0, 1), (0, 2)]), X3, Y3, lam=0.1, warm_start=chain)
    with pytest.raises(bcfw.InputError, match="dim is 14 there and 6 here"):
        bcfw.train(Multilabel(), X3, Y3, lam=0.1, warm_start=chain)


Y_FORMS = {
    "bool": lambda Y: Y.astype(bool),
    "float": lambda Y: Y.astype(float),
    "lists": lambda Y: Y.tolist(),
    "sparse rows": lambda Y: [sp.csr_matrix(row) for row in Y],
}


@pytest.mark.parametrize("form", Y_FORMS.values(), ids=Y_FORMS.keys())
def test_labels_of_any_form_are_packed_the_same(form):
    expected = Multilabel(tree="auto").bind(X3, Y3)
    got = Multilabel(tree="auto").bind(X3, form(Y3))
    for a, b in zip(got.pack(X3, form(Y3)), expected.pack(X3, Y3), strict=True):
        np.testing.assert_array_equal(a, b)


# --- bad input

BAD_DATA = {
    "nan": (np.array([[1.0, 0.0], [np.nan, 1.0], [1.0, 1.0]]), Y3, "example 1 has a NaN or an infinity in feature 0"),
    "inf in csr": (sp.csr_array([[1.0, 0.0], [0.0, 1.0], [1.0, np.inf]]), Y3, "example 2 has a NaN"),
    "ragged X": ([[0, 1], [1], [1, 0]], Y3, "example 1 has 1 features"),
    "one dimension": (X3[:, 0], Y3, "two-dimensional"),
    "lengths": (X3, Y3[:2], "X has 3 examples and y has 2"),
    "empty": (X3[:0], [], "empty"),
    "two": (X3, [[0, 1], [0, 1], [0, 2]], "example 2 has 2 at label 1; labels must be 0 or 1"),
    "minus one": (X3, [[0, 1], [-1, 1], [0, 1]], "example 1 has -1 at label 0"),
    "half": (X3, [[0, 1], [1, 0.5], [0, 1]], "example 1 has 0.5 at label 1"),
    "nan label": (X3, [[0, np.nan], [1, 0], [0, 1]], "example 0 has nan at label 1"),
    "sparse": (X3, sp.csr_array(Y3), "y is a sparse matrix; give y.toarray"),
    "two in sparse rows": (X3, [sp.csr_array([row]) for row in ([0, 1], [0, 1], [0, 2])], "example 2 has 2 at label 1"),
    "text": (X3, [["a", "b"]] * 3, "labels must be 0 or 1, got"),
    "ragged y": (X3, [[0, 1], [0, 1, 1], [0, 1]], "example 1 has 3 labels, example 0 has 2"),
    "no rows": (X3, [0, 1, 0], "example 0 must have a row of L labels, got 0"),
    "vector": (X3, np.array([0, 1, 0]), r"y must be an \(n, L\) array of 0 and 1"),
    "missing": (X3, [[0, 1], None, [0, 1]], "example 1 must have a row of L labels, got None"),
    "no labels": (X3, np.zeros((3, 0)), r"y must be an \(n, L\) array"),
}


@pytest.mark.parametrize(("X", "y", "message"), BAD_DATA.values(), ids=BAD_DATA.keys())
def test_bad_data(X, y, message):
    with pytest.raises(bcfw.InputError, match=message):
        bcfw.train(Multilabel(), X, y)


BAD_TREES = {
    "word": ("chain", "tree must be None, 'auto' or"),
    "number": (3, "tree must be None, 'auto' or"),
    "triples": ([(0, 1, 2)], r"got int64 of shape \(1, 3\)"),
    "fractions": ([(0.0, 1.5)], "got float64"),
    "ragged": ([(0, 1), (2,)], "tree must be None, 'auto' or"),
    "too large": ([(0, 1), (1, 3)], r"edge 1 of tree is \(1, 3\); it must join two different labels of 0 .. 2"),
    "negative": ([(-1, 0)], r"edge 0 of tree is \(-1, 0\)"),
    "loop": ([(0, 1), (2, 2)], r"edge 1 of tree is \(2, 2\)"),
    "twice": ([(0, 1), (1, 0)], r"edge 1 of tree, \(1, 0\), closes a cycle"),
    "cycle": ([(0, 1), (1, 2), (2, 0)], r"edge 2 of tree, \(2, 0\), closes a cycle"),
}


@pytest.mark.parametrize(("tree", "message"), BAD_TREES.values(), ids=BAD_TREES.keys())
def test_bad_trees(tree, message):
    with pytest.raises(bcfw.OptionError, match=message):
        bcfw.train(Multilabel(tree=tree), X3, Y3)


def test_bad_calls_of_a_model():
    unbound, model = Multilabel(), Multilabel().bind(X3, Y3)
    for call in (
        lambda: unbound.features(X3[0], Y3[0]),
        lambda: unbound.loss(Y3[0], Y3[1]),
        lambda: unbound.predict(np.zeros(6), X3),
        lambda: unbound.oracle(np.zeros(6), X3[0]),
    ):
        with pytest.raises(bcfw.OptionError, match="bind"):
            call()
    with pytest.raises(bcfw.InputError, match="y has 2 labels per example, expected 3"):
        model.loss(Y3[0, :2], Y3[1, :2])
    with pytest.raises(bcfw.InputError, match="3 features, expected 2"):
        model.predict(np.zeros(6), np.ones((1, 3)))
    with pytest.raises(bcfw.InputError, match="x has 3 features, expected 2"):
        model.features(np.ones(3), Y3[0])


def test_lists_of_sparse_rows():
    rows, Y = [sp.csr_array(np.eye(3)[[k]]) for k in range(3)], np.eye(3, dtype=int)
    sparse, dense = (bcfw.train(Multilabel(), X, Y, lam=0.1) for X in (rows, np.eye(3)))
    np.testing.assert_array_equal(sparse.w, dense.w)
    with pytest.raises(InputError, match="Multilabel: example 2 has 5 features, the one before it 3"):
        bcfw.train(Multilabel(), [*rows[:2], sp.csr_array(np.ones((1, 5)))], Y, lam=0.1)


def test_integer_weights_are_repetition_also_for_the_tree():
    rng = np.random.default_rng(0)
    Y = np.column_stack([rng.integers(2, size=(40, 2)), np.repeat([0, 1], 20)])
    Y[:20, 0] = Y[:20, 1]
    X, weight = rng.standard_normal((40, 2)), np.repeat([0, 1], 20)
    weighted = bcfw.train(Multilabel(tree="auto"), X, Y, lam=1.0, sample_weight=weight)
    kept = bcfw.train(Multilabel(tree="auto"), X[20:], Y[20:], lam=1.0)
    np.testing.assert_array_equal(weighted.model.tree, kept.model.tree)
    assert not np.array_equal(kept.model.tree, bcfw.train(Multilabel(tree="auto"), X, Y, lam=1.0).model.tree)


def test_check_model_finds_no_mistake():
    rng = np.random.default_rng(1)
    assert bcfw.check_model(Multilabel(tree="auto"), rng.standard_normal((8, 3)), rng.integers(2, size=(8, 4))) == []
