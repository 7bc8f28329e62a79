"""Change of lam: the two warm starts of a problem for another lam, and the first breakpoint of a path."""

from __future__ import annotations

import numpy as np

from bcfw.dual.batch import find_corners, step_to_corners
from bcfw.dual.certificates import hinge_sums
from bcfw.dual.problem import DualProblem
from bcfw.dual.rebuild import shrink_pass, store_shrink_pass
from bcfw.errors import OptionError
from bcfw.inputs.bounds import join_bounds
from bcfw.options import Choice, Positive

KEEP = Choice("w", "alpha")

#: How far from w_0 the slope of the hinge losses is measured: so far that the losses contribute about one part in FAR.
FAR = 1e9

#: No weight is tried that is larger.
FARTHEST = 1e300


def change_lam(problem: DualProblem, lam: float, keep: str = "w") -> None:
    """Change the regularisation of a problem, and keep either its weights or its dual variables.

    Parameters
    ----------
    problem : DualProblem
    lam : float
        The new regularisation.
    keep : "w" or "alpha"
        What is kept. With ``rho = lam_new / lam``:

        - "alpha" keeps the dual variables; ``v <- v / rho``. The block gaps are unknown until the next certificate.
        - "w" keeps the weights. The mass of every output except the truth is multiplied by rho <= 1, and ``ell_i <-
          rho ell_i``. Block gaps change by ``(1 - rho) (ell_i - lam <w, v_i>)``, so that block gaps of a certificate
          stay exact (gaps-2016, Alg. 7).
    """
    lam = float(Positive(1.0).check("change_lam", "lam", lam))
    KEEP.check("change_lam", "keep", keep)
    rho = lam / problem.lam
    if keep == "w" and rho > 1.0:
        raise OptionError(f"change_lam: keep='w' needs a smaller lam than {problem.lam:g}, got {lam:g}; use 'alpha'")
    problem.lam = lam
    if problem.is_initial:  # all mass is on the truths, and v = 0
        return
    if problem.store is not None:
        problem.store.used[:] = 0  # the next run begins to count its rounds at zero
    if keep == "w":
        shrink(problem, rho)
    else:
        problem.v = problem.v / rho
        problem.state.gap[:] = 0.0
        problem.point = None


def shrink(problem: DualProblem, rho: float) -> None:
    """Multiply the mass of all outputs except the truths by rho; w does not change if lam is multiplied by rho, too."""
    store, blocks = problem.store, np.arange(problem.n_blocks)
    if store is not None and np.any(store.folded_mass != 1.0):
        problem.call(store_shrink_pass, blocks, rho, tuple(store), np.zeros(store.alpha.shape[1]))
        return
    problem.run_template(shrink_pass, problem.n_blocks, blocks, rho)
    if store is not None:
        store.rest_loss[:] *= rho


# --- the first breakpoint of a path


def move_to_first_breakpoint(problem: DualProblem, gap: float, lam_min: float) -> None:
    """Move all mass to the oracle's outputs, and set lam to lam_1: for every lam >= lam_1 the gap is at most ``gap``.

    This is gaps-2016, Alg. 6, extended to bounds. All mass moves to the outputs y~_i of largest value at ``w_0 =
    clip(0)``, which is 0 if the bounds allow it. With ``psi = sum_i c_i psi_i(y~_i)`` the weights are then
    ``clip(psi / lam)``. At ``s = 1/lam`` these weights equal ``w_0 + s p`` as long as no weight meets a bound, where p
    has the entries of psi along which w is free to move. The gap at these weights,

        f(s) = sum_i c_i max_y H_i(y; w_0 + s p) - sum_i c_i H_i(y~_i; w_0 + s p),

    is convex with f(0) = 0. So ``f(s) <= s f(S) / S`` for s <= S, and in the limit of a large S

        lam_1 = (<psi, p> + sum_i c_i max_y -<p, psi_i(y)>) / gap.

    A larger lam_1 is chosen if a weight would meet a bound, or if this lam_1 is below ``lam_min``.

    Parameters
    ----------
    problem : DualProblem
        A problem before any step.
    gap : float
        The gap that the first point may have.
    lam_min : float
        The smallest lam_1 to choose.
    """
    change_lam(problem, 1.0)
    origin = problem.state.w.copy()
    corners = find_corners(problem, problem.adapter.make_labelings(problem.data))
    value = hinge_sums(problem.state.c, corners.hinge_losses).found
    if value > 0.0:  # otherwise w_0 is optimal for every lam
        if gap == 0.0:
            raise OptionError("regularization_path: tol P(0) is 0, a gap that no path keeps; give eps instead of tol")
        step_to_corners(problem, corners, 1.0)
    direction, reach = first_direction(problem.v, *problem.bounds)
    slope = 0.0
    if direction.any():
        power = int(np.frexp(np.abs(direction).max())[1])
        unit = np.ldexp(direction, -power)  # squares of features of 1e-160 vanish
        with np.errstate(over="ignore"):
            length = float(np.ldexp(FAR * value / float(unit @ unit), -power))
        far = min(length, room(origin, unit, problem), FARTHEST)
        w = origin + far * unit
        hinge = hinge_sums(problem.state.c, problem.hinge_losses_at(w)).found
        slope = float(np.ldexp((hinge - problem.ell + float(problem.v @ w)) / far, power))
    first = slope / gap if slope > 0.0 else 0.0
    change_lam(problem, max(first, 1.0 / reach, lam_min), keep="alpha")


def first_direction(v: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the direction in which ``clip(s v)`` leaves ``clip(0)`` as s grows from zero, and the s where it bends.

    A weight moves from the beginning if its interval contains zero and v points into the interval; it bends at the end
    of the interval. If the interval does not contain zero, the weight waits until s v reaches the interval.
    """
    ahead, behind = np.where(v > 0.0, upper, lower), np.where(v > 0.0, lower, upper)
    waits = (v != 0.0) & (np.sign(behind) == np.sign(v))
    moves = (v != 0.0) & (np.sign(ahead) == np.sign(v)) & ~waits
    ends = np.concatenate([behind[waits] / v[waits], ahead[moves] / v[moves]])
    return np.where(moves, v, 0.0), float(np.min(ends, initial=np.inf))


def room(w: np.ndarray, direction: np.ndarray, problem: DualProblem) -> float:
    """Return the largest multiple of the direction that can be added to w within the model's own bounds."""
    needed = join_bounds(problem.adapter.dim, problem.adapter.bounds())
    if needed is None:
        return np.inf
    moves = direction != 0.0
    ends = np.where(direction > 0.0, needed[1], needed[0])[moves]
    return float(np.min((ends - w[moves]) / direction[moves], initial=np.inf))
