"""A run of a solver: what callbacks see of it, what it counts, and the rows of its history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bcfw.dual import Certificate, DualProblem
from bcfw.dual.certificates import HingeSums, certificate
from bcfw.dual.certify import certify_state
from bcfw.kernels.compiling import compile_seconds
from bcfw.run import Info, Run


@dataclass(frozen=True)
class PassInfo(Info):
    """What a callback of :func:`bcfw.train` sees after each pass; return True from it to stop.

    ``primal``, ``dual`` and ``gap`` are those of the latest certificate, taken at ``certified_passes``; ``w`` is a copy
    of the current weights.
    """

    @property
    def n_passes(self) -> float:
        """Passes over the data so far."""
        return self.done

    @property
    def max_passes(self) -> float:
        """How many it may make."""
        return self.limit

    @property
    def certified_passes(self) -> float:
        """When the latest certificate was taken."""
        return self.latest["passes"]

    @property
    def primal(self) -> float:
        """Objective of the weights at the latest certificate."""
        return self.latest["primal"]

    @property
    def dual(self) -> float:
        """Proven lower bound of the optimum at the latest certificate."""
        return self.latest["dual"]

    @property
    def w(self) -> np.ndarray:
        """Copy of the current weights."""
        return self.point()  # type: ignore[no-any-return]

    @property
    def shown(self) -> dict[str, float]:
        return {"primal": self.primal, "dual": self.dual}


class SolverRun(Run):
    """A :class:`bcfw.run.Run` that counts oracle calls and visits.

    Attributes
    ----------
    problem : the problem that steps are taken on; a solver by kernel values takes them on one of its own
    value_at_zero : P(0) of the problem, the unit of tolerances
    calls : oracle calls of steps
    cached_visits : visits that may have used the cache instead of the oracle
    store_visits : visits to the store alone
    known : certificate of the point that the next solver begins with, if it needs no pass of the oracle
    best : the smallest primal and the largest dual value certified so far, w = 0 included, and the weights that have
        this primal value
    accelerated : whether the certified weights are those of an accelerated outer loop
    """

    #: What is counted, and goes on where a run is continued.
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
        self.known: Certificate | None = None
        self.best: tuple[Certificate, np.ndarray] | None = None
        self.accelerated = False

    def effort(self, n_blocks: int) -> float:
        """What ``max_passes`` limits: passes; with a cache, 20 visits count at least as one oracle call.

        So a run whose visits all hit the cache still ends.
        """
        return max(self.calls, self.cached_visits / 20) / n_blocks

    def go_on(self, counts: Sequence[int], history: dict[str, np.ndarray]) -> None:
        """Continue another run, with its counts and its history."""
        for name, count in zip(self.COUNTS, counts, strict=True):
            setattr(self, name, count)
        self.rows = [dict(zip(history, row, strict=True)) for row in np.transpose([*history.values()])]
        self._start -= self.rows[-1]["seconds"] if self.rows else 0.0

    @property
    def compile_seconds(self) -> float:
        return compile_seconds() - self._compiled_before

    def certificate_due(self, problem: DualProblem, planned: bool) -> bool:
        """Whether a solver takes a certificate after a pass for which it has, or has not, planned one."""
        return planned

    def certify_state(self, problem: DualProblem) -> Certificate:
        """The certificate of the current dual point at its own weights."""
        return certify_state(problem)

    def keep_best(self, found: Certificate, weights: np.ndarray) -> Certificate:
        """The best so far, given a new certificate and its weights, which are copied if they are the best.

        The first certificate is compared with w = 0, whose primal value is known, and the dual value 0. Estimates of a
        heuristic oracle without an upper bound cannot be compared: a smaller one may only be a worse estimate. The
        latest then counts as the best, except in an accelerated run, whose weights come and go.
        """
        if np.isinf(found.gap_bound) and not self.accelerated:
            self.best = None
        elif self.best is None and self._zero_is_allowed:
            hinge = HingeSums(self.value_at_zero, self.value_at_zero)
            self.best = certificate(0.0, hinge, 0.0), np.zeros_like(weights)
        if self.best is None:
            self.best = found, weights.copy()
        else:
            before, w = self.best
            if found.primal_bound < before.primal_bound:
                np.copyto(w, weights)
            self.best = before.better_of(found), w
        return self.best[0]

    @property
    def _zero_is_allowed(self) -> bool:
        """Whether w = 0 is within the bounds, and ``value_at_zero`` is its primal value: the oracle is exact."""
        lower, upper = self.problem.bounds
        return "heuristic oracle" not in self.problem.form.needs and bool(np.all(lower <= 0.0) and np.all(upper >= 0.0))

    def record_certificate(self, problem: DualProblem, passes: float, certificate: Certificate) -> None:
        """Add a row to the history; the run ends where the gap is proved, or estimated, to be small enough."""
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
