"""What a path returns: weights for every lam, kept economically, and how well they do on other data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bcfw.errors import InputError
from bcfw.inputs.examples import by_position, check_same_length
from bcfw.inputs.sample_weights import block_shares, read_sample_weight
from bcfw.options import NonNegative, Positive
from bcfw.path.bounds import GapBound
from bcfw.result import predict

#: Relative difference of two means of losses that count as the same.
ROUNDING = 1e-12

#: Relative difference of two lam that count as the same.
SAME_LAM = 1e-12


class Changes:
    """Weight vectors in a row, each kept as what differs from the one before where that takes less room.

    A vector that differs from the one before in fewer than half of its entries is kept as those entries, an index and
    a value each.
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._kept: list[np.ndarray | tuple[np.ndarray, np.ndarray]] = []
        self._last = np.zeros(dim)

    def __len__(self) -> int:
        return len(self._kept)

    def append(self, w: np.ndarray) -> None:
        changed = np.flatnonzero(w != self._last)
        self._kept.append((changed, w[changed]) if 2 * len(changed) < self.dim else w.copy())
        self._last = w.copy()

    def __iter__(self) -> Iterator[np.ndarray]:
        """All vectors in turn, each a copy."""
        w = np.zeros(self.dim)
        for kept in self._kept:
            w = self._after(w, kept)
            yield w.copy()

    def __getitem__(self, j: int) -> np.ndarray:
        start = max((k for k in range(j + 1) if isinstance(self._kept[k], np.ndarray)), default=0)
        w = np.zeros(self.dim)
        for kept in self._kept[start : j + 1]:
            w = self._after(w, kept)
        return w

    @staticmethod
    def _after(w: np.ndarray, kept: np.ndarray | tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """The vector after w, which is overwritten unless the whole of it is kept."""
        if isinstance(kept, np.ndarray):
            return kept.copy()
        w[kept[0]] = kept[1]
        return w


class Validation(NamedTuple):
    """Losses of a path's weights on other data.

    Attributes
    ----------
    lambdas : (m,) array
        The path's breakpoints.
    losses : (m,) array
        Weighted mean of the model's loss with the weights of each.
    best : float
        The largest of those lam that have the smallest loss.
    interval : (float, float)
        The smallest and the largest lam of the connected range around ``best`` whose losses exceed the smallest by at
        most ``tolerance``.
    """

    lambdas: np.ndarray
    losses: np.ndarray
    best: float
    interval: tuple[float, float]


@dataclass
class RegularizationPath:
    """What :func:`bcfw.regularization_path` and :func:`bcfw.grid_path` return.

    Attributes
    ----------
    lambdas : (m,) array
        Breakpoints, descending. Those of a path cover all lam: between two of them the weights are those of the larger,
        above the first one they are ``(lambdas[0] / lam) w_1``. Those of a grid stand for themselves.
    gaps : (m,) array
        Duality gap at each of them, of ``weights(lambdas[j])``.
    certified : bool
        Whether the gaps, and all of :meth:`bound`, are proved. If not, the path is heuristic or the oracle is.
    status : str
        "complete" (the last weights serve every smaller lam; of a grid: all lam are solved), "lam_min" (that is
        where it ends), or what ended it before: "max_passes", "max_seconds", "stopped", "interrupted" or "stalled".
    n_passes, n_oracle_calls, seconds
        Exact-oracle steps divided by n, all oracle calls including certificates, wall-clock time; of the whole path.
    history : dict of arrays
        passes, oracle_calls and seconds until each breakpoint was done.
    solver, model
        The solver that worked at each breakpoint, and the bound copy of the model.
    """

    lambdas: np.ndarray
    gaps: np.ndarray
    certified: bool
    status: str
    n_passes: float
    n_oracle_calls: int
    seconds: float
    history: dict[str, np.ndarray] = field(repr=False)
    solver: Any
    model: Any
    is_grid: bool = field(repr=False)
    origin: np.ndarray = field(repr=False)
    _weights: Changes = field(repr=False)
    _bounds: list[GapBound] = field(repr=False)

    def weights(self, lam: float) -> np.ndarray:
        """(d,) weights for any lam that the path covers; of a grid, for any lam of it."""
        lam, j = self._place(lam)
        w = self._weights[j]
        return self.origin + self.lambdas[0] / lam * (w - self.origin) if lam > self.lambdas[0] else w

    def bound(self, lam: float) -> float:
        """Bound on how far the objective of ``weights(lam)`` is from the optimum; at breakpoints, the duality gap."""
        lam, j = self._place(lam)
        if lam > self.lambdas[0]:
            return float(self.gaps[0] * self.lambdas[0] / lam)
        return float(self._bounds[j].at(min(lam, self.lambdas[j])))

    def predict(self, lam: float, X: Any) -> Any:
        """Decode new inputs with the weights for lam."""
        return predict(self.model, self.weights(lam), X)

    def validate(self, X: Any, y: Any, sample_weight: Any = None, tolerance: float = 0.0) -> Validation:
        """The model's loss of every breakpoint's weights on other data, and the lam that do best there.

        Parameters
        ----------
        X, y : sequences
            Examples that were not trained on.
        sample_weight : (n,) array or None
            Weights of the mean.
        tolerance : float
            By how much a loss may exceed the smallest to belong to ``interval``.

        Returns
        -------
        Validation
            ``interval`` ends at infinity if it holds the first breakpoint of a path (larger lam predict the same), and
            at zero if it holds the last one of a complete path.
        """
        NonNegative(0.0).check("validate", "tolerance", tolerance)
        X, y = by_position(X), by_position(y)
        check_same_length(X, y, "validate")
        shares = block_shares(read_sample_weight(sample_weight, len(y)), len(y))
        losses: list[float] = []
        before = None
        for w in self._weights:
            same = before is not None and np.array_equal(w, before)
            losses.append(losses[-1] if same else self._loss(w, X, y, shares))
            before = w
        return self._choice(np.array(losses), float(tolerance))

    def summary(self) -> str:
        """One line on the path."""
        kind = "grid" if self.is_grid else "path"
        proof = "certified" if self.certified else "not certified"
        return (
            f"{kind} {self.status} with {len(self.lambdas)} values of lam from {self.lambdas[0]:.4g} to "
            f"{self.lambdas[-1]:.4g} after {self.n_passes:g} passes and {self.seconds:.2f} s: gaps up to "
            f"{self.gaps.max():.3g} ({proof})"
        )

    def _place(self, lam: Any) -> tuple[float, int]:
        """Read lam as a number, and find the breakpoint whose weights it has; raise if the path does not go there."""
        lam = float(Positive(1.0).check("path", "lam", lam))
        if self.is_grid:
            j = int(np.argmin(np.abs(np.log(self.lambdas / lam))))
            if abs(self.lambdas[j] / lam - 1.0) > SAME_LAM:
                raise InputError(
                    f"the grid has no lam = {lam:g}, the nearest is {self.lambdas[j]:g}; regularization_path has all"
                )
            return lam, j
        if lam < (1.0 - SAME_LAM) * self.lambdas[-1] and self.status != "complete":
            remedy = "a smaller lam_min" if self.status == "lam_min" else "higher limits"
            raise InputError(
                f"the path ends at lam = {self.lambdas[-1]:g} ({self.status}), above {lam:g}; compute it with {remedy}"
            )
        above = np.searchsorted(-self.lambdas, -lam * (1.0 - SAME_LAM), side="right") - 1
        return lam, max(int(above), 0)

    def _loss(self, w: np.ndarray, X: Any, y: Any, shares: np.ndarray) -> float:
        found = predict(self.model, w, X)
        return float(sum(share * self.model.loss(y[i], found[i]) for i, share in enumerate(shares)))

    def _choice(self, losses: np.ndarray, tolerance: float) -> Validation:
        smallest = losses.min() * (1.0 + ROUNDING)
        best = int(np.flatnonzero(losses <= smallest)[0])
        worse = np.flatnonzero(losses > smallest + tolerance)
        first = int(max(worse[worse < best], default=-1)) + 1
        last = int(min(worse[worse > best], default=len(losses))) - 1
        low, high = float(self.lambdas[last]), float(self.lambdas[first])
        if not self.is_grid:
            ends = [*self.lambdas[1:], 0.0 if self.status == "complete" else self.lambdas[-1]]
            low, high = float(ends[last]), np.inf if first == 0 else high
        return Validation(self.lambdas.copy(), losses, float(self.lambdas[best]), (low, high))
