"""The base class of all solvers, the result of a solver's run, and the check that a solver suits a problem."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bcfw.dual import Certificate, DualProblem
from bcfw.errors import OptionError
from bcfw.models.base.adapter import NEEDS, OFFERS
from bcfw.options import Configurable
from bcfw.solvers.counted_run import CountedRun


class Outcome(NamedTuple):
    """The point that a solver returns, with its certificate.

    Attributes
    ----------
    w : (d,) weights; None if the solver forms no weights
    certificate : the certificate of the returned point
    passes : number of passes of the run
    last : the last iterate if it differs from the returned point, as with averaging; else None
    solver : the solver that :class:`bcfw.solvers.Auto` has chosen; None in runs of other solvers
    kernel_weights : the support vectors of a solver that forms no weights; else None
    """

    w: Any
    certificate: Certificate
    passes: float
    last: Outcome | None = None
    solver: Solver | None = None
    kernel_weights: Any = None


class Solver(Configurable):
    """Base class of all solvers; subclasses declare options and define :meth:`solve`.

    A solver works on a :class:`bcfw.dual.DualProblem` and reports to a :class:`bcfw.solvers.counted_run.CountedRun`. A
    solver that makes whole passes with a :class:`bcfw.solvers.pass_runner.PassRunner` leaves the duties below to the
    runner, except for the calls of ``run.check_limits`` and ``run.after``. A solver that runs compiled passes itself,
    with ``problem.run_template`` (see :mod:`bcfw.passes`),

    - sets ``run.point`` to a function that returns a copy of the weights that the solver would return now;
    - passes every certificate with its weights to ``run.keep_best``, and the returned certificate to
      ``run.record_certificate``: at the start, at every certificate and at the end;
    - calls ``run.check_limits`` and ``run.after`` after every pass, stops when ``run.status`` is set, and returns
      :func:`best_outcome`;
    - begins with ``problem.point``, the weights that an earlier run returned, unless they are None, and sets
      ``problem.point`` to None before the first step;
    - adds the number of its block steps to ``problem.counters[STEPS]``, which predefined step sizes read after a warm
      start, and the number of its oracle calls to ``problem.oracle_calls``.
    """

    @property
    def needs(self) -> frozenset[str]:
        """The features of a model that this solver needs, words of :data:`bcfw.models.base.adapter.OFFERS`; none by
        default.
        """
        return frozenset()

    @property
    def handles(self) -> frozenset[str]:
        """The features of a problem that this solver supports, words of :data:`bcfw.models.base.adapter.NEEDS`.

        By default all words except "joint kernel": most solvers form w, and a joint kernel alone does not give w.
        """
        return frozenset(NEEDS) - {"joint kernel"}

    @property
    def monotone(self) -> bool:
        """Whether the dual value never decreases from one certificate to the next."""
        return True

    @property
    def certifies(self) -> bool:
        """Whether the solver has a dual point; if not, dual and gap are NaN, and only limits end the run."""
        return True

    @property
    def can_resume(self) -> bool:
        """Whether the solver can resume from any saved state; if not, :meth:`prepare` raises."""
        return True

    @property
    def can_checkpoint(self) -> bool:
        """Whether the solver's final state can be saved, so that a later run can continue from it."""
        return True

    @property
    def forms_weights(self) -> bool:
        """Whether the solver forms w; if not, the result's ``w`` is None."""
        return True

    @property
    def uses_store(self) -> bool:
        """Whether the solver keeps labelings in the problem's store."""
        return False

    def resolve(self, problem: DualProblem) -> Solver:
        """Return the solver to run on this problem; by default this solver."""
        return self

    def prepare(self, problem: DualProblem) -> None:
        """Prepare the problem's state for :meth:`solve`: open or close the store and the lists of parts."""
        problem.close_store()

    def prepare_resumed(self, problem: DualProblem) -> None:
        """Prepare a problem that this solver has already worked on (see :class:`bcfw.Legs`)."""
        self.prepare(problem)

    def solve(self, problem: DualProblem, run: CountedRun, rng: np.random.Generator) -> Outcome:
        """Improve the prepared ``problem`` in place until ``run.status`` is set, and return the outcome.

        The solver adds a row to the history at the start, at every certificate and at the end. The certificate of the
        outcome belongs to the returned point.
        """
        raise NotImplementedError


def best_outcome(problem: DualProblem, run: CountedRun, passes: float) -> Outcome:
    """Return the best weights that the run has certified; the problem keeps them if its state has other weights."""
    assert run.best is not None
    found, w = run.best
    problem.point = None if np.array_equal(w, problem.solution()) else w
    return Outcome(w.copy(), found, passes)


def require_supported(solver: Solver, problem: DualProblem) -> None:
    """Raise unless the model offers every feature that the solver needs, and the solver supports the problem."""
    adapter, name = problem.adapter, type(solver).__name__
    for word in sorted(solver.needs - adapter.offers):
        what = OFFERS.get(word, word)
        raise OptionError(f"{name} needs {what}, which {adapter.name} does not offer; use another solver or model")
    needed = adapter.needs | ({"bounds"} if len(problem.bounded) else set())
    for word in sorted(needed - solver.handles):
        what = NEEDS.get(word, word)
        raise OptionError(f"{name} cannot handle {what}, which this problem has; use another solver")
