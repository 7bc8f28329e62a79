"""Opening a problem: data are read once; a part of them uses the model as it is bound, with checked numbers."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.dual import open_problem
from bcfw.inputs import node_graphs
from problems import CASES, Pairs


class Counting(Pairs):
    """Counts how often the features of each truth are computed."""

    def features(self, x, y):
        self.seen.append(id(x))
        return super().features(x, y)


def test_features_of_every_truth_are_computed_once():
    case = CASES["dense-features"]
    model = Counting(case.model.K, case.model.cost)
    model.seen = []
    problem = open_problem(model, case.X, case.y, case.lam)
    assert sorted(model.seen) == sorted(id(x) for x in case.X)
    assert problem.adapter.dim == case.dim


@pytest.mark.parametrize("name", ["graph-cost", "pairwise-forest-cost", "potts-two-csr"])
def test_every_graph_is_read_once(monkeypatch, name):
    case, read = CASES[name], []
    plain = node_graphs.read_nodes_and_edges
    monkeypatch.setattr(node_graphs, "read_nodes_and_edges", lambda x, where: read.append(where) or plain(x, where))
    open_problem(case.model, case.X, case.y, case.lam)
    assert read == [f"{type(case.model).__name__}: example {i}" for i in range(len(case.y))]


# --- a part of the data ------------------------------------------------------------------------------------------

CHAIN = CASES["chain-cost"]


def test_a_part_uses_the_model_as_it_is_bound():
    """A part may lack edges, labels or anything else that the whole has."""
    case = CASES["graph-cost"]
    bound = case.model.bind(case.X, case.y)
    nodes, _, _ = case.X[0]
    lonely = (nodes, np.zeros((0, 2), int), np.zeros((0, bound.n_edge_features)))
    part = open_problem(bound, [lonely], [case.y[0]], case.lam, total_weight=5.0)
    assert part.adapter.model is bound
    assert part.adapter.dim == bound.dim


@pytest.mark.parametrize(
    ("total", "message"),
    [(0.0, "finite number > 0"), (np.nan, "finite number > 0"), (np.inf, "finite number > 0"), (1.0, "less than the")],
)
def test_the_total_weight_is_checked(total, message):
    bound = CHAIN.model.bind(CHAIN.X, CHAIN.y)
    with pytest.raises(bcfw.OptionError, match=rf"total_weight.*{message}"):
        open_problem(bound, CHAIN.X, CHAIN.y, CHAIN.lam, total_weight=total)


def test_a_part_needs_a_bound_model_and_may_have_no_weight():
    with pytest.raises(bcfw.OptionError, match="bind the model to all of them before"):
        open_problem(bcfw.models.Chain(), CHAIN.X, CHAIN.y, CHAIN.lam, total_weight=100.0)
    bound = CHAIN.model.bind(CHAIN.X, CHAIN.y)
    idle = open_problem(bound, CHAIN.X, CHAIN.y, CHAIN.lam, np.zeros(len(CHAIN.y)), total_weight=10.0)
    assert len(idle.blocks) == 0
