"""What a solver is: options, and a method that improves a dual problem until the run says stop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.dual import Certificate, DualProblem
from bcfw.options import Configurable
from bcfw.run import Run


class Outcome(NamedTuple):
    """The point a solver returns, with its certificate; ``last`` is the last iterate when that is another point."""

    w: np.ndarray
    certificate: Certificate
    passes: float
    last: Outcome | None = None


class Solver(Configurable):
    """Base class of all solvers; subclasses declare options and write :meth:`solve`."""

    @property
    def uses_store(self) -> bool:
        """Whether labelings are kept."""
        return False

    def solve(self, problem: DualProblem, run: Run, rng: np.random.Generator) -> Outcome:
        """Improve ``problem`` in place until ``run.status`` is set.

        A history row is recorded at the start, at every certificate and at exit; the returned certificate is taken
        at the returned point.
        """
        raise NotImplementedError
