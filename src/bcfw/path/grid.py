"""``bcfw.grid_path``: a few given values of lam, solved one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bcfw.dual import Certificate, change_lam
from bcfw.errors import OptionError
from bcfw.options import Choice, NonNegative, Positive
from bcfw.path.result import RegularizationPath
from bcfw.path.tracer import SOLVED, Solution, Tracer, opened
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
    """Train at each of several lam, from the largest to the smallest, with certified gaps. The data are read once.

    Parameters
    ----------
    model, X, y
        As for :func:`bcfw.train`.
    lambdas : sequence of float
        The values of lam, in any order.
    warm_start : "shrink", "keep" or None
        What each lam begins with: the weights of the one before ("shrink": all mass but the truths' is multiplied by
        the ratio of the two), its dual variables ("keep": the weights grow by that ratio), or nothing.
    tol, eps : float
        Stop at each lam when ``gap <= eps``, if that is given, or else when ``gap <= tol P(0)``.
    solver : Solver, str or None
        What works at each lam; by default as for :func:`bcfw.regularization_path`.
    max_passes, max_seconds : float
        Limits on the whole grid.
    bounds, sample_weight, callbacks, seed, n_jobs, verbose
        As for :func:`bcfw.train`. Callbacks also find ``lam`` in what they are given.

    Returns
    -------
    RegularizationPath
        Its weights exist at the given lam only; a limit that is reached cuts the smaller ones off.

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
    with opened(
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
    ) as tracer:
        tracer.eps = tracer.run.gap_target = tol * tracer.run.value_at_zero if eps is None else float(eps)
        tracer.run.ends = values[0], values[-1]
        tracer.finish(go_through(tracer, values, warm_start))
    return tracer.path


def read_lambdas(lambdas: Any) -> list[float]:
    """The values in descending order, each once."""
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


def go_through(tracer: Tracer, values: list[float], warm_start: str | None) -> str:
    """Solve at every value; returns why it ends."""
    solution: Solution | None = None
    for lam in values:
        solution = tracer.solve(move_to(tracer, lam, warm_start, solution))
        tracer.keep(solution)
        if tracer.run.status not in SOLVED:
            return str(tracer.run.status)
    return "complete"


def move_to(tracer: Tracer, lam: float, warm_start: str | None, before: Solution | None) -> Certificate | None:
    """Take the problem to the next lam; returns the certificate of its point there, if that is known."""
    problem = tracer.problem
    if before is not None and warm_start == "shrink":
        return tracer.shrink(lam, before)
    if warm_start is None:
        problem.start_anew(problem.state.c)
    change_lam(problem, lam, keep="alpha")
    return None
