"""Max-sum, max-marginals and sum-product on forests against enumeration, compiled and interpreted."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bcfw.algorithms.forests import max_marginals, solve_forest, sum_product
from bcfw.algorithms.message_passing import Links, Scores, make_scores
from bcfw.compile import entry
from bcfw.inputs.node_graphs import closing_edge, make_links
from problems import forest_edges

#: Sums of some tens of numbers of order one.
CLOSE = 1e-11


def run_solve(links, scores):
    solve_forest(Links(*links), Scores(*scores))


def run_max_marginals(links, scores, out):
    max_marginals(Links(*links), Scores(*scores), out)


def run_sum_product(links, theta, T, node, pair):
    return sum_product(Links(*links), theta, T, node, pair)


def forest_of(edges, V):
    """The fields of ``Links``."""
    layout = make_links(np.asarray(edges, np.int32).reshape(-1, 2), V)
    assert layout.forest
    return layout.order, layout.lo, layout.hi, layout.first, layout.middle, layout.arc


def distribution(links, theta, T, compiled=True):
    """log Z, node and pair probabilities; the outputs hold garbage before."""
    L, K = len(T), theta.shape[1]
    node, pair = np.full((len(theta) + 1, K), np.nan), np.full((L + 1, K, K), np.nan)
    function = entry(run_sum_product) if compiled else run_sum_product
    total = function(links, theta.ravel(), T, node, pair)
    return total, node[:-1], pair[:-1]


def enumerated(links, theta, T):
    """All labelings (N, V) and their scores (N,)."""
    _, lo, hi = links[:3]
    V, K = theta.shape
    labelings = np.array(list(itertools.product(range(K), repeat=V)))
    scores = theta[np.arange(V), labelings].sum(axis=1)
    for link in range(len(lo)):
        scores = scores + T[link, labelings[:, lo[link]], labelings[:, hi[link]]]
    return labelings, scores


@st.composite
def forests(draw):
    """Links, theta (V, K) and T (L, K, K) of a small forest; whole numbers, for ties, or any."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    V, K = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    links = forest_of(forest_edges(rng, V), V)
    shapes = [(V, K), (len(links[1]), K, K)]
    if draw(st.booleans()):
        return links, *(rng.integers(-2, 3, shape).astype(float) for shape in shapes)
    return links, *(rng.choice([0.1, 1.0, 10.0]) * rng.standard_normal(shape) for shape in shapes)


@settings(max_examples=400)
@given(forests())
def test_labels_and_max_marginals_are_the_best(drawn):
    links, theta, T = drawn
    V, K = theta.shape
    labelings, values = enumerated(links, theta, T)
    scores = make_scores(V, len(T), K, theta.ravel())._replace(T=T, S=np.ascontiguousarray(T.transpose(0, 2, 1)))
    entry(run_solve)(links, tuple(scores))
    found = values[np.flatnonzero((labelings == scores.y).all(axis=1))[0]]
    assert found == pytest.approx(values.max(), abs=CLOSE * (1.0 + np.abs(values).max()))
    out = np.full((V, K), np.nan)
    entry(run_max_marginals)(links, tuple(scores), out)
    for p, a in np.ndindex(V, K):
        best = values[labelings[:, p] == a].max()
        assert out[p, a] == pytest.approx(best, abs=CLOSE * (1.0 + np.abs(values).max()))


@settings(max_examples=400)
@given(forests(), st.booleans())
def test_sum_product_is_enumeration(drawn, compiled):
    links, theta, T = drawn
    labelings, values = enumerated(links, theta, T)
    total, node, pair = distribution(links, theta, T, compiled)
    P = np.exp(values - values.max())
    assert total == pytest.approx(values.max() + np.log(P.sum()), abs=CLOSE * (1.0 + np.abs(values).max()))
    P /= P.sum()
    for p, a in np.ndindex(*node.shape):
        assert node[p, a] == pytest.approx(P[labelings[:, p] == a].sum(), abs=CLOSE)
    for link, a, b in np.ndindex(*pair.shape):
        both = (labelings[:, links[1][link]] == a) & (labelings[:, links[2][link]] == b)
        assert pair[link, a, b] == pytest.approx(P[both].sum(), abs=CLOSE)


@pytest.mark.parametrize("scale", [1e3, 1e8, 1e150])
def test_sum_product_of_large_scores_is_the_best_labeling(scale):
    """Where exponentials overflow: all of the mass lies on the best labeling, and log Z is its score."""
    rng = np.random.default_rng(0)
    links = forest_of(forest_edges(rng, 6), 6)
    theta, T = scale * rng.standard_normal((6, 3)), scale * rng.standard_normal((len(links[1]), 3, 3))
    labelings, values = enumerated(links, theta, T)
    total, node, pair = distribution(links, theta, T)
    assert total == pytest.approx(values.max(), rel=1e-14)
    np.testing.assert_allclose(node, np.eye(3)[labelings[values.argmax()]], rtol=0, atol=1e-9)
    np.testing.assert_allclose(pair.sum(axis=(1, 2)), 1.0, rtol=0, atol=1e-14)


def test_small_probabilities_keep_their_digits():
    """A chain whose two ends need labels that cost 300 each: 1e-260 is right to twelve digits."""
    links = forest_of([[0, 1], [1, 2]], 3)
    theta, T = np.array([[0.0, -300.0], [0.0, -1.0], [0.0, -300.0]]), np.array([np.eye(2), 0.5 * np.eye(2)])
    labelings, values = enumerated(links, theta, T)
    P = np.exp(values) / np.exp(values).sum()
    _, node, pair = distribution(links, theta, T)
    assert node[0, 1] == pytest.approx(P[labelings[:, 0] == 1].sum(), rel=1e-12)
    for link in range(2):
        lo, hi = links[1][link], links[2][link]
        expected = P[(labelings[:, lo] == 1) & (labelings[:, hi] == 1)].sum()
        assert pair[link, 1, 1] == pytest.approx(expected, rel=1e-12)


def test_excluded_labels_have_no_probability():
    """Scores of minus infinity: a label, a pair, and everything."""
    links = forest_of([[0, 1], [1, 2]], 3)
    rng = np.random.default_rng(1)
    theta, T = rng.standard_normal((3, 2)), rng.standard_normal((2, 2, 2))
    theta[2, 0] = T[0, 1, 0] = -np.inf
    labelings, values = enumerated(links, theta, T)
    total, node, pair = distribution(links, theta, T)
    P = np.exp(values) / np.exp(values).sum()
    assert total == pytest.approx(np.log(np.exp(values).sum()), abs=CLOSE)
    assert node[2, 0] == pair[0, 1, 0] == 0.0
    np.testing.assert_allclose(node[:, 1], [P[labelings[:, p] == 1].sum() for p in range(3)], rtol=0, atol=CLOSE)
    total, node, pair = distribution(links, np.full((3, 2), -np.inf), T)
    assert total == -np.inf
    assert np.all(node == 0.0)
    assert np.all(pair == 0.0)


def test_many_nodes():
    """A path of ten thousand nodes against products of matrices, and its probabilities against themselves."""
    rng = np.random.default_rng(2)
    V, K = 10_000, 2
    order = rng.permutation(V)
    links = forest_of(np.column_stack([order[:-1], order[1:]]), V)
    theta, T = rng.standard_normal((V, K)), rng.standard_normal((V - 1, K, K))
    total, node, pair = distribution(links, theta, T)
    table = {}
    for link, (lo, hi) in enumerate(zip(links[1], links[2], strict=True)):
        table[lo, hi], table[hi, lo] = T[link], T[link].T
    forward, logs = np.ones(K), 0.0
    for t, p in enumerate(order):
        forward = (forward if t == 0 else forward @ np.exp(table[order[t - 1], p])) * np.exp(theta[p])
        logs, forward = logs + np.log(forward.sum()), forward / forward.sum()
    assert total == pytest.approx(logs, rel=1e-12)
    np.testing.assert_allclose(node.sum(axis=1), 1.0, rtol=0, atol=1e-10)
    np.testing.assert_allclose(pair.sum(axis=2), node[links[1]], rtol=0, atol=1e-10)
    np.testing.assert_allclose(pair.sum(axis=1), node[links[2]], rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("edges", "closing"),
    [([], -1), ([[0, 1], [2, 1]], -1), ([[0, 1], [1, 0], [0, 1]], -1), ([[3, 1], [0, 1], [3, 0]], 2)],
)
def test_the_edge_that_closes_a_cycle(edges, closing):
    assert closing_edge(np.array(edges, int).reshape(-1, 2), 4) == closing


def test_cycles_are_found_wherever_they_are():
    rng = np.random.default_rng(3)
    for _ in range(200):
        V = int(rng.integers(2, 8))
        edges = np.array([rng.choice(V, 2, replace=False) for _ in range(rng.integers(0, 8))], np.int32).reshape(-1, 2)
        closing = closing_edge(edges, V)
        assert make_links(edges, V).forest == (closing < 0)
        if closing >= 0:
            assert make_links(edges[:closing], V).forest
            assert not make_links(edges[: closing + 1], V).forest
