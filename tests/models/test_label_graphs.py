"""PairwiseGraph and PottsGraph: oracles and bounds against enumeration, packing, unlabelled nodes, errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import bcfw
from bcfw.errors import InputError, OptionError
from bcfw.models import BinaryGraph, PairwiseGraph, PottsGraph
from bcfw.models.graphs.label_graph_routines import brackets_pass
from bcfw.solvers import BCFW, MultiPlane
from oracle_checks import ROUNDING, check_oracle
from problems import dense, label_graph_cases

CASES = {case.name: case for case in label_graph_cases()}
UNLABELLED = {name: case for name, case in CASES.items() if "unlabelled" in name}
RINGS = {name: case for name, case in CASES.items() if "ring" in name}

#: Values are sums of some tens of numbers of order one.
CLOSE = 1e-9

RING = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
GOOD = (np.ones((3, 2)), np.array([[0, 1], [1, 2]]), np.ones((2, 1)))


@st.composite
def graphs(draw, most_nodes=5, most_labels=3, signed=True, trees=False):
    """A graph with labels, as drawn by a seed: (number of labels, x, y, generator)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    V, K = draw(st.integers(1, most_nodes)), draw(st.integers(1, most_labels))
    n_edges = draw(st.integers(0, 8)) if V > 1 else 0
    if trees:
        order = rng.permutation(V)
        edges = [order[rng.permutation((int(rng.integers(q)), q))] for q in range(1, V) if rng.random() < 0.9]
    else:
        edges = [rng.choice(V, 2, replace=False) for _ in range(n_edges)]
    edges = np.array(edges, int).reshape(-1, 2)
    whole = draw(st.booleans())  # ties
    values = rng.integers(-2, 3, (len(edges), 2)).astype(float) if whole else rng.standard_normal((len(edges), 2))
    x = (rng.standard_normal((V, 2)), edges, values if signed else np.abs(values))
    return K, x, rng.integers(K, size=V), rng


def value(model, w, x, y_true, y):
    return model.loss(y_true, y) + w @ model.features(x, y)


def enumerated(model, w, x, y_true):
    """The best labeling and its value."""
    labelings = [np.array(y) for y in itertools.product(range(model.n_labels), repeat=len(y_true))]
    values = [value(model, w, x, y_true, y) for y in labelings]
    return labelings[int(np.argmax(values))], max(values)


def drawn_weights(rng, model, non_negative=False):
    w = rng.choice([0.3, 1.0, 3.0]) * rng.standard_normal(model.dim)
    n_unary = model.n_features * model.n_labels
    return np.concatenate([w[:n_unary], np.abs(w[n_unary:])]) if non_negative else w


# --- message passing ---------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(graphs(), st.booleans(), st.sampled_from([1, 20]))
def test_the_bound_is_never_below_the_maximum_nor_the_labeling_above(drawn, symmetric, iterations):
    K, x, y, rng = drawn
    model = PairwiseGraph(K, symmetric, iterations=iterations).bind([x], [y])
    w = drawn_weights(rng, model)
    _, best = enumerated(model, w, x, y)
    found, bound = model.brackets(w, [x], [y])[:, 0]
    labels = model.oracle(w, x, y)
    assert found == pytest.approx(value(model, w, x, y, labels), abs=CLOSE)
    assert found <= best + CLOSE * (1.0 + abs(best))
    assert bound >= best - CLOSE * (1.0 + abs(best))
    assert model.upper_bound(w, x, y) == bound
    if model.pack([x]).forest[0]:
        assert found == pytest.approx(best, abs=CLOSE)
        assert bound == pytest.approx(best, abs=CLOSE)


@settings(max_examples=200)
@given(graphs(most_nodes=6, trees=True), st.sampled_from([PairwiseGraph, PottsGraph]))
def test_forests_are_exact(drawn, kind):
    K, (nodes, edges, values), y, rng = drawn
    x = (nodes, edges, np.abs(values) if kind is PottsGraph else values)
    model = kind(K).bind([x], [y])
    assert model.pack([x]).forest[0]
    w = drawn_weights(rng, model, non_negative=kind is PottsGraph)
    _, best = enumerated(model, w, x, y)
    found, bound = model.brackets(w, [x], [y])[:, 0]
    assert found == pytest.approx(best, abs=CLOSE)
    assert bound == found  # and it says so


def test_labelings_are_mostly_optimal_on_small_grids():
    """Nine nodes in a grid, two labels, edges as strong as nodes: max-product finds what TRW-S leaves open."""
    rng = np.random.default_rng(0)
    cell = np.arange(9).reshape(3, 3)
    pairs = [(cell[:, :-1], cell[:, 1:]), (cell[:-1], cell[1:])]
    edges = np.vstack([np.column_stack([a.ravel(), b.ravel()]) for a, b in pairs])
    model = PairwiseGraph(2).bind([(np.ones((9, 2)), edges, np.ones((12, 3)))], [np.arange(9) % 2])
    optimal = []
    for _ in range(40):
        x, y = (rng.standard_normal((9, 2)), edges, rng.standard_normal((12, 3))), rng.integers(2, size=9)
        w = 2.0 * rng.standard_normal(model.dim)
        optimal.append(model.brackets(w, [x], [y])[0, 0] >= enumerated(model, w, x, y)[1] - CLOSE)
    assert np.mean(optimal) >= 0.9


def test_doubled_edges_are_one_link():
    """Two edges between the same nodes that disagree: as one link they are a tree."""
    x = (np.eye(2), [[0, 1], [1, 0]], np.array([[3.0, 0.0], [0.0, -3.0]]))
    model = PairwiseGraph(2).bind([x], [[0, 1]])
    rng = np.random.default_rng(0)
    for _ in range(20):
        w = rng.standard_normal(model.dim)
        _, best = enumerated(model, w, x, [0, 1])
        np.testing.assert_allclose(model.brackets(w, [x], [[0, 1]])[:, 0], best, rtol=0, atol=CLOSE)


# --- alpha-expansion ---------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(graphs(most_labels=4, most_nodes=4, signed=False))
def test_expansion_has_its_guarantee_and_its_bound_holds(drawn):
    """Never below its start, at most the best labeling's edges below the best; equal to it for two labels."""
    K, x, y, rng = drawn
    model = PottsGraph(K, bound_iterations=100).bind([x], [y])
    w = drawn_weights(rng, model, non_negative=True)
    best_labels, best = enumerated(model, w, x, y)
    found, bound = model.brackets(w, [x], [y])[:, 0]
    unary = x[0] @ w[: 2 * K].reshape(2, K) + model.cost[y] / len(y)
    assert found >= value(model, w, x, y, unary.argmax(axis=1)) - CLOSE
    cut = best_labels[x[1][:, 0]] != best_labels[x[1][:, 1]]
    assert found >= best - cut @ (x[2] @ w[2 * K :]) - CLOSE
    assert best - CLOSE * (1.0 + abs(best)) <= bound
    assert found <= best + CLOSE
    if K <= 2:
        assert found == pytest.approx(best, abs=CLOSE)
        assert bound == found


@settings(max_examples=200)
@given(graphs(most_labels=3, most_nodes=5, signed=False))
def test_no_best_labeling_has_a_label_that_is_ruled_out(drawn):
    """And what is found has none either; no expansion to possible labels, tried one by one, improves it."""
    K, x, y, rng = drawn
    model = PottsGraph(K).bind([x], [y])
    w = drawn_weights(rng, model, non_negative=True)
    data = model.pack([x], [y])
    if data.forest[0]:
        return
    work, out = model.make_work(data), np.zeros((2, 1))
    model.routines.compiled_pass(brackets_pass)(tuple(data), tuple(work), w, 1.0, out)
    found, bound = out[:, 0]
    possible, labels = work.possible > 0, work.y.copy()
    labelings = np.array(list(itertools.product(range(K), repeat=len(y))))
    values = np.array([value(model, w, x, y, one) for one in labelings])
    allowed = possible[np.arange(len(y)), labelings].all(axis=1)
    assert values[~allowed].max(initial=-np.inf) < values.max()
    assert possible[np.arange(len(y)), labels].all()
    np.testing.assert_array_equal(work.only, np.where(possible.sum(axis=1) == 1, possible.argmax(axis=1), -1))
    for alpha in range(K):
        reached = allowed & ((labelings == labels) | (labelings == alpha)).all(axis=1)
        assert found >= values[reached].max() - CLOSE
    if (work.only >= 0).all() or K <= 2:
        assert bound == found == pytest.approx(values.max(), abs=CLOSE)
    else:
        assert bound == np.inf


def test_strong_nodes_are_decided_without_cuts_and_certified():
    """A ring whose nodes know their labels: the value is proved, without iterations for bounds."""
    x = (4.0 * np.eye(4), RING, None)
    model = PottsGraph(3).bind([x], [[0, 1, 2, 2]])
    w = np.concatenate([np.eye(3)[[0, 1, 2, 2]].ravel(), [0.5]])
    found, bound = model.brackets(w, [x], [[0, 1, 2, 2]])[:, 0]
    assert found == bound == pytest.approx(16.0 - 3 * 0.5)
    weak = np.concatenate([np.eye(3)[[0, 1, 2, 2]].ravel(), [5.0]])
    assert model.upper_bound(weak, x, [0, 1, 2, 2]) == np.inf


@settings(max_examples=100)
@given(graphs(most_labels=2, most_nodes=8, signed=False))
def test_two_labels_are_the_exact_cut(drawn):
    _, x, y, rng = drawn
    potts, binary = PottsGraph(2).bind([x], [y]), BinaryGraph().bind([x], [y])
    w = drawn_weights(rng, potts, non_negative=True)
    w = np.resize(w, potts.dim)
    if potts.dim == binary.dim:
        assert value(potts, w, x, y, potts.oracle(w, x, y)) == pytest.approx(
            value(binary, w, x, y, binary.oracle(w, x, y)), abs=CLOSE
        )


def test_a_bound_is_only_given_where_it_is_wanted():
    x = (np.ones((4, 1)), RING, None)
    w = np.array([0.1, 0.2, 0.3, 1.0])
    without, wanted = (PottsGraph(3, bound_iterations=k).bind([x], [[0, 1, 2, 0]]) for k in (0, 100))
    assert without.upper_bound(w, x, [0, 1, 2, 0]) == np.inf
    assert wanted.upper_bound(w, x, [0, 1, 2, 0]) < np.inf
    results = [bcfw.train(one, [x] * 3, [[0, 1, 2, 0]] * 3, lam=0.1) for one in (without, wanted)]
    assert [(one.status, one.certified) for one in results] == [("estimated", False), ("converged", True)]
    assert results[0].history["gap_bound"][-1] == np.inf


# --- training ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", UNLABELLED.values(), ids=UNLABELLED.keys())
def test_unlabelled_nodes_are_absent(case):
    model = case.model.bind(case.X, case.y)
    rng = np.random.default_rng(0)
    for _ in range(10):
        w = case.clip(rng.standard_normal(model.dim))
        for x, y_true in case.examples():
            augmented = [w @ case.phi(x, y) + case.delta(y_true, y) for y in case.outputs(x, y_true)]
            answer = model.oracle(w, x, y_true)
            assert w @ case.phi(x, answer) + case.delta(y_true, answer) == pytest.approx(max(augmented), abs=ROUNDING)
            np.testing.assert_array_equal(answer < 0, y_true < 0)
            assert model.oracle(w, x).min() >= 0
    result = case.train(tol=1e-4)
    assert result.certified
    assert result.primal == pytest.approx(case.enumerated().primal(result.w), abs=1e-9)
    assert result.primal - case.enumerated().optimum.primal <= result.gap + 1e-9


@pytest.mark.parametrize("solver", [BCFW(), BCFW(step="pairwise"), MultiPlane(clock="count"), "auto"], ids=repr)
@pytest.mark.parametrize("case", RINGS.values(), ids=RINGS.keys())
def test_what_is_certified_on_rings_holds(case, solver):
    """Where the oracle is a heuristic: the dual and, if certified, the primal and the gap are what they claim."""
    objective = case.enumerated()
    for tol in (0.3, 0.05, 1e-3):
        result = case.few_passes(300, solver=solver, tol=tol)
        optimum, true = objective.optimum.primal, objective.primal(result.w)
        assert result.certified or result.status != "converged"
        assert not result.certified or result.status != "estimated"
        assert result.dual <= optimum + 1e-9
        found, proved = result.history["gap"][-1], result.history["gap_bound"][-1]
        assert result.dual + found <= true + 1e-9 <= result.dual + proved + 2e-9
        if result.status == "converged":
            assert result.gap == proved <= tol * result.history["primal"][0]
        if result.certified:
            assert true - optimum <= result.gap + 1e-9


def test_symmetric_weights_are_tied_ordered_ones():
    """The layout of both, and that edge directions do not matter."""
    x = (np.eye(3), [[0, 1], [2, 1]], [[1.0], [10.0]])
    ordered, tied = (PairwiseGraph(3, symmetric).bind([x], [[0, 1, 2]]) for symmetric in (False, True))
    assert (ordered.dim, tied.dim) == (9 + 9, 9 + 6)
    np.testing.assert_array_equal(ordered.features(x, [2, 0, 1])[9:], [0, 0, 0, 10, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(tied.features(x, [2, 0, 1])[9:], [0, 10, 1, 0, 0, 0])
    w = np.arange(15.0)
    W = tied.edge_weights(w)
    np.testing.assert_array_equal(W[0], [[9, 10, 11], [10, 12, 13], [11, 13, 14]])
    turned = (x[0], [[1, 0], [1, 2]], x[2])
    np.testing.assert_array_equal(tied.features(turned, [2, 0, 1]), tied.features(x, [2, 0, 1]))
    both = np.concatenate([w[:9], W.ravel()])
    assert both @ ordered.features(x, [2, 0, 1]) == w @ tied.features(x, [2, 0, 1])


def test_input_forms_pack_alike():
    case = CASES["pairwise-ring-csr"]
    model = case.model.bind(case.X, case.y)
    others = [(dense(nodes), edges.tolist(), dense(values)) for nodes, edges, values in case.X]
    for one, two in zip(model.pack(case.X, case.y), model.pack(others, [y.astype(float) for y in case.y]), strict=True):
        np.testing.assert_array_equal(one, two)
    plain = [(nodes, edges, None) for nodes, edges, _ in case.X]
    ones = [(nodes, edges, np.ones((len(edges), 1))) for nodes, edges, _ in case.X]
    packed = [PairwiseGraph().bind(X, case.y).pack(X, case.y) for X in (plain, ones)]
    for one, two in zip(*packed, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("kind", [PairwiseGraph, PottsGraph])
def test_odd_graphs(kind):
    """Without edges, in several pieces, with one label, of one node."""
    pieces = (np.array([[1.0], [-1.0], [2.0], [-2.0], [0.5]]), [[0, 1], [3, 2]], None)
    lone, edgeless = (np.ones((1, 1)), [], None), (np.ones((2, 1)), np.zeros((0, 2), int), np.zeros((0, 1)))
    X, y = [pieces, lone, edgeless], [[1, 0, 1, 0, 1], [1], [1, 1]]
    result = bcfw.train(kind(), X, y, lam=0.01)
    assert result.certified
    assert [one.tolist() for one in result.predict(X)] == y
    alone = kind().bind(X, [np.zeros_like(one) for one in y])
    assert alone.n_labels == 1
    w = np.ones(alone.dim)
    assert [one.tolist() for one in alone.predict(w, X)] == [[0] * 5, [0], [0, 0]]
    found, bound = alone.brackets(w, X)
    np.testing.assert_allclose(found, bound)


@pytest.mark.parametrize("name", ["pairwise-forest-cost", "potts-ring-csr"])
def test_changes_are_scores_with_one_label_changed(name):
    case = CASES[name]
    model = case.model.bind(case.X, case.y)
    w = case.clip(np.random.default_rng(0).standard_normal(model.dim))
    for x, labels, table in zip(case.X, model.predict(w, case.X), model.changes(w, case.X), strict=True):
        for p, a in np.ndindex(*table.shape):
            changed = labels.copy()
            changed[p] = a
            assert table[p, a] == pytest.approx(w @ case.phi(x, changed), abs=ROUNDING)


def test_ties_and_oracles_of_all_cases():
    rng = np.random.default_rng(1)
    for name, case in CASES.items():
        if name not in UNLABELLED and name not in RINGS:
            check_oracle(case, case.clip(rng.integers(-1, 2, size=case.dim).astype(float)))


@pytest.mark.parametrize("kind", [PairwiseGraph, PottsGraph])
@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (GOOD[:2], [0, 1, 1], r"example 1 must be a tuple \(node_features, edges, edge_features\)"),
        ((np.ones((0, 2)), [], []), [], "example 1 is a graph without nodes"),
        ((np.full((3, 2), np.nan), *GOOD[1:]), [0, 1, 1], "example 1: node 0 has a NaN or an infinity in feature 0"),
        ((np.ones((3, 5)), *GOOD[1:]), [0, 1, 1], "example 1 has 5 node features, expected 2"),
        ((GOOD[0], [[0, 1], [1, 3]], GOOD[2]), [0, 1, 1], r"example 1: edge 1 joins nodes \[1, 3\]; nodes are 0 .. 2"),
        ((GOOD[0], [[0, 1], [2, 2]], GOOD[2]), [0, 1, 1], "example 1: edge 1 joins node 2 with itself"),
        ((GOOD[0], [[0.5, 1.0]], GOOD[2]), [0, 1, 1], r"example 1: edges must be an \(E, 2\) array of whole numbers"),
        ((*GOOD[:2], [[np.inf], [1.0]]), [0, 1, 1], "example 1: edge 0 has a NaN or an infinity in feature 0"),
        ((*GOOD[:2], np.ones(2)), [0, 1, 1], r"example 1: edge features must have shape \(2, G\), got \(2,\)"),
        (
            (*GOOD[:2], sp.csr_matrix(np.ones((3, 1)))),
            [0, 1, 1],
            r"edge features must have shape \(2, G\), got \(3, 1\)",
        ),
        ((*GOOD[:2], np.ones((2, 4))), [0, 1, 1], "example 1 has 4 edge features, expected 1"),
        (GOOD, [0, 1, 0.5], "example 1: node 2 has label 0.5"),
        (GOOD, [0, 1, -2], "example 1: node 2 has label -2"),
        (GOOD, ["a", "b", "a"], "example 1: labels must be whole numbers"),
        (GOOD, [0, 1], "example 1 has 3 nodes and 2 labels"),
        (GOOD, [0, 1, 200_000], "example 1 has label 200000, but only 3 different labels occur"),
    ],
)
def test_bad_examples_are_named(kind, x, y, message):
    def bind_and_pack():
        kind().bind([GOOD, x], [[0, 1, 1], y]).pack([GOOD, x], [[0, 1, 1], y])

    with pytest.raises(InputError, match=message):
        bind_and_pack()


def test_other_mistakes():
    with pytest.raises(InputError, match="example 0: edge 1 has -1 in feature 0; it must be >= 0"):
        PottsGraph().bind([(*GOOD[:2], [[1.0], [-1.0]])], [[0, 1, 1]])
    with pytest.raises(InputError, match=r"edge between nodes 0 and 1 has weight <w_edge, f_e> = -1; minimum cuts"):
        PottsGraph(3).bind([GOOD], [[0, 1, 1]]).predict(np.array([0.0] * 6 + [-1.0]), [GOOD])
    with pytest.raises(InputError, match="no node has a label"):
        PairwiseGraph().bind([GOOD], [[-1, -1, -1]])
    with pytest.raises(InputError, match="class_balance needs nodes of every label, but no node has label 2"):
        PairwiseGraph(3, class_balance=True).bind([GOOD], [[0, 1, 1]])
    with pytest.raises(InputError, match=r"node 1 has label 1; labels must be whole numbers 0 \.\. 0"):
        PairwiseGraph(1).bind([GOOD], [[0, 1, 1]])
    with pytest.raises(OptionError, match=r"cost must have shape \(3, 3\)"):
        PairwiseGraph(3, cost=np.zeros((2, 2))).bind([GOOD], [[0, 1, 1]])
    with pytest.raises(OptionError, match="iterations must be a whole number >= 1"):
        PairwiseGraph(iterations=0)
    with pytest.raises(OptionError, match="call bind"):
        PottsGraph().bounds()
    with pytest.raises(InputError, match="y has no label at node 2"):
        PairwiseGraph().bind([GOOD], [[0, 1, 1]]).loss([0, 1, 1], [0, 1, -1])
    with pytest.raises(InputError, match=r"w has shape \(4,\), expected \(8,\)"):
        PairwiseGraph().bind([GOOD], [[0, 1, 1]]).predict(np.zeros(4), [GOOD])


@pytest.mark.parametrize("kind", [PairwiseGraph, PottsGraph])
def test_check_model_finds_nothing(kind):
    case = CASES["pairwise-forest-cost" if kind is PairwiseGraph else "potts-ring-csr"]
    assert bcfw.check_model(case.model, case.X, case.y) == []
