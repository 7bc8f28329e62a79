"""``GapBound``: the gap, at every smaller lam, of weights that were found at one value of lam."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class GapBound(NamedTuple):
    """The gap between fixed weights w and the best multiple of one dual point, as a function of lam' <= lam.

    Let w be any weights with hinge losses ``h = sum_i c_i max_y H_i(y; w)``, and (v, ell) a dual point at lam. The dual
    mass on all outputs except the true outputs can be multiplied by any t in [0, 1]. At lam', this gives ell' = t ell
    and v' = t (lam/lam') v. Without bounds on w, the gap at lam' is

        gap(lam') = h + lam' |w|^2/2 - max_t [t ell - t^2 Q / lam'],        Q = lam^2 |v|^2/2.

    The best t is ``min(1, ell lam' / (2 Q))``. Just below lam, t = 1 is the best, and the gap is a convex function with
    the term ``Q / lam'``. Further down, t decreases in proportion to lam', and the gap is linear in lam'. As a whole,
    the gap is convex in lam', and its limit at lam' = 0 is h.

    With bounds on w, ``Q = lam^2 (v'u - |u|^2/2)`` with u = clip(v). If w = 0 is allowed, the formula is then an upper
    bound of the gap for t >= lam'/lam: scaling v by a factor of at least 1, to (t lam/lam') v, increases
    ``v'u' - |u'|^2/2`` at most by the square of the factor. If w = 0 is not allowed, only ``t = lam'/lam`` is possible,
    which does not change v (gaps-2016, Alg. 7).

    Attributes
    ----------
    lam : the lam at which the weights were found
    gap : the gap of the weights at this lam
    h : sum of the hinge losses
    norm : |w|^2/2
    ell, Q : as above
    scalable : whether w = 0 is allowed
    """

    lam: float
    gap: float
    h: float
    norm: float
    ell: float
    Q: float
    scalable: bool

    @property
    def kink(self) -> float:
        """The lam below which the gap is linear in lam, because the best (or the only possible) t is less than 1."""
        return min(2.0 * self.Q / self.ell, self.lam) if self.scalable and self.ell > 0.0 else self.lam

    def at(self, lam: float) -> float:
        """Return the gap at ``lam``, which must be > 0 and at most the lam at which the weights were found."""
        if lam >= self.lam:
            return self.gap
        if lam >= self.kink:
            return self.h + lam * self.norm - (self.ell - self.Q / lam)
        return self.h + lam / self.kink * (self.at(self.kink) - self.h)

    def lower_end(self, eps: float) -> float:
        """Return the smallest lam at which the gap is at most eps; zero if the gap is at most eps for all lam > 0.

        The gap at the lam at which the weights were found must be at most eps.
        """
        kink = self.kink
        if self.h <= eps or kink == 0.0:
            return 0.0
        if self.at(kink) <= eps:
            return kink * (self.h - eps) / (self.h - self.at(kink))
        room = self.ell + eps - self.h  # the result is the smaller root of norm lam^2 - room lam + Q
        return float(2.0 * self.Q / (room + np.sqrt(max(room * room - 4.0 * self.norm * self.Q, 0.0))))
