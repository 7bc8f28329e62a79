"""What a session shows of an object: its class, what differs from the defaults, sizes; never all its numbers."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.models import MODELS

X, Y = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]]), [0, 1, 2]


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"pictorial_tree"}))
def test_a_model_with_default_options(name):
    assert repr(MODELS[name]()) == f"{MODELS[name].__name__}()"


def test_a_model_with_an_option_that_it_needs():
    assert repr(bcfw.models.PictorialTree([(0, 1)], n_types=2)).startswith(
        "PictorialTree(edges=<array of shape (1, 2)>, n_types=2, anchors="
    )


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (bcfw.models.Chain(n_labels=26, end_bias=False), "Chain(n_labels=26, end_bias=False)"),
        (bcfw.models.Multiclass(n_labels=2, cost=[[0, 1], [1, 0]]), "Multiclass(n_labels=2, cost=[[0, 1], [1, 0]])"),
        (bcfw.models.Multilabel(tree=[[0, 1]]), "Multilabel(tree=<array of shape (1, 2)>)"),
        (bcfw.models.Matching(cost_miss=2), "Matching(cost_miss=2.0)"),
    ],
    ids=str,
)
def test_a_model_shows_options_that_differ(model, text):
    assert repr(model) == text


def test_a_bound_model_shows_its_sizes():
    model = bcfw.models.Multiclass(cost=1.0 - np.eye(3))
    assert repr(model.bind(X, Y)) == "Multiclass(n_labels=3, cost=<array of shape (3, 3)>, n_features=2, dim=6)"
    assert repr(bcfw.StructuralSVM(model)) == "StructuralSVM(model=Multiclass(cost=<array of shape (3, 3)>))"


def test_models_of_users():
    class Plain(bcfw.Model):
        dim = 7

    class Own(bcfw.Model):
        def __init__(self, table, words, depth=3, *more, lazy=True, **options):
            self.table, self.words, self.depth, self.laziness = table, words, depth, lazy

    class Renamed(Own):
        def __repr__(self):
            return "mine"

    assert repr(Plain()) == "Plain(dim=7)"
    table = np.arange(10_000.0)
    assert repr(Own(table, ["a"] * 1000, depth=4)) == (
        "Own(table=<array of shape (10000,)>, words=['a', 'a', 'a', 'a', 'a', 'a', ...], depth=4)"
    )
    assert len(repr(Own("x" * 5000, dict.fromkeys(range(100), table)))) < 500
    assert repr(Renamed(1, 2)) == "mine"


def test_results_are_shown_by_their_summary():
    result = bcfw.train(bcfw.models.Multiclass(), X, Y, lam=0.1)
    assert repr(result) == f"<Result: {result.summary()}>"
    path = bcfw.grid_path(bcfw.models.Multiclass(), X, Y, [1.0, 0.1])
    assert repr(path) == f"<RegularizationPath: {path.summary()}>"
    found = bcfw.minimize((lambda x: 0.0, lambda x: [0 * x[0]]), [bcfw.domains.Simplex(1000)])
    assert repr(found) == f"<MinimizeResult: {found.summary()}>"
    for one in (result, path, found):
        assert "\n" not in repr(one)
        assert len(repr(one)) < 250
