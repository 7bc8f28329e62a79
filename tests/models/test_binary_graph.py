"""BinaryGraph: oracle against enumeration, routines against explicit features, and errors that name the example."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import bcfw
from bcfw.errors import InputError, OptionError
from bcfw.models import BinaryGraph
from bcfw.passes.contract import (
    Data,
    Work,
    add_average,
    add_labeling,
    advance,
    apply,
    argmax,
    difference,
    direction_scores,
    end_direction,
    keep_labeling,
    labeling_scores,
    labeling_value,
    load_labeling,
    load_truth,
    loss,
    scores,
    slope,
    slot_value,
    sqnorm,
    start_direction,
    start_parts,
    truth_value,
)
from problems import binary_graph_cases, build_binary_graph, dense, graph_case

CASES = {case.name: case for case in binary_graph_cases()}


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def graphs(request):
    return request.param


def weights(rng, model, scale=1.0):
    """Random weights for which cuts are exact."""
    w = scale * rng.standard_normal(model.dim)
    w[2 * model.n_features :] = np.abs(w[2 * model.n_features :])
    return w


def check_oracle(case, w):
    """The oracle's output has the largest value of all labelings, with and without the loss."""
    model = case.model.bind(case.X, case.y)
    for x, y_true in case.examples():
        labelings = case.outputs(x, y_true)
        augmented = [w @ case.phi(x, y) + case.delta(y_true, y) for y in labelings]
        answer = model.oracle(w, x, y_true)
        np.testing.assert_array_equal(answer < 0, np.asarray(y_true) < 0)
        assert w @ case.phi(x, answer) + case.delta(y_true, answer) == pytest.approx(max(augmented), abs=1e-11)
        everywhere = np.zeros(len(y_true), int)
        plain = [w @ case.phi(x, y) for y in case.outputs(x, everywhere)]
        assert w @ case.phi(x, model.oracle(w, x)) == pytest.approx(max(plain), abs=1e-11)


# --- the oracle --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 10.0])
def test_oracle_is_a_maximum_over_all_labelings(graphs, scale):
    rng = np.random.default_rng(1)
    for _ in range(10):
        check_oracle(graphs, weights(rng, graphs.model.bind(graphs.X, graphs.y), scale))


#: Small whole numbers, so that ties are frequent and sums exact.
WHOLE = st.integers(-2, 2).map(float)
NATURAL = st.integers(0, 3).map(float)


def arrays(shape, elements):
    size = int(np.prod(shape))
    return st.lists(elements, min_size=size, max_size=size).map(lambda values: np.array(values, float).reshape(shape))


@st.composite
def drawn_graphs(draw):
    F, G = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    X, y = [], []
    for _ in range(draw(st.integers(1, 3))):
        V = draw(st.integers(1, 7))
        pairs = st.tuples(st.integers(0, V - 1), st.integers(0, V - 1)).filter(lambda pair: pair[0] != pair[1])
        edges = draw(st.lists(pairs, max_size=14)) if V > 1 else []
        nodes = draw(arrays((V, F), WHOLE))
        form = draw(st.sampled_from([np.asarray, sp.csr_matrix, sp.csc_array]))
        X.append((form(nodes), np.array(edges, int).reshape(-1, 2), draw(arrays((len(edges), G), NATURAL))))
        labels = st.lists(st.integers(-1, 1), min_size=V, max_size=V)
        y.append(np.array(draw(labels.filter(lambda labels: max(labels) >= 0))))
    cost = draw(arrays((2, 2), NATURAL)) * (1.0 - np.eye(2)) if draw(st.booleans()) else None
    counts = np.bincount(np.concatenate(y) + 1, minlength=3)[1:]
    balanced = draw(st.booleans()) and counts.min() > 0
    table = 1.0 - np.eye(2) if cost is None else cost
    table = table * (counts.sum() / (2.0 * counts))[:, None] if balanced else table
    model = BinaryGraph(cost, class_balance=balanced, normalize=draw(st.booleans()))
    w = np.concatenate([draw(arrays((2 * F,), WHOLE)), draw(arrays((G,), NATURAL))])
    return graph_case("drawn", model, X, y, F, G, table), w


@given(drawn_graphs())
def test_oracle_on_drawn_graphs(drawn):
    check_oracle(*drawn)


def test_features_and_losses_agree_with_naive_formulas(graphs):
    model = graphs.model.bind(graphs.X, graphs.y)
    for x, y_true in graphs.examples():
        for y in [*graphs.outputs(x, y_true), *graphs.outputs(x, np.zeros(len(y_true)))]:
            np.testing.assert_allclose(model.features(x, y), graphs.phi(x, y), rtol=0, atol=1e-13)
            assert model.loss(y_true, y) == pytest.approx(graphs.delta(y_true, y), abs=1e-13)
        assert model.loss(y_true, y_true) == 0.0


def test_predict_is_the_plain_oracle_on_every_input(graphs):
    model = graphs.model.bind(graphs.X, graphs.y)
    w = weights(np.random.default_rng(2), model)
    for output, x in zip(model.predict(w, graphs.X), graphs.X, strict=True):
        np.testing.assert_array_equal(output, model.oracle(w, x))
        assert output.min() >= 0


def test_bounds_keep_edge_weights_nonnegative(graphs):
    model = graphs.model.bind(graphs.X, graphs.y)
    lower, upper = model.bounds()
    assert lower.shape == upper.shape == (model.dim,)
    assert (upper == np.inf).all()
    assert (lower[: 2 * model.n_features] == -np.inf).all()
    assert (lower[2 * model.n_features :] == 0.0).all()
    assert bcfw.models.Chain().bounds() is None


def test_balanced_classes_have_equal_total_cost():
    X = [(np.ones((4, 1)), [], [])]
    model = BinaryGraph(class_balance=True, normalize=False).bind(X, [[0, 0, 0, 1]])
    wrong = [model.loss([0, 0, 0, 1], y) for y in ([1, 1, 1, 1], [0, 0, 0, 0])]
    assert wrong == [2.0, 2.0]


def test_integer_weights_are_repetition_also_for_the_balance():
    X = [(np.array([[1.0], [-1.0], [0.5]]), [[0, 1]], np.ones((1, 1)))] * 2
    y = [[1, 1, 0], [1, -1, 0]]
    weighted = bcfw.train(BinaryGraph(class_balance=True), X, y, lam=1.0, tol=1e-6, sample_weight=[3, 0])
    repeated = bcfw.train(BinaryGraph(class_balance=True), X[:1] * 3, y[:1] * 3, lam=1.0, tol=1e-6)
    np.testing.assert_array_equal(weighted.model.cost, repeated.model.cost)
    assert weighted.primal == pytest.approx(repeated.primal, abs=2e-6)
    with pytest.raises(InputError, match="sample_weight must have one number per example"):
        bcfw.train(BinaryGraph(class_balance=True), X, y, lam=1.0, sample_weight=[1.0])


def test_a_graph_without_labels_has_no_loss():
    X = [(np.array([[1.0], [-1.0], [0.5]]), [[0, 1]], np.ones((1, 1)))] * 2
    alone = bcfw.train(BinaryGraph(), X[:1], [[1, 0, 1]], lam=2.0, tol=1e-6)
    both = bcfw.train(BinaryGraph(), X, [[1, 0, 1], [-1, -1, -1]], lam=1.0, tol=1e-6)
    assert both.primal == pytest.approx(0.5 * alone.primal, abs=2e-6)
    assert len(both.predict(X)[1]) == 3


def test_unlabelled_nodes_are_neither_right_nor_wrong():
    X, y = [(np.array([[1.0], [-1.0], [0.5]]), [[0, 1], [1, 2]], np.ones((2, 1)))] * 2, [[1, 0, -1]] * 2
    assert bcfw.check_model(BinaryGraph(), X, y) == []
    svm = bcfw.StructuralSVM(BinaryGraph(), lam=0.1, scoring="exact").fit(X, y)
    assert svm.score(X, y) == 1.0
    assert svm.score(X, [[1, 1, -1], [1, 0, -1]]) == 0.5


@pytest.mark.parametrize("option", ["normalize", "class_balance"])
def test_flags_are_true_or_false(option):
    with pytest.raises(OptionError, match=f"BinaryGraph: {option} must be True or False, got 'no'"):
        BinaryGraph(**{option: "no"})


def test_check_model_stays_within_the_bounds():
    for case in build_binary_graph():
        assert bcfw.check_model(case.model, case.X, case.y) == []


# --- routines ----------------------------------------------------------------------------------------------------


def directions_pass(data_fields, work_fields, w, labelings, mu, i, pair, gamma, by_parts, out, moved):
    """Template: what the contract says about two kept labelings and the block's average, in numbers.

    Slots ``pair[0]`` and ``pair[1]``; ``by_parts`` computes scores only where they are needed. ``out`` gets the values
    of the two labelings and of the average, then slope, squared norm and loss of the directions; ``moved`` gets B d of
    z(y) - z(y') and of z(y) - mu, which is then taken by ``gamma``.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    if by_parts:
        start_parts(data, i, w, work)
    else:
        scores(data, i, w, 1.0, work)
    for j in range(2):
        out[j] = slot_value(data, i, pair[j], labelings, by_parts, w, work)
        load_labeling(data, i, pair[j], labelings, work)
        labeling_scores(data, i, w, work)
        out[2 + j] = labeling_value(data, i, w, work) - truth_value(data, i, w, work)
        out[4 + j] = loss(data, i, work)
    start_direction(data, i, work)
    add_average(data, i, 1.0, mu, work)
    end_direction(data, i, work)
    if by_parts:
        direction_scores(data, i, w, work)
    out[6] = slope(data, i, w, work)
    difference(data, i, pair[0], pair[1], labelings, work)
    out[7] = slope(data, i, w, work)
    out[8] = sqnorm(data, i, work)
    apply(data, i, 1.0, work, moved[0])
    start_direction(data, i, work)
    add_average(data, i, -1.0, mu, work)
    load_labeling(data, i, pair[0], labelings, work)
    add_labeling(data, i, 1.0, work)
    end_direction(data, i, work)
    out[9] = slope(data, i, w, work)
    apply(data, i, 1.0, work, moved[1])  # before the norm: either may be asked first
    out[10] = sqnorm(data, i, work)
    advance(data, i, gamma, work, mu)


def keep_pass(data_fields, work_fields, w, labelings, value):
    """Template: the truths in slot 0 and the oracle's answers in slot 1; their values."""
    data = Data(*data_fields)
    work = Work(*work_fields)
    for i in range(value.shape[0]):
        load_truth(data, i, work)
        keep_labeling(data, i, 0, work, labelings)
        scores(data, i, w, 1.0, work)
        value[i] = argmax(data, i, w, work) - truth_value(data, i, w, work)
        keep_labeling(data, i, 1, work, labelings)


@pytest.mark.parametrize("compiled", [True, False])
def test_routines_against_explicit_features(graphs, compiled):
    """Values, slopes, norms and moves of directions between labelings and averages, one random step after another."""
    model = graphs.model.bind(graphs.X, graphs.y)
    routines = model.routines if compiled else model.routines.interpreted()
    rng = np.random.default_rng(3)
    data = model.pack(graphs.X, graphs.y)
    work, mu = tuple(model.make_work(data)), model.initial_mu(data)
    slots = 4
    labelings = model.make_labelings(data, slots)
    kept: list[list[Any]] = []
    for i, (x, y_true) in enumerate(graphs.examples()):
        outputs = graphs.outputs(x, y_true)
        kept.append([y_true, *(outputs[k] for k in rng.integers(len(outputs), size=slots - 1))])
        labelings[slots * data.y_off[i] : slots * data.y_off[i + 1]] = np.concatenate(kept[i])
    averages = [graphs.phi(x, y) for x, y in graphs.examples()]
    losses = np.zeros(len(averages))
    for step in range(30):
        i = int(rng.integers(len(kept)))
        x, y_true = graphs.X[i], graphs.y[i]
        w = weights(rng, model)
        pair, gamma = rng.integers(slots, size=2), float(rng.random())
        out, moved = np.zeros(11), np.zeros((2, model.dim))
        entry = routines.compiled_pass(directions_pass)
        entry(tuple(data), work, w, labelings, mu, i, pair, gamma, bool(step % 2), out, moved)
        truth = graphs.phi(x, y_true)
        (a, b), (loss_a, loss_b) = zip(
            *((graphs.phi(x, kept[i][s]), graphs.delta(y_true, kept[i][s])) for s in pair), strict=True
        )
        value_a, value_b = loss_a + w @ (a - truth), loss_b + w @ (b - truth)
        value_mu = losses[i] + w @ (averages[i] - truth)
        expected = [value_a, value_b, value_a, value_b, loss_a, loss_b, value_mu, value_a - value_b]
        expected += [(a - b) @ (a - b), value_a - value_mu, (a - averages[i]) @ (a - averages[i])]
        np.testing.assert_allclose(out, expected, rtol=0, atol=1e-11)
        np.testing.assert_allclose(moved, [a - b, a - averages[i]], rtol=0, atol=1e-12)
        averages[i] = averages[i] + gamma * (a - averages[i])
        losses[i] += gamma * (loss_a - losses[i])


def test_compiled_oracle_answers_as_the_interpreted_one(graphs):
    model = graphs.model.bind(graphs.X, graphs.y)
    data = model.pack(graphs.X, graphs.y)
    rng = np.random.default_rng(4)
    for _ in range(5):
        w, found = weights(rng, model), []
        for routines in (model.routines, model.routines.interpreted()):
            labelings, value = model.make_labelings(data, 2), np.zeros(len(graphs.y))
            routines.compiled_pass(keep_pass)(tuple(data), tuple(model.make_work(data)), w, labelings, value)
            found.append((labelings, value))
        np.testing.assert_array_equal(found[0][0], found[1][0])
        np.testing.assert_allclose(found[0][1], found[1][1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("solver", [bcfw.solvers.BCFW(), bcfw.solvers.MultiPlane(passes=3)])
def test_training_without_edge_weights_reaches_the_enumerated_optimum(solver):
    """Edge features that are zero need no bounds: nodes alone, with unlabelled ones, solve the enumerated problem."""
    case = CASES["graph-unlabelled-sum"]
    X = [(nodes, edges, np.zeros((len(edges), 1))) for nodes, edges, _ in case.X]
    plain = graph_case("no-edges", case.model, X, case.y, 2, 1, np.array(case.model.cost))
    result = plain.train(tol=1e-6, solver=solver)
    optimum = plain.enumerated().optimum
    assert result.status == "converged"
    assert abs(result.primal - optimum.primal) <= result.gap + 1e-9


# --- forms of input ----------------------------------------------------------------------------------------------


def test_parallel_edges_add_and_disconnected_parts_are_independent():
    nodes = np.array([[1.0], [-0.6], [3.0], [-2.0]])
    w = np.array([0.0, 1.0, 0.5])
    model = BinaryGraph().bind([(nodes, [[0, 1]], [[1.0]])], [[0, 0, 1, 1]])
    assert model.oracle(w, (nodes, [[0, 1]], [[1.0]])).tolist() == [1, 0, 1, 0]
    assert model.oracle(w, (nodes, [[0, 1], [1, 0]], [[1.0], [1.0]])).tolist() == [1, 1, 1, 0]
    assert model.oracle(w, (nodes, [], [])).tolist() == [1, 0, 1, 0]
    assert model.oracle(w, (nodes, np.zeros((0, 2)), np.zeros((0, 1)))).tolist() == [1, 0, 1, 0]


def test_layout_of_w():
    nodes = np.array([[1.0, 0.0], [0.0, 1.0]])
    model = BinaryGraph().bind([(nodes, [[0, 1]], [[1.0]])], [[0, 1]])
    np.testing.assert_array_equal(model.features((nodes, [[0, 1]], [[2.0]]), [1, 0]), [0, 1, 1, 0, -2])
    assert model.dim == 5


def test_input_forms_pack_alike(graphs):
    model = graphs.model.bind(graphs.X, graphs.y)
    expected = model.pack(graphs.X, graphs.y)
    others = [
        (
            np.asfortranarray(dense(nodes)),
            edges.astype(np.uint8).tolist() or edges,
            np.asarray(values).tolist() or values,
        )
        for nodes, edges, values in graphs.X
    ]
    for nodes, *_ in others:
        nodes.setflags(write=False)
    for one, two in zip(expected, model.pack(others, [y.astype(float) for y in graphs.y]), strict=True):
        np.testing.assert_array_equal(one, two)
    assert len(list(itertools.pairwise(expected.y_off))) == len(graphs.X)


GOOD = (np.ones((3, 2)), np.array([[0, 1], [1, 2]]), np.ones((2, 1)))


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (GOOD[:2], [0, 1, 1], r"example 1 must be a tuple \(node_features, edges, edge_features\)"),
        ((np.ones(3), *GOOD[1:]), [0, 1, 1], r"example 1: node features must be a \(V, F\) array"),
        ((np.ones((0, 2)), [], []), [], "example 1 is a graph without nodes"),
        ((np.full((3, 2), np.nan), *GOOD[1:]), [0, 1, 1], "example 1: node 0 has a NaN or an infinity in feature 0"),
        ((np.ones((3, 5)), *GOOD[1:]), [0, 1, 1], "example 1 has 5 node features, expected 2"),
        ((GOOD[0], [[0, 1], [1, 3]], GOOD[2]), [0, 1, 1], r"example 1: edge 1 joins nodes \[1, 3\]; nodes are 0 .. 2"),
        ((GOOD[0], [[0, 1], [-1, 1]], GOOD[2]), [0, 1, 1], r"example 1: edge 1 joins nodes \[-1, 1\]"),
        ((GOOD[0], [[0, 1], [2, 2]], GOOD[2]), [0, 1, 1], "example 1: edge 1 joins node 2 with itself"),
        ((GOOD[0], [[0, 1, 2]], GOOD[2]), [0, 1, 1], r"example 1: edges must be an \(E, 2\) array of whole numbers"),
        ((GOOD[0], [[0.5, 1.0]], GOOD[2]), [0, 1, 1], r"example 1: edges must be an \(E, 2\) array of whole numbers"),
        ((GOOD[0], [[0, 1], [1]], GOOD[2]), [0, 1, 1], r"example 1: edges must be an \(E, 2\) array of whole numbers"),
        ((*GOOD[:2], [[1.0], [-1.0]]), [0, 1, 1], r"example 1: edge 1 has features \[-1.0\]"),
        ((*GOOD[:2], [[np.inf], [1.0]]), [0, 1, 1], r"example 1: edge 0 has features \[inf\]"),
        ((*GOOD[:2], np.ones(2)), [0, 1, 1], r"example 1: edge features must have shape \(2, G\), got \(2,\)"),
        ((*GOOD[:2], np.ones((3, 1))), [0, 1, 1], r"example 1: edge features must have shape \(2, G\), got \(3, 1\)"),
        ((*GOOD[:2], np.ones((2, 4))), [0, 1, 1], "example 1 has 4 edge features, expected 1"),
        (GOOD, [0, 1, 2], "example 1: node 2 has label 2"),
        (GOOD, [0, 1, 0.5], "example 1: node 2 has label 0.5"),
        (GOOD, ["a", "b", "a"], "example 1: labels must be whole numbers"),
        (GOOD, [0, 1], "example 1 has 3 nodes and 2 labels"),
        (GOOD, [[0, 1, 1]], r"example 1 must have one label per node, got labels of shape \(1, 3\)"),
    ],
)
def test_bad_examples_are_named(x, y, message):
    def bind_and_pack():
        BinaryGraph().bind([GOOD, x], [[0, 1, 1], y]).pack([GOOD, x], [[0, 1, 1], y])

    with pytest.raises(InputError, match=message):
        bind_and_pack()


def test_negative_edge_weights_are_named():
    model = BinaryGraph().bind([GOOD], [[0, 1, 1]])
    w = np.array([0.0, 0.0, 0.0, 0.0, -1.0])
    message = r"example 1: the edge between nodes 0 and 1 has weight <w_edge, f_e> = -1; minimum cuts need .* >= 0"
    with pytest.raises(InputError, match=message):
        model.predict(w, [(GOOD[0], [], []), GOOD])
    with pytest.raises(InputError, match="example 0: the edge between"):
        model.oracle(w, GOOD, [0, 1, 1])
    with pytest.raises(InputError, match=r"w has shape \(4,\), expected \(5,\)"):
        model.predict(w[:4], [GOOD])


def test_other_mistakes():
    with pytest.raises(InputError, match="no node has label 1"):
        BinaryGraph(class_balance=True).bind([GOOD], [[0, 0, -1]])
    with pytest.raises(OptionError, match=r"cost must have shape \(2, 2\)"):
        BinaryGraph(cost=np.zeros((3, 3))).bind([GOOD], [[0, 1, 1]])
    with pytest.raises(OptionError, match="call bind"):
        BinaryGraph().bounds()
    with pytest.raises(InputError, match="X is empty"):
        BinaryGraph().bind([GOOD], [[0, 1, 1]]).predict(np.zeros(5), [])
    with pytest.raises(InputError, match="X has 1 examples and y has 2"):
        BinaryGraph().bind([GOOD], [[0, 1, 1], [0]])
    with pytest.raises(InputError, match="y has no label at node 2"):
        BinaryGraph().bind([GOOD], [[0, 1, 1]]).loss([0, 1, 1], [0, 1, -1])
