"""Tree: oracle, max-marginals and probabilities against enumeration, the same as PairwiseGraph, cycles, errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import bcfw
from bcfw.errors import InputError, OptionError
from bcfw.models import PairwiseGraph, Tree
from oracle_checks import ROUNDING, check_oracle
from problems import dense, doubled_edges, forest_edges, label_graph_cases

CASES = {case.name: case for case in label_graph_cases() if case.name.startswith("tree")}

STAR = np.array([[0, 1], [0, 2], [3, 0]])
GOOD = (np.ones((4, 2)), STAR, np.ones((3, 1)))


@st.composite
def trees(draw, most_nodes=5):
    """A bound model, x, a truth with or without unlabelled nodes, and weights, whole numbers (ties) or any."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    V, K = draw(st.integers(1, most_nodes)), draw(st.integers(1, 3))
    edges = draw(st.sampled_from([forest_edges, doubled_edges]))(rng, V)
    whole = draw(st.booleans())

    def numbers(*shape):
        return rng.integers(-2, 3, shape).astype(float) if whole else rng.standard_normal(shape)

    x = (numbers(V, 2), edges, draw(st.sampled_from([None, numbers(len(edges), 2)])))
    full = (numbers(2, 2), [[0, 1]], None if x[2] is None else numbers(1, 2))  # so that all labels and sizes occur
    cost = None if draw(st.booleans()) else rng.integers(0, 4, (K, K)) * (1.0 - np.eye(K))
    symmetric, normalize = draw(st.booleans()), draw(st.booleans())
    model = Tree(K, symmetric, cost, normalize=normalize).bind([full], [[0, K - 1]])
    y = rng.integers(K, size=V)
    y[rng.random(V) < draw(st.sampled_from([0.0, 0.4]))] = -1
    return model, x, y, numbers(model.dim)


def labelings_of(model, y):
    choices = [(-1,) if label < 0 else range(model.n_labels) for label in y]
    return [np.array(labels) for labels in itertools.product(*choices)]


@settings(max_examples=400)
@given(trees())
def test_the_oracle_finds_a_best_labeling(drawn):
    model, x, y, w = drawn
    values = [model.loss(y, one) + w @ model.features(x, one) for one in labelings_of(model, y)]
    answer = model.oracle(w, x, y)
    np.testing.assert_array_equal(answer < 0, y < 0)
    assert model.loss(y, answer) + w @ model.features(x, answer) == pytest.approx(max(values), abs=ROUNDING)
    plain = model.oracle(w, x)
    assert plain.min() >= 0
    best = max(w @ model.features(x, one) for one in labelings_of(model, np.zeros(len(y), int)))
    assert w @ model.features(x, plain) == pytest.approx(best, abs=ROUNDING)


@settings(max_examples=200)
@given(trees())
def test_max_marginals_are_the_best_with_one_label_fixed(drawn):
    model, x, y, w = drawn
    labelings = labelings_of(model, np.zeros(len(y), int))
    values = np.array([w @ model.features(x, one) for one in labelings])
    (table,) = model.max_marginals(w, [x])
    for p, a in np.ndindex(len(y), model.n_labels):
        fixed = [one[p] == a for one in labelings]
        assert table[p, a] == pytest.approx(values[fixed].max(), abs=ROUNDING)
    labels = model.oracle(w, x)
    np.testing.assert_allclose(table[np.arange(len(y)), labels], values.max(), rtol=0, atol=ROUNDING)


@settings(max_examples=300)
@given(trees(), st.booleans())
def test_probabilities_are_enumeration(drawn, with_loss):
    model, x, y, w = drawn
    y = y if with_loss else np.zeros(len(y), int)
    labelings = labelings_of(model, y)
    scores = np.array([w @ model.features(x, one) + (model.loss(y, one) if with_loss else 0.0) for one in labelings])
    (found,) = model.probabilities(w, [x], [y] if with_loss else None)
    P = np.exp(scores - scores.max())
    assert found.log_partition == pytest.approx(scores.max() + np.log(P.sum()), abs=ROUNDING)
    P /= P.sum()
    for p, a in np.ndindex(len(y), model.n_labels):
        assert found.nodes[p, a] == pytest.approx(P[[one[p] == a for one in labelings]].sum(), abs=ROUNDING)
    inner = [(p, q) for p, q in x[1] if min(y[p], y[q]) >= 0]
    assert found.edges.shape == (len(inner), model.n_labels, model.n_labels)
    for e, (p, q) in enumerate(inner):
        for a, b in np.ndindex(*found.edges.shape[1:]):
            ends = [(one[p], one[q]) for one in labelings]
            kinds = {(a, b), (b, a)} if model.symmetric else {(a, b)}
            assert found.edges[e, a, b] == pytest.approx(P[[pair in kinds for pair in ends]].sum(), abs=ROUNDING)


def test_expected_features_are_the_gradient_of_log_partition():
    """Probabilities of all parts times their features, against differences of log Z."""
    case = CASES["tree-forest-cost"]
    model = case.model.bind(case.X, case.y)
    w = np.random.default_rng(0).standard_normal(model.dim)
    for x, found in zip(case.X, model.probabilities(w, case.X), strict=True):
        U, W = dense(x[0]).T @ found.nodes, np.einsum("eg,eab->gab", dense(x[2]), found.edges)
        expected = np.concatenate([U.ravel(), W.ravel()])
        for j in range(model.dim):
            step = 1e-5 * np.eye(model.dim)[j]
            high, low = (model.probabilities(w + s * step, [x])[0].log_partition for s in (1.0, -1.0))
            assert (high - low) / 2e-5 == pytest.approx(expected[j], abs=1e-8)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_it_is_pairwise_graph_on_forests(case):
    """The same oracle, layout and optimum; exact by declaration instead of by bounds."""
    model = case.model
    options = {"cost": model.cost, "class_balance": model.class_balance, "normalize": model.normalize}
    other = PairwiseGraph(model.n_labels, model.symmetric, **options)
    tree, graph = (bcfw.train(one, case.X, case.y, lam=0.1) for one in (model, other))
    assert (tree.status, tree.certified, graph.certified) == ("converged", True, True)
    assert (tree.model.exact_oracle, graph.model.exact_oracle) == (True, False)
    optimum = case.enumerated().optimum.primal
    for result in (tree, graph):
        assert optimum - 1e-9 <= result.primal <= optimum + result.gap + 1e-9
    rng = np.random.default_rng(0)
    for _ in range(10):
        w = rng.standard_normal(tree.model.dim)
        np.testing.assert_array_equal(tree.model.edge_weights(w), graph.model.edge_weights(w))
        for x, y in case.examples():
            np.testing.assert_array_equal(tree.model.oracle(w, x, y), graph.model.oracle(w, x, y))
            np.testing.assert_array_equal(tree.model.features(x, y), graph.model.features(x, y))


def test_ties_and_oracles_of_all_cases():
    rng = np.random.default_rng(1)
    for name, case in CASES.items():
        for _ in range(5):
            if "unlabelled" not in name:
                check_oracle(case, rng.integers(-1, 2, size=case.dim).astype(float))


def test_paths_are_chains():
    """A path whose edges all have one constant feature scores as a chain without end biases."""
    rng = np.random.default_rng(2)
    T, K, F = 5, 3, 4
    X, y = [rng.standard_normal((T, F)) for _ in range(6)], [rng.integers(K, size=T) for _ in range(6)]
    path = np.column_stack([np.arange(T - 1), np.arange(1, T)])
    tree = Tree(K).bind([(x, path, None) for x in X], y)
    chain = bcfw.models.Chain(K, end_bias=False).bind(X, y)
    assert tree.dim == chain.dim
    for x, truth in zip(X, y, strict=True):
        w = rng.standard_normal(tree.dim)
        np.testing.assert_array_equal(tree.oracle(w, (x, path, None), truth), chain.oracle(w, x, truth))
        np.testing.assert_allclose(tree.features((x, path, None), truth), chain.features(x, truth), rtol=0, atol=1e-13)


def test_odd_trees():
    """Without edges, in several pieces, of one node, with one label, with an edge given twice, all unlabelled."""
    pieces = (np.array([[1.0], [-1.0], [2.0], [-2.0], [0.5]]), [[0, 1], [3, 2]], None)
    lone, edgeless = (np.ones((1, 1)), [], None), (np.ones((2, 1)), np.zeros((0, 2), int), np.zeros((0, 1)))
    twice = (np.array([[1.0], [-1.0]]), [[0, 1], [1, 0]], None)
    X, y = [pieces, lone, edgeless, twice], [[1, 0, 1, 0, 1], [1], [1, 1], [1, 0]]
    result = bcfw.train(Tree(), X, y, lam=0.01)
    assert result.certified
    assert [one.tolist() for one in result.predict(X)] == y
    alone = Tree().bind(X, [np.zeros_like(one) for one in y])
    assert alone.n_labels == 1
    w = np.ones(alone.dim)
    assert [one.tolist() for one in alone.predict(w, X)] == [[0] * 5, [0], [0, 0], [0, 0]]
    for x, found in zip(X, alone.probabilities(w, X), strict=True):
        assert found.log_partition == pytest.approx(w @ alone.features(x, np.zeros(len(x[0]), int)))
        assert np.all(found.nodes == 1.0)
        assert np.all(found.edges == 1.0)
    hidden = Tree(2).bind([GOOD], [[0, 1, 1, 0]]).probabilities(np.ones(8), [GOOD], [[-1] * 4])[0]
    assert hidden.log_partition == pytest.approx(0.0, abs=1e-15)
    assert not hidden.nodes.any()


def test_a_cycle_is_refused_and_named():
    ring = (np.ones((4, 2)), [[0, 1], [1, 2], [2, 0]], np.ones((3, 1)))
    message = r"Tree: example 1: edge 2 joins nodes \[2, 0\] and closes a cycle; .* use PairwiseGraph"
    with pytest.raises(InputError, match=message):
        bcfw.train(Tree(), [GOOD, ring], [[0, 1, 1, 0]] * 2, lam=1.0)
    with pytest.raises(InputError, match=message):  # also one that only unlabelled nodes close
        Tree(2).bind([GOOD, ring], [[0, 1, 1, 0], [-1, 1, 1, 0]])
    model = Tree().bind([GOOD], [[0, 1, 1, 0]])
    for method in (model.predict, model.max_marginals, model.probabilities):
        with pytest.raises(InputError, match="example 0: edge 2 joins"):
            method(np.zeros(model.dim), [ring])
    with pytest.raises(InputError, match="Tree: x: edge 2 joins"):
        model.features(ring, [0, 1, 1, 0])


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (GOOD[:2], [0, 1, 1, 0], r"example 1 must be a tuple \(node_features, edges, edge_features\)"),
        ((np.ones((0, 2)), [], []), [], "example 1 is a graph without nodes"),
        ((GOOD[0], [[0, 1], [2, 2]], None), [0, 1, 1, 0], "example 1: edge 1 joins node 2 with itself"),
        ((GOOD[0], [[0, 1], [1, 4]], None), [0, 1, 1, 0], r"edge 1 joins nodes \[1, 4\]; nodes are 0 .. 3"),
        ((*GOOD[:2], sp.csr_matrix(np.ones((2, 1)))), [0, 1, 1, 0], r"must have shape \(3, G\), got \(2, 1\)"),
        (GOOD, [0, 1, 1], "example 1 has 4 nodes and 3 labels"),
        (GOOD, [0, 1, 1, -2], "example 1: node 3 has label -2"),
    ],
)
def test_bad_examples_are_named(x, y, message):
    with pytest.raises(InputError, match=message):
        bcfw.train(Tree(), [GOOD, x], [[0, 1, 1, 0], y], lam=1.0)


def test_other_mistakes():
    with pytest.raises(OptionError, match="Tree: symmetric must be"):
        Tree(symmetric="yes")
    with pytest.raises(OptionError, match=r"cost must have shape \(2, 2\)"):
        Tree(cost=np.zeros((3, 3))).bind([GOOD], [[0, 1, 1, 0]])
    with pytest.raises(OptionError, match="call bind"):
        Tree(2).predict(np.zeros(8), [GOOD])
    with pytest.raises(InputError, match=r"w has shape \(4,\), expected \(8,\)"):
        Tree().bind([GOOD], [[0, 1, 1, 0]]).probabilities(np.zeros(4), [GOOD])
    assert bcfw.check_model(Tree(), [GOOD] * 3, [[0, 1, 1, 0]] * 3) == []
