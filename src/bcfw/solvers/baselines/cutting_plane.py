"""The solver CuttingPlane (Joachims, Finley and Yu, 2009), with one slack variable or with one slack per example."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bcfw.dual import Certificate, DualProblem
from bcfw.dual.batch import batch_step_pass
from bcfw.dual.certificates import certificate, dual_value, hinge_sums
from bcfw.dual.certify import certify_weights
from bcfw.errors import OptionError
from bcfw.options import Choice, Count
from bcfw.passes.records import ORACLE, STEPS, STORE_ONLY
from bcfw.passes.store_visits import in_order_pass
from bcfw.selection import SAMPLINGS
from bcfw.solvers.baselines.master_qp import gains, master_masses, require_qp_solver
from bcfw.solvers.baselines.plane_pass import Cache, PlaneSearch, plane_pass
from bcfw.solvers.baselines.plane_vectors import DensePlanes, SparsePlanes, vectors_for
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.iterations import iterate
from bcfw.solvers.multiplane import MultiPlane
from bcfw.solvers.pass_runner import PassRunner
from bcfw.solvers.schedule import PredictedSchedule
from bcfw.solvers.solver import Outcome, Solver, best_outcome

#: A plane of cached outputs is added while its violation is above the target and above this share of the gap at the
#: last pass of the oracle.
CACHE_SHARE = 0.1

#: A plane is removed if it has had no mass in this many consecutive solutions of the master problem.
IDLE = 20

#: The master problem of n slack variables counts as solved when a pass over the stored outputs gains at most the share
#: SOLVED of the target, or after MOST_STORE_PASSES passes.
SOLVED = 0.01
MOST_STORE_PASSES = 1000

#: Assumed cost of a store visit, relative to a visit with the oracle, in the schedule of certificates.
STORE_COST = 0.2


class CuttingPlane(Solver):
    """Cutting planes: solve the problem over the outputs found so far, then call the oracle for new outputs.

    - slack="one": one slack variable xi. Each constraint, a *plane*, takes one output y_i of every example:
      ``sum_i c_i H_i(y_i; w) <= xi``. A pass of the oracle gives the most violated plane. Then PIQP
      (``pip install 'bcfw[qp]'``) solves the problem over all planes found so far, a QP with one variable per plane.
      Planes of outputs that the oracle returned earlier are added without oracle calls while their violation is above
      the target.
    - slack="n": one slack variable per example. After each pass of the oracle, passes of pairwise steps over the stored
      outputs solve the problem over all constraints found so far.

    Parameters
    ----------
    slack : "one" or "n"
        One slack variable for all examples together, or one slack variable per example.
    max_labelings : int
        Number of outputs kept per example, including the truth.

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

    def solve(self, problem: DualProblem, run: CountedRun, rng: np.random.Generator) -> Outcome:
        if self.slack == "n":
            return self._solve_by_passes(problem, run, rng)
        return OneSlack(problem, run, int(self.max_labelings)).solve()

    def _solve_by_passes(self, problem: DualProblem, run: CountedRun, rng: np.random.Generator) -> Outcome:
        runner, plans = PassRunner(problem, run), MultiPlane(inactive=10**9)
        runner.begin()

        def iteration(number: int) -> float:
            total = runner.run_pass(SAMPLINGS["permuted"], rng, plans.plan(ORACLE, number))
            for _ in range(MOST_STORE_PASSES):
                run.check_limits(runner.budget_used)
                if run.status is not None:
                    break
                gain = runner.run_pass(SAMPLINGS["permuted"], rng, plans.plan(STORE_ONLY, number))
                total += gain
                if gain <= max(SOLVED * run.gap_target, problem.smallest_gain()):
                    break
            return total

        def check_stall(number: int, gain: float) -> None:
            runner.check_stall(gain, SAMPLINGS["permuted"], plans.plan(ORACLE, number))

        schedule = PredictedSchedule(problem, run, run.rows[-1]["gap"], STORE_COST)
        return iterate(runner, 0.0, schedule, iteration, check_stall)


class Plane(NamedTuple):
    """A cutting plane: one output of every block.

    Attributes
    ----------
    ell : the ell of the dual point that has all mass on these outputs
    losses : (n,) losses of the outputs; for the initial plane, the ell_i of the initial dual point
    labelings : the outputs, laid out by the model; None for the initial plane

    The plane's vector v is kept in ``OneSlack.vectors``.
    """

    ell: float
    losses: np.ndarray
    labelings: Any


class OneSlack:
    """A run of the cutting-plane method with one slack variable.

    The dual point is a mixture of the initial dual point and the planes found since. The mixture is written to the
    problem's state only when a checkpoint is saved and at the end of the run.

    Parameters
    ----------
    problem : DualProblem, without bounds and with an exact oracle
    run : CountedRun
    slots : int
        Number of outputs kept per block.
    """

    def __init__(self, problem: DualProblem, run: CountedRun, slots: int) -> None:
        self.problem, self.run = problem, run
        n, adapter = problem.n_blocks, problem.adapter
        labels = adapter.make_labelings(problem.data, slots)
        self.cache = Cache(labels, np.ones(n, np.int64), np.zeros((n, slots), np.int64))
        self.start = adapter.export_mu(problem.data, problem.state.mu), problem.state.ell.copy()
        self.planes = [Plane(problem.ell, problem.state.ell.copy(), None)]
        self.vectors: DensePlanes | SparsePlanes | None = None
        self.mass, self.idle = np.ones(1), np.zeros(1, np.int64)
        self.gram = problem.lam * (problem.v @ problem.v) * np.ones((1, 1))
        self.w, self.dual = problem.v.copy(), problem.dual_value()
        self.rounds = 0

    @property
    def passes(self) -> int:
        """Number of passes of the oracle in steps so far."""
        return self.run.calls // len(self.problem.blocks)

    def solve(self) -> Outcome:
        """Iterate until the run ends, and return the best weights that were certified."""
        run, problem = self.run, self.problem
        run.point = lambda: self.w.copy()
        if problem.point is not None:  # the weights that an earlier run returned may be good enough
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
                problem.counters[STEPS] += len(problem.blocks)
                run.after(self.passes)
            self._write_dual_point()
        finally:
            problem.outside = contextlib.nullcontext
        return best_outcome(problem, run, self.passes)

    def _ask_oracle(self) -> tuple[Certificate, Plane, np.ndarray]:
        """Make a pass of the oracle at w; return the best certificate so far, the new plane and the plane's v."""
        problem = self.problem
        self.rounds += 1
        plane, v, hinge_losses = self._find_plane(self.rounds)
        problem.oracle_calls += len(problem.blocks)
        hinge = hinge_sums(problem.state.c, hinge_losses)
        found = certificate(problem.regulariser(self.w), hinge, self.dual)
        return self.run.keep_best(found, self.w), plane, v

    def _find_plane(self, number: int) -> tuple[Plane, np.ndarray, np.ndarray]:
        """Return the plane with the largest value at w, its v and the (2, n) hinge losses of its outputs.

        In round ``number`` > 0 the plane takes the oracle's outputs; for 0 it takes the best cached outputs.
        """
        problem, n = self.problem, self.problem.n_blocks
        labels = problem.adapter.make_labelings(problem.data)
        found = np.zeros((2, n)), np.zeros(n), labels, np.zeros_like(self.w)
        search = PlaneSearch(self.w, problem.lam, number, *found)
        problem.run_template(plane_pass, len(problem.blocks), problem.blocks, tuple(self.cache), tuple(search))
        return Plane(float(problem.state.c @ search.losses), search.losses, labels), search.v, search.hinge_losses

    def _use_cache(self, gap: float) -> None:
        """Add planes of cached outputs while their violation is above the target and above a share of ``gap``."""
        run, lam, c = self.run, self.problem.lam, self.problem.state.c
        least = max(run.gap_target, CACHE_SHARE * gap)
        while True:
            run.check_limits(self.passes)
            if run.status is not None:
                return
            plane, v, hinge_losses = self._find_plane(0)
            violation = float(c @ hinge_losses[0]) + 0.5 * lam * float(self.w @ self.w) - self.dual
            if violation <= least or not self._add(plane, v):
                return
            run.save_if_due()

    def _add(self, plane: Plane, v: np.ndarray) -> bool:
        """Add a plane and solve the master problem; return False if the dual gains no more than rounding."""
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

    def _drop_idle(self, vectors: DensePlanes | SparsePlanes) -> None:
        """Remove planes that have had no mass in the last ``IDLE`` solutions; the initial plane always stays."""
        self.idle = np.where(self.mass > 0.0, 0, self.idle + 1)
        kept = np.flatnonzero((self.idle < IDLE) | (np.arange(len(self.idle)) == 0))
        if len(kept) < len(self.planes):
            vectors.keep(kept)
            self.planes = [self.planes[j] for j in kept]
            self.mass, self.idle = self.mass[kept], self.idle[kept]
            self.gram = self.gram[np.ix_(kept, kept)]

    def _write_dual_point(self) -> None:
        """Write the mixture of planes to the problem's state: block averages, ell and v."""
        problem, adapter = self.problem, self.problem.adapter
        mu, ell = self.start
        problem.state = problem.state._replace(mu=tuple(adapter.import_mu(problem.data, [np.array(a) for a in mu])))
        problem.state.ell[:] = ell
        total = self.mass[0]
        everyone = np.ones(problem.n_blocks, np.bool_)
        for share, plane in zip(self.mass[1:], self.planes[1:], strict=True):
            if share > 0.0:
                total += share
                step = share / total, plane.losses, everyone, plane.labelings
                problem.run_template(batch_step_pass, len(problem.blocks), problem.blocks, *step)
        problem.v = self.w

    @contextlib.contextmanager
    def _settled(self) -> Iterator[None]:
        """Context for a snapshot during the run: the state is the mixture, and ``point`` holds the best weights."""
        self._write_dual_point()
        problem, best = self.problem, self.run.best
        problem.point = None if best is None else best[1].copy()
        try:
            yield
        finally:
            problem.point = None
