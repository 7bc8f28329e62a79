"""Small random problems of every model, with features, losses and outputs written independently of the library.

A new model needs one builder here, named as in ``bcfw.models.MODELS`` (a test fails until it has one); a new solver
or option is found by itself. Two things to know: the name of a case with sparse inputs contains "csr", and ``outputs``
lists the labelings so that of several best ones at w = 0 the first is the one that the model's oracle returns.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import bcfw
from bcfw.dual import DualProblem, open_problem
from bcfw.dual.rebuild import rebuild_pass, store_rebuild_pass
from bcfw.options import Choice, Flag
from bcfw.solvers import SOLVERS
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.solver import Outcome, require_supported
from reference import Enumerated


@dataclass(frozen=True, eq=False)
class Case:
    """A model, data, and the mathematics of the model in plain loops.

    ``outputs(x, y)`` lists all labelings of one example, ``phi(x, y)`` and ``delta(y_true, y)`` are its features and
    loss. ``bounds`` are given to training, ``needs`` are the (lower, upper) arrays that the model asks for by itself.
    With ``slack``, training rescales the slack: psi_i(y) is multiplied by L_i(y).
    ``settled`` is the model with all that it reads from the data, such as class weights, fixed: other data of the same
    mathematics need it.
    """

    name: str
    model: Any
    X: Any
    y: Any
    outputs: Callable[[Any, Any], list[Any]]
    phi: Callable[[Any, Any], np.ndarray]
    delta: Callable[[Any, Any], float]
    lam: float = 0.1
    bounds: Any = None
    needs: Any = None
    settled: Any = None
    slack: bool = False

    @property
    def dim(self) -> int:
        return self.phi(self.X[0], self.y[0]).size

    @functools.cached_property
    def box(self) -> tuple[np.ndarray, np.ndarray] | None:
        """(lower, upper) of every weight; None if there are none."""
        if self.bounds is None and self.needs is None:
            return None
        lower, upper = np.full(self.dim, -np.inf), np.full(self.dim, np.inf)
        for pair in (self.bounds, self.needs):
            low, high = (None, None) if pair is None else pair
            lower = lower if low is None else np.maximum(lower, low)
            upper = upper if high is None else np.minimum(upper, high)
        return lower, upper

    def clip(self, v: np.ndarray) -> np.ndarray:
        """The nearest weights that are allowed."""
        return v if self.box is None else np.clip(v, *self.box)

    def examples(self) -> Iterator[tuple[Any, Any]]:
        for i in range(len(self.y)):
            yield self.X[i], self.y[i]

    def enumerated(self, sample_weight: Any = None, lam: float | None = None) -> Enumerated:
        """Every psi_i(y) and L_i(y); the truth counts as an output."""
        s = np.ones(len(self.y)) if sample_weight is None else np.array(sample_weight, float)
        return enumerate_outputs(self, tuple(s / s.sum()), self.lam if lam is None else lam)

    def problem(self, sample_weight: Any = None, lam: float | None = None, n_jobs: int = 1) -> DualProblem:
        lam = self.lam if lam is None else lam
        model = self.model if sample_weight is None else self.settled or self.model
        return open_problem(model, self.X, self.y, lam, sample_weight, self.bounds, n_jobs)

    def take(self, chosen: Any) -> Case:
        """The case with only, or with repetitions of, the chosen examples."""
        chosen = [int(i) for i in chosen]
        X = [self.X[i] for i in chosen] if isinstance(self.X, list) else self.X[chosen]
        y = [self.y[i] for i in chosen] if isinstance(self.y, list) else self.y[chosen]
        return dataclasses.replace(self, model=self.settled or self.model, X=X, y=y)

    def train(self, **options: Any) -> bcfw.Result:
        """With sample weights, options that would follow them stay as they are without."""
        model = self.model if options.get("sample_weight") is None else self.settled or self.model
        return bcfw.train(model, self.X, self.y, **{"lam": self.lam, "bounds": self.bounds, **options})

    def few_passes(self, max_passes: float, **options: Any) -> bcfw.Result:
        """Train without caring whether the tolerance is reached."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
            return self.train(max_passes=max_passes, **{"tol": 0.0, **options})


@functools.cache
def enumerate_outputs(case: Case, c: tuple[float, ...], lam: float) -> Enumerated:
    psi, loss = [], []
    for x, y_true in case.examples():
        labelings = [*case.outputs(x, y_true), y_true]
        truth = case.phi(x, y_true)
        psi.append(np.array([truth - case.phi(x, y) for y in labelings]))
        loss.append(np.array([case.delta(y_true, y) for y in labelings]))
        if case.slack:
            psi[-1] *= loss[-1][:, None]
    return Enumerated(psi, loss, np.array(c), lam, case.box)


def dense(x: Any) -> np.ndarray:
    return x.toarray() if sp.issparse(x) else np.asarray(x, float)


def random_cost(rng: np.random.Generator, K: int) -> np.ndarray:
    """Positive costs without ties."""
    cost = 0.5 + rng.random((K, K))
    np.fill_diagonal(cost, 0.0)
    return cost


# --- the built-in models -----------------------------------------------------------------------------------------


def multiclass_case(name: str, model: Any, X: Any, y: Any, F: int, K: int, cost: np.ndarray) -> Case:
    def phi(x: Any, y: int) -> np.ndarray:
        W = np.zeros((F, K))
        W[:, y] = dense(x).ravel()
        return W.ravel()

    return Case(name, model, X, y, lambda x, y: list(range(K)), phi, lambda a, b: float(cost[a, b]))


def build_multiclass() -> Iterator[Case]:
    for name, K, F, n, with_cost, sparse in (
        ("cost", 4, 5, 8, True, False),
        ("csr", 3, 6, 9, False, True),
        ("wide", 7, 3, 10, True, False),
    ):
        rng = np.random.default_rng(K)
        cost = random_cost(rng, K) if with_cost else 1.0 - np.eye(K)
        X = rng.standard_normal((n, F)) * (rng.random((n, F)) < 0.8)
        y = rng.permutation(np.arange(n) % K)
        model = bcfw.models.Multiclass(n_labels=K, cost=cost if with_cost else None)
        yield multiclass_case(f"multiclass-{name}", model, sp.csr_matrix(X) if sparse else X, y, F, K, cost)
        if with_cost:
            model = bcfw.models.Multiclass(n_labels=K, cost=cost, rescale="slack")
            case = multiclass_case(f"multiclass-{name}-slack", model, X, y, F, K, cost)
            yield dataclasses.replace(case, slack=True)


def chain_case(
    name: str, X: list[Any], y: list[Any], F: int, K: int, cost: np.ndarray | None, ends: bool, normalize: bool
) -> Case:
    model = bcfw.models.Chain(n_labels=K, cost=cost, end_bias=ends, normalize=normalize)
    table = 1.0 - np.eye(K) if cost is None else cost

    def outputs(x: Any, y: Any) -> list[np.ndarray]:
        return [np.array(labels) for labels in itertools.product(range(K), repeat=len(y))]

    def phi(x: Any, y: Any) -> np.ndarray:
        rows = dense(x)
        U, first, last, trans = np.zeros((F, K)), np.zeros(K), np.zeros(K), np.zeros((K, K))
        for t, label in enumerate(y):
            U[:, label] += rows[t]
            if t > 0:
                trans[y[t - 1], label] += 1.0
        first[y[0]], last[y[-1]] = 1.0, 1.0
        return np.concatenate([U.ravel(), *([first, last] if ends else []), trans.ravel()])

    def delta(y_true: Any, y: Any) -> float:
        total = sum(table[a, b] for a, b in zip(y_true, y, strict=True))
        return float(total / len(y_true) if normalize else total)

    return Case(name, model, X, y, outputs, phi, delta)


def build_chain() -> Iterator[Case]:
    for name, K, F, lengths, with_cost, ends, normalize, sparse in (
        ("cost", 3, 3, (1, 2, 3, 3, 2, 1), True, True, True, False),
        ("no-ends-sum-csr", 3, 5, (3, 1, 2, 3), False, False, False, True),
        ("wide", 6, 6, (2, 3, 1, 2, 2), True, True, False, False),
        ("few-features", 2, 1, (5, 4, 1, 3), True, False, True, False),
    ):
        rng = np.random.default_rng(10 + K + F)
        X = [rng.standard_normal((T, F)) * (rng.random((T, F)) < 0.8) for T in lengths]
        y = [rng.integers(K, size=T) for T in lengths]
        cost = random_cost(rng, K) if with_cost else None
        inputs = [sp.csr_matrix(x) for x in X] if sparse else X
        yield chain_case(f"chain-{name}", inputs, y, F, K, cost, ends, normalize)


def matchings(I: int, J: int) -> list[np.ndarray]:
    """All 0/1 matrices with at most one 1 in each row and column."""
    found = []
    for columns in itertools.product(range(-1, J), repeat=I):
        linked = [j for j in columns if j >= 0]
        if len(set(linked)) == len(linked):
            found.append(np.array([[int(j == column) for j in range(J)] for column in columns]).reshape(I, J))
    return found


def matching_case(name: str, X: list[Any], y: list[Any], miss: float, extra: float, normalize: bool) -> Case:
    def phi(x: Any, y: Any) -> np.ndarray:
        total = np.zeros(x.shape[2])
        for i, j in np.ndindex(*y.shape):
            if y[i, j] == 1:
                total += x[i, j]
        return total

    def delta(y_true: Any, y: Any) -> float:
        total, n_sure = 0.0, 0
        for i, j in np.ndindex(*y_true.shape):
            n_sure += int(y_true[i, j] == 1)
            if y_true[i, j] == 1 and y[i, j] != 1:
                total += miss
            if y_true[i, j] == 0 and y[i, j] == 1:
                total += extra
        return total / max(1, n_sure) if normalize else total

    model = bcfw.models.Matching(miss, extra, normalize=normalize)
    return Case(name, model, X, y, lambda x, y: matchings(*y.shape), phi, delta)


def drawn_truth(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Sure, no and possible links at random, until only one output has the largest loss: ties can be broken either way,
    and at w = 0 tests compare the oracle's answers with enumerated ones."""
    while True:
        y = rng.choice([0, 1, -1], size=shape, p=[0.5, 0.35, 0.15])
        extra = [int(((y == 0) * z - (y == 1) * z).sum()) for z in matchings(*shape) if not z[y == -1].any()]
        if extra.count(max(extra)) == 1:
            return y


def build_matching() -> Iterator[Case]:
    """Some truths are matchings, some are not; some have possible links."""
    for name, F, shapes, miss, extra, normalize in (
        ("costs", 3, ((2, 3), (3, 2), (3, 3), (1, 2), (2, 2)), 1.7, 0.6, False),
        ("normalized", 2, ((2, 2), (1, 3), (3, 3), (3, 1)), 1.0, 1.0, True),
    ):
        rng = np.random.default_rng(20 + F)
        X = [rng.standard_normal((*shape, F)) for shape in shapes]
        y = [drawn_truth(rng, shape) for shape in shapes]
        yield matching_case(f"matching-{name}", X, y, miss, extra, normalize)


def multilabel_case(name: str, X: Any, y: Any, F: int, L: int, tree: Any, normalize: bool) -> Case:
    """``tree`` is None or a list of pairs."""
    model = bcfw.models.Multilabel(tree=tree, normalize=normalize)
    edges = [] if tree is None else list(tree)

    def phi(x: Any, y: Any) -> np.ndarray:
        U, V = np.zeros((F, L)), np.zeros((len(edges), 2, 2))
        for label in range(L):
            U[:, label] = y[label] * dense(x).ravel()
        for e, (a, b) in enumerate(edges):
            V[e, y[a], y[b]] = 1.0
        return np.concatenate([U.ravel(), V.ravel()])

    def delta(y_true: Any, y: Any) -> float:
        wrong = sum(int(a != b) for a, b in zip(y_true, y, strict=True))
        return wrong / L if normalize else float(wrong)

    def outputs(x: Any, y: Any) -> list[np.ndarray]:
        return [np.array(labels) for labels in itertools.product((0, 1), repeat=L)]

    return Case(name, model, X, y, outputs, phi, delta)


def build_multilabel() -> Iterator[Case]:
    """Independent labels share no weights: with fewer examples, a score stays at the tie that an exact step made."""
    for name, L, F, n, tree, normalize, sparse in (
        ("independent", 3, 3, 10, None, True, False),
        ("tree", 4, 3, 8, [(1, 0), (3, 1), (1, 2)], True, False),
        ("forest-sum-csr", 5, 4, 7, [(4, 0), (2, 4), (3, 1)], False, True),
    ):
        rng = np.random.default_rng(20 + L)
        X = rng.standard_normal((n, F)) * (rng.random((n, F)) < 0.8)
        Y = rng.integers(2, size=(n, L))
        y = Y if sparse else list(Y)
        yield multilabel_case(f"multilabel-{name}", sp.csr_matrix(X) if sparse else X, y, F, L, tree, normalize)


def graph_case(name: str, model: Any, X: list[Any], y: list[Any], F: int, G: int, table: np.ndarray) -> Case:
    """``table`` is the cost of one node, class weights included."""

    def outputs(x: Any, y: Any) -> list[np.ndarray]:
        choices = [(-1,) if label < 0 else (0, 1) for label in y]
        return [np.array(labels) for labels in itertools.product(*choices)]

    def phi(x: Any, y: Any) -> np.ndarray:
        nodes, edges, values = x
        U, pairwise = np.zeros((F, 2)), np.zeros(G)
        for p, label in enumerate(y):
            if label >= 0:
                U[:, label] += dense(nodes)[p]
        for (p, q), value in zip(edges, values, strict=True):
            if min(y[p], y[q]) >= 0 and y[p] != y[q]:
                pairwise -= value
        return np.concatenate([U.ravel(), pairwise])

    def delta(y_true: Any, y: Any) -> float:
        costs = [table[a, b] for a, b in zip(y_true, y, strict=True) if a >= 0]
        return float(sum(costs) / max(1, len(costs)) if model.normalize else sum(costs))

    needs = np.repeat([-np.inf, 0.0], [2 * F, G]), np.full(2 * F + G, np.inf)
    settled = bcfw.models.BinaryGraph(table, normalize=model.normalize)
    return Case(name, model, X, y, outputs, phi, delta, needs=needs, settled=settled)


def random_graph(rng: np.random.Generator, V: int, E: int, F: int, G: int, sparse: bool) -> Any:
    nodes = rng.standard_normal((V, F)) * (rng.random((V, F)) < 0.8)
    edges = [rng.choice(V, size=2, replace=False) for _ in range(E if V > 1 else 0)]
    return (
        sp.csr_matrix(nodes) if sparse else nodes,
        np.array(edges, int).reshape(-1, 2),
        rng.random((len(edges), G)) * (rng.random((len(edges), G)) < 0.8),
    )


def binary_graph_cases() -> Iterator[Case]:
    """Cases with and without unlabelled nodes; for the first kind, plain decoding has other outputs than training."""
    for name, F, G, sizes, with_cost, balanced, normalize, unlabelled, sparse in (
        ("cost", 3, 2, ((4, 5), (3, 2), (1, 0), (5, 7), (2, 2)), True, False, True, 0.0, False),
        ("balanced-csr", 3, 1, ((4, 3), (4, 6), (3, 3), (2, 1), (5, 6), (4, 4), (3, 2)), False, True, True, 0.0, True),
        ("unlabelled-sum", 2, 3, ((5, 8), (4, 4), (6, 5), (3, 3)), True, False, False, 0.3, False),
    ):
        rng = np.random.default_rng(20 + F)
        X = [random_graph(rng, V, E, F, G, sparse) for V, E in sizes]
        y = [np.where(rng.random(V) < unlabelled, -1, rng.integers(2, size=V)) for V, _ in sizes]
        cost = random_cost(rng, 2) if with_cost else 1.0 - np.eye(2)
        model = bcfw.models.BinaryGraph(cost if with_cost else None, class_balance=balanced, normalize=normalize)
        counts = np.array([sum(int(np.sum(one == k)) for one in y) for k in (0, 1)])
        table = cost * (counts.sum() / (2.0 * counts))[:, None] if balanced else cost
        yield graph_case(f"graph-{name}", model, X, y, F, G, table)


def build_binary_graph() -> Iterator[Case]:
    return (case for case in binary_graph_cases() if all(one.min() >= 0 for one in case.y))


def label_graph_case(
    name: str,
    model: Any,
    X: list[Any],
    y: list[Any],
    sizes: tuple[int, int],
    table: np.ndarray,
    pair: Callable[..., Any],
) -> Case:
    """K labels on graphs: ``sizes`` are F and G, ``pair(a, b)`` the place and the sign of an edge's features in W."""
    (F, G), K = sizes, len(table)
    Q = max(pair(a, b)[0] for a in range(K) for b in range(K)) + 1

    def outputs(x: Any, y: Any) -> list[np.ndarray]:
        choices = [(-1,) if label < 0 else range(K) for label in y]
        return [np.array(labels) for labels in itertools.product(*choices)]

    def phi(x: Any, y: Any) -> np.ndarray:
        nodes, edges, values = x
        U, W = np.zeros((F, K)), np.zeros((G, Q))
        for p, label in enumerate(y):
            if label >= 0:
                U[:, label] += dense(nodes)[p]
        for e, (p, q) in enumerate(edges):
            if min(y[p], y[q]) >= 0:
                place, sign = pair(y[p], y[q])
                W[:, place] += sign * (1.0 if values is None else dense(values)[e])
        return np.concatenate([U.ravel(), W.ravel()])

    def delta(y_true: Any, y: Any) -> float:
        costs = [table[a, b] for a, b in zip(y_true, y, strict=True) if a >= 0]
        return float(sum(costs) / max(1, len(costs)) if model.normalize else sum(costs))

    settled = copy.copy(model)
    settled.cost, settled.class_balance = table, False
    needs = None
    if isinstance(model, bcfw.models.PottsGraph):
        needs = np.repeat([-np.inf, 0.0], [F * K, G]), np.full(F * K + G, np.inf)
    return Case(name, model, X, y, outputs, phi, delta, needs=needs, settled=settled)


def ordered_pair(a: int, b: int, K: int) -> tuple[int, float]:
    return a * K + b, 1.0


def unordered_pair(a: int, b: int, K: int) -> tuple[int, float]:
    return [*itertools.combinations_with_replacement(range(K), 2)].index((min(a, b), max(a, b))), 1.0


def unequal_pair(a: int, b: int, K: int) -> tuple[int, float]:
    return 0, -float(a != b)


def forest_edges(rng: np.random.Generator, V: int) -> np.ndarray:
    """A forest with its nodes in any order and its edges in either direction."""
    edges = [(int(rng.integers(q)), q) for q in range(1, V) if rng.random() < 0.85]
    return np.array([rng.permutation(edge) for edge in rng.permutation(V)[edges]] if edges else [], int).reshape(-1, 2)


def ring_edges(rng: np.random.Generator, V: int) -> np.ndarray:
    """A ring, or a doubled edge of two nodes."""
    return np.array([[p, (p + 1) % V] for p in range(V)] if V > 1 else [], int).reshape(-1, 2)


def doubled_edges(rng: np.random.Generator, V: int) -> np.ndarray:
    """A forest with some edges given twice, in opposite directions."""
    edges = forest_edges(rng, V)
    return np.vstack([edges, edges[: (len(edges) + 1) // 2, ::-1]])


def label_graph_cases() -> Iterator[Case]:
    """Graphs on which oracles are exact, and others: rings of more than two labels, and unlabelled nodes."""
    pairwise, potts, tree = bcfw.models.PairwiseGraph, bcfw.models.PottsGraph, bcfw.models.Tree
    tied, bounded = {"symmetric": True, "normalize": False}, {"bound_iterations": 100}
    balanced = {"class_balance": True}
    for name, kind, options, pair, edges_of, K, sizes, with_cost, unlabelled, sparse in (
        ("pairwise-forest-cost", pairwise, {}, ordered_pair, forest_edges, 3, (4, 3, 1, 2), True, 0.0, False),
        ("pairwise-doubled-csr", pairwise, tied, unordered_pair, doubled_edges, 2, (3, 4, 2, 3), True, 0.0, True),
        ("pairwise-unlabelled", pairwise, balanced, ordered_pair, forest_edges, 3, (4, 5, 4, 4), False, 0.3, False),
        ("pairwise-ring-csr", pairwise, tied, unordered_pair, ring_edges, 2, (3, 4, 2, 3), True, 0.0, True),
        ("potts-forest-balanced", potts, balanced, unequal_pair, forest_edges, 3, (3, 4, 2, 5), False, 0.0, False),
        ("potts-two-csr", potts, {}, unequal_pair, ring_edges, 2, (3, 4, 3, 5), True, 0.0, True),
        ("potts-ring-csr", potts, bounded, unequal_pair, ring_edges, 3, (3, 4, 3), True, 0.0, True),
        ("potts-unlabelled", potts, bounded, unequal_pair, forest_edges, 3, (5, 4, 5), True, 0.3, False),
        ("tree-forest-cost", tree, {}, ordered_pair, forest_edges, 3, (3, 4, 1, 2), True, 0.0, False),
        ("tree-tied-csr", tree, tied, unordered_pair, doubled_edges, 2, (4, 3, 2, 3), True, 0.0, True),
        ("tree-unlabelled", tree, balanced, ordered_pair, forest_edges, 3, (4, 5, 4, 4), False, 0.3, False),
    ):
        rng = np.random.default_rng(40 + K)
        F, G = 2, 2
        X, y = [], []
        for V in sizes:
            nodes, edges = rng.standard_normal((V, F)), edges_of(rng, V)
            values = rng.random((len(edges), G)) - (0.0 if kind is potts else 0.5)
            X.append((sp.csr_matrix(nodes), edges, sp.csr_matrix(values)) if sparse else (nodes, edges, values))
            y.append(np.where(rng.random(V) < unlabelled, -1, rng.integers(K, size=V)))
        cost = random_cost(rng, K) if with_cost else 1.0 - np.eye(K)
        counts = np.array([sum(int(np.sum(one == k)) for one in y) for k in range(K)])
        table = cost * (counts.sum() / (K * counts))[:, None] if options is balanced else cost
        model = kind(K, cost=cost if with_cost else None, **options)
        yield label_graph_case(name, model, X, y, (F, G), table, functools.partial(pair, K=K))


def build_label_graph(kind: str) -> Iterator[Case]:
    """The cases whose oracles are exact, and whose outputs are those of plain decoding."""
    cases = (case for case in label_graph_cases() if case.name.startswith(kind) and "ring" not in case.name)
    return (case for case in cases if all(one.min() >= 0 for one in case.y))


def pictorial_case(name: str, model: Any, X: list[Any], y: list[Any]) -> Case:
    """Truths tell the scale of their example, so no two of them may be equal."""
    T, V, E = model.n_types, model.n_parts, len(model.edges)
    scale_of = {np.asarray(truth).tobytes(): x[1] for x, truth in zip(X, y, strict=True)}
    assert len(scale_of) == len(y)

    def score(x: Any, p: int, state: Any) -> float:
        scores = np.asarray(x[0])
        return scores[p, state[2], state[0], state[1]] if scores.ndim == 4 else scores[p, state[0], state[1]]

    def state(y: Any, p: int) -> tuple[int, ...]:
        return (*(int(number) for number in y[p]), 0)[:3]

    def outputs(x: Any, y: Any) -> list[np.ndarray]:
        H, W = np.shape(x[0])[-2:]
        states = [(r, c, t) for t in range(T) for r in range(H) for c in range(W)]
        allowed = [[one for one in states if score(x, p, one) > -np.inf] for p in range(V)]
        return [np.array(found)[:, : 2 if T == 1 else 3] for found in itertools.product(*allowed)]

    def phi(x: Any, y: Any) -> np.ndarray:
        U, C, D = np.zeros((V, T)), np.zeros((E, T, T)), np.zeros((E, T, 4))
        for p in range(V):
            U[p, state(y, p)[2]] = score(x, p, state(y, p))
        for e, (p, q) in enumerate(model.edges):
            first, second = state(y, p), state(y, q)
            C[e, first[2], second[2]] = 1.0
            for axis in (0, 1):
                d = (second[axis] - first[axis] - model.anchors[e, second[2], axis]) / model.unit
                D[e, second[2], 2 * axis : 2 * axis + 2] = d, -(d**2)
        return np.concatenate([U.ravel(), *([C.ravel()] if T > 1 else []), D.ravel()])

    def delta(y_true: Any, y: Any) -> float:
        scale = scale_of[np.asarray(y_true).tobytes()]
        squared = [(y_true[p][0] - y[p][0]) ** 2 + (y_true[p][1] - y[p][1]) ** 2 for p in range(V)]
        return float(sum(min(1.0, one / scale) for one in squared) / V)

    free = np.full(V * T + (E * T * T if T > 1 else 0), -np.inf)
    lower = np.concatenate([free, np.tile([-np.inf, 0.0], 2 * E * T)])
    return Case(name, model, X, y, outputs, phi, delta, needs=(lower, np.full(len(lower), np.inf)))


def build_pictorial_tree() -> Iterator[Case]:
    """One type with places that are not allowed; two types with own and with shared scores, and several scales."""
    for name, T, edges, grids, scales in (
        ("one-type", 1, [(1, 0), (1, 2)], ((2, 3), (3, 2), (1, 4), (2, 2), (1, 1)), (2.5,)),
        ("two-types", 2, [(0, 1), (2, 0)], ((2, 1), (2, 2), (1, 3), (1, 2)), (0.5, 1.5, 3.0, 20.0)),
    ):
        rng = np.random.default_rng(50 + T)
        model = bcfw.models.PictorialTree(edges, T, rng.integers(-2, 3, size=(len(edges), T, 2)) / 2.0, unit=T / 1.5)
        X, y = [], []
        for i, (H, W) in enumerate(grids):
            scores = rng.standard_normal((3, H, W) if i % 2 or T == 1 else (3, T, H, W))
            truth = np.column_stack([rng.integers(size, size=3) for size in (H, W, T)])
            if T == 1 and H * W > 1:  # all but the truth may be forbidden
                scores[0, (truth[0, 0] + 1) % H, (truth[0, 1] + 1) % W] = -np.inf
            X.append((scores, scales[i % len(scales)]))
            y.append(truth[:, : 2 if T == 1 else 3])
        yield pictorial_case(f"pictorial-{name}", model, X, y)


#: Builders of at least one case per built-in model.
BUILDERS: dict[str, Callable[[], Iterator[Case]]] = {
    "multiclass": build_multiclass,
    "chain": build_chain,
    "matching": build_matching,
    "multilabel": build_multilabel,
    "binary_graph": build_binary_graph,
    "pairwise_graph": functools.partial(build_label_graph, "pairwise"),
    "potts_graph": functools.partial(build_label_graph, "potts"),
    "tree": functools.partial(build_label_graph, "tree"),
    "pictorial_tree": build_pictorial_tree,
}


# --- models of a user's own --------------------------------------------------------------------------------------


class Pairs(bcfw.Model):
    """Black box with dense features: two labels out of K that like or dislike each other; the oracle tries all."""

    def __init__(self, K: int, cost: np.ndarray) -> None:
        self.K = K
        self.cost = cost

    def outputs(self) -> list[tuple[int, int]]:
        return list(itertools.product(range(self.K), repeat=2))

    def features(self, x, y):
        unary = np.zeros((2, len(x), self.K))
        unary[0, :, y[0]], unary[1, :, y[1]] = x, x[::-1]
        pair = np.zeros((self.K, self.K))
        pair[y[0], y[1]] = 1.0
        return np.concatenate([unary.ravel(), pair.ravel()])

    def loss(self, y_true, y):
        return float(self.cost[y_true[0], y[0]] + 0.7 * self.cost[y_true[1], y[1]])

    def oracle(self, w, x, y_true=None):
        def value(y):
            return w @ Pairs.features(self, x, y) + (0.0 if y_true is None else self.loss(y_true, y))

        return max(self.outputs(), key=value)


class SparsePairs(Pairs):
    """The same with scipy-sparse features, in another form for every label."""

    def features(self, x, y):
        vector = super().features(x, y)
        form = (y[0] + 2 * y[1]) % 4
        if form == 0:
            return sp.csr_matrix(vector)
        if form == 1:
            return sp.csc_array(vector[:, None])
        if form == 2:
            return sp.coo_array(vector)
        index = np.arange(len(vector))[::-1]
        twice = np.concatenate([index, index])  # unsorted, every entry in two pieces
        return sp.coo_matrix((vector[twice] / 2.0, (0 * twice, twice)), shape=(1, len(vector)))


class SlackPairs(Pairs):
    """The dense ones with slack rescaling."""

    slack_rescaling = True

    def oracle(self, w, x, y_true=None):
        if y_true is None:
            return super().oracle(w, x)
        truth = w @ self.features(x, y_true)
        return max(self.outputs(), key=lambda y: self.loss(y_true, y) * (1.0 + w @ self.features(x, y) - truth))


class SparseSlackPairs(SlackPairs):
    """The same with sparse features."""

    def features(self, x, y):
        return sp.csr_array(Pairs.features(self, x, y).reshape(1, -1))

    def oracle(self, w, x, y_true=None):
        return SlackPairs(self.K, self.cost).oracle(w, x, y_true)


class Bits(bcfw.CompiledModel):
    """A compiled model of a user's: L independent bits, each with its own weights and cost."""

    class Data(NamedTuple):
        y: np.ndarray
        y_off: np.ndarray
        x: np.ndarray
        cost: np.ndarray

    def __init__(self, cost: np.ndarray, n_features: int) -> None:
        self.cost = np.array(cost, float)
        self.dim = len(self.cost) * n_features

    def pack(self, X, y=None):
        n, L = len(X), len(self.cost)
        labels = np.zeros((n, L)) if y is None else np.array([np.asarray(one) for one in y])
        return self.Data(labels.astype(np.int64).ravel(), np.arange(n + 1) * L, np.array(X, float), self.cost)

    @staticmethod
    def decode(data, i, w, loss_weight, y):
        F = data.x.shape[1]
        for bit in range(y.shape[0]):
            score = loss_weight * data.cost[bit] * (1.0 - 2.0 * data.y[data.y_off[i] + bit])
            for j in range(F):
                score += w[bit * F + j] * data.x[i, j]
            y[bit] = 1 if score > 0.0 else 0

    @staticmethod
    def labeling_loss(data, i, y):
        total = 0.0
        for bit in range(y.shape[0]):
            if y[bit] != data.y[data.y_off[i] + bit]:
                total += data.cost[bit]
        return total

    @staticmethod
    def add_features(data, i, y, s, out):
        F = data.x.shape[1]
        for bit in range(y.shape[0]):
            for j in range(F):
                out[bit * F + j] += s * y[bit] * data.x[i, j]

    def loss(self, y_true, y):
        return float(self.cost @ (np.asarray(y_true) != np.asarray(y)))


def own_cases() -> Iterator[Case]:
    rng = np.random.default_rng(5)
    K, F, n = 3, 3, 6
    cost = random_cost(rng, K)
    X = list(rng.standard_normal((n, F)))
    y = [tuple(int(k) for k in rng.integers(K, size=2)) for _ in range(n)]
    for name, kind in (
        ("dense-features", Pairs),
        ("sparse-features", SparsePairs),
        ("dense-slack", SlackPairs),
        ("sparse-slack", SparseSlackPairs),
    ):
        model = kind(K, cost)
        features = Pairs(K, cost).features
        case = Case(name, model, X, y, lambda x, y, model=model: model.outputs(), features, model.loss)
        slack = kind.slack_rescaling
        yield dataclasses.replace(case, slack=slack, lam=0.2 if slack else case.lam)
    L = 3
    bits = Bits(0.5 + rng.random(L), F)
    labels = list(rng.integers(2, size=(8, L)))
    inputs = list(rng.standard_normal((8, F)))

    def phi(x: Any, y: Any) -> np.ndarray:
        return np.concatenate([bit * x for bit in y])

    def outputs(x: Any, y: Any) -> list[np.ndarray]:
        return [np.array(z) for z in itertools.product((0, 1), repeat=L)]

    yield Case("user-compiled", bits, inputs, labels, outputs, phi, bits.loss)


def random_box(rng: np.random.Generator, dim: int, free: float) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of every kind: none (a share of ``free``), two, one of either side, and some that exclude zero."""
    kind = rng.choice(4, size=dim, p=[free, 0.4 * (1.0 - free), 0.3 * (1.0 - free), 0.3 * (1.0 - free)])
    lower, upper = -0.4 * rng.random(dim), 0.4 * rng.random(dim)
    shift = np.where(rng.random(dim) < 0.25, rng.choice([-0.5, 0.5], size=dim), 0.0)
    no_lower, no_upper = (kind == 0) | (kind == 2), (kind == 0) | (kind == 3)
    return np.where(no_lower, -np.inf, lower + shift), np.where(no_upper, np.inf, upper + shift)


def bounded_cases() -> Iterator[Case]:
    """Cases of above with bounds: on all weights or some, finite and not, around zero or away from it."""
    found = {case.name: case for case in [*built_in_cases(), *own_cases()]}
    for name, bounds in (
        ("multiclass-cost", (-0.45, 0.35)),
        ("chain-cost", None),
        ("dense-features", None),
        ("graph-cost", None),
    ):
        case = found[name]
        rng = np.random.default_rng(30 + case.dim)
        drawn = random_box(rng, case.dim, free=0.4) if bounds is None else bounds
        yield dataclasses.replace(case, name=f"bounded-{name}", bounds=drawn)


def built_in_cases() -> Iterator[Case]:
    for name in bcfw.models.MODELS:
        yield from BUILDERS[name]() if name in BUILDERS else ()


#: Every case by name.
CASES = {case.name: case for case in [*built_in_cases(), *own_cases(), *bounded_cases()]}

#: The cases with bounds on w, be they the model's own.
BOUNDED_CASES = {name: case for name, case in CASES.items() if case.box is not None}


def routines_of(model: Any) -> Any:
    """The routines that passes over a model's data are specialised to."""
    return model.routines if isinstance(model, bcfw.models.KernelModel) else model._routines


#: The cases whose routines are compiled.
COMPILED_CASES = {name: case for name, case in CASES.items() if routines_of(case.model).compiled}


# --- solvers -----------------------------------------------------------------------------------------------------


def option_values(name: str, option: Any) -> list[Any]:
    if name == "clock":
        return ["count"]  # the other one reads the time, so that runs cannot be compared
    if name == "slack" and find_spec("piqp") is None:
        return ["n"]  # the other one needs the extra [qp]
    if isinstance(option, Choice):
        return list(option.words)
    if isinstance(option, Flag):
        return [False, True]
    return [option.default]


def solver_variants(kind: Any) -> list[Any]:
    """A solver with every combination of its words and flags that is not refused as a contradiction."""
    case = interpreted(CASES["multiclass-cost"])
    values = {name: option_values(name, option) for name, option in kind._options.items()}
    first = kind(**{name: of[0] for name, of in values.items()})
    kept = {repr(first): first}
    for chosen in itertools.product(*values.values()):
        try:
            solver = kind(**dict(zip(values, chosen, strict=True)))
            # A contradiction may show only when training starts; the tolerance ends it before the first pass.
            case.few_passes(1, solver=solver, tol=2.0)
        except bcfw.OptionError:
            continue
        kept.setdefault(repr(solver), solver)
    found = set().union(*(pairs(solver, 1) for solver in kept.values()))
    lost = {(name, value) for name in values for value in values[name]} - found
    assert not lost, f"{kind.__name__}: no combination with one of {lost} is accepted"
    return list(kept.values())


def pairs(solver: Any, size: int = 2) -> set[Any]:
    """The values of one option, or of every two options, that a solver has."""
    values = [(name, getattr(solver, name)) for name in type(solver)._options]
    return set(values if size == 1 else itertools.combinations(values, 2))


def covering(solvers: list[Any], enough: int = 12) -> list[Any]:
    """The solvers themselves if they are few, else some of them in which all values of every two options meet."""
    if len(solvers) <= enough:
        return solvers
    chosen, missing = solvers[:1], set().union(*map(pairs, solvers)) - pairs(solvers[0])
    while missing:
        chosen.append(max(solvers, key=lambda solver: len(pairs(solver) & missing)))
        missing -= pairs(chosen[-1])
    return chosen


def interpreted(case: Case) -> Case:
    """The case with its model's routines left as Python."""
    model = copy.copy(case.model)
    name = "routines" if isinstance(model, bcfw.models.KernelModel) else "_routines"
    setattr(model, name, routines_of(model).interpreted())
    return dataclasses.replace(case, model=model)


#: The variants that tests run, by their repr: all, as long as they are few. Most tests look at weights, so that solvers
#: which form none have tests of their own (tests/solvers/test_kernelized.py).
WITH_WEIGHTS = [kind for kind in SOLVERS.values() if kind().forms_weights]
VARIANTS = {repr(solver): solver for kind in WITH_WEIGHTS for solver in covering(solver_variants(kind))}
ACCELERATED = [bcfw.solvers.MultiPlane(acceleration=acceleration, clock="count") for acceleration in (10, "features")]
ACCELERATED += [bcfw.solvers.BlockSolves(acceleration=acceleration) for acceleration in (0, "features")]
VARIANTS |= {repr(solver): solver for solver in ACCELERATED}


#: The variants whose dual can never decrease from one certificate to the next.
EXACT_VARIANTS = {name: solver for name, solver in VARIANTS.items() if solver.monotone}


@functools.cache
def problem_of(case: Case) -> DualProblem:
    """The problem of a case, to look at only; nothing is compiled for it."""
    return interpreted(case).problem()


def matches(solver: Any, case: Case) -> bool:
    """Whether a solver and a problem have what each needs of the other: the pairs that common tests run."""
    try:
        require_supported(solver, problem_of(case))
    except bcfw.OptionError:
        return False
    return True


def in_turn(values: Iterable[Any]) -> list[Any]:
    """Values of a parameter that take one part of the pairs after the other (see conftest.py)."""
    rows = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*row, marks=pytest.mark.part(k)) for k, row in enumerate(rows)]


def repeats_visits(solver: Any) -> bool:
    """Whether a block may be visited again at once.

    Exact steps leave ties between corners, and rounding decides what a second visit does; so such runs can only be
    compared as far as their certificates go.
    """
    sampled = getattr(solver, "sampling", "permuted") not in ("permuted", "cyclic")
    by_passes = bcfw.solvers.MultiPlane | bcfw.solvers.CuttingPlane | bcfw.solvers.Auto
    return (sampled and solver.uses_store) or isinstance(solver, by_passes)


def without_repeats(solver: Any) -> Any:
    """The same solver with cyclic passes, if it keeps labelings and its passes are permuted.

    Of two permuted passes the second may begin with the block that the first has ended with.
    """
    if getattr(solver, "sampling", "") != "permuted" or not solver.uses_store:
        return solver
    options = {name: getattr(solver, name) for name in type(solver)._options}
    return type(solver)(**{**options, "sampling": "cyclic"})


def drift(problem: Any) -> dict[str, float]:
    """How far rounding has separated the maintained v (key "w") and ell from the block averages."""
    v = problem.v_from_blocks()
    ell = problem.state.c * problem.averaged_losses()
    return {
        "w": float(np.max(np.abs(v - problem.v), initial=0.0)),
        "ell": float(np.max(np.abs(ell - problem.state.ell), initial=0.0)),
    }


def ends_at_its_best_dual_value(solver: Any) -> bool:
    """Whether the dual value of the result is the value of the dual point that the run has come to."""
    returns_others = getattr(solver, "acceleration", 0) or getattr(solver, "slack", "") == "one"
    return solver.certifies and solver.monotone and not returns_others


def first_row(case: Case, snapshot: Any, lam: float | None = None) -> tuple[float, float]:
    """Primal and dual value that a run reports first when it begins with a saved state, possibly at another lam.

    Its weights are those that were returned, or with another lam those of the dual point. Where w = 0 is allowed and
    the oracle is exact, P(0) and the dual value 0 of the truths are known, too.
    """
    objective, zero = case.enumerated(lam=lam), np.zeros(case.dim)
    v = snapshot["w"] * (1.0 if lam is None else case.lam / lam)
    returned = snapshot.get("point") if lam is None else None
    primal, dual = (
        objective.primal(case.clip(v if returned is None else returned)),
        objective.dual(v, snapshot["ell"].sum()),
    )
    if "heuristic oracle" not in case.problem().adapter.needs and np.array_equal(case.clip(zero), zero):
        return min(primal, objective.primal(zero)), max(dual, 0.0)
    return primal, dual


def calls_every_visit(solver: Any) -> bool:
    """Whether every visit asks the oracle, and a pass has n of them.

    Exact block solves, which "auto" may choose, leave out blocks that cannot move.
    """
    leaves_out = isinstance(solver, bcfw.solvers.BlockSolves | bcfw.solvers.Auto)
    return getattr(solver, "cache", None) is None and not leaves_out


def own_model(kind: Any, *args: Any) -> Case:
    """The black-box case with another kind of model."""
    base = CASES["dense-features"]
    model = kind(base.model.K, base.model.cost, *args)
    return Case(kind.__name__, model, base.X, base.y, base.outputs, base.phi, base.delta, base.lam)


def same_run(a: bcfw.Result, b: bcfw.Result) -> None:
    """Equal to the last bit, apart from the clock."""
    np.testing.assert_array_equal(a.w, b.w)
    assert (a.primal, a.n_passes, a.status) == (b.primal, b.n_passes, b.status)
    np.testing.assert_array_equal([a.dual, a.gap], [b.dual, b.gap])  # NaN without a dual point
    for key in set(a.history) - {"seconds"}:
        np.testing.assert_array_equal(a.history[key], b.history[key])


# --- the few places where tests look inside ----------------------------------------------------------------------


def block_state(problem: DualProblem, i: int) -> tuple[np.ndarray, float]:
    """v_i, rebuilt from the block's average, and ell_i; the sum of all v_i is v, and w is v clipped."""
    v_i = np.zeros_like(problem.state.w)
    if problem.store is None:
        problem.call(rebuild_pass, problem.lam, np.array([i]), v_i)
    else:
        problem.call(store_rebuild_pass, problem.lam, np.array([i]), v_i, tuple(problem.store))
    return v_i, float(problem.state.ell[i])


def continue_with(problem: DualProblem, solver: Any, max_passes: float, seed: int = 0) -> Outcome:
    """Let a solver work on a problem that others may have worked on before."""
    solver.prepare(problem)
    return solver.solve(problem, CountedRun(problem, 0.0, max_passes), np.random.default_rng(seed))
