"""An accelerated outer loop around the iterations of a dual solver (Catalyst; Lin, Mairal and Harchaoui, 2015).

Each iteration works on the problem ``P(w) + lam/2 sum_j ratio_j (w_j - z_j)^2``; its centre z runs ahead of the
iterates. The dual of this problem has the blocks of the original dual, and its weights are

    w = (v + ratio z) / (1 + ratio),       v = A alpha of the original problem

(clipped if w has bounds). If all weights share one ratio, the steps only see another w and another lam,
``(1 + ratio) lam``. If every weight has its own ratio, the features change, too: they are rescaled to units in which
all weights have equal regularisation.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from bcfw.dual import Certificate
from bcfw.solvers.pass_runner import PassRunner

#: Initial value of ``ratio_j lam`` for a feature of size one, times the number of blocks.
FIRST_KAPPA = 0.3

#: Number of entries of a vector that :func:`scale_and_add` updates at once.
PIECE = 1 << 15


class Acceleration:
    """Accelerated outer loop with one ratio for all weights.

    Outside :meth:`proximal_problem` the problem holds v, the weights of its dual point, as in a run without
    acceleration. The point to return is w: its primal value is far better than the primal value of ``v = w + ratio (w -
    z)``. The certificate of w is ``P(w) - D(alpha)``.

    Parameters
    ----------
    runner : PassRunner
    ratio : float
        The initial ratio, > 0. Whenever a certificate shows no progress, the ratio is halved and z restarts from the
        best weights certified so far: if the ratio is too large, z runs ahead faster than the iterations can follow.
    """

    def __init__(self, runner: PassRunner, ratio: Any) -> None:
        self.runner = runner
        self.ratio = ratio
        best = runner.run.best
        if runner.problem.point is None or best is None:
            self.prox_center = runner.weights()
        else:  # the weights of a warm start may be far worse than w = 0
            self.prox_center = best[1].copy()
        self._before = self.prox_center.copy()
        self._spare = np.empty_like(self.prox_center)
        self._least_gap = runner.last_gap

    def momentum(self, point: np.ndarray) -> float:
        """Return beta of the next centre ``z = w + beta (w - w_before)``; w is ``point``, the new iterate."""
        root = (1.0 + self.ratio) ** -0.5
        return float((1.0 - root) / (1.0 + root))

    @contextlib.contextmanager
    def proximal_problem(self) -> Iterator[None]:
        """Context in which the problem is the modified problem around z; at the end of the context z moves."""
        runner, rule, problem = self.runner, self.runner.rule, self.runner.problem
        self._shift(1.0 / (1.0 + self.ratio), self.ratio / (1.0 + self.ratio))
        runner.rule = rule._replace(lam=self._enter_units())
        problem.outside = self._outside
        try:
            yield
        finally:
            problem.outside = contextlib.nullcontext
            runner.rule = rule
            self._leave_units()
            point = problem.point = self._spare
            np.copyto(point, problem.state.w)
            self._shift(1.0 + self.ratio, -self.ratio)
        momentum = self.momentum(point)
        scale_and_add(self._before, -momentum, point, 1.0 + momentum)
        self._spare, self.prox_center, self._before = self.prox_center, self._before, point

    @contextlib.contextmanager
    def _outside(self) -> Iterator[None]:
        """Context inside :meth:`proximal_problem` in which the problem is the original problem again."""
        problem = self.runner.problem
        inner = problem.data, problem.v.copy(), problem.point
        self._leave_units()
        problem.point = problem.state.w.copy()
        problem.v = problem.v_from_blocks()
        try:
            yield
        finally:
            problem.data, problem.v, problem.point = inner

    def _enter_units(self) -> float:
        """Change the problem to the units of the problem around z, and return the lam of the problem around z."""
        return float((1.0 + self.ratio) * self.runner.problem.lam)

    def _leave_units(self) -> None:
        pass

    def check_progress(self, found: Certificate) -> None:
        """If the gap of the new certificate is not the smallest so far, adapt the ratio and restart z."""
        if found.gap >= self._least_gap:
            self.ratio /= 2.0
            self._restart()
        self._least_gap = min(self._least_gap, found.gap)

    def _restart(self) -> None:
        """Restart z from the best weights known.

        If z restarted from other weights, inexact iterations could lead further and further away.
        """
        best = self.runner.run.best
        if best is not None:
            self._before[:] = best[1]
        self.prox_center[:] = self._before

    def _shift(self, scale: Any, share: Any) -> None:
        problem = self.runner.problem
        if len(problem.bounded):
            problem.v = scale * problem.v + share * self.prox_center
        else:
            scale_and_add(problem.state.w, scale, self.prox_center, share)


def scale_and_add(a: np.ndarray, s: Any, b: np.ndarray, t: Any) -> None:
    """Set ``a <- s a + t b`` in place for numbers or vectors s and t, in pieces that fit in the processor's cache."""
    for start in range(0, len(a), PIECE):
        piece = slice(start, start + PIECE)
        a[piece] *= s if np.isscalar(s) else s[piece]
        a[piece] += b[piece] * (t if np.isscalar(t) else t[piece])


class FeatureAcceleration(Acceleration):
    """Accelerated outer loop with ``ratio_j lam = kappa size_j^2``; size_j is the size of the feature of weight j.

    The distance from z is then measured by the change of the scores, which does not depend on the units of the
    features: the problem around z is about as easy as a problem with standardised features. kappa starts at
    ``FIRST_KAPPA / n`` and is adapted: if kappa is too large, the dual value lags behind; if kappa is too small, the
    primal value lags behind. The momentum is Nesterov's for convex functions. The momentum restarts whenever a
    certificate shows no progress, and whenever an iteration leads back from z (O'Donoghue and Candes, 2015).
    """

    def __init__(self, runner: PassRunner) -> None:
        problem = runner.problem
        self._given = problem.data
        self.sizes = problem.adapter.feature_sizes(problem.data)
        super().__init__(runner, 0.0)
        self._best = (np.inf, -np.inf)
        self._set_kappa(FIRST_KAPPA / len(problem.blocks))

    def _set_kappa(self, kappa: float) -> None:
        problem = self.runner.problem
        self.kappa = kappa
        self.ratio = kappa / problem.lam * self.sizes**2
        self.units = np.sqrt((problem.lam + kappa * self.sizes**2) / (problem.lam + kappa))  # size one has unit one
        self._rescaled = problem.adapter.rescaled(self._given, self.units)
        self._movements = 0.0

    def momentum(self, point: np.ndarray) -> float:
        if np.dot(self.ratio * (self.prox_center - point), point - self._before) > 0.0:
            self._movements = 0.0
        before = self._movements
        self._movements = 0.5 + np.sqrt(0.25 + before**2)
        return float(max(before - 1.0, 0.0) / self._movements)

    def _enter_units(self) -> float:
        problem = self.runner.problem
        problem.data = self._rescaled
        problem.state.w[:] *= self.units
        return problem.lam + self.kappa

    def _leave_units(self) -> None:
        problem = self.runner.problem
        problem.data = self._given
        problem.state.w[:] /= self.units

    def check_progress(self, found: Certificate) -> None:
        primal, dual = self._best
        if found.gap >= self._least_gap:
            self._set_kappa(self.kappa * (2.0 if found.primal - primal > dual - found.dual else 0.5))
            self._restart()
        self._best = min(primal, found.primal), max(dual, found.dual)
        self._least_gap = min(self._least_gap, found.gap)
