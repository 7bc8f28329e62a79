"""Cutting planes (Joachims, Finley and Yu, 2009): one slack variable with a QP over planes, or one per example."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bcfw.dual import Certificate, DualProblem
from bcfw.dual.certificates import certificate, dual_value, hinge_sums
from bcfw.dual.certify import certify_weights
from bcfw.errors import OptionError
from bcfw.options import Choice, Count
from bcfw.passes.batch import batch_step_pass
from bcfw.passes.planes import plane_pass
from bcfw.passes.store_visits import in_order_pass
from bcfw.records import ORACLE, STEPS, STORE_ONLY, Cache, PlaneSearch
from bcfw.selection import SAMPLINGS
from bcfw.solvers.base import Outcome, Solver, best_outcome
from bcfw.solvers.iterations import iterate
from bcfw.solvers.master import gains, master_masses, require_qp_solver
from bcfw.solvers.multiplane import MultiPlane
from bcfw.solvers.pass_runner import PassRunner
from bcfw.solvers.plane_vectors import DenseVectors, SparseVectors, vectors_for
from bcfw.solvers.run import SolverRun
from bcfw.solvers.schedule import Predicted

#: A plane of cached outputs is used while it is violated by more than the target and by more than this share of the gap
#: at the last pass of the oracle.
CACHE_SHARE = 0.1

#: Planes without mass leave after so many solutions of the master problem.
IDLE = 20

#: The master problem of n slack variables is solved when a pass over the stored outputs gains at most this share of the
#: target, or after so many passes.
SOLVED = 0.01
MOST_STORE_PASSES = 1000

#: What a visit to the store is taken to cost, relative to one with the oracle, where certificates are planned.
STORE_COST = 0.2


class CuttingPlane(Solver):
    """Cutting planes: the problem is solved over the outputs found so far, then the oracle is asked for more.

    - slack="one": one constraint, a *plane*, for all examples together, ``sum_i c_i H_i(y_i; w) <= xi``. A pass of the
      oracle gives the most violated one; then the problem over all planes, a QP with one variable each, is solved by
      PIQP (``pip install 'bcfw[qp]'``). Planes of outputs that the oracle returned before are used without calls while
      they are violated by more than the target.
    - slack="n": constraints for every example. The problem over all of them is solved by passes of pairwise steps over
      the stored outputs, to convergence, after each pass of the oracle.

    Parameters
    ----------
    slack : "one" or "n"
    max_labelings : int
        Outputs kept per example, the truth among them.

    Examples
    --------
    >>> import bcfw
    >>> bcfw.solvers.CuttingPlane(slack="n")
    CuttingPlane(slack='n')
    """

    slack: Any = Choice("one", "n")
    max_labelings: Any = Count(50)

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        if self.max_labelings < 2:
            raise OptionError("CuttingPlane: max_labelings must be at least 2, the truth and one more")

    @property
    def handles(self) -> frozenset[str]:
        return super().handles - ({"bounds", "heuristic oracle"} if self.slack == "one" else set())

    @property
    def uses_store(self) -> bool:
        return bool(self.slack == "n")

    def prepare(self, problem: DualProblem) -> None:
        if self.slack == "n":
            problem.open_store(self.max_labelings, active=True, template=in_order_pass)
        else:
            require_qp_solver()
            problem.close_store()

    def solve(self, problem: DualProblem, run: SolverRun, rng: np.random.Generator) -> Outcome:
        if self.slack == "n":
            return self._solve_by_passes(problem, run, rng)
        return OneSlack(problem, run, int(self.max_labelings)).solve()

    def _solve_by_passes(self, problem: DualProblem, run: SolverRun, rng: np.random.Generator) -> Outcome:
        runner, plans = PassRunner(problem, run), MultiPlane(inactive=10**9)
        runner.begin()

        def iteration(number: int) -> float:
            total = runner.one_pass(SAMPLINGS["permuted"], rng, plans.plan(ORACLE, number))
            for _ in range(MOST_STORE_PASSES):
                run.check_limits(runner.effort)
                if run.status is not None:
                    break
                gain = runner.one_pass(SAMPLINGS["permuted"], rng, plans.plan(STORE_ONLY, number))
                total += gain
                if gain <= max(SOLVED * run.gap_target, problem.smallest_gain()):
                    break
            return total

        def check_stall(number: int, gain: float) -> None:
            runner.check_stall(gain, SAMPLINGS["permuted"], plans.plan(ORACLE, number))

        schedule = Predicted(problem, run, run.rows[-1]["gap"], STORE_COST)
        return iterate(runner, 0.0, schedule, iteration, check_stall)


class Plane(NamedTuple):
    """One output of every block.

    ``ell`` is that of a dual point with all mass there, ``losses`` (n,) and ``labelings`` are by block. Its v is apart.
    """

    ell: float
    losses: np.ndarray
    labelings: Any


class OneSlack:
    """A run with one slack variable.

    The dual point is a mixture of planes: that at the start, whatever it is, and those found since. The problem's state
    is made out of it only where someone asks for it: when a checkpoint is saved, and at the end.

    Parameters
    ----------
    problem : DualProblem, without bounds and with an exact oracle
    run : SolverRun
    slots : int
        Outputs kept per block.
    """

    def __init__(self, problem: DualProblem, run: SolverRun, slots: int) -> None:
        self.problem, self.run = problem, run
        n, form = problem.n_blocks, problem.form
        labels = form.make_labelings(problem.data, slots)
        self.cache = Cache(labels, np.ones(n, np.int64), np.zeros((n, slots), np.int64))
        self.start = form.export_mu(problem.data, problem.state.mu), problem.state.ell.copy()
        self.planes = [Plane(problem.ell, problem.state.ell.copy(), None)]
        self.vectors: DenseVectors | SparseVectors | None = None
        self.mass, self.idle = np.ones(1), np.zeros(1, np.int64)
        self.gram = problem.lam * (problem.v @ problem.v) * np.ones((1, 1))
        self.w, self.dual = problem.v.copy(), problem.dual_value()
        self.rounds = 0

    @property
    def passes(self) -> int:
        """Passes of the oracle."""
        return self.run.calls // len(self.problem.blocks)

    def solve(self) -> Outcome:
        """Iterate until the run ends; the best weights certified are returned."""
        run, problem = self.run, self.problem
        run.point = lambda: self.w.copy()
        if problem.point is not None:  # where an earlier run ended may be good enough
            run.keep_best(certify_weights(problem, problem.point), problem.point)
            problem.point = None
        problem.outside = self._settled
        try:
            while True:
                found, plane, v = self._ask_oracle()
                run.record_certificate(problem, self.passes, found)
                run.check_limits(self.passes)
                if run.status is None and not self._add(plane, v):
                    run.stall(run.value_at_zero)
                if run.status is not None:
                    break
                self._use_cache(found.gap)
                run.calls += len(problem.blocks)
                problem.tally[STEPS] += len(problem.blocks)
                run.after(self.passes)
            self._settle()
        finally:
            problem.outside = contextlib.nullcontext
        return best_outcome(problem, run, self.passes)

    def _ask_oracle(self) -> tuple[Certificate, Plane, np.ndarray]:
        """The best certificate so far, after a pass of the oracle at w, and the plane that it found with its v."""
        problem = self.problem
        self.rounds += 1
        plane, v, hinges = self._find_plane(self.rounds)
        problem.oracle_calls += len(problem.blocks)
        hinge = hinge_sums(problem.state.c, hinges)
        found = certificate(problem.regulariser(self.w), hinge, self.dual)
        return self.run.keep_best(found, self.w), plane, v

    def _find_plane(self, number: int) -> tuple[Plane, np.ndarray, np.ndarray]:
        """The plane of the oracle's outputs at w in round ``number``, or of cached ones for 0; its v; hinge losses."""
        problem, n = self.problem, self.problem.n_blocks
        labels = problem.form.make_labelings(problem.data)
        found = np.zeros((2, n)), np.zeros(n), labels, np.zeros_like(self.w)
        search = PlaneSearch(self.w, problem.lam, number, *found)
        problem.sweep(plane_pass, len(problem.blocks), problem.blocks, tuple(self.cache), tuple(search))
        return Plane(float(problem.state.c @ search.losses), search.losses, labels), search.v, search.hinges

    def _use_cache(self, gap: float) -> None:
        """Add planes of cached outputs as long as they are violated by more than the target."""
        run, lam, c = self.run, self.problem.lam, self.problem.state.c
        least = max(run.gap_target, CACHE_SHARE * gap)
        while True:
            run.check_limits(self.passes)
            if run.status is not None:
                return
            plane, v, hinges = self._find_plane(0)
            violation = float(c @ hinges[0]) + 0.5 * lam * float(self.w @ self.w) - self.dual
            if violation <= least or not self._add(plane, v):
                return
            run.save_if_due()

    def _add(self, plane: Plane, v: np.ndarray) -> bool:
        """Solve the master problem with one plane more; False if the dual gains no more than rounding."""
        lam = self.problem.lam
        if self.vectors is None:
            self.vectors = vectors_for(v)
            self.vectors.add(self.w)
        products = lam * self.vectors.products(v)
        self.gram = np.block([[self.gram, products[:, None]], [products, lam * float(v @ v)]])
        self.planes.append(plane)
        self.vectors.add(v)
        self.idle = np.append(self.idle, 0)
        ell = np.array([one.ell for one in self.planes])
        before = np.append(self.mass, 0.0)
        self.mass = master_masses(self.gram, ell, before)
        has_gained = gains(self.gram, ell, before, self.mass)
        self.w = self.vectors.mixture(self.mass)
        self.dual = dual_value(lam, self.w, self.w, float(ell @ self.mass))
        self._drop_idle(self.vectors)
        return has_gained

    def _drop_idle(self, vectors: DenseVectors | SparseVectors) -> None:
        """Forget planes that have had no mass for a while; that at the start stays."""
        self.idle = np.where(self.mass > 0.0, 0, self.idle + 1)
        kept = np.flatnonzero((self.idle < IDLE) | (np.arange(len(self.idle)) == 0))
        if len(kept) < len(self.planes):
            vectors.keep(kept)
            self.planes = [self.planes[j] for j in kept]
            self.mass, self.idle = self.mass[kept], self.idle[kept]
            self.gram = self.gram[np.ix_(kept, kept)]

    def _settle(self) -> None:
        """Make the mixture of planes the problem's dual point: block averages, ell and v."""
        problem, form = self.problem, self.problem.form
        mu, ell = self.start
        problem.state = problem.state._replace(mu=tuple(form.import_mu(problem.data, [np.array(a) for a in mu])))
        problem.state.ell[:] = ell
        total = self.mass[0]
        everyone = np.ones(problem.n_blocks, np.bool_)
        for share, plane in zip(self.mass[1:], self.planes[1:], strict=True):
            if share > 0.0:
                total += share
                step = share / total, plane.losses, everyone, plane.labelings
                problem.sweep(batch_step_pass, len(problem.blocks), problem.blocks, *step)
        problem.v = self.w

    @contextlib.contextmanager
    def _settled(self) -> Iterator[None]:
        """For a snapshot in the middle of the run."""
        self._settle()
        problem, best = self.problem, self.run.best
        problem.point = None if best is None else best[1].copy()
        try:
            yield
        finally:
            problem.point = None
