"""An accelerated outer loop around the iterations of a dual solver (Catalyst; Lin, Mairal and Harchaoui, 2015)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from bcfw.solvers.pass_runner import PassRunner


class Acceleration:
    """Lets each iteration work on ``P(w) + kappa/2 |w - z|^2``, whose z runs ahead of the solutions.

    The dual of that problem has ``lam + kappa`` for lam, the same blocks, and

        w = (v + ratio z) / (1 + ratio),       v = A alpha of the problem itself,       ratio = kappa/lam

    (clipped, if there are bounds), so the steps need to know of nothing but another w and another lam. Outside
    :meth:`inner` the problem holds v, which belongs to its dual point as ever. The point to return is w, whose primal
    value is far better than that of ``v = w + ratio (w - z)``; its certificate is ``P(w) - D(alpha)``.

    Parameters
    ----------
    runner : PassRunner
    ratio : float
        kappa/lam at the start, > 0. It is halved, and z starts again from w, whenever a certificate shows no progress:
        with too large a ratio z runs ahead faster than the iterations can follow.
    """

    def __init__(self, runner: PassRunner, ratio: float) -> None:
        self.runner = runner
        self.ratio = ratio
        self.centre = runner.weights()
        self._before = self.centre
        self._least_gap = runner.last_gap

    @property
    def momentum(self) -> float:
        """How far z runs ahead, in units of the last movement."""
        root = (1.0 + self.ratio) ** -0.5
        return (1.0 - root) / (1.0 + root)

    @contextlib.contextmanager
    def inner(self) -> Iterator[None]:
        """Steps in this context are those of the problem around z; z moves on at its end."""
        runner, rule = self.runner, self.runner.rule
        self._shift(1.0 / (1.0 + self.ratio), self.ratio / (1.0 + self.ratio))
        runner.problem.ahead = True
        try:
            runner.rule = rule._replace(lam=(1.0 + self.ratio) * rule.lam)
            yield
        finally:
            runner.rule = rule
            runner.problem.point = runner.problem.state.w.copy()
            self._shift(1.0 + self.ratio, -self.ratio)
            runner.problem.ahead = False
        point = runner.problem.point
        self.centre = point + self.momentum * (point - self._before)
        self._before = point

    def check_progress(self) -> None:
        """After a certificate: be more careful if its gap is not the smallest so far."""
        if self.runner.last_gap >= self._least_gap:
            self.ratio /= 2.0
            self.centre = self._before
        self._least_gap = min(self._least_gap, self.runner.last_gap)

    def _shift(self, scale: float, share: float) -> None:
        self.runner.problem.v = scale * self.runner.problem.v + share * self.centre
