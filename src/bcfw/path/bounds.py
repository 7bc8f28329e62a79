"""How far weights that were found at one lam are from the optimum at every smaller one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class GapBound(NamedTuple):
    """The gap of fixed weights w against the best multiple of one dual point, as a function of lam' <= lam.

    Let w be any weights with hinge losses ``h = sum_i c_i max_y H_i(y; w)``, and (v, ell) a dual point at lam. Its mass
    on all outputs but the truths may be multiplied by any t in [0, 1]; at lam' that makes ell' = t ell and
    v' = t (lam/lam') v. Without bounds on w the gap there is

        gap(lam') = h + lam' |w|^2/2 - max_t [t ell - t^2 Q / lam'],        Q = lam^2 |v|^2/2.

    The best t is ``ell lam' / (2 Q)``, or 1 if that is less: at first all mass stays and the gap grows with the square
    of the distance from lam, then the mass shrinks and the gap is linear in lam'. It is convex, and h at lam' = 0.

    With bounds on w, ``Q = lam^2 (v'u - |u|^2/2)`` with u = clip(v). Then this is an upper bound of the gap for
    t >= lam'/lam if w = 0 is allowed: scaling v' = (t lam/lam') v by at least 1 increases ``v'u' - |u'|^2/2`` at
    most by the square. Otherwise only ``t = lam'/lam`` is left, which does not change v (gaps-2016, Alg. 7).

    Attributes
    ----------
    lam : where the weights were found
    gap : their gap there
    h : hinge losses
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
        """The lam below which the mass shrinks with lam, so that the gap is linear."""
        return min(2.0 * self.Q / self.ell, self.lam) if self.scalable and self.ell > 0.0 else self.lam

    def at(self, lam: float) -> float:
        """The gap at a lam that is at most the one where the weights were found, and > 0."""
        if lam >= self.lam:
            return self.gap
        if lam >= self.kink:
            return self.h + lam * self.norm - (self.ell - self.Q / lam)
        return self.h + lam / self.kink * (self.at(self.kink) - self.h)

    def lower_end(self, eps: float) -> float:
        """The smallest lam at which the gap is at most eps; zero if it is at every smaller one.

        At the lam where the weights were found it must be.
        """
        kink = self.kink
        if self.h <= eps or kink == 0.0:
            return 0.0
        if self.at(kink) <= eps:
            return kink * (self.h - eps) / (self.h - self.at(kink))
        room = self.ell + eps - self.h  # what follows is the smaller root of norm lam^2 - room lam + Q
        return float(2.0 * self.Q / (room + np.sqrt(max(room * room - 4.0 * self.norm * self.Q, 0.0))))
