"""The run of a path: one for all values of lam, so that limits, callbacks and counts are those of the whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bcfw.dual import Certificate, DualProblem
from bcfw.solvers.run import PassInfo, SolverRun


@dataclass(frozen=True)
class PathInfo(PassInfo):
    """What a callback of a path sees after each pass: as with :func:`bcfw.train`, and ``lam``."""

    @property
    def lam(self) -> float:
        """The regularisation that the path has come to."""
        return self.latest["lam"]

    @property
    def distance(self) -> float:
        """The share of the way from the first lam to the last, in factors, that is still ahead."""
        return 1.0 - self.latest["share"]

    @property
    def shown(self) -> dict[str, float]:
        return {"lam": self.lam}


class PathRun(SolverRun):
    """A run over decreasing values of lam.

    A pass of the oracle only to learn that the gap is still too large is dear here, where most solutions take a pass or
    two. So a certificate is taken when the block gaps, each as it was when its block was last visited, promise that it
    will do: when their sum is at most the target, and later on as far below it as it was too
    optimistic.

    Parameters
    ----------
    problem : DualProblem
    max_passes : float

    Attributes
    ----------
    gap_target : float
        The absolute gap to reach at every lam.
    stale : bool
        Whether the sum of those gaps is as good as a certificate (the heuristic path).
    ends : (largest, smallest) lam, for displays
    """

    def __init__(self, problem: DualProblem, max_passes: float, **options: Any) -> None:
        super().__init__(problem, 0.0, max_passes, **options)
        self.info = PathInfo
        self.stale = False
        self.ends = (1.0, 1.0)
        self._problem = problem
        self._optimism = 1.0

    def at_next_lam(self, known: Certificate | None) -> None:
        """Forget what belongs to the lam before; ``known`` is the certificate to begin with, if it is known."""
        self.status = None
        self.best = None
        self.known = known
        if known is None:
            self.rows = []
            self._optimism = 1.0

    def keep_best(self, found: Certificate, weights: np.ndarray) -> Certificate:
        """As in any run; but weights that reach the target are returned: the next lam begins with their dual point."""
        if found.reaches(self.gap_target):
            self.best = found, weights.copy()
            return found
        return super().keep_best(found, weights)

    def stall(self, scale: float) -> None:
        """A path ends where a gap cannot be reached, however small it is."""
        self.status = self.status or "stalled"

    def stale_gap(self, problem: DualProblem) -> float:
        """The sum of the block gaps, each at the last visit of its block."""
        return float(np.maximum(problem.state.gap[problem.blocks], 0.0).sum())

    def certificate_due(self, problem: DualProblem, planned: bool) -> bool:
        return planned or self._optimism * self.stale_gap(problem) <= self.gap_target

    def certify_state(self, problem: DualProblem) -> Certificate:
        stale, dual = self.stale_gap(problem), problem.dual_value()
        if self.stale and stale <= self.gap_target:
            return Certificate(dual + stale, dual, stale, np.inf)
        found = super().certify_state(problem)
        self._optimism = max(1.0, found.gap / stale) if stale > 0.0 else 1.0
        return found

    def record(self, converged: bool, **row: float) -> None:
        (largest, smallest), lam = self.ends, self._problem.lam
        share = np.log(largest / lam) / np.log(largest / smallest) if largest > smallest else 1.0
        super().record(converged, lam=lam, share=float(share), **row)
