"""What paths and grids share: a problem opened once, solved at one lam after another, and the result made of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bcfw.dual import Certificate, DualProblem, change_lam, open_problem
from bcfw.dual.certificates import HingeSums, certificate
from bcfw.errors import OracleError
from bcfw.options import Positive
from bcfw.path.bounds import GapBound
from bcfw.path.run import PathRun
from bcfw.path.weights import Changes, RegularizationPath
from bcfw.progress import progress_callbacks
from bcfw.run import Callback, announced, warn_of_limit
from bcfw.solvers import BCFW, Solver, find_solver
from bcfw.solvers.base import require_match
from bcfw.training import check_arguments, explained, require_loss, thread_count

#: What works at each lam if no solver is given: it needs few oracle calls from one lam to the next.
USUAL_SOLVER = BCFW(sampling="gap", step="pairwise", cache="gap")


#: Statuses of a run that has reached its target.
SOLVED = ("converged", "estimated")

#: What to do about a path that has ended too early, by its status.
LIMITS = {
    "max_passes": "raise max_passes or eps",
    "max_seconds": "raise max_seconds or eps",
    "stalled": "the steps no longer gain anything in floating point; raise eps",
}


class Solution(NamedTuple):
    """Weights at one lam, their hinge losses (found and at most), their gap there and below, and if that is proved."""

    w: np.ndarray
    hinge: HingeSums
    gap: GapBound
    certified: bool


@dataclass
class Tracer:
    """Solves one problem at decreasing values of lam and keeps what it finds.

    ``run`` counts over all of them and stops all of them.
    """

    problem: DualProblem
    run: PathRun
    solver: Solver
    rng: np.random.Generator
    is_grid: bool
    origin: np.ndarray = field(init=False)
    kept: Changes = field(init=False)
    bounds: list[GapBound] = field(default_factory=list)
    rows: list[dict[str, float]] = field(default_factory=list)
    certified: bool = True
    path: RegularizationPath = field(init=False)

    def __post_init__(self) -> None:
        self.origin = self.problem.clip(np.zeros(self.problem.form.dim))
        self.kept = Changes(self.problem.form.dim)

    @property
    def n_passes(self) -> float:
        return self.run.calls / len(self.problem.blocks)

    def solve(self, known: Certificate | None) -> Solution:
        """Solve at the current lam; ``known`` is the certificate of the current point, if it is known.

        The gap is that of the returned weights and the *current* dual point, which the next lam begins with: a solver
        may have ended with the value of a better one that it has left.
        """
        problem, run, lam = self.problem, self.run, self.problem.lam
        while True:
            run.at_next_lam(known)
            outcome = self.solver.solve(problem, run, self.rng)
            hinge = outcome.certificate.hinge(lam, outcome.w)
            found = self.certificate(outcome.w, hinge)
            if run.status not in SOLVED or found.reaches(run.gap_target):
                break
            known = found
        reported, certified = found.proven(run.gap_target)
        norm, dual = 0.5 * float(outcome.w @ outcome.w), problem.dual_value()
        h, ell = reported.primal - lam * norm, problem.ell
        gap = GapBound(lam, reported.gap, h, norm, ell, lam * max(ell - dual, 0.0), not self.origin.any())
        return Solution(outcome.w, hinge, gap, certified)

    def certificate(self, w: np.ndarray, hinge: HingeSums) -> Certificate:
        """Any weights with known hinge losses against the current dual point."""
        return certificate(self.problem.lam, w, hinge, self.problem.dual_value())

    def shrink(self, lam: float, before: Solution) -> Certificate:
        """Go to a smaller lam with the weights of the solution before; their certificate there is known."""
        change_lam(self.problem, lam, keep="w")
        if self.run.stale:  # errors would add up: what the block gaps say counts when all blocks were asked again
            self.problem.state.gap[:] = np.inf
        return self.certificate(before.w, before.hinge)

    def keep(self, solution: Solution, lam: float) -> None:
        """Make ``lam`` a breakpoint with the weights of a solution that was found there or at a larger one."""
        self.kept.append(solution.w)
        self.bounds.append(solution.gap)
        self.certified &= solution.certified and not self.run.stale
        self.rows.append(
            {
                "lam": lam,
                "gap": solution.gap.at(lam),
                "passes": self.n_passes,
                "oracle_calls": self.problem.oracle_calls,
                "seconds": self.run.seconds,
            }
        )

    def finish(self, status: str) -> None:
        """Make the result out of what has been kept."""
        self.path = self.result(status)

    def result(self, status: str) -> RegularizationPath:
        """What has been kept so far."""
        columns = {key: np.array([row[key] for row in self.rows]) for key in self.rows[0]}
        return RegularizationPath(
            lambdas=columns["lam"],
            gaps=columns["gap"],
            certified=self.certified,
            status=status,
            n_passes=self.n_passes,
            n_oracle_calls=self.problem.oracle_calls,
            seconds=self.run.seconds,
            history={key: columns[key] for key in ("passes", "oracle_calls", "seconds")},
            solver=self.solver,
            model=self.problem.form.model,
            is_grid=self.is_grid,
            origin=self.origin,
            _weights=self.kept,
            _bounds=self.bounds,
        )


@contextlib.contextmanager
def opened(
    model: Any,
    X: Any,
    y: Any,
    solver: Solver | str | None,
    max_passes: float,
    max_seconds: float | None,
    bounds: Any,
    sample_weight: Any,
    callbacks: Sequence[Callback],
    seed: int,
    n_jobs: int,
    verbose: int,
    is_grid: bool = False,
) -> Iterator[Tracer]:
    """A tracer for the problem; on leaving, callbacks hear of its ``path``. The arguments are those of ``train``."""
    chosen = find_solver(USUAL_SOLVER if solver is None else solver)
    check_arguments(model, y, callbacks, seed)
    Positive(1000, finite=False).check("", "max_passes", max_passes)
    Positive(None, finite=False, or_none=True).check("", "max_seconds", max_seconds)
    everyone = (*callbacks, *progress_callbacks(verbose))
    with announced(everyone) as ended, explained(model):
        problem = open_problem(model, X, y, 1.0, sample_weight, bounds, thread_count(n_jobs))
        require_match(chosen, problem)
        run = PathRun(problem, max_passes, max_seconds=max_seconds, callbacks=everyone)
        require_loss(problem, run, X, y)
        tracer = Tracer(problem, run, chosen, np.random.default_rng(seed), is_grid)
        try:
            with run.interrupt:
                yield tracer
        except OracleError as error:
            error.result = tracer.result("interrupted") if tracer.rows else None
            raise
        ended(tracer.path)
    path = tracer.path
    if path.status in LIMITS:
        what = "grid" if is_grid else "path"
        warn_of_limit(f"the {what} ends at lam = {path.lambdas[-1]:.4g} ({path.status}); {LIMITS[path.status]}")
