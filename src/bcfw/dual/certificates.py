"""Certificates as functions of sums over the blocks, so that those of several parts of the data can be added up.

    primal  P(w)       = lam/2 |w|^2 + h,                    h = sum_i c_i max_y H_i(y; w)
    dual    D(v, ell)  = ell - lam (v'u - |u|^2/2),          v = sum_i v_i,  ell = sum_i ell_i,  u = clip(v)
    gap     P(w) - D   >= P(w) - min P                       for any w within the bounds and any dual point (v, ell)

Without bounds u = v, and D = ell - lam/2 |v|^2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.errors import OracleError

#: Relative tolerance when a model's upper bound is checked against a value already found.
CONTRADICTION = 1e-6

#: A negative gap smaller than this, relative to ``1 + |P| + |D|``, is rounding: P and D are sums of numbers as large as
#: the losses, and may themselves be far smaller.
ROUNDING = 1e-12

#: Relative tolerance: an upper bound of the primal value that exceeds the value found by less is as good as that.
CLOSED = 1e-9

#: Share of the target at which a run ends with an estimated gap although its upper bound has not closed.
ESTIMATED = 0.1


class Certificate(NamedTuple):
    """Primal and dual value at one point; their difference bounds the suboptimality of both.

    If the oracle is a heuristic, primal and gap are estimates from below, and ``gap_bound`` is what can be proved
    (infinity without upper bounds); otherwise it equals the gap.
    """

    primal: float
    dual: float
    gap: float
    gap_bound: float

    def reaches(self, target: float) -> bool:
        """Whether a run may end with it: as "converged" where the target is :meth:`proved`, else as "estimated".

        If the oracle is a heuristic with an upper bound, that must prove the target, or the estimate must be a tenth of
        it, when the bound is too loose to wait for.
        """
        enough = target if np.isinf(self.gap_bound) else ESTIMATED * target
        return self.proved(target) or self.gap <= enough

    def proved(self, target: float) -> bool:
        """Whether the gap is proved to be at most the target."""
        return self.gap_bound <= target

    def better_of(self, other: Certificate) -> Certificate:
        """The smaller primal and the larger dual value of two certificates: of one point, and proved by one of two.

        An estimate of the primal value that is below the dual value is raised to it.
        """
        best = self if self.primal_bound <= other.primal_bound else other
        dual = max(self.dual, other.dual)
        primal, bound = best.primal, best.primal_bound
        if best.gap_bound > best.gap:
            primal = max(primal, dual)
        gap_bound = np.inf if np.isinf(best.gap_bound) else _difference(bound, dual)
        return Certificate(primal, dual, _difference(primal, dual), gap_bound)

    def hinge(self, lam: float, w: np.ndarray) -> HingeSums:
        """The hinge losses at w, whose certificate this is: ``h = P(w) - lam/2 |w|^2``."""
        norm = regulariser(lam, w)
        return HingeSums(self.primal - norm, self.primal + (self.gap_bound - self.gap) - norm)

    @property
    def primal_bound(self) -> float:
        """What is proved about the primal value, or else its estimate.

        The sum of dual value and gap would be another number where the dual value is far larger than the primal one.
        """
        return self.primal if np.isinf(self.gap_bound) else self.primal + (self.gap_bound - self.gap)

    def proven(self, target: float) -> tuple[Certificate, bool]:
        """The certificate to report, and whether its gap is proved.

        Where the upper bound of a heuristic oracle proves the target, or is as good as the value found, primal and gap
        are those of the bound.
        """
        closed = self.gap_bound - self.gap <= CLOSED * (abs(self.primal) + abs(self.dual))
        certified = closed or self.proved(target)
        if certified and self.gap_bound > self.gap:
            return self._replace(primal=self.primal_bound, gap=self.gap_bound), True
        return self, certified


class HingeSums(NamedTuple):
    """``sum_i c_i max_y H_i(y; w)`` as the oracle found it, and an upper bound of it; sums of parts can be added."""

    found: float
    at_most: float


def hinge_sums(c: np.ndarray, hinges: np.ndarray) -> HingeSums:
    """Add up the (2, n) hinge losses of the blocks, found and at most; a bound below a found value is an error."""
    found, at_most = hinges
    for i in np.flatnonzero(~(at_most >= found - CONTRADICTION * (1.0 + np.abs(found))))[:1]:  # or NaN
        raise OracleError(
            f"example {i}: the model's upper bound says that the hinge loss is at most {at_most[i]:.6g}, but an output "
            f"with {found[i]:.6g} is known; upper_bound must be at least max_y loss(y_true, y) + <w, features(x, y)>",
            int(i),
        )
    sums = np.array([found, np.maximum(found, at_most)]) @ c
    return HingeSums(float(sums[0]), float(sums[1]))


def dual_value(lam: float, v: np.ndarray, w: np.ndarray, ell: float) -> float:
    """``D = ell - lam (v'w - |w|^2/2)`` of a dual point; w is v, clipped to the bounds if there are any."""
    return ell - lam * (float(v @ w) - 0.5 * float(w @ w))


def regulariser(lam: float, w: np.ndarray) -> float:
    """``lam/2 |w|^2``."""
    return 0.5 * lam * float(w @ w)


def certificate(norm: float, hinge: HingeSums, dual: float) -> Certificate:
    """Certificate of any weights w by their regulariser ``lam/2 |w|^2``, the hinge losses there and any dual value."""
    primal, at_most = norm + hinge.found, norm + hinge.at_most
    return Certificate(primal, dual, _difference(primal, dual), _difference(at_most, dual))


def _difference(primal: float, dual: float) -> float:
    """``primal - dual``; zero where rounding alone has made it negative."""
    gap = primal - dual
    return 0.0 if -ROUNDING * (1.0 + abs(primal) + abs(dual)) <= gap < 0.0 else gap
