"""``bcfw.grid_path``: train at each of several given values of lam, with warm starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bcfw.dual import Certificate, change_lam
from bcfw.errors import OptionError
from bcfw.options import Choice, NonNegative, Positive
from bcfw.path.path_result import RegularizationPath
from bcfw.path.solving import SOLVED, PathSolver, Solution, open_path_solver
from bcfw.run import Callback
from bcfw.solvers import Solver

WARM_START = Choice("shrink", "keep", None)


def grid_path(
    model: Any,
    X: Any,
    y: Any,
    lambdas: Any,
    warm_start: str | None = "shrink",
    tol: float = 1e-3,
    eps: float | None = None,
    solver: Solver | str | None = None,
    max_passes: float = 10_000,
    max_seconds: float | None = None,
    bounds: Any = None,
    sample_weight: Any = None,
    callbacks: Sequence[Callback] = (),
    seed: int = 0,
    n_jobs: int = 1,
    verbose: int = 0,
) -> RegularizationPath:
    """Train at each of several values of lam, from the largest to the smallest, with certified gaps.

    The data are read once.

    Parameters
    ----------
    model, X, y
        As for :func:`bcfw.train`.
    lambdas : sequence of float
        The values of lam, in any order.
    warm_start : "shrink", "keep" or None
        How to start at each value lam' after the first, if lam is the previous value. "shrink": keep the weights; the
        dual mass on all outputs except the true outputs is multiplied by lam'/lam. "keep": keep the dual variables; the
        weights are multiplied by lam/lam'. None: start from the initial dual point.
    tol, eps : float
        At each lam, stop when ``gap <= eps``; without ``eps``, when ``gap <= tol P(0)``.
    solver : Solver, str or None
        The solver for each lam; the default is described at :func:`bcfw.regularization_path`.
    max_passes, max_seconds : float
        Limits for the whole grid.
    bounds, sample_weight, callbacks, seed, n_jobs, verbose
        As for :func:`bcfw.train`. The info that callbacks get also has the attribute ``lam``.

    Returns
    -------
    RegularizationPath
        It has weights for the given values of lam only. If a limit ends the grid, the remaining smaller values of lam
        are missing.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=60)
    >>> X = np.eye(3)[y] + 0.3 * rng.standard_normal((60, 3))
    >>> grid = bcfw.grid_path(bcfw.models.Multiclass(), X, y, [1.0, 0.1, 0.01])
    >>> grid.status, grid.validate(X, y).losses.shape
    ('complete', (3,))
    """
    values = read_lambdas(lambdas)
    WARM_START.check("", "warm_start", warm_start)
    NonNegative(1e-3).check("", "tol", tol)
    Positive(None, or_none=True).check("", "eps", eps)
    with open_path_solver(
        model,
        X,
        y,
        solver=solver,
        max_passes=max_passes,
        max_seconds=max_seconds,
        bounds=bounds,
        sample_weight=sample_weight,
        callbacks=callbacks,
        seed=seed,
        n_jobs=n_jobs,
        verbose=verbose,
        is_grid=True,
    ) as path_solver:
        path_solver.eps = path_solver.run.gap_target = (
            tol * path_solver.run.value_at_zero if eps is None else float(eps)
        )
        path_solver.run.ends = values[0], values[-1]
        path_solver.finish(go_through(path_solver, values, warm_start))
    return path_solver.path


def read_lambdas(lambdas: Any) -> list[float]:
    """Return the distinct values in descending order; raise OptionError unless all are finite and > 0."""
    try:
        values = np.array(lambdas, np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"lambdas must be a sequence of numbers > 0 ({error})") from error
    if values.ndim != 1 or not len(values):
        raise OptionError(f"lambdas must be a sequence of numbers > 0, got {lambdas!r}")
    for value in values:
        if not 0.0 < value < np.inf:
            raise OptionError(f"lambdas must be finite numbers > 0, got {value:g} among them")
    return [float(value) for value in np.unique(values)[::-1]]


def go_through(path_solver: PathSolver, values: list[float], warm_start: str | None) -> str:
    """Solve at every value of lam, and return the status of the grid."""
    solution: Solution | None = None
    for lam in values:
        solution = path_solver.solve(move_to(path_solver, lam, warm_start, solution))
        path_solver.keep(solution)
        if path_solver.run.status not in SOLVED:
            return str(path_solver.run.status)
    return "complete"


def move_to(path_solver: PathSolver, lam: float, warm_start: str | None, before: Solution | None) -> Certificate | None:
    """Change the problem to the next lam, and return the certificate of its point at this lam; None if unknown."""
    problem = path_solver.problem
    if before is not None and warm_start == "shrink":
        return path_solver.shrink(lam, before)
    if warm_start is None:
        problem.reset(problem.state.c)
    change_lam(problem, lam, keep="alpha")
    return None
