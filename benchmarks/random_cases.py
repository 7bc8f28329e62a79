"""Random small problems of every model, for campaigns: features of any scale, form and type, all options of the models.

``draw(rng, scale)`` gives the kind, in the words of a campaign's table, and a :class:`problems.Case` (by the builders
of the tests, whose mathematics is written in plain loops).
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import bcfw

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import problems
from problems import Case

Draw = Callable[[np.random.Generator, float], Case]


def count(rng: np.random.Generator, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return int(rng.integers(low, high + 1))


def flip(rng: np.random.Generator, p: float = 0.5) -> bool:
    return bool(rng.random() < p)


def rows_of_any_form(rng: np.random.Generator, X: Any) -> Any:
    """An array, or a list of arrays, as it is, in single precision, sparse, or in another order of memory."""
    kind = rng.integers(6)
    if kind == 0:
        form: Callable[[np.ndarray], Any] = sp.csr_matrix
    elif kind == 1:
        form = sp.csr_array
    elif kind == 2:
        form = np.asfortranarray
    else:
        return X
    return [form(x) for x in X] if isinstance(X, list) else form(X)


def rounded(rng: np.random.Generator, X: Any) -> Any:
    """Sometimes the nearest numbers of single precision, in that type."""
    if not flip(rng, 0.15):
        return X
    return [x.astype(np.float32) for x in X] if isinstance(X, list) else X.astype(np.float32)


def sparse_normal(rng: np.random.Generator, scale: float, *shape: int) -> np.ndarray:
    return scale * rng.standard_normal(shape) * (rng.random(shape) < 0.85)


def multiclass(rng: np.random.Generator, scale: float, slack: bool) -> Case:
    K, F, n = count(rng, 2, 5), count(rng, 1, 5), count(rng, 1, 8)
    with_cost = flip(rng)
    cost = problems.random_cost(rng, K) if with_cost else 1.0 - np.eye(K)
    X = rows_of_any_form(rng, rounded(rng, sparse_normal(rng, scale, n, F)))
    options = {"rescale": "slack"} if slack else {}
    model = bcfw.models.Multiclass(n_labels=K, cost=cost if with_cost else None, **options)
    case = problems.multiclass_case("multiclass", model, X, rng.integers(K, size=n), F, K, cost)
    return dataclasses.replace(case, slack=slack)


def chain(rng: np.random.Generator, scale: float) -> Case:
    K, F, lengths = count(rng, 2, 3), count(rng, 1, 3), rng.integers(1, 4, size=count(rng, 1, 5))
    X = rows_of_any_form(rng, rounded(rng, [sparse_normal(rng, scale, T, F) for T in lengths]))
    y = [rng.integers(K, size=T) for T in lengths]
    cost = problems.random_cost(rng, K) if flip(rng) else None
    return problems.chain_case("chain", X, y, F, K, cost, flip(rng), flip(rng))


def multilabel(rng: np.random.Generator, scale: float, with_tree: bool) -> Case:
    L, F, n = count(rng, 2, 4), count(rng, 1, 3), count(rng, 1, 7)
    tree = [(count(rng, 0, b - 1), b) for b in range(1, L) if flip(rng, 0.85)] if with_tree else None
    X = rows_of_any_form(rng, rounded(rng, sparse_normal(rng, scale, n, F)))
    Y = rng.integers(2, size=(n, L))
    return problems.multilabel_case("multilabel", X, Y if flip(rng) else list(Y), F, L, tree, flip(rng))


def binary_graph(rng: np.random.Generator, scale: float) -> Case:
    F, G, sparse = count(rng, 1, 3), count(rng, 1, 2), flip(rng, 0.3)
    sizes = rng.integers(1, 6, size=count(rng, 1, 5))
    graphs = [problems.random_graph(rng, V, count(rng, 0, 5), F, G, sparse) for V in sizes]
    X = [(scale * nodes, edges, scale * values) for nodes, edges, values in graphs]
    y = unlabelled_at_random(rng, [rng.integers(2, size=V) for V in sizes])
    cost, balanced = problems.random_cost(rng, 2), flip(rng, 0.3)
    table = balanced_cost(cost, y) if balanced else cost
    if table is None:
        table, balanced = cost, False
    model = bcfw.models.BinaryGraph(cost, class_balance=balanced, normalize=flip(rng))
    return problems.graph_case("graph", model, X, y, F, G, table)


def unlabelled_at_random(rng: np.random.Generator, y: list[np.ndarray]) -> list[np.ndarray]:
    """Sometimes a fifth of the nodes have no label."""
    if not flip(rng, 0.3):
        return y
    return [np.where(rng.random(len(one)) < 0.2, -1, one) for one in y]


def balanced_cost(cost: np.ndarray, y: list[np.ndarray]) -> np.ndarray | None:
    """The cost with class weights; None if a label is missing."""
    counts = np.array([sum(int(np.sum(one == k)) for one in y) for k in range(len(cost))])
    return cost * (counts.sum() / (len(cost) * counts))[:, None] if counts.all() else None


#: What label graphs need: the model's class, its options, where edges' features go, and the shapes of its graphs.
TIED = {"symmetric": True}
LABEL_GRAPHS: dict[str, list[tuple[Any, dict[str, Any], Any, Any, int]]] = {
    "PairwiseGraph": [
        (bcfw.models.PairwiseGraph, {}, problems.ordered_pair, problems.forest_edges, 3),
        (bcfw.models.PairwiseGraph, TIED, problems.unordered_pair, problems.doubled_edges, 2),
        (bcfw.models.PairwiseGraph, TIED, problems.unordered_pair, problems.ring_edges, 2),
        (bcfw.models.PairwiseGraph, {}, problems.ordered_pair, problems.ring_edges, 3),
    ],
    "PottsGraph": [
        (bcfw.models.PottsGraph, {}, problems.unequal_pair, problems.forest_edges, 3),
        (bcfw.models.PottsGraph, {}, problems.unequal_pair, problems.ring_edges, 2),
        (bcfw.models.PottsGraph, {}, problems.unequal_pair, problems.ring_edges, 3),
        (bcfw.models.PottsGraph, {"bound_iterations": 0}, problems.unequal_pair, problems.ring_edges, 3),
    ],
    "Tree": [
        (bcfw.models.Tree, {}, problems.ordered_pair, problems.forest_edges, 3),
        (bcfw.models.Tree, TIED, problems.unordered_pair, problems.doubled_edges, 2),
    ],
}


def label_graph(rng: np.random.Generator, scale: float, name: str) -> Case:
    kind, options, pair, edges_of, K = LABEL_GRAPHS[name][rng.integers(len(LABEL_GRAPHS[name]))]
    F, G, sparse = count(rng, 1, 2), count(rng, 1, 2), flip(rng, 0.3)
    X, y = [], []
    for V in rng.integers(1, 5, size=count(rng, 1, 4)):
        nodes, edges = scale * rng.standard_normal((V, F)), edges_of(rng, V)
        values = scale * (rng.random((len(edges), G)) - (0.0 if name == "PottsGraph" else 0.5))
        X.append((sp.csr_matrix(nodes), edges, sp.csr_matrix(values)) if sparse else (nodes, edges, values))
        y.append(rng.integers(K, size=V))
    y = unlabelled_at_random(rng, y)
    cost = problems.random_cost(rng, K)
    table = balanced_cost(cost, y) if flip(rng, 0.3) else None
    model = kind(K, cost=cost, class_balance=table is not None, normalize=flip(rng), **options)
    place = functools.partial(pair, K=K)
    return problems.label_graph_case(name, model, X, y, (F, G), cost if table is None else table, place)


def pictorial_tree(rng: np.random.Generator, scale: float) -> Case:
    T, E = count(rng, 1, 2), 1 if flip(rng) else 2
    V = E + 1
    edges = [(1, 0)] if E == 1 else [[(1, 0), (1, 2)], [(0, 1), (2, 0)]][rng.integers(2)]
    anchors = rng.integers(-2, 3, size=(E, T, 2)) / 2.0
    model = bcfw.models.PictorialTree(edges, T, anchors, unit=T / 1.5)
    X: list[Any] = []
    y: list[Any] = []
    for i in range(count(rng, 1, 4)):
        H, W = (int(size) for size in rng.permutation([count(rng, 1, 2), count(rng, 1, 3 if T == 1 and E == 1 else 2)]))
        scores = scale * rng.standard_normal((V, H, W) if T == 1 or flip(rng) else (V, T, H, W))
        truth = np.column_stack([rng.integers(size, size=V) for size in (H, W, T)])[:, : 2 if T == 1 else 3]
        if any(np.array_equal(truth, other) for other in y):
            continue  # the truth tells the scale of its example
        if T == 1 and H * W > 1 and flip(rng):
            scores[0, (truth[0, 0] + 1) % H, (truth[0, 1] + 1) % W] = -np.inf
            if scores[0, truth[0, 0], truth[0, 1]] == -np.inf:
                continue
        X.append((scores, [0.5, 1.5, 3.0][i % 3]))
        y.append(truth)
    if not y:
        return pictorial_tree(rng, scale)
    return problems.pictorial_case("pictorial", model, X, y)


def matching(rng: np.random.Generator, scale: float) -> Case:
    F, shapes = count(rng, 1, 3), rng.integers(1, 4, size=(count(rng, 1, 5), 2))
    X = rounded(rng, [scale * rng.standard_normal((*shape, F)) for shape in shapes])
    y = [problems.drawn_truth(rng, tuple(shape)) for shape in shapes]
    return problems.matching_case("matching", X, y, 0.5 + rng.random(), 0.5 + rng.random(), flip(rng))


class Greedy(problems.Pairs):
    """A heuristic: the first label as if it were alone, then the second one."""

    exact_oracle = False

    def oracle(self, w: Any, x: Any, y_true: Any = None) -> Any:
        def value(y: Any) -> float:
            return float(w @ self.features(x, y)) + (0.0 if y_true is None else self.loss(y_true, y))

        pair = w[-(self.K**2) :]
        unary = [max(value((a, b)) - pair[a * self.K + b] for b in range(self.K)) for a in range(self.K)]
        first = int(np.argmax(unary))
        return max(((first, b) for b in range(self.K)), key=value)


class Bounded(Greedy):
    """Knows the maximum but not where it is taken."""

    def upper_bound(self, w: Any, x: Any, y_true: Any) -> float:
        best = problems.Pairs.oracle(self, w, x, y_true)
        return float(w @ self.features(x, best)) + self.loss(y_true, best)


class LooselyBounded(Greedy):
    """Knows that no output has more than its best first and second labels and its best pair together."""

    def upper_bound(self, w: Any, x: Any, y_true: Any) -> float:
        K, F = self.K, len(x)
        unary = w[: 2 * F * K].reshape(2, F, K)
        first = np.max(x @ unary[0] + self.cost[y_true[0]])
        second = np.max(x[::-1] @ unary[1] + 0.7 * self.cost[y_true[1]])
        return float(first + second + np.max(w[-(K**2) :])) + 1e-12 * float(np.abs(x).sum() * np.abs(w).sum())


def of_python(rng: np.random.Generator, scale: float, kinds: tuple[Any, ...]) -> Case:
    K, F, n = count(rng, 2, 3), count(rng, 1, 3), count(rng, 1, 6)
    kind, cost = kinds[rng.integers(len(kinds))], problems.random_cost(rng, K)
    plain = problems.Pairs(K, cost)
    y = [tuple(int(k) for k in rng.integers(K, size=2)) for _ in range(n)]
    X = list(scale * rng.standard_normal((n, F)))
    case = Case("python", kind(K, cost), X, y, lambda x, y: plain.outputs(), plain.features, plain.loss)
    return dataclasses.replace(case, slack=kind.slack_rescaling)


def compiled(rng: np.random.Generator, scale: float) -> Case:
    L, F, n = count(rng, 1, 4), count(rng, 1, 3), count(rng, 1, 7)
    model = problems.Bits(0.5 + rng.random(L), F)
    X, y = list(scale * rng.standard_normal((n, F))), list(rng.integers(2, size=(n, L)))

    def outputs(x: Any, y: Any) -> list[np.ndarray]:
        return [np.array(z) for z in np.ndindex(*(2,) * L)]

    return Case("compiled", model, X, y, outputs, lambda x, y: np.concatenate([bit * x for bit in y]), model.loss)


#: Kinds of problems, in the words of the table, how they are drawn, and how often.
KINDS: dict[str, tuple[Draw, float]] = {
    "Multiclass": (functools.partial(multiclass, slack=False), 3.0),
    "Multiclass, slack": (functools.partial(multiclass, slack=True), 1.0),
    "Chain": (chain, 3.0),
    "Multilabel": (functools.partial(multilabel, with_tree=False), 1.0),
    "Multilabel with tree": (functools.partial(multilabel, with_tree=True), 1.0),
    "BinaryGraph": (binary_graph, 1.0),
    "PottsGraph": (functools.partial(label_graph, name="PottsGraph"), 1.0),
    "PairwiseGraph": (functools.partial(label_graph, name="PairwiseGraph"), 1.0),
    "Tree": (functools.partial(label_graph, name="Tree"), 1.0),
    "PictorialTree": (pictorial_tree, 0.7),
    "Matching": (matching, 1.0),
    "Python": (functools.partial(of_python, kinds=(problems.Pairs, problems.SparsePairs)), 0.7),
    "Python, slack": (functools.partial(of_python, kinds=(problems.SlackPairs, problems.SparseSlackPairs)), 0.5),
    "Python, heuristic": (functools.partial(of_python, kinds=(Greedy, Bounded, LooselyBounded)), 0.5),
    "compiled": (compiled, 1.0),
}


def draw(rng: np.random.Generator, scale: float, kinds: Any = None) -> tuple[str, Case]:
    """The kind of a problem and the problem; ``kinds`` are the names to choose from."""
    names = list(KINDS if kinds is None else kinds)
    shares = np.array([KINDS[name][1] for name in names])
    name = names[rng.choice(len(names), p=shares / shares.sum())]
    return name, KINDS[name][0](rng, scale)


def draw_scale(rng: np.random.Generator) -> float:
    """Of the features: mostly 0.001 to 10,000, sometimes far from one."""
    if flip(rng, 0.9):
        return 10.0 ** rng.uniform(-3, 4)
    return float(rng.choice([1e-160, 1e-30, 1e-12, 1e6, 1e8]))


def draw_weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    """Sample weights: none in half of all cases, of several sizes, or whole numbers, of which some are zero."""
    kind = rng.integers(4)
    if kind == 0:
        return 10.0 ** rng.uniform(-2, 2, size=n)
    if kind == 1:
        weights = rng.integers(4, size=n).astype(float)
        return weights if weights.any() else None
    return None


def draw_bounds(rng: np.random.Generator, case: Case, scale: float) -> Case:
    """The case with bounds, which are compatible with those that the model needs."""
    size = 10.0 ** rng.uniform(-2, 2) / max(scale, 1e-30)
    low, high = problems.random_box(rng, case.dim, free=0.4) if case.needs is None else (-rng.random(), rng.random())
    return dataclasses.replace(case, bounds=(low * size, high * size))


def forget() -> None:
    """Empty the caches of the tests' builders, which keep every case."""
    problems.enumerate_outputs.cache_clear()
    problems.problem_of.cache_clear()
