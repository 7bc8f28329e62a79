"""What a solver is: options, and a method that improves a dual problem until the run says stop."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bcfw.dual import Certificate, DualProblem
from bcfw.errors import OptionError
from bcfw.models.form import NEEDS, OFFERS
from bcfw.options import Configurable
from bcfw.solvers.run import SolverRun


class Outcome(NamedTuple):
    """The point a solver returns, with its certificate.

    ``last`` is the last iterate when that is another point; ``solver`` the solver that was chosen, if one was.
    A solver that forms no weights returns None as ``w``, and ``kernel_weights`` instead.
    """

    w: Any
    certificate: Certificate
    passes: float
    last: Outcome | None = None
    solver: Solver | None = None
    kernel_weights: Any = None


class Solver(Configurable):
    """Base class of all solvers; subclasses declare options and write :meth:`solve`.

    A solver works on a :class:`bcfw.dual.DualProblem` and reports to a :class:`bcfw.solvers.run.SolverRun`. It runs
    compiled passes by ``problem.sweep`` (see :mod:`bcfw.passes`) or makes whole passes with a
    :class:`bcfw.solvers.pass_runner.PassRunner`, which does the following for it. Otherwise it

    - sets ``run.point`` to a function that returns a copy of the weights it would return now;
    - gives every certificate with its weights to ``run.keep_best`` and records what that returns by
      ``run.record_certificate``: at the start, at every certificate and at the end;
    - calls ``run.check_limits`` and ``run.after`` after every pass, stops when ``run.status`` is set, and returns
      :func:`best_outcome`;
    - begins with ``problem.point``, the weights that an earlier run returned, if these are not None, and sets it to
      None when it moves on;
    - adds the block steps that it takes to ``problem.tally[STEPS]``, which predefined step sizes read after a warm
      start, and its oracle calls to ``problem.oracle_calls``.
    """

    @property
    def needs(self) -> frozenset[str]:
        """What the solver needs of a model, words of :data:`bcfw.models.form.OFFERS`; nothing by default."""
        return frozenset()

    @property
    def handles(self) -> frozenset[str]:
        """What the solver can cope with in a problem, words of :data:`bcfw.models.form.NEEDS`.

        By default all but features that are known by a joint kernel alone: solvers form w.
        """
        return frozenset(NEEDS) - {"joint kernel"}

    @property
    def monotone(self) -> bool:
        """Whether the dual value never decreases from one certificate to the next."""
        return True

    @property
    def certifies(self) -> bool:
        """Whether it has a dual point; without one, dual and gap are NaN and the run goes on to its limits."""
        return True

    @property
    def continues(self) -> bool:
        """Whether it can go on from the state that any run has left; if not, :meth:`prepare` raises."""
        return True

    @property
    def saves(self) -> bool:
        """Whether the state that it leaves can be saved, and continued from."""
        return True

    @property
    def gives_weights(self) -> bool:
        """Whether it forms w; if not, the result's ``w`` is None."""
        return True

    @property
    def uses_store(self) -> bool:
        """Whether labelings are kept."""
        return False

    def chosen_for(self, problem: DualProblem) -> Solver:
        """The solver that takes this one's place where it cannot do by itself; by default this one."""
        return self

    def prepare(self, problem: DualProblem) -> None:
        """Bring the problem's state into the form that :meth:`solve` works on."""
        problem.close_store()

    def prepare_next_leg(self, problem: DualProblem) -> None:
        """The same for a problem on which this solver has worked before (see :class:`bcfw.Legs`)."""
        self.prepare(problem)

    def solve(self, problem: DualProblem, run: SolverRun, rng: np.random.Generator) -> Outcome:
        """Improve the prepared ``problem`` in place until ``run.status`` is set.

        A history row is recorded at the start, at every certificate and at exit; the returned certificate is taken
        at the returned point.
        """
        raise NotImplementedError


def best_outcome(problem: DualProblem, run: SolverRun, passes: float) -> Outcome:
    """The best weights that the run has certified; the problem remembers them where its state has others."""
    assert run.best is not None
    found, w = run.best
    if not np.array_equal(w, problem.solution()):
        problem.point = w
    return Outcome(w.copy(), found, passes)


def require_match(solver: Solver, problem: DualProblem) -> None:
    """Raise unless the problem's model offers what the solver needs, and the solver handles what the problem needs."""
    form, name = problem.form, type(solver).__name__
    for word in sorted(solver.needs - form.offers):
        what = OFFERS.get(word, word)
        raise OptionError(f"{name} needs {what}, which {form.name} does not offer; use another solver or model")
    needed = form.needs | ({"bounds"} if len(problem.bounded) else set())
    for word in sorted(needed - solver.handles):
        what = NEEDS.get(word, word)
        raise OptionError(f"{name} cannot handle {what}, which this problem has; use another solver")
