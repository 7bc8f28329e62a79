"""``bcfw.regularization_path``: weights for every lam, with a bounded gap (gaps-2016, section 4, Alg. 6 and 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bcfw.dual import move_to_first_breakpoint
from bcfw.dual.certify import certify_state
from bcfw.errors import OptionError
from bcfw.options import Flag, Positive
from bcfw.path.tracer import SOLVED, Solution, Tracer, opened
from bcfw.path.weights import RegularizationPath
from bcfw.run import Callback
from bcfw.solvers import Solver

#: The share of eps that is left at each breakpoint, for exact and for heuristic paths (gaps-2016, App. K).
KAPPA = {True: 0.9, False: 0.7}


def regularization_path(
    model: Any,
    X: Any,
    y: Any,
    eps: float = 0.1,
    lam_min: float = 1e-5,
    kappa: float | None = None,
    exact: bool = True,
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
    """Compute weights for every lam whose objective is within eps of the optimum.

    The path begins at a lam_1 that is found from the data, above which the weights are ``(lam_1/lam) w_1``. From there
    it goes down from breakpoint to breakpoint. At each of them the problem is solved to a gap of ``kappa eps``. At a
    smaller lam' the same weights w have the gap, against the dual point (v, ell) with its mass on all outputs but the
    truths multiplied by the best t in [0, 1],

        gap(lam') = h + lam' |w|^2/2 - max_t [t ell - t^2 Q / lam'],      Q = lam^2 |v|^2/2,

    with the hinge losses h = sum_i c_i max_y H_i(y; w). The next breakpoint is where that reaches eps (see
    :class:`bcfw.path.bounds.GapBound`; t = lam'/lam alone is the paper's linear bound). If h <= eps, the weights serve
    all smaller lam, and the path is complete. Otherwise it ends at ``lam_min``.

    Parameters
    ----------
    model, X, y
        As for :func:`bcfw.train`.
    eps : float
        The largest gap anywhere on the path. It is absolute: losses are the unit.
    lam_min : float
        Where the path ends, unless it is complete before.
    kappa : float or None
        Share of eps that the gap has at a breakpoint, between 0 and 1; by default 0.9, and 0.7 if not ``exact``. The
        smaller it is, the fewer breakpoints there are, and the more each of them costs.
    exact : bool
        Whether every gap is certified by a pass of the oracle. If not, the block gaps decide, each as it was when its
        block was last visited (the heuristic path): cheaper, and nothing is proved.
    solver : Solver, str or None
        What works at each breakpoint; by default ``BCFW(sampling="gap", step="pairwise", cache="gap")``.
    max_passes, max_seconds : float
        Limits on the whole path. A path cannot be resumed: what has been computed is returned.
    bounds, sample_weight, callbacks, seed, n_jobs, verbose
        As for :func:`bcfw.train`. Callbacks also find ``lam`` in what they are given.

    Returns
    -------
    RegularizationPath

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=60)
    >>> X = np.eye(3)[y] + 0.3 * rng.standard_normal((60, 3))
    >>> path = bcfw.regularization_path(bcfw.models.Multiclass(), X, y, eps=0.05, lam_min=1e-3)
    >>> path.certified, bool(path.gaps.max() <= 0.05)
    (True, True)
    >>> path.weights(0.02).shape
    (9,)
    """
    Positive(0.1).check("", "eps", eps)
    Positive(1e-5).check("", "lam_min", lam_min)
    Flag(True).check("", "exact", exact)
    kappa = KAPPA[bool(exact)] if kappa is None else kappa
    if not Positive(0.9).accepts(kappa) or kappa >= 1:
        raise OptionError(f"kappa must be a number between 0 and 1, both excluded, or None, got {kappa!r}")
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
    ) as tracer:
        tracer.run.gap_target = kappa * eps
        tracer.run.stale = not exact
        tracer.finish(follow(tracer, float(eps), float(lam_min)))
    return tracer.path


def follow(tracer: Tracer, eps: float, lam_min: float) -> str:
    """Go down from breakpoint to breakpoint; returns why the path ends."""
    problem, run = tracer.problem, tracer.run
    move_to_first_breakpoint(problem, run.gap_target, lam_min)
    run.ends = (problem.lam, lam_min)
    tracer.solver.prepare(problem)
    known = certify_state(problem)
    before: Solution | None = None
    while True:
        solution = tracer.solve(known)
        if run.status not in SOLVED:  # the weights before reach down to here
            tracer.keep(before or solution, problem.lam)
            return str(run.status)
        tracer.keep(solution, problem.lam)
        lam = solution.gap.lower_end(eps)
        if lam == 0.0:
            return "complete"
        if lam <= lam_min:
            if problem.lam > lam_min:
                tracer.keep(solution, lam_min)
            return "lam_min"
        known, before = tracer.shrink(lam, solution), solution
