"""An accelerated outer loop around the iterations of a dual solver (Catalyst; Lin, Mairal and Harchaoui, 2015).

Each iteration works on ``P(w) + lam/2 sum_j ratio_j (w_j - z_j)^2``, whose z runs ahead of the solutions. The dual of
that problem has the same blocks, and

    w = (v + ratio z) / (1 + ratio),       v = A alpha of the problem itself

(clipped, if there are bounds). With one ratio for all weights the steps need to know of nothing but another w and
another lam, ``(1 + ratio) lam``. With a ratio for each weight they need other features as well: in units that make the
regularisation of all weights the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from bcfw.dual import Certificate
from bcfw.solvers.pass_runner import PassRunner

#: What ``ratio_j lam`` begins with for a feature of size one, times the number of blocks.
FIRST_KAPPA = 0.3

#: Entries of a vector that are moved at once.
PIECE = 1 << 15


class Acceleration:
    """The outer loop with one ratio for all weights.

    Outside :meth:`inner` the problem holds v, which belongs to its dual point as ever. The point to return is w, whose
    primal value is far better than that of ``v = w + ratio (w - z)``; its certificate is ``P(w) - D(alpha)``.

    Parameters
    ----------
    runner : PassRunner
    ratio : float
        The ratio at the start, > 0. It is halved, and z starts again from the best weights that were certified,
        whenever a certificate shows no progress: with too large a ratio z runs ahead faster than the iterations can
        follow.
    """

    def __init__(self, runner: PassRunner, ratio: Any) -> None:
        self.runner = runner
        self.ratio = ratio
        self.centre = runner.weights()
        self._before = self.centre.copy()
        self._spare = np.empty_like(self.centre)
        self._least_gap = runner.last_gap

    def momentum(self, point: np.ndarray) -> float:
        """How far z runs ahead of the point that was found, in units of the last movement."""
        root = (1.0 + self.ratio) ** -0.5
        return float((1.0 - root) / (1.0 + root))

    @contextlib.contextmanager
    def inner(self) -> Iterator[None]:
        """Steps in this context are those of the problem around z; z moves on at its end."""
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
        blend(self._before, -momentum, point, 1.0 + momentum)
        self._spare, self.centre, self._before = self.centre, self._before, point

    @contextlib.contextmanager
    def _outside(self) -> Iterator[None]:
        """For a moment within :meth:`inner`, the problem itself."""
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
        """Change to the units of the problem around z; returns its regularisation."""
        return float((1.0 + self.ratio) * self.runner.problem.lam)

    def _leave_units(self) -> None:
        pass

    def check_progress(self, found: Certificate) -> None:
        """After a certificate: be more careful if its gap is not the smallest so far."""
        if found.gap >= self._least_gap:
            self.ratio /= 2.0
            self._restart()
        self._least_gap = min(self._least_gap, found.gap)

    def _restart(self) -> None:
        """Let z start again from the best weights known: from others, inexact iterations may lead ever further away."""
        best = self.runner.run.best
        if best is not None:
            self._before[:] = best[1]
        self.centre[:] = self._before

    def _shift(self, scale: Any, share: Any) -> None:
        problem = self.runner.problem
        if len(problem.bounded):
            problem.v = scale * problem.v + share * self.centre
        else:
            blend(problem.state.w, scale, self.centre, share)


def blend(a: np.ndarray, s: Any, b: np.ndarray, t: Any) -> None:
    """``a <- s a + t b`` for numbers or vectors s and t, in pieces that stay in the cache."""
    for start in range(0, len(a), PIECE):
        piece = slice(start, start + PIECE)
        a[piece] *= s if np.isscalar(s) else s[piece]
        a[piece] += b[piece] * (t if np.isscalar(t) else t[piece])


class FeatureAcceleration(Acceleration):
    """The outer loop with ``ratio_j lam = kappa size_j^2``, for a weight whose feature has the size size_j.

    The distance from z is then measured by what the weights do to the scores, in whatever units the features are: the
    problem around z is about as easy as that of standardised features. kappa starts at ``FIRST_KAPPA / n`` and is
    adapted: with too large a one the dual value lags behind, with too small a one the primal value. The momentum is
    Nesterov's for convex functions. It starts again whenever a certificate shows no progress, and whenever an iteration
    leads back from z (O'Donoghue and Candes, 2015).
    """

    def __init__(self, runner: PassRunner) -> None:
        problem = runner.problem
        self._given = problem.data
        self.sizes = problem.form.feature_sizes(problem.data)
        super().__init__(runner, 0.0)
        self._best = (np.inf, -np.inf)
        self._set_kappa(FIRST_KAPPA / len(problem.blocks))

    def _set_kappa(self, kappa: float) -> None:
        problem = self.runner.problem
        self.kappa = kappa
        self.ratio = kappa / problem.lam * self.sizes**2
        self.units = np.sqrt((problem.lam + kappa * self.sizes**2) / (problem.lam + kappa))  # one for the size one
        self._rescaled = problem.form.rescaled(self._given, self.units)
        self._movements = 0.0

    def momentum(self, point: np.ndarray) -> float:
        if np.dot(self.ratio * (self.centre - point), point - self._before) > 0.0:
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
