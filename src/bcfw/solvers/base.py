"""What a solver is: options, and a method that improves a dual problem until the run says stop."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from bcfw.dual import Certificate, DualProblem
from bcfw.errors import OptionError
from bcfw.models.form import NEEDS, OFFERS
from bcfw.options import Configurable
from bcfw.solvers.run import SolverRun


class Outcome(NamedTuple):
    """The point a solver returns, with its certificate.

    ``last`` is the last iterate when that is another point; ``solver`` the solver that was chosen, if one was.
    """

    w: np.ndarray
    certificate: Certificate
    passes: float
    last: Outcome | None = None
    solver: Solver | None = None


class Solver(Configurable):
    """Base class of all solvers; subclasses declare options and write :meth:`solve`."""

    #: What the solver needs of a model, words of :data:`bcfw.models.form.OFFERS`.
    needs: ClassVar[frozenset[str]] = frozenset()

    #: What the solver can cope with in a problem, words of :data:`bcfw.models.form.NEEDS`.
    handles: ClassVar[frozenset[str]] = frozenset(NEEDS)

    @property
    def uses_store(self) -> bool:
        """Whether labelings are kept."""
        return False

    def prepare(self, problem: DualProblem) -> None:
        """Bring the problem's state into the form that :meth:`solve` works on."""
        problem.close_store()

    def solve(self, problem: DualProblem, run: SolverRun, rng: np.random.Generator) -> Outcome:
        """Improve the prepared ``problem`` in place until ``run.status`` is set.

        A history row is recorded at the start, at every certificate and at exit; the returned certificate is taken
        at the returned point.
        """
        raise NotImplementedError


def require_match(solver: Solver, problem: DualProblem) -> None:
    """Raise unless the problem's model offers what the solver needs, and the solver handles what the problem needs."""
    form, name = problem.form, type(solver).__name__
    for word in sorted(solver.needs - form.offers):
        raise OptionError(f"{name} needs {OFFERS[word]}, which {form.name} does not offer; use another solver or model")
    needed = form.needs | ({"bounds"} if len(problem.bounded) else set())
    for word in sorted(needed - solver.handles):
        raise OptionError(f"{name} cannot handle {NEEDS[word]}, which this problem has; use another solver")
