"""Opening a problem reads the data once."""

from __future__ import annotations

from bcfw.dual import open_problem
from bcfw.inputs import graphs
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
    assert problem.form.dim == case.dim


def test_every_graph_is_read_once(monkeypatch):
    case, read = CASES["graph-cost"], []
    plain = graphs.read_graph
    monkeypatch.setattr(graphs, "read_graph", lambda x, where: read.append(where) or plain(x, where))
    open_problem(case.model, case.X, case.y, case.lam)
    assert read == [f"BinaryGraph: example {i}" for i in range(len(case.y))]
