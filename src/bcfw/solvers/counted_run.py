"""The state of a solver's run: counts of calls and visits, history, best certificate, and the info of callbacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bcfw.compile.timing import compile_seconds
from bcfw.dual import Certificate, DualProblem
from bcfw.dual.certificates import HingeSums, certificate
from bcfw.dual.certify import certify_state
from bcfw.run import Info, Run


@dataclass(frozen=True)
class PassInfo(Info):
    """The argument of a callback of :func:`bcfw.train`, after each pass; a callback that returns True stops the run.

    ``primal``, ``dual`` and ``gap`` are the values of the latest certificate, which was computed after
    ``certified_passes`` passes; ``w`` is a copy of the current weights.
    """

    @property
    def n_passes(self) -> float:
        """Number of passes over the data so far."""
        return self.done

    @property
    def max_passes(self) -> float:
        """Largest number of passes of the run."""
        return self.limit

    @property
    def certified_passes(self) -> float:
        """Number of passes before the latest certificate."""
        return self.latest["passes"]

    @property
    def primal(self) -> float:
        """Primal objective at the latest certificate."""
        return self.latest["primal"]

    @property
    def dual(self) -> float:
        """Proved lower bound of the optimal value at the latest certificate."""
        return self.latest["dual"]

    @property
    def w(self) -> np.ndarray:
        """Copy of the current weights."""
        return self.point()  # type: ignore[no-any-return]

    @property
    def shown(self) -> dict[str, float]:
        return {"primal": self.primal, "dual": self.dual}


class CountedRun(Run):
    """A :class:`bcfw.run.Run` that counts oracle calls and visits.

    Attributes
    ----------
    problem : the problem on which steps are taken; :class:`bcfw.solvers.KernelBCFW` sets its problem in kernel values
    value_at_zero : P(0) of the problem, the unit of tolerances (see ``DualProblem.value_at_zero``)
    calls : number of oracle calls of steps
    cached_visits : number of visits that may have used the cache instead of the oracle
    store_visits : number of visits that used the store only
    start_certificate : certificate of the point with which the next solver begins, if it is known without a pass of the
    oracle
    best : a certificate with the smallest primal and the largest dual value certified so far, including w = 0, and the
        weights that have this primal value; None before the first certificate
    accelerated : whether the certified weights come from an accelerated outer loop
    """

    #: The names of the counts, which continue when a saved run is resumed.
    COUNTS: ClassVar = ("calls", "cached_visits", "store_visits")

    def __init__(self, problem: DualProblem, tol: float, max_passes: float, **options: Any) -> None:
        self._compiled_before = compile_seconds()
        super().__init__(0.0, max_passes, unit="passes", info=PassInfo, **options)
        self.problem = problem
        self.value_at_zero = problem.value_at_zero()
        self.gap_target = tol * self.value_at_zero
        self.calls = 0
        self.cached_visits = 0
        self.store_visits = 0
        self.start_certificate: Certificate | None = None
        self.best: tuple[Certificate, np.ndarray] | None = None
        self.accelerated = False

    def budget_used(self, n_blocks: int) -> float:
        """Return the number of passes that ``max_passes`` limits: the oracle calls of steps divided by the blocks.

        With a cache, 20 visits count as at least one oracle call, so that a run whose visits all hit the cache ends.
        """
        return max(self.calls, self.cached_visits / 20) / n_blocks

    def resume(self, counts: Sequence[int], history: dict[str, np.ndarray]) -> None:
        """Continue a saved run: take over its counts and its history."""
        for name, count in zip(self.COUNTS, counts, strict=True):
            setattr(self, name, count)
        self.rows = [dict(zip(history, row, strict=True)) for row in np.transpose([*history.values()])]
        self._start -= self.rows[-1]["seconds"] if self.rows else 0.0

    @property
    def compile_seconds(self) -> float:
        return compile_seconds() - self._compiled_before

    def certificate_due(self, problem: DualProblem, planned: bool) -> bool:
        """Return whether the solver computes a certificate now; ``planned`` says whether its schedule wants one."""
        return planned

    def certify_state(self, problem: DualProblem) -> Certificate:
        """Return the certificate of the current dual point at the weights of the current state."""
        return certify_state(problem)

    def keep_best(self, found: Certificate, weights: np.ndarray) -> Certificate:
        """Return the best certificate so far, including the new certificate ``found`` of the given weights.

        The weights are copied if they are the best. The first certificate is compared with w = 0, whose primal value is
        known, and with the dual value 0. Estimates of a heuristic oracle without an upper bound cannot be compared: a
        smaller estimate may only be a worse estimate. In this case the latest certificate counts as the best, except in
        an accelerated run, where the latest weights may be far from the best.
        """
        if np.isinf(found.gap_bound) and not self.accelerated:
            self.best = None
        elif self.best is None and self.zero_is_certified:
            hinge = HingeSums(self.value_at_zero, self.value_at_zero)
            self.best = certificate(0.0, hinge, 0.0), np.zeros_like(weights)
        if self.best is None:
            self.best = found, weights.copy()
        else:
            before, w = self.best
            is_better = found.primal_bound < before.primal_bound
            self.best = before.better_of(found), weights.copy() if is_better else w
        return self.best[0]

    @property
    def zero_is_certified(self) -> bool:
        """Whether w = 0 is within the bounds and the oracle is exact, so that ``value_at_zero`` is P(0)."""
        lower, upper = self.problem.bounds
        return "heuristic oracle" not in self.problem.adapter.needs and bool(
            np.all(lower <= 0.0) and np.all(upper >= 0.0)
        )

    def record_certificate(self, problem: DualProblem, passes: float, certificate: Certificate) -> None:
        """Add a row to the history, and end the run if the gap is proved, or estimated, to be small enough."""
        store = problem.store
        self.record(
            certificate.reaches(self.gap_target),
            passes=passes,
            oracle_calls=problem.oracle_calls,
            store_passes=self.store_visits / len(problem.blocks),
            labelings=0.0 if store is None else float(store.size[problem.blocks].mean()),
            **certificate._asdict(),
        )
        if self.status == "converged" and not certificate.proved(self.gap_target):
            self.status = "estimated"
