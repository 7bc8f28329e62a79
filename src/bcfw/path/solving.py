"""``PathSolver``, which paths and grids share: it opens a problem, solves it at decreasing lam and makes the result."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bcfw.dual import Certificate, DualProblem, change_lam, open_problem, snapshots
from bcfw.dual.certificates import HingeSums, certificate
from bcfw.errors import InputError, OptionError, OracleError
from bcfw.options import Positive
from bcfw.path.gap_bound import GapBound
from bcfw.path.path_result import RegularizationPath
from bcfw.path.weights_by_lam import COUNTS, PREFIX, Breakpoints, WeightDeltas
from bcfw.path.whole_run import PathRun
from bcfw.progress import progress_callbacks
from bcfw.run import Callback, callbacks_notified, warn_of_limit
from bcfw.solvers import BCFW, Solver, find_solver
from bcfw.solvers.auto import USUAL_STORE_COST, has_large_features, multiplane_for_cost
from bcfw.solvers.solver import require_supported
from bcfw.storage import checkpoints
from bcfw.storage.checked_arrays import SavedArrays
from bcfw.training import check_arguments, compile_errors_explained, read_checkpoint, require_loss, thread_count

#: The solvers for each lam if none is given. USUAL_SOLVER needs few oracle calls from one lam to the next. If lam is so
#: small that the features are large in comparison, steps on one example at a time make hardly any progress, and
#: SOLVER_OF_LARGE_FEATURES is used.
USUAL_SOLVER = BCFW(sampling="gap", step="pairwise", cache="gap")
SOLVER_OF_LARGE_FEATURES = multiplane_for_cost(USUAL_STORE_COST, by_features=True)

#: Names in a saved path of its eps, of a hash of its shares and bounds, and of its counts.
EPS, SHARES, COUNTED = PREFIX + "eps", PREFIX + "shares", PREFIX + "counted"

#: Statuses of a run that has reached its target.
SOLVED = ("converged", "estimated")

#: Advice for a path that ended early, by its status.
LIMITS = {
    "max_passes": "raise max_passes or eps",
    "max_seconds": "raise max_seconds or eps",
    "stalled": "the steps no longer gain anything in floating point; raise eps",
}


class Solution(NamedTuple):
    """Weights at one lam.

    Attributes
    ----------
    w : the weights
    hinge : their hinge losses, as found by the oracle and as upper bounds
    gap : their gap at this lam and at smaller values
    certified : whether the gap is proved
    """

    w: np.ndarray
    hinge: HingeSums
    gap: GapBound
    certified: bool


@dataclass
class PathSolver:
    """Solves one problem at decreasing values of lam and stores the breakpoints.

    Attributes
    ----------
    run : counts, limits and callbacks for all values of lam
    given : the solver that the user has chosen, or None
    eps : the gap that is allowed at and between the breakpoints
    origin : the zero vector, clipped to the bounds on w
    earlier : the counts of the path that is continued
    path : the result, set by :meth:`finish`
    """

    problem: DualProblem
    run: PathRun
    given: Solver | None
    rng: np.random.Generator
    is_grid: bool
    eps: float = np.inf
    origin: np.ndarray = field(init=False)
    breakpoints: Breakpoints = field(init=False)
    earlier: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0.0))
    path: RegularizationPath = field(init=False)

    def __post_init__(self) -> None:
        self.origin = self.problem.clip(np.zeros(self.problem.adapter.dim))
        self.breakpoints = Breakpoints(WeightDeltas(self.problem.adapter.dim))

    @property
    def solver(self) -> Solver:
        """The solver for the current lam."""
        if self.given is not None:
            return self.given
        return SOLVER_OF_LARGE_FEATURES if has_large_features(self.problem) else USUAL_SOLVER

    def counts(self) -> dict[str, float]:
        """Return passes, oracle calls and seconds so far, including those of the path that is continued."""
        problem, run = self.problem, self.run
        now = (run.calls / len(problem.blocks), problem.oracle_calls, run.seconds)
        return {name: self.earlier[name] + count for name, count in zip(COUNTS, now, strict=True)}

    def solve(self, known: Certificate | None) -> Solution:
        """Solve at the current lam; ``known`` is the certificate of the current point, or None.

        The gap is computed from the returned weights and the *current* dual point, because the next lam starts at this
        dual point. The solver's own certificate may contain the larger value of an earlier dual point.
        """
        problem, run, lam, solver = self.problem, self.run, self.problem.lam, self.solver
        solver.prepare(problem)
        while True:
            run.at_next_lam(known)
            outcome = solver.solve(problem, run, self.rng)
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
        """Return the certificate of weights with known hinge losses and the current dual point."""
        return certificate(self.problem.regulariser(w), hinge, self.problem.dual_value())

    def shrink(self, lam: float, before: Solution) -> Certificate:
        """Change to a smaller lam, keep the weights of the solution ``before``, and return their certificate there."""
        change_lam(self.problem, lam, keep="w")
        if self.run.heuristic:  # errors would add up: block gaps are unknown until all blocks are visited again
            self.problem.state.gap[:] = np.inf
        return self.certificate(before.w, before.hinge)

    def keep(self, solution: Solution) -> None:
        """Add the current lam as a breakpoint, with the weights of ``solution``."""
        self._append(solution.w, solution.gap, self.problem.lam)
        self.breakpoints.certified &= solution.certified and not self.run.heuristic

    def extend(self, lam: float) -> None:
        """Add a smaller lam as a breakpoint, with the weights of the last breakpoint, whose gap is small enough."""
        self._append(self.breakpoints.weights.last, self.breakpoints.bounds[-1], lam)

    def _append(self, w: np.ndarray, gap: GapBound, lam: float) -> None:
        self.breakpoints.weights.append(w)
        self.breakpoints.bounds.append(gap)
        self.breakpoints.rows.append({"lam": lam, "gap": gap.at(lam), **self.counts()})

    def state(self) -> dict[str, Any]:
        """Return all that is needed to continue the path: dual state, counts, and a description of its problem."""
        counts = np.array(list(self.counts().values()), np.float64)
        return {**snapshots.take(self.problem), EPS: self.eps, SHARES: shares(self.problem), COUNTED: counts}

    def save(self, file: str | Path) -> None:
        """Write a checkpoint with which the path can be continued; if the file cannot be written, warn."""
        if self.breakpoints.rows:
            with checkpoints.warned(file):
                checkpoints.write({**self.state(), **self.breakpoints.arrays()}, file)

    def resume(self, source: Any) -> None:
        """Continue a path: take its dual state, and its breakpoints above the lam of this state."""
        from_file = isinstance(source, str | Path)
        if not from_file and (not isinstance(source, RegularizationPath) or source.is_grid):
            raise OptionError(f"warm_start must be a regularization_path or a checkpoint's path, got {source!r}")
        name, problem = str(source) if from_file else "warm_start", self.problem
        saved = SavedArrays(checkpoints.read(source) if from_file else source.snapshot, name)
        self._require_same(saved)
        problem.lam = float(saved.get("lam", float, least=np.finfo(float).tiny))
        snapshots.restore(problem, dict(saved.snapshot), name)
        if self.run.heuristic:
            problem.state.gap[:] = np.inf  # unknown until all blocks are visited again
        breakpoints = Breakpoints.from_arrays(saved, problem.adapter.dim) if from_file else source._breakpoints
        self.breakpoints = breakpoints.down_to(problem.lam)
        self.earlier = dict(zip(COUNTS, saved.get(COUNTED, float, (len(COUNTS),), least=0.0).tolist(), strict=True))

    def _require_same(self, saved: SavedArrays) -> None:
        """Raise InputError unless a saved path belongs to this problem and has the same eps."""
        different = {
            "another eps": saved.get(EPS, float) != self.eps,
            "other data or options of the model": str(saved.snapshot.get("data")) != self.problem.identity,
            "other sample weights or bounds": str(saved.snapshot.get(SHARES)) != shares(self.problem),
        }
        for what in [what for what, differs in different.items() if differs]:
            raise InputError(f"{saved.source} is a path with {what}; give what it was computed with, or begin anew")

    def finish(self, status: str) -> None:
        """Set ``path`` to the result."""
        self.path = self.result(status)

    def result(self, status: str) -> RegularizationPath:
        """Return the breakpoints so far as a RegularizationPath."""
        counts = self.counts()
        return RegularizationPath(
            status=status,
            n_passes=counts["passes"],
            n_oracle_calls=int(counts["oracle_calls"]),
            seconds=counts["seconds"],
            eps=self.eps,
            solver=self.solver,
            model=self.problem.adapter.model,
            is_grid=self.is_grid,
            origin=self.origin,
            _breakpoints=self.breakpoints,
            snapshot={} if self.is_grid else self.state(),
            compile_seconds=self.run.compile_seconds,
        )


def shares(problem: DualProblem) -> str:
    """Return a hash of the blocks' shares and of the bounds on w; a continued path must have equal ones."""
    digest = hashlib.sha256(problem.state.c.tobytes())
    for side in problem.bounds:
        digest.update(np.ascontiguousarray(side).tobytes())
    return digest.hexdigest()


@contextlib.contextmanager
def open_path_solver(
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
    checkpoint: Any = None,
    is_grid: bool = False,
) -> Iterator[PathSolver]:
    """Context with a path solver for the problem; on exit, callbacks get its ``path``, and a path that ended early
    warns.

    The arguments are described at :func:`bcfw.train` and :func:`bcfw.regularization_path`.
    """
    chosen = None if solver is None else find_solver(solver)
    if chosen is not None and not chosen.forms_weights:
        raise OptionError(f"{type(chosen).__name__} forms no weights, which a path is made of; use another solver")
    check_arguments(model, y, callbacks, seed)
    Positive(1000, finite=False).check("", "max_passes", max_passes)
    Positive(None, finite=False, or_none=True).check("", "max_seconds", max_seconds)
    everyone = (*callbacks, *progress_callbacks(verbose))
    file, every = read_checkpoint(checkpoint)
    with callbacks_notified(everyone) as ended, compile_errors_explained(model):
        problem = open_problem(model, X, y, 1.0, sample_weight, bounds, thread_count(n_jobs))
        require_supported(chosen or USUAL_SOLVER, problem)
        run = PathRun(problem, max_passes, max_seconds=max_seconds, callbacks=everyone)
        require_loss(problem, run, X, y)
        path_solver = PathSolver(problem, run, chosen, np.random.default_rng(seed), is_grid)
        if file is not None:
            run.autosave = every, lambda: path_solver.save(file)
        try:
            with run.interrupt, problem.memory_named():
                yield path_solver
        except OracleError as error:
            error.result = path_solver.result("interrupted") if path_solver.breakpoints.rows else None
            raise
        finally:
            if file is not None:
                path_solver.save(file)
        ended(path_solver.path)
    path = path_solver.path
    if path.status in LIMITS:
        what = "grid" if is_grid else "path"
        warn_of_limit(f"the {what} ends at lam = {path.lambdas[-1]:.4g} ({path.status}); {LIMITS[path.status]}")
