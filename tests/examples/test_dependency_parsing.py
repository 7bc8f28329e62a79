"""The example of dependency parsing: its spanning trees against enumeration, its sentences, and a small training."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

import bcfw
from bcfw.compile import RoutineSet

PATH = Path(__file__).resolve().parents[2] / "examples" / "dependency_parsing.py"


@pytest.fixture(scope="module")
def parsing():
    spec = importlib.util.spec_from_file_location("dependency_parsing", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["dependency_parsing"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["dependency_parsing"]


def all_trees(parsing, V):
    heads = itertools.product(range(V + 1), repeat=V)
    return [np.array(one) for one in heads if parsing.is_tree(np.array(one))]


@pytest.mark.parametrize("V", [1, 2, 3, 4, 5])
def test_spanning_trees_are_the_best_of_all(parsing, V):
    """Scores of any size, and whole numbers with many ties."""
    rng = np.random.default_rng(V)
    trees = all_trees(parsing, V)
    assert len(trees) == (V + 1) ** (V - 1)  # Cayley
    words, compiled = np.arange(1, V + 1), RoutineSet({}, allocates=True).compiled_pass(parsing.spanning_tree)
    for draw in range(100):
        score = rng.standard_normal((V + 1, V + 1)) if draw % 2 else rng.integers(-2, 3, (V + 1, V + 1)).astype(float)
        np.fill_diagonal(score, -np.inf)
        best = max(score[tree, words].sum() for tree in trees)
        for function in (parsing.spanning_tree, compiled):
            head = np.zeros(V, np.int64)
            function(score, head)
            assert parsing.is_tree(head)
            assert score[head, words].sum() == pytest.approx(best, abs=1e-12)


def test_cycles_within_cycles(parsing):
    """Larger graphs, in which contracted cycles form cycles again: no change of one head to a tree gains."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        V = 12
        score = rng.standard_normal((V + 1, V + 1))
        score[0] -= 5.0
        np.fill_diagonal(score, -np.inf)
        head = np.zeros(V, np.int64)
        parsing.spanning_tree(score, head)
        assert parsing.is_tree(head)
        for m, h in itertools.product(range(V), range(V + 1)):
            other = head.copy()
            other[m] = h
            if h != m + 1 and parsing.is_tree(other):
                assert score[h, m + 1] <= score[head[m], m + 1] + 1e-12


def test_sentences_and_training(parsing):
    rng = np.random.default_rng(1)
    X, y = parsing.draw(60, rng)
    for kinds, heads in zip(X, y, strict=True):
        assert len(kinds) == len(heads) <= parsing.LONGEST
        assert parsing.is_tree(heads)
        assert np.sum(heads == 0) == 1
    # Changed heads make outputs that are no trees, which it cannot know: such hints are all that it may have.
    hints = bcfw.check_model(parsing.DependencyTree(), X[:5], y[:5])
    assert all("not maximal if its outputs include a changed entry" in hint for hint in hints)
    model = parsing.DependencyTree()
    short = [i for i in range(60) if len(X[i]) <= 4][:3]
    assert short
    for i in short:
        w = rng.standard_normal(model.dim)
        values = [model.loss(y[i], one) + w @ model.features(X[i], one) for one in all_trees(parsing, len(X[i]))]
        answer = model.oracle(w, X[i], y[i])
        assert model.loss(y[i], answer) + w @ model.features(X[i], answer) == pytest.approx(max(values), abs=1e-11)
    result = bcfw.train(model, X, y, lam=0.01, tol=0.1)
    assert result.certified
    predicted = result.predict(X)
    assert all(parsing.is_tree(one) for one in predicted)
    assert np.mean(np.concatenate(predicted) == np.concatenate(y)) > 0.7
