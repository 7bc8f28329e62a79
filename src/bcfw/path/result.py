"""What a path returns: weights for every lam, and how well they do on other data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bcfw.errors import InputError
from bcfw.inputs.examples import by_position, check_same_length
from bcfw.inputs.sample_weights import block_shares, read_sample_weight
from bcfw.options import NonNegative, Positive
from bcfw.path.trace import COUNTS, PREFIX, SAME_LAM, Trace
from bcfw.path.validation import Validation, validation
from bcfw.result import predict
from bcfw.run import duration
from bcfw.saved_arrays import SavedArrays
from bcfw.saved_objects import saved_solver, solver_header

#: The figures of a path that a model file has, and their types.
FIGURES: dict[str, type] = {
    "status": str,
    **dict.fromkeys(("n_passes", "seconds", "compile_seconds", "eps"), float),
    "n_oracle_calls": int,
    "is_grid": bool,
}

#: Name of the array of weights that the path starts from, among those of its trace.
ORIGIN = PREFIX + "origin"


@dataclass(repr=False)
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
    norms : (m,) array
        ``|weights(lambdas[j])|``.
    eps : float
        What the gaps are meant to be at most, between the breakpoints, too; of a grid at each of its lam.
    solver, model
        The solver that worked at each breakpoint, and the bound copy of the model.
    snapshot : dict
        Where a path can be continued (``warm_start``): the dual state as plain arrays; empty if it is complete.
    compile_seconds : float
        How many of the seconds were spent compiling.
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
    _trace: Trace
    snapshot: dict[str, Any] = field(default_factory=dict)
    compile_seconds: float = 0.0
    lambdas: np.ndarray = field(init=False)
    gaps: np.ndarray = field(init=False)
    norms: np.ndarray = field(init=False)
    history: dict[str, np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        self.lambdas, self.gaps = self._trace.column("lam"), self._trace.column("gap")
        self.norms = np.sqrt(2.0 * np.array([bound.norm for bound in self._trace.bounds]))
        self.history = {name: self._trace.column(name) for name in COUNTS}

    @property
    def certified(self) -> bool:
        """Whether the gaps, and all of :meth:`bound`, are proved. If not, the path is heuristic or the oracle is."""
        return self._trace.certified

    @property
    def end(self) -> float:
        """The smallest lam with weights: zero if the path is complete."""
        return 0.0 if self.status == "complete" and not self.is_grid else float(self.lambdas[-1])

    def weights(self, lam: float) -> np.ndarray:
        """(d,) weights for any lam that the path covers; of a grid, for any lam of it."""
        lam, j = self._place(lam)
        w = self._trace.weights[j]
        return self.origin + self.lambdas[0] / lam * (w - self.origin) if lam > self.lambdas[0] else w

    def bound(self, lam: float) -> float:
        """Bound on how far the objective of ``weights(lam)`` is from the optimum; at breakpoints, the duality gap."""
        lam, j = self._place(lam)
        if lam > self.lambdas[0]:
            return float(self.gaps[0] * self.lambdas[0] / lam)
        return float(self._trace.bounds[j].at(min(lam, self.lambdas[j])))

    def predict(self, lam: float, X: Any) -> Any:
        """Decode new inputs with the weights for lam."""
        return predict(self.model, self.weights(lam), X)

    def evaluate(self, measure: Callable[[np.ndarray], float]) -> np.ndarray:
        """(m,) values of ``measure(w)`` at all breakpoints' weights; equal ones in a row are measured once."""
        values: list[float] = []
        before = None
        for w in self._trace.weights:
            same = before is not None and np.array_equal(w, before)
            values.append(values[-1] if same else measure(w))
            before = w
        return np.array(values)

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
        losses = self.evaluate(lambda w: self._loss(w, X, y, shares))
        return validation(self.lambdas.copy(), losses, self.end, self.is_grid, float(tolerance))

    def _saved(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """The header of a model file; weights and breakpoints are put into ``arrays``. The model is not in it."""
        arrays |= {**self._trace.arrays(), ORIGIN: self.origin}
        figures = {name: kind(getattr(self, name)) for name, kind in FIGURES.items()}
        return {**figures, "solver": solver_header(self.solver, arrays)}

    @classmethod
    def _restored(cls, header: dict[str, Any], saved: SavedArrays, model: Any) -> RegularizationPath:
        """The opposite of :meth:`_saved`, with a bound model."""
        return cls(
            **{name: kind(header[name]) for name, kind in FIGURES.items()},
            solver=saved_solver(header["solver"], saved),
            model=model,
            origin=saved.get(ORIGIN, float, (model.dim,)),
            _trace=Trace.from_arrays(saved, model.dim),
        )

    def summary(self) -> str:
        """One line on the path."""
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
        """Read lam as a number, and find the breakpoint whose weights it has; raise if the path does not go there."""
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
