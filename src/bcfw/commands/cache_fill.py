"""Tiny problems of the built-in models; ``bcfw cache fill`` runs them to compile the code that most users need.

This code is: training with the solver "auto" without bounds, for features of float64 and of float32; training with a
warm start; predictions and probabilities; and the code of ``bcfw predict``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import bcfw
from bcfw.dual import open_problem
from bcfw.formats import Columns
from bcfw.models import MODELS
from bcfw.models.shared.sum_product import SumProduct
from bcfw.solvers.auto import USUAL_STORE_COST, block_solves, multiplane_for_cost
from bcfw.text.attributes.vocabulary import Vocabulary
from bcfw.text.source import TextSource
from bcfw.text.tagger import FEW_POSITIONS, Tagger

#: The name for all code that ``bcfw predict`` compiles; the other names are models.
TAGGER = "tagger"

NAMES = (*MODELS, TAGGER)

#: The types of packed features; code is compiled separately for each type.
TYPES = (np.float64, np.float32)

#: Sizes of a tiny problem: N examples, F features, and K positions per example, which is also the number of labels.
N, F, K = 6, 3, 3

#: Two values of lam: with USUAL, the features of tiny problems have a usual size; with SMALL, they are large.
USUAL, SMALL = 1.0, 1e-9


def fill(name: str) -> None:
    """Compile the code for a name; warnings, for example about runs that do not converge, are ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == TAGGER:
            tag()
            return
        for kind in TYPES:
            for model, X, y in tiny_problems(name, kind):
                train(model, X, y)


def tiny_problems(name: str, kind: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield models of this name, each with inputs whose features have the type ``kind``, and outputs."""
    rng, model = np.random.default_rng(0), MODELS[name]
    labels = [np.roll(np.arange(K), i) for i in range(N)]
    edges = np.array([[p, p + 1] for p in range(K - 1)])

    def some(*shape: int) -> Any:
        return (rng.random(shape) + 0.5).astype(kind)

    if name == "multiclass":
        yield model(), some(N, F), np.arange(N) % K
    elif name == "multilabel":
        for tree in (None, edges):
            yield model(tree), some(N, F), np.array(labels) % 2
    elif name == "chain":
        yield model(), [some(K, F) for _ in labels], labels
    elif name == "matching":
        yield model(), [some(K, K, F) for _ in labels], [np.eye(K)[one].astype(int) for one in labels]
    elif name == "pictorial_tree":
        yield model(edges), [(some(K, K, K), 1.0) for _ in labels], [np.column_stack([one, one]) for one in labels]
    else:
        n_labels = 2 if name == "binary_graph" else K
        yield model(), [(some(K, F), edges, some(K - 1, 1)) for _ in labels], [one % n_labels for one in labels]


def train(model: Any, X: Any, y: Any) -> None:
    """Train with every solver that "auto" can choose, train with a warm start, predict, and compute probabilities."""
    some: dict[str, Any] = {"max_passes": 2, "tol": 0.0}
    solves = block_solves(open_problem(model, X, y, USUAL))
    solvers: list[Any] = ["auto"] if solves is not None else ["auto", multiplane_for_cost(USUAL_STORE_COST)]
    for solver in solvers:
        result = bcfw.train(model, X, y, lam=USUAL, solver=solver, **some)
        bcfw.train(model, X, y, lam=USUAL, solver=solver, warm_start=result, **some)
    bcfw.train(model, X, y, lam=SMALL, **some)
    result.predict(X)
    if isinstance(result.model, SumProduct):
        result.model.log_likelihood(result.w, X, y)


def tag() -> None:
    """Label text with attributes by name, with so many positions that the tagger uses compiled code."""
    words = Vocabulary(["a", "b"])
    tagger = Tagger("chain", TextSource(Columns()), ["A", "B"], None, None, words, np.arange(4), np.ones(4))
    tagger.tag([[["a"], ["b"]]] * FEW_POSITIONS)
