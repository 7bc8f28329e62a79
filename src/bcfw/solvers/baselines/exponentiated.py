"""The solver ExponentiatedGradient: online steps on the dual (Collins, Globerson, Koo, Carreras and Bartlett, 2008)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bcfw.dual import DualProblem
from bcfw.errors import OptionError
from bcfw.options import Count
from bcfw.passes.order import Visits, in_order
from bcfw.passes.records import StoreUse
from bcfw.passes.steps import exact_step
from bcfw.selection import SAMPLINGS, SamplingChoice
from bcfw.solvers.baselines.exponentiated_pass import Exponents, exponent_pass, loss_parts_pass
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.pass_runner import PassRunner
from bcfw.solvers.solver import Outcome, Solver

#: At the start the part with the largest loss of its block has the factor exp(-FIRST_LOSS) relative to the truth: all
#: outputs have some mass, and w is small.
FIRST_LOSS = 10.0

#: At most MOST_STARTS initial distributions are tried. The exact step from the truths towards a distribution gives the
#: best share of the mass off the truths. A distribution is accepted if this share is at least ENOUGH: if the share is
#: at least half, the dual value is not negative.
MOST_STARTS = 5
ENOUGH = 0.5

#: The first step size that is tried; a step size that is too long is halved.
FIRST_STEP = 1.0


class ExponentiatedGradient(Solver):
    """Online exponentiated gradient: ``alpha_i(y) <- alpha_i(y) exp(eta_i H_i(y; w)) / Z``, one example at a time.

    Every output keeps some mass. The distribution of block i is given by the scores ``u_i`` of its parts: a step is
    ``u_i += eta_i theta_i(w)``, and sums over all outputs (marginals) replace the oracle. A step size is halved until
    the dual does not fall, and made longer if the step is lost in rounding. The model must offer marginals, and w must
    have no bounds. A run cannot continue from a warm start: block averages do not determine their u_i.

    Parameters
    ----------
    sampling : "uniform", "permuted" or "cyclic"
        The blocks of a pass: n blocks drawn with replacement, every block once in a new random order, or every block
        once in the order of the data.
    gap_every : int
        Number of passes between certificates; a certificate calls the oracle on all examples.

    Examples
    --------
    >>> import bcfw
    >>> bcfw.solvers.ExponentiatedGradient(sampling="permuted")
    ExponentiatedGradient(sampling='permuted')
    """

    sampling: Any = SamplingChoice("uniform", "permuted", "cyclic")
    gap_every: Any = Count(10)

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"marginals"})

    @property
    def handles(self) -> frozenset[str]:
        return super().handles - {"bounds"}

    @property
    def can_resume(self) -> bool:
        return False

    def prepare(self, problem: DualProblem) -> None:
        if not problem.is_initial:
            raise OptionError(
                "ExponentiatedGradient cannot go on from a warm start: block averages do not tell the distributions "
                "that it works with; leave warm_start out"
            )

    def solve(self, problem: DualProblem, run: CountedRun, rng: np.random.Generator) -> Outcome:
        runner = ExponentRunner(problem, run)
        runner.begin()
        for number in itertools.count(1):
            run.check_limits(runner.budget_used)
            if run.status is not None:
                break
            gain = runner.run_pass(SAMPLINGS[self.sampling], rng)
            runner.check_stall(gain, SAMPLINGS[self.sampling], None)
            if run.status is None and run.certificate_due(problem, number % self.gap_every == 0):
                runner.certify()
            run.after(runner.done)
        return runner.finish()


class ExponentRunner(PassRunner):
    """Runs passes of exponentiated-gradient steps; the constructor puts all blocks at their initial distributions."""

    def __init__(self, problem: DualProblem, run: CountedRun) -> None:
        super().__init__(problem, run)
        offsets, n = problem.adapter.part_offsets(problem.data), problem.n_blocks
        most = int(np.max(np.diff(offsets)))
        parts = {"exponents, losses and averages of all parts of every example": 3 * 8 * int(offsets[-1])}
        problem.require_room(parts, "other solvers keep only the parts that have mass")
        self.exponents = Exponents(
            offsets=offsets,
            u=np.zeros(offsets[-1]),
            l=np.zeros(offsets[-1]),
            truth=np.zeros(n),
            eta=np.zeros(n),
            last=np.array([FIRST_STEP]),
            theta=np.zeros(most),
            trial=np.zeros(most),
            parts=np.zeros(most),
            starting=False,
        )
        problem.call(loss_parts_pass, np.zeros_like(problem.state.w), tuple(self.exponents))
        self._start()

    def _start(self) -> None:
        """Put all blocks at their initial distributions.

        With large features, the initial mass off the truths must be small. The exact step from the truths towards the
        distributions gives the best share of this mass; while the share is below ``ENOUGH``, the mass is multiplied by
        the share.
        """
        problem, exponents = self.problem, self.exponents
        losses, offsets = exponents.l, exponents.offsets
        largest = np.maximum.reduceat(np.abs(losses), offsets[:-1])
        unit = np.repeat(np.where(largest > 0.0, largest, 1.0), np.diff(offsets))
        counters, less = problem.counters.copy(), 0.0
        for _ in range(MOST_STARTS):
            exponents.u[:] = -FIRST_LOSS * losses / unit - less * np.sign(losses)
            self._sweep(in_order(problem.blocks), exponents._replace(starting=True))
            ell = problem.ell
            share = exact_step(ell, 2.0 * (ell - problem.dual_value()), 1.0)
            if not 0.0 < share < ENOUGH:
                break
            less -= np.log(share)
        problem.counters[:] = counters  # the visits above do not count as steps

    def _sweep(self, part: Visits, exponents: Exponents) -> None:
        self.problem.run_template(exponent_pass, part.n_visits, tuple(part), tuple(self.rule), tuple(exponents))

    def take_steps(self, part: Visits, plan: StoreUse | None, track: int) -> None:
        self._sweep(part, self.exponents)
