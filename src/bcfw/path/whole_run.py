"""``PathRun``: one run for all values of lam, so that limits, callbacks and counts apply to the whole path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bcfw.dual import Certificate, DualProblem
from bcfw.solvers.counted_run import CountedRun, PassInfo


@dataclass(frozen=True)
class PathInfo(PassInfo):
    """What a callback of a path sees after each pass: the attributes of :func:`bcfw.train`'s info, and ``lam``."""

    @property
    def lam(self) -> float:
        """The current value of lam."""
        return self.latest["lam"]

    @property
    def distance(self) -> float:
        """The remaining share of the way from the first lam to the last, on a logarithmic scale."""
        return 1.0 - self.latest["share"]

    @property
    def shown(self) -> dict[str, float]:
        return {"lam": self.lam}


class PathRun(CountedRun):
    """A run over decreasing values of lam.

    Most values of lam are solved in one or two passes, so a certificate that only shows that the gap is still too large
    is expensive. The *stale gap* predicts the gap: it is the sum of the block gaps, each computed at the last visit of
    its block. A certificate is computed when the solver's schedule plans one, and when the stale gap, multiplied by a
    correction factor, is at most the target. The factor is the ratio of the gap to the stale gap at the latest
    certificate, at least 1.

    Parameters
    ----------
    problem : DualProblem
    max_passes : float

    Attributes
    ----------
    gap_target : float
        The absolute gap to reach at every lam.
    heuristic : bool
        Whether the stale gap replaces the certificate (the heuristic path).
    ends : (largest, smallest) lam, for displays of progress
    """

    def __init__(self, problem: DualProblem, max_passes: float, **options: Any) -> None:
        super().__init__(problem, 0.0, max_passes, **options)
        self.info = PathInfo
        self.heuristic = False
        self.ends = (1.0, 1.0)
        self._problem = problem
        self._optimism = 1.0

    def at_next_lam(self, known: Certificate | None) -> None:
        """Prepare for the next lam; ``known`` is the certificate of the starting point at this lam, or None."""
        self.status = None
        self.best = None
        self.start_certificate = known
        if known is None:
            self.rows = []
            self._optimism = 1.0

    def keep_best(self, found: Certificate, weights: np.ndarray) -> Certificate:
        """Return the best certificate so far; if ``found`` reaches the target, ``found``.

        The weights that reach the target are returned even if better ones are known, because the next lam starts at
        the dual point of the latest weights.
        """
        if found.reaches(self.gap_target):
            self.best = found, weights.copy()
            return found
        return super().keep_best(found, weights)

    @property
    def zero_is_certified(self) -> bool:
        """False: the gap of w = 0 must be proved by the current dual point, not by the dual value 0 of the truths."""
        return False

    def stall(self, scale: float) -> None:
        """End the path if the steps no longer make progress, at any size of the gap."""
        self.status = self.status or "stalled"

    def stale_gap(self, problem: DualProblem) -> float:
        """Return the sum of the block gaps, each computed at the last visit of its block."""
        return float(np.maximum(problem.state.gap[problem.blocks], 0.0).sum())

    def certificate_due(self, problem: DualProblem, planned: bool) -> bool:
        return planned or self._optimism * self.stale_gap(problem) <= self.gap_target

    def certify_state(self, problem: DualProblem) -> Certificate:
        stale, dual = self.stale_gap(problem), problem.dual_value()
        if self.heuristic and stale <= self.gap_target:
            return Certificate(dual + stale, dual, stale, np.inf)
        found = super().certify_state(problem)
        self._optimism = max(1.0, found.gap / stale) if stale > 0.0 else 1.0
        return found

    def record(self, converged: bool, **row: float) -> None:
        (largest, smallest), lam = self.ends, self._problem.lam
        share = np.log(largest / lam) / np.log(largest / smallest) if largest > smallest else 1.0
        super().record(converged, lam=lam, share=float(share), **row)
