"""Vectors in the feature space of a joint kernel: numbered pairs (x_i, y), cached kernel values, inner products.

A feature vector ``phi(x_i, y)`` is represented by the unit vector of its pair, and a linear combination of feature
vectors by a sparse vector of coefficients. The inner product of two coefficient vectors a and b is
``sum_{p, q} a_p b_q k(pair_p, pair_q)``.
"""

from __future__ import annotations

import collections
import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from bcfw.errors import ModelError, OracleError
from bcfw.models.check.failures import described
from bcfw.models.python.feature_vectors import Sparse, SparseVectors

Pair = tuple[Any, Any]

#: Relative rounding tolerance of squared norms; if one is more negative, the kernel is not positive semidefinite.
NEGATIVE = 1e-9


class Score:
    """The score function ``y -> <w, phi(x, y)>`` of one input x, for ``w = sum_s beta_s phi(x_s, y_s)``.

    ``score(outputs)`` is the array of the scores ``sum_s beta_s k((x, y), (x_s, y_s))`` of a list of outputs y.

    Attributes
    ----------
    support : list of pairs (x_s, y_s)
    coefficients : (M,) array
        The coefficients beta; some may be zero.
    """

    def __init__(
        self, values: Callable[[list[Any]], np.ndarray], support: list[Pair], coefficients: np.ndarray
    ) -> None:
        self._values = values
        self.support = support
        self.coefficients = coefficients

    def __call__(self, outputs: Any) -> np.ndarray:
        return self._values(list(outputs))[:, : len(self.coefficients)] @ self.coefficients  # type: ignore[no-any-return]


def kernel_values(model: Any, pairs: list[Pair], others: list[Pair]) -> np.ndarray:
    """Return the (M, N) values of the model's joint kernel after checking their shape and that they are finite."""
    if not pairs or not others:
        return np.zeros((len(pairs), len(others)))
    name = f"{type(model).__name__}: joint_kernel"
    try:
        found = np.asarray(model.joint_kernel(pairs, others), dtype=np.float64)
    except Exception as error:
        raise ModelError(f"{name} failed: {described(error)}") from error
    if found.shape != (len(pairs), len(others)):
        raise ModelError(
            f"{name}: for {len(pairs)} and {len(others)} pairs it must return an array of shape "
            f"{(len(pairs), len(others))}, got {found.shape}"
        )
    if not np.isfinite(found).all():
        raise ModelError(f"{name} returned a NaN or an infinity")
    return found


def expansion(model: Any, x: Any, support: list[Pair], coefficients: np.ndarray) -> Score:
    """Return the score function of any input x; it computes kernel values when they are needed, without a cache."""
    return Score(lambda outputs: kernel_values(model, [(x, y) for y in outputs], support), support, coefficients)


def key_of(y: Any) -> Any:
    """Return a key that equal outputs share: the output if it is hashable, else its pickle.

    Outputs that cannot be pickled either count as different.
    """
    try:
        hash(y)
    except TypeError:
        try:
            return pickle.dumps(y)
        except Exception:
            return object()
    return y


class Pairs:
    """The pairs (x_i, y) that training has found, the support (the pairs with coefficients), and a kernel cache.

    A row of the cache has the kernel values of one output of an example with all pairs of the support. When the cache
    is full, the least recently used rows are dropped. The support only grows, so a row that is too short is extended.

    Parameters
    ----------
    model : bcfw.JointKernelModel
    X : inputs of all examples

    Attributes
    ----------
    example, output : lists
        i and y of every pair, indexed by the number of the pair.
    support : list of pairs
        The pairs that have, or had, a coefficient, in the order in which they were added.
    cache_mb : float
        Size of the cache of kernel rows in megabytes.
    computed : int
        Number of kernel values computed so far.
    """

    def __init__(self, model: Any, X: Any) -> None:
        self.model, self.X = model, X
        self.example: list[int] = []
        self.output: list[Any] = []
        self.support: list[Pair] = []
        self.cache_mb = 500.0
        self.computed = 0
        self._numbers: dict[Any, int] = {}
        self._supported: set[int] = set()
        self._order = np.zeros(16, np.int64)
        self._own: dict[int, list[int]] = collections.defaultdict(list)
        self._place: list[int] = []
        self._grams: dict[int, np.ndarray] = {}
        self._rows: collections.OrderedDict[Any, np.ndarray] = collections.OrderedDict()
        self._kept = 0
        self._lock = threading.RLock()

    def number(self, i: int, y: Any) -> int:
        """Return the number of a pair; a new pair gets the next number."""
        key = int(i), key_of(y)
        with self._lock:
            found = self._numbers.get(key)
            if found is None:
                found = self._numbers[key] = len(self.output)
                self.example.append(key[0])
                self.output.append(copy.deepcopy(y) if isinstance(key[1], bytes) else y)  # y may change later
                self._place.append(len(self._own[key[0]]))
                self._own[key[0]].append(found)
            return found

    def pair(self, p: int) -> Pair:
        """Return the pair with number p."""
        return self.X[self.example[p]], self.output[p]

    @property
    def order(self) -> np.ndarray:
        """The numbers of the pairs in the support."""
        return self._order[: len(self.support)]

    def add_support(self, numbers: np.ndarray) -> None:
        """Add these pairs to the support, so that they may have coefficients."""
        for p in numbers.tolist():
            if p not in self._supported:
                if len(self.support) == len(self._order):
                    self._order = np.resize(self._order, 2 * len(self._order))
                self._order[len(self.support)] = p
                self._supported.add(p)
                self.support.append(self.pair(p))

    # --- kernel values

    def rows(self, i: int, outputs: list[Any]) -> np.ndarray:
        """Return the (M, S) kernel values of M outputs of example i with all S pairs of the support."""
        with self._lock:
            keys = [(int(i), key_of(y)) for y in outputs]
            size = len(self.support)
            lengths = [len(self._rows[key]) if key in self._rows else 0 for key in keys]
            out = np.empty((len(keys), size))
            for known in sorted(set(lengths)):
                some = [m for m, length in enumerate(lengths) if length == known]
                more = self._values([(self.X[i], outputs[m]) for m in some], self.support[known:], i)
                for m, values in zip(some, more, strict=True):
                    if known:
                        out[m, :known] = self._rows[keys[m]]
                    out[m, known:] = values
            self._keep(keys, out)
            return out

    def _keep(self, keys: list[Any], rows: np.ndarray) -> None:
        """Put rows into the cache, replacing shorter rows, and drop the least recently used rows beyond its size."""
        for key, row in zip(keys, rows, strict=True):
            former = self._rows.get(key)
            if former is None or len(former) < len(row):
                self._kept += len(row) - (0 if former is None else len(former))
                self._rows[key] = row.copy()
            self._rows.move_to_end(key)
        while 8e-6 * self._kept > self.cache_mb:
            self._kept -= len(self._rows.popitem(last=False)[1])

    def gram(self, numbers: np.ndarray) -> np.ndarray:
        """Return the (M, M) kernel values among pairs of one example."""
        i = self.example[numbers[0]]
        with self._lock:
            own, known = self._own[i], self._grams.get(i, np.zeros((0, 0)))
            if len(known) < len(own):
                every = [self.pair(p) for p in own]
                new = self._values(every[len(known) :], every, i)
                whole = np.empty((len(own), len(own)))
                whole[len(known) :] = new
                whole[: len(known), : len(known)] = known
                whole[: len(known), len(known) :] = new[:, : len(known)].T
                known = self._grams[i] = whole
        places = [self._place[p] for p in numbers]
        return known[np.ix_(places, places)]

    def _values(self, pairs: list[Pair], others: list[Pair], i: int) -> np.ndarray:
        """Return kernel values; an error names the example i."""
        self.computed += len(pairs) * len(others)
        try:
            return kernel_values(self.model, pairs, others)
        except ModelError as error:
            raise OracleError(f"example {i}: {error}", i) from error

    def score(self, i: int, w: np.ndarray) -> Score:
        """Return the score function of example i; w has the coefficients, indexed by the numbers of the pairs."""
        size = len(self.support)
        return Score(lambda outputs: self.rows(i, outputs), self.support[:size], w[self.order])


class PairVectors(SparseVectors):
    """Sparse vectors of coefficients of pairs, with the inner product of a joint kernel.

    All pairs of a sparse vector belong to one example. ``w`` is an array over the numbers of all pairs.
    """

    def __init__(self, pairs: Pairs) -> None:
        super().__init__(len(pairs.X))
        self.pairs = pairs

    def unit(self, i: int, y: Any) -> Sparse:
        """Return ``phi(x_i, y)``, the unit vector of the pair."""
        return np.array([self.pairs.number(i, y)]), np.ones(1)

    def inner(self, a: Sparse, w: np.ndarray) -> float:
        """Return <a, w>."""
        numbers, values = a
        if not len(numbers) or not len(self.pairs.support):
            return 0.0
        outputs = [self.pairs.output[p] for p in numbers]
        return float(values @ self.pairs.rows(self.pairs.example[numbers[0]], outputs) @ w[self.pairs.order])

    def sqnorm(self, a: Sparse) -> float:
        numbers, values = a
        if not len(numbers):
            return 0.0
        gram = self.pairs.gram(numbers)
        square, size = float(values @ gram @ values), float(values**2 @ np.abs(np.diagonal(gram)))
        if square < -NEGATIVE * size:
            i = self.pairs.example[numbers[0]]
            raise OracleError(
                f"example {i}: joint_kernel gives the squared norm {square:.3g} < 0 to a sum of features; it must be "
                "symmetric and positive semidefinite, as inner products are",
                i,
            )
        return max(square, 0.0)

    def products(self, a: Sparse, w: np.ndarray) -> tuple[float, float]:
        return self.inner(a, w), self.sqnorm(a)

    def direct(self, a: Sparse, s: float, b: Sparse, w: np.ndarray) -> tuple[Sparse, float, float]:
        d = self.combine(a, s, b)
        return d, *self.products(d, w)

    def between(self, a: Sparse, b: Sparse, w: np.ndarray) -> float:
        return self.inner(self.combine(a, -1.0, b), w)

    def add_to(self, w: np.ndarray, s: float, a: Sparse) -> None:
        self.pairs.add_support(a[0])
        super().add_to(w, s, a)

    def square(self, w: np.ndarray) -> float:
        """Return <w, w>."""
        numbers = self.pairs.order[w[self.pairs.order] != 0.0]
        examples = np.array([self.pairs.example[p] for p in numbers], np.int64)
        own = (numbers[examples == i] for i in np.unique(examples))
        return sum(self.inner((some, w[some]), w) for some in own)
