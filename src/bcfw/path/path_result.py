"""``RegularizationPath``, the result of paths and grids: weights by lam, gaps, predictions, losses on other data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bcfw.errors import InputError
from bcfw.inputs.examples import check_same_length, indexable_examples
from bcfw.inputs.sample_weights import block_shares, read_sample_weight
from bcfw.options import NonNegative, Positive
from bcfw.path.validation import Validation, validation
from bcfw.path.weights_by_lam import COUNTS, PREFIX, SAME_LAM, Breakpoints
from bcfw.result import predict
from bcfw.run import duration
from bcfw.storage.checked_arrays import SavedArrays
from bcfw.storage.objects import saved_solver, solver_header

#: The attributes of a path that a model file stores in its header, and their types.
FIGURES: dict[str, type] = {
    "status": str,
    **dict.fromkeys(("n_passes", "seconds", "compile_seconds", "eps"), float),
    "n_oracle_calls": int,
    "is_grid": bool,
}

#: Name of the saved array ``origin``, beside the arrays of the breakpoints.
ORIGIN = PREFIX + "origin"


@dataclass(repr=False)
class RegularizationPath:
    """Result of :func:`bcfw.regularization_path` and :func:`bcfw.grid_path`.

    Attributes
    ----------
    lambdas : (m,) array
        The breakpoints of a path, or the values of lam of a grid, in descending order. A path has weights for every
        lam: between two breakpoints, the weights of the larger breakpoint; above the first breakpoint,
        ``(lambdas[0] / lam) w_1``. A grid has weights at its values of lam only.
    gaps : (m,) array
        Duality gap of ``weights(lambdas[j])`` at ``lambdas[j]``.
    certified : bool
        Whether the gaps and all results of :meth:`bound` are proved. They are not if the path or the oracle is
        heuristic.
    status : str
        "complete" (path: the gap of the last weights is at most eps for every smaller lam; grid: all values of lam are
        solved), "lam_min" (the path has reached ``lam_min``), or what ended it early: "max_passes", "max_seconds",
        "stopped", "interrupted" or "stalled".
    n_passes, n_oracle_calls, seconds
        Exact-oracle steps divided by n, all oracle calls including certificates, and wall-clock time of the whole path.
    history : dict of arrays
        passes, oracle_calls and seconds from the start until each breakpoint was finished.
    norms : (m,) array
        ``|weights(lambdas[j])|``.
    eps : float
        The gap to reach: at and between the breakpoints of a path, or at each lam of a grid.
    solver, model
        The solver of the last breakpoint, and the bound copy of the model.
    is_grid : bool
        Whether this is the result of :func:`bcfw.grid_path`.
    origin : (d,) array
        The zero vector, clipped to the bounds on w.
    snapshot : dict
        The dual state as plain arrays, with which ``warm_start`` continues a path; empty for a grid and for a path that
        was read from a model file.
    compile_seconds : float
        The part of ``seconds`` that was spent compiling.
    """

    status: str
    n_passes: float
    n_oracle_calls: int
    seconds: float
    eps: float
    solver: Any
    model: Any
    is_grid: bool
    origin: np.ndarray
    _breakpoints: Breakpoints
    snapshot: dict[str, Any] = field(default_factory=dict)
    compile_seconds: float = 0.0
    lambdas: np.ndarray = field(init=False)
    gaps: np.ndarray = field(init=False)
    norms: np.ndarray = field(init=False)
    history: dict[str, np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        self.lambdas, self.gaps = self._breakpoints.column("lam"), self._breakpoints.column("gap")
        self.norms = np.sqrt(2.0 * np.array([bound.norm for bound in self._breakpoints.bounds]))
        self.history = {name: self._breakpoints.column(name) for name in COUNTS}

    @property
    def certified(self) -> bool:
        """Whether the gaps and all results of :meth:`bound` are proved."""
        return self._breakpoints.certified

    @property
    def end(self) -> float:
        """The smallest lam for which there are weights; zero if the path is complete."""
        return 0.0 if self.status == "complete" and not self.is_grid else float(self.lambdas[-1])

    def weights(self, lam: float) -> np.ndarray:
        """Return the (d,) weights for any lam that the path covers, or for any lam of a grid."""
        lam, j = self._place(lam)
        w = self._breakpoints.weights[j]
        return self.origin + self.lambdas[0] / lam * (w - self.origin) if lam > self.lambdas[0] else w

    def bound(self, lam: float) -> float:
        """Return an upper bound of the suboptimality of ``weights(lam)``; at breakpoints it is the duality gap."""
        lam, j = self._place(lam)
        if lam > self.lambdas[0]:
            return float(self.gaps[0] * self.lambdas[0] / lam)
        return float(self._breakpoints.bounds[j].at(min(lam, self.lambdas[j])))

    def predict(self, lam: float, X: Any) -> Any:
        """Return the model's predictions for the inputs X with the weights for lam."""
        return predict(self.model, self.weights(lam), X)

    def evaluate(self, measure: Callable[[np.ndarray], float]) -> np.ndarray:
        """Return (m,) values of ``measure(w)`` for the weights of all breakpoints.

        If consecutive breakpoints have equal weights, ``measure`` is called once.
        """
        values: list[float] = []
        before = None
        for w in self._breakpoints.weights:
            same = before is not None and np.array_equal(w, before)
            values.append(values[-1] if same else measure(w))
            before = w
        return np.array(values)

    def validate(self, X: Any, y: Any, sample_weight: Any = None, tolerance: float = 0.0) -> Validation:
        """Return the model's loss on other data for the weights of every breakpoint, and the best values of lam.

        Parameters
        ----------
        X, y : sequences
            Examples that were not used in training.
        sample_weight : (n,) array or None
            Weights of the mean.
        tolerance : float
            The values of lam in ``interval`` have losses of at most the smallest loss plus ``tolerance``.

        Returns
        -------
        Validation
            The upper end of ``interval`` is infinity if it contains the first breakpoint of a path, because larger
            values of lam give equal predictions; its lower end is zero if it contains the last breakpoint of a complete
            path.
        """
        NonNegative(0.0).check("validate", "tolerance", tolerance)
        X, y = indexable_examples(X), indexable_examples(y)
        check_same_length(X, y, "validate")
        shares = block_shares(read_sample_weight(sample_weight, len(y)), len(y))
        losses = self.evaluate(lambda w: self._loss(w, X, y, shares))
        return validation(self.lambdas.copy(), losses, self.end, self.is_grid, float(tolerance))

    def _saved(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """Return the header of a model file, without the model; weights and breakpoints are put into ``arrays``."""
        arrays |= {**self._breakpoints.arrays(), ORIGIN: self.origin}
        figures = {name: kind(getattr(self, name)) for name, kind in FIGURES.items()}
        return {**figures, "solver": solver_header(self.solver, arrays)}

    @classmethod
    def _restored(cls, header: dict[str, Any], saved: SavedArrays, model: Any) -> RegularizationPath:
        """Return the path that :meth:`_saved` has written; ``model`` is a bound model."""
        return cls(
            **{name: kind(header[name]) for name, kind in FIGURES.items()},
            solver=saved_solver(header["solver"], saved),
            model=model,
            origin=saved.get(ORIGIN, float, (model.dim,)),
            _breakpoints=Breakpoints.from_arrays(saved, model.dim),
        )

    def summary(self) -> str:
        """Return one line with status, range of lam, costs and largest gap of the path."""
        kind = "grid" if self.is_grid else "path"
        proof = "certified" if self.certified else "not certified"
        return (
            f"{kind} {self.status} with {len(self.lambdas)} values of lam from {self.lambdas[0]:.4g} to "
            f"{self.lambdas[-1]:.4g} after {self.n_passes:g} passes and "
            f"{duration(self.seconds - self.compile_seconds, self.compile_seconds)}: gaps up to "
            f"{self.gaps.max():.3g} ({proof})"
        )

    def __repr__(self) -> str:
        return f"<RegularizationPath: {self.summary()}>"

    def _place(self, lam: Any) -> tuple[float, int]:
        """Return lam as a number, and the index of the breakpoint with its weights; raise unless lam is covered."""
        lam = float(Positive(1.0).check("path", "lam", lam))
        if self.is_grid:
            j = int(np.argmin(np.abs(np.log(self.lambdas / lam))))
            if abs(self.lambdas[j] / lam - 1.0) > SAME_LAM:
                raise InputError(
                    f"the grid has no lam = {lam:g}, the nearest is {self.lambdas[j]:g}; regularization_path has all"
                )
            return lam, j
        if lam < (1.0 - SAME_LAM) * self.end:
            remedy = "a smaller lam_min" if self.status == "lam_min" else "higher limits"
            raise InputError(
                f"the path ends at lam = {self.end:g} ({self.status}), above {lam:g}; compute it with {remedy}, "
                "from here on with warm_start"
            )
        above = np.searchsorted(-self.lambdas, -lam * (1.0 - SAME_LAM), side="right") - 1
        return lam, max(int(above), 0)

    def _loss(self, w: np.ndarray, X: Any, y: Any, shares: np.ndarray) -> float:
        found = predict(self.model, w, X)
        return float(sum(share * self.model._loss_of(X[i], y[i], found[i]) for i, share in enumerate(shares)))
