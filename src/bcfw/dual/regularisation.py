"""Another lam for a problem in progress: the two warm starts of the regularisation path."""

from __future__ import annotations

import numpy as np

from bcfw.dual.problem import DualProblem
from bcfw.errors import OptionError
from bcfw.options import Choice, Positive
from bcfw.passes.rebuild import shrink_pass, store_shrink_pass

KEEP = Choice("w", "alpha")


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
