"""``bcfw.regularization_path``: weights for every lam, with a bounded gap (gaps-2016, section 4, Alg. 6 and 7)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bcfw.dual import Certificate, move_to_first_breakpoint
from bcfw.dual.certify import certify_state
from bcfw.errors import OptionError
from bcfw.options import Flag, Positive
from bcfw.path.result import RegularizationPath
from bcfw.path.tracer import SOLVED, Tracer, opened
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
    warm_start: RegularizationPath | str | Path | None = None,
    checkpoint: str | Path | tuple[str | Path, float] | None = None,
    n_jobs: int = 1,
    verbose: int = 0,
    tol: float | None = None,
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
        What works at each breakpoint; by default ``BCFW(sampling="gap", step="pairwise", cache="gap")`` and, where
        features are large for lam, multi-plane with the acceleration "features", as "auto" does.
    max_passes, max_seconds : float
        Limits on the whole path, or on what is added to one that is continued. What has been computed is returned.
    bounds, sample_weight, callbacks, seed, n_jobs, verbose
        As for :func:`bcfw.train`. Callbacks also find ``lam`` in what they are given.
    warm_start : RegularizationPath, path or None
        A path that was ended by ``lam_min``, a limit, a callback or Ctrl-C, or a checkpoint of one, to be continued:
        of the same problem with the same eps. Limits, ``lam_min``, ``kappa``, ``exact`` and ``solver`` may differ.
    checkpoint : path, (path, seconds) or None
        Where, and how often (60 s), to save all that ``warm_start`` needs; also at the end and after an error.
    tol : float or None
        If given, eps is ``tol P(0)``, P(0) being the weighted mean of the worst losses.

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
    Positive(None, or_none=True).check("", "tol", tol)
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
        checkpoint=checkpoint,
    ) as tracer:
        tracer.eps = float(eps) if tol is None else tol * tracer.run.value_at_zero
        tracer.run.gap_target = kappa * tracer.eps
        tracer.run.stale = not exact
        known = begin(tracer, float(lam_min), warm_start)
        tracer.finish(follow(tracer, float(lam_min), known))
    return tracer.path


def begin(tracer: Tracer, lam_min: float, warm_start: Any) -> Certificate | None:
    """Go to the first breakpoint, whose certificate is returned, or to where the path to be continued was left."""
    problem = tracer.problem
    if warm_start is not None:
        tracer.resume(warm_start)
    else:
        move_to_first_breakpoint(problem, tracer.run.gap_target, lam_min)
    first = tracer.trace.rows[0]["lam"] if tracer.trace.rows else problem.lam
    tracer.run.ends = (first, lam_min)
    return certify_state(problem) if warm_start is None else None


def follow(tracer: Tracer, lam_min: float, known: Certificate | None) -> str:
    """Go down from breakpoint to breakpoint; returns why the path ends."""
    problem, run = tracer.problem, tracer.run
    while True:
        solution = tracer.solve(known)
        if run.status not in SOLVED and tracer.trace.rows:
            tracer.extend(problem.lam)
            return str(run.status)
        tracer.keep(solution)
        if run.status not in SOLVED:
            return str(run.status)
        lam = solution.gap.lower_end(tracer.eps)
        if lam == 0.0:
            return "complete"
        if lam <= lam_min:
            if problem.lam > lam_min:
                tracer.extend(lam_min)
            return "lam_min"
        known = tracer.shrink(lam, solution)
