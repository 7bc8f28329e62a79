"""``bcfw.regularization_path``: weights with a bounded gap for every lam (gaps-2016, section 4, Alg. 6 and 7)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bcfw.dual import Certificate, move_to_first_breakpoint
from bcfw.dual.certify import certify_state
from bcfw.errors import OptionError
from bcfw.options import Flag, Positive
from bcfw.path.path_result import RegularizationPath
from bcfw.path.solving import SOLVED, PathSolver, open_path_solver
from bcfw.run import Callback
from bcfw.solvers import Solver

#: Default kappa of exact (True) and heuristic (False) paths: the gap at a breakpoint over eps (gaps-2016, App. K).
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
    """Compute weights for every lam, such that the objective is within eps of the optimum at every lam.

    The path starts at a lam_1 that is computed from the data; above lam_1, the weights are ``(lam_1/lam) w_1``. From
    lam_1 the path goes down from breakpoint to breakpoint. At each breakpoint lam, the problem is solved to a gap of
    ``kappa eps``, which gives weights w and a dual point (v, ell). At a smaller lam', the dual mass on all outputs
    except the true outputs can be multiplied by any t in [0, 1]. With the best t, the gap of the weights w at lam' is

        gap(lam') = h + lam' |w|^2/2 - max_t [t ell - t^2 Q / lam'],      Q = lam^2 |v|^2/2,

    with the hinge losses h = sum_i c_i max_y H_i(y; w). The next breakpoint is the lam' at which this gap is eps (see
    :class:`bcfw.path.gap_bound.GapBound`; t = lam'/lam gives the linear bound of the paper). If h <= eps, the gap of w
    is at most eps for all smaller lam, and the path is complete. Otherwise it ends at ``lam_min``.

    Parameters
    ----------
    model, X, y
        As for :func:`bcfw.train`.
    eps : float
        The largest gap anywhere on the path. It is an absolute number, in units of the loss.
    lam_min : float
        The smallest lam of the path, unless the path is complete before.
    kappa : float or None
        The gap at a breakpoint as a share of eps, between 0 and 1; by default 0.9, and 0.7 if not ``exact``. A smaller
        kappa gives fewer breakpoints, each of which costs more.
    exact : bool
        Whether every gap is certified by a pass of the oracle. If not, the path is heuristic: it uses the sum of the
        block gaps, each computed at the last visit of its block. This is cheaper, but proves nothing.
    solver : Solver, str or None
        The solver for each breakpoint. None: ``BCFW(sampling="gap", step="pairwise", cache="gap")``; if features are
        large in comparison with lam, multi-plane with the acceleration "features", as "auto" does.
    max_passes, max_seconds : float
        Limits for the whole path; for a continued path, limits for the continuation. The path up to the limit is
        returned.
    bounds, sample_weight, callbacks, seed, n_jobs, verbose
        As for :func:`bcfw.train`. The info that callbacks get also has the attribute ``lam``.
    warm_start : RegularizationPath, path or None
        The path to continue, or the file of its checkpoint: a path that was ended by ``lam_min``, a limit, a callback
        or Ctrl-C. The problem and eps must be equal; limits, ``lam_min``, ``kappa``, ``exact`` and ``solver`` may
        differ.
    checkpoint : path, (path, seconds) or None
        File in which all that ``warm_start`` needs is saved, and the seconds between two saves (default 60). The file
        is also saved at the end and after an error.
    tol : float or None
        If given, eps is ``tol P(0)``; P(0) is the weighted mean of the largest loss of each example.

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
        checkpoint=checkpoint,
    ) as path_solver:
        path_solver.eps = float(eps) if tol is None else tol * path_solver.run.value_at_zero
        path_solver.run.gap_target = kappa * path_solver.eps
        path_solver.run.heuristic = not exact
        known = start_path(path_solver, float(lam_min), warm_start)
        path_solver.finish(follow_path(path_solver, float(lam_min), known))
    return path_solver.path


def start_path(path_solver: PathSolver, lam_min: float, warm_start: Any) -> Certificate | None:
    """Change the problem to the first breakpoint and return its certificate; or resume a path and return None."""
    problem = path_solver.problem
    if warm_start is not None:
        path_solver.resume(warm_start)
    else:
        move_to_first_breakpoint(problem, path_solver.run.gap_target, lam_min)
    first = path_solver.breakpoints.rows[0]["lam"] if path_solver.breakpoints.rows else problem.lam
    path_solver.run.ends = (first, lam_min)
    return certify_state(problem) if warm_start is None else None


def follow_path(path_solver: PathSolver, lam_min: float, known: Certificate | None) -> str:
    """Go down from breakpoint to breakpoint, and return the status with which the path ends."""
    problem, run = path_solver.problem, path_solver.run
    while True:
        solution = path_solver.solve(known)
        if run.status not in SOLVED and path_solver.breakpoints.rows:
            path_solver.extend(problem.lam)
            return str(run.status)
        path_solver.keep(solution)
        if run.status not in SOLVED:
            return str(run.status)
        lam = solution.gap.lower_end(path_solver.eps)
        if lam == 0.0:
            return "complete"
        if lam <= lam_min:
            if problem.lam > lam_min:
                path_solver.extend(lam_min)
            return "lam_min"
        known = path_solver.shrink(lam, solution)
