"""What a solver is: options, and a method that improves a dual problem until the run says stop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.dual import Certificate, DualProblem
from bcfw.options import Configurable
from bcfw.run import Run


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

    @property
    def uses_store(self) -> bool:
        """Whether labelings are kept."""
        return False

    def prepare(self, problem: DualProblem) -> None:
        """Bring the problem's state into the form that :meth:`solve` works on."""
        problem.close_store()

    def solve(self, problem: DualProblem, run: Run, rng: np.random.Generator) -> Outcome:
        """Improve the prepared ``problem`` in place until ``run.status`` is set.

        A history row is recorded at the start, at every certificate and at exit; the returned certificate is taken
        at the returned point.
        """
        raise NotImplementedError
