"""Maximum flow against scipy's, minimum cuts against their own capacity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

from bcfw.algorithms.max_flow import SOURCE, Flow, make_flow, max_flow
from bcfw.compile import entry
from bcfw.inputs.node_graphs import make_arcs


def one_flow(arc_off, head, sister, fields):
    return max_flow(arc_off, head, sister, Flow(*fields))


def solve(n_nodes, edges, there, back, excess, room=0):
    """Flow and the source's side; ``room`` nodes and arcs more than needed in the scratch."""
    arcs = make_arcs(np.asarray(edges, np.int32).reshape(-1, 2), n_nodes)
    flow = make_flow(n_nodes + room, len(arcs.head) + room)
    tail = np.repeat(np.arange(n_nodes), np.diff(arcs.off))
    first = tail == np.asarray(edges).reshape(-1, 2)[arcs.edge, 0]
    flow.cap[: len(arcs.head)] = np.where(first, np.asarray(there)[arcs.edge], np.asarray(back)[arcs.edge])
    flow.excess[:n_nodes] = excess
    value = entry(one_flow)(arcs.off, arcs.head, arcs.sister, tuple(flow))
    assert np.all(flow.cap >= 0.0)
    return value, flow.tree[:n_nodes] == SOURCE


def cut_capacity(edges, there, back, excess, side):
    """Capacity of the arcs from the source's side to the sink's, terminals included."""
    excess, edges = np.asarray(excess, float), np.asarray(edges, int).reshape(-1, 2)
    p, q = side[edges[:, 0]], side[edges[:, 1]]
    terminal = excess[~side & (excess > 0)].sum() - excess[side & (excess < 0)].sum()
    return terminal + np.asarray(there)[p & ~q].sum() + np.asarray(back)[q & ~p].sum()


def scipy_flow(n_nodes, edges, there, back, excess):
    edges, excess = np.asarray(edges, int).reshape(-1, 2), np.asarray(excess)
    source, sink = n_nodes, n_nodes + 1
    plus, minus = np.flatnonzero(excess > 0), np.flatnonzero(excess < 0)
    rows = np.concatenate([edges[:, 0], edges[:, 1], np.full(len(plus), source), minus])
    columns = np.concatenate([edges[:, 1], edges[:, 0], plus, np.full(len(minus), sink)])
    values = np.concatenate([there, back, excess[plus], -excess[minus]]).astype(np.int32)
    graph = coo_array((values, (rows, columns)), shape=(n_nodes + 2, n_nodes + 2)).tocsr()
    return maximum_flow(graph, source, sink).flow_value


@st.composite
def networks(draw, capacity, excess):
    n = draw(st.integers(1, 12))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1])
    edges = draw(st.lists(pairs, max_size=40)) if n > 1 else []
    caps = st.lists(capacity, min_size=len(edges), max_size=len(edges)).map(np.array)
    return n, edges, draw(caps), draw(caps), np.array(draw(st.lists(excess, min_size=n, max_size=n)))


@given(networks(st.integers(0, 9), st.integers(-15, 15)))
def test_flow_of_whole_numbers_is_that_of_scipy(network):
    value, side = solve(*network)
    assert value == scipy_flow(*network)
    assert cut_capacity(*network[1:], side) == value


@given(networks(st.floats(0, 1), st.floats(-2, 2)))
def test_capacity_of_the_cut_is_the_flow(network):
    value, side = solve(*network)
    assert cut_capacity(*network[1:], side) == pytest.approx(value, rel=1e-12, abs=1e-12)


def grid_edges(height, width):
    index = np.arange(height * width).reshape(height, width)
    across = np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], axis=1)
    return np.concatenate([across, np.stack([index[:-1].ravel(), index[1:].ravel()], axis=1)])


@pytest.mark.parametrize("strength", [3, 10, 30])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_grids(seed, strength):
    rng = np.random.default_rng(seed)
    edges = grid_edges(24, 31)
    there, back = rng.integers(0, strength, (2, len(edges)))
    excess = rng.integers(-10, 11, 24 * 31)
    value, side = solve(24 * 31, edges, there, back, excess)
    assert value == scipy_flow(24 * 31, edges, there, back, excess)
    assert cut_capacity(edges, there, back, excess, side) == value
    real = rng.standard_normal(24 * 31)
    value, side = solve(24 * 31, edges, there / 10, there / 10, real)
    assert cut_capacity(edges, there / 10, there / 10, real, side) == pytest.approx(value, rel=1e-12)


def test_long_detours_and_orphans():
    """One source, one sink, at the ends of a narrow grid: paths are long, and every augmentation cuts trees."""
    rng = np.random.default_rng(3)
    edges = grid_edges(3, 200)
    there, back = rng.integers(0, 20, (2, len(edges)))
    excess = np.zeros(600, int)
    excess[[0, 200, 400]], excess[[199, 399, 599]] = 100, -100
    value, side = solve(600, edges, there, back, excess)
    assert value == scipy_flow(600, edges, there, back, excess) > 0
    assert cut_capacity(edges, there, back, excess, side) == value


def test_sizes_of_scratch_beyond_the_graph_change_nothing():
    rng = np.random.default_rng(4)
    edges, excess = grid_edges(9, 9), rng.standard_normal(81)
    caps = rng.random(len(edges))
    value, side = solve(81, edges, caps, caps, excess)
    more, same = solve(81, edges, caps, caps, excess, room=17)
    assert more == value
    np.testing.assert_array_equal(same, side)


def test_rounding_leaves_no_endless_residues():
    """Capacities of all magnitudes, whose sums round: the flow ends and its cut is minimal up to rounding."""
    rng = np.random.default_rng(5)
    edges = grid_edges(20, 20)
    there, back = 10.0 ** rng.uniform(-18, 2, (2, len(edges)))
    excess = 10.0 ** rng.uniform(-18, 2, 400) * rng.choice([-1, 1], 400)
    value, side = solve(400, edges, there, back, excess)
    assert cut_capacity(edges, there, back, excess, side) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("edges", "capacity", "expected", "side"),
    [
        ([], 0.0, 0.0, [True, False, False]),
        ([[0, 1]], 0.0, 0.0, [True, False, False]),
        ([[0, 1]], 0.5, 0.5, [True, False, False]),
        ([[0, 1], [0, 1]], 0.5, 1.0, [True, False, False]),
        ([[0, 2], [2, 1]], 5.0, 1.0, [True, True, True]),
        ([[0, 1]], 5.0, 1.0, [True, True, False]),
    ],
)
def test_small_graphs(edges, capacity, expected, side):
    """Without edges, without capacity, parallel edges, through a node without terminal arcs."""
    caps = np.full(len(edges), capacity)
    value, found = solve(3, edges, caps, caps, [2.0, -1.0, 0.0])
    assert value == expected
    assert found.tolist() == side
