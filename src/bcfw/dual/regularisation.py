"""Another lam for a problem in progress: where the regularisation path begins, and its two warm starts."""

from __future__ import annotations

import numpy as np

from bcfw.dual.batch import find_corners, step_to_corners
from bcfw.dual.certificates import hinge_sums
from bcfw.dual.problem import DualProblem
from bcfw.errors import OptionError
from bcfw.inputs.bounds import join_bounds
from bcfw.options import Choice, Positive
from bcfw.passes.rebuild import shrink_pass, store_shrink_pass

KEEP = Choice("w", "alpha")

#: How far out the slope of the hinge losses is measured: what the losses themselves add to it is one part in so many.
FAR = 1e9

#: No weight is tried that is larger.
FARTHEST = 1e300


def change_lam(problem: DualProblem, lam: float, keep: str = "w") -> None:
    """Go on with another lam.

    Parameters
    ----------
    problem : DualProblem
    lam : float
        The new regularisation.
    keep : "w" or "alpha"
        What stays. With ``rho = lam_new / lam``:

        - "alpha": the dual variables, and ``v <- v / rho``. The block gaps are unknown until the next certificate.
        - "w": the weights. All mass but the truth's is multiplied by rho <= 1 and ``ell_i <- rho ell_i``; block gaps
          change by ``(1 - rho) (ell_i - lam <w, v_i>)``: the gaps of a certificate stay exact (gaps-2016, Alg. 7).
    """
    lam = float(Positive(1.0).check("change_lam", "lam", lam))
    KEEP.check("change_lam", "keep", keep)
    rho = lam / problem.lam
    if keep == "w" and rho > 1.0:
        raise OptionError(f"change_lam: keep='w' needs a smaller lam than {problem.lam:g}, got {lam:g}; use 'alpha'")
    problem.lam = lam
    if problem.untouched:  # all mass is on the truths, and v = 0
        return
    if problem.store is not None:
        problem.store.used[:] = 0  # the next run counts its rounds anew
    if keep == "w":
        shrink(problem, rho)
    else:
        problem.v = problem.v / rho
        problem.state.gap[:] = 0.0
        problem.point = None


def shrink(problem: DualProblem, rho: float) -> None:
    """Multiply the mass of all outputs but the truths by rho; w stays if lam is multiplied by rho, too."""
    store, blocks = problem.store, np.arange(problem.n_blocks)
    if store is not None and np.any(store.rest != 1.0):
        problem.call(store_shrink_pass, blocks, rho, tuple(store), np.zeros(store.alpha.shape[1]))
        return
    problem.sweep(shrink_pass, problem.n_blocks, blocks, rho)
    if store is not None:
        store.rest_loss[:] *= rho


# --- where the path begins


def move_to_first_breakpoint(problem: DualProblem, gap: float, lam_min: float) -> None:
    """Go to a lam so large that the first move of all blocks has at most this gap, there and for every larger lam.

    gaps-2016, Alg. 6, for any bounds. All mass goes to the outputs of largest value at ``w_0 = clip(0)``, which is 0 if
    the bounds allow it. With ``psi = sum_i c_i psi_i(y~_i)`` the weights are then ``clip(psi / lam)``, which is
    ``w_0 + s p`` at ``s = 1/lam`` as long as no weight meets a bound: p are the entries of psi along which w is free to
    move. The gap there,

        f(s) = sum_i c_i max_y H_i(y; w_0 + s p) - sum_i c_i H_i(y~_i; w_0 + s p),

    is convex with f(0) = 0. So ``f(s) <= s f(S) / S`` for s <= S, and in the limit of a large S

        lam_1 = (<psi, p> + sum_i c_i max_y -<p, psi_i(y)>) / gap,

    larger if w would meet a bound, and at least ``lam_min``.

    Parameters
    ----------
    problem : DualProblem, untouched
    gap, lam_min : float
    """
    change_lam(problem, 1.0)
    origin = problem.state.w.copy()
    corners = find_corners(problem, problem.form.make_labelings(problem.data))
    value = hinge_sums(problem.state.c, corners.hinges).found
    if value > 0.0:  # else w_0 is best for every lam
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
        hinge = hinge_sums(problem.state.c, problem.hinges_at(w)).found
        slope = float(np.ldexp((hinge - problem.ell + float(problem.v @ w)) / far, power))
    first = slope / gap if slope > 0.0 else 0.0
    change_lam(problem, max(first, 1.0 / reach, lam_min), keep="alpha")


def first_direction(v: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, float]:
    """How ``clip(s v)`` leaves ``clip(0)`` as s grows from zero: along which direction, and up to which s.

    A weight moves if zero is allowed and v points into its interval; one whose interval does not hold zero waits until
    s v has come there.
    """
    ahead, behind = np.where(v > 0.0, upper, lower), np.where(v > 0.0, lower, upper)
    waits = (v != 0.0) & (np.sign(behind) == np.sign(v))
    moves = (v != 0.0) & (np.sign(ahead) == np.sign(v)) & ~waits
    ends = np.concatenate([behind[waits] / v[waits], ahead[moves] / v[moves]])
    return np.where(moves, v, 0.0), float(np.min(ends, initial=np.inf))


def room(w: np.ndarray, direction: np.ndarray, problem: DualProblem) -> float:
    """How often the direction can be added to w before it leaves the bounds that the model itself needs."""
    needed = join_bounds(problem.form.dim, problem.form.bounds())
    if needed is None:
        return np.inf
    moves = direction != 0.0
    ends = np.where(direction > 0.0, needed[1], needed[0])[moves]
    return float(np.min((ends - w[moves]) / direction[moves], initial=np.inf))
