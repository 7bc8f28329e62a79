"""The class Certificate, and its formulas: certificates are computed from sums over the blocks.

The sums over several parts of the data can be added up and give the certificate of the whole data.

    primal  P(w)       = lam/2 |w|^2 + h,                    h = sum_i c_i max_y H_i(y; w)
    dual    D(v, ell)  = ell - lam (v'u - |u|^2/2),          v = sum_i v_i,  ell = sum_i ell_i,  u = clip(v)
    gap     P(w) - D   >= P(w) - min P                       for any w within the bounds and any dual point (v, ell)

Without bounds u = v, and D = ell - lam/2 |v|^2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.errors import OracleError

#: Relative tolerance when a model's upper bound of a hinge loss is compared with a value that the oracle found.
CONTRADICTION = 1e-6

#: A negative gap of at most this size, relative to ``1 + |P| + |D|``, is due to rounding and set to zero. The 1 stands
#: for the losses: P and D are sums of numbers as large as the losses, but may themselves be far smaller.
ROUNDING = 1e-12

#: If the upper bound of the primal value exceeds the estimate by at most this share of ``|P| + |D|``, the bound counts
#: as closed: primal value and gap are reported from the bound, as proved.
CLOSED = 1e-9

#: If the upper bound of the gap stays above the target, a run ends when the estimated gap is at most this share of the
#: target.
ESTIMATED = 0.1


class Certificate(NamedTuple):
    """Primal value, dual value and duality gap; the gap bounds the suboptimality of both values.

    With an exact oracle ``gap_bound`` equals ``gap``. With a heuristic oracle ``primal`` and ``gap`` are estimates from
    below, and ``gap_bound`` is a proved upper bound of the gap, infinity if the model has no upper bounds.
    """

    primal: float
    dual: float
    gap: float
    gap_bound: float

    def reaches(self, target: float) -> bool:
        """Return whether a run may end with this certificate.

        The run ends as "converged" if the target is :meth:`proved`, and otherwise as "estimated". With a heuristic
        oracle that has no upper bound, an estimated gap below the target is enough. With an upper bound, either the
        bound proves the target or the estimated gap is a tenth of the target: the bound may be too loose to wait for.
        """
        enough = target if np.isinf(self.gap_bound) else ESTIMATED * target
        return self.proved(target) or self.gap <= enough

    def proved(self, target: float) -> bool:
        """Return whether the gap is proved to be at most the target."""
        return self.gap_bound <= target

    def better_of(self, other: Certificate) -> Certificate:
        """Return the certificate with the better primal value and the larger dual value of two certificates.

        The primal value belongs to the weights with the smaller ``primal_bound``; the dual value may come from the
        other certificate. If the primal value is an estimate below this dual value, it is raised to the dual value.
        """
        best = self if self.primal_bound <= other.primal_bound else other
        dual = max(self.dual, other.dual)
        primal, bound = best.primal, best.primal_bound
        if best.gap_bound > best.gap:
            primal = max(primal, dual)
        gap_bound = np.inf if np.isinf(best.gap_bound) else _difference(bound, dual)
        return Certificate(primal, dual, _difference(primal, dual), gap_bound)

    def hinge(self, lam: float, w: np.ndarray) -> HingeSums:
        """Return the sums of the hinge losses at w, ``h = P(w) - lam/2 |w|^2``; this must be a certificate of w."""
        norm = regulariser(lam, w)
        return HingeSums(self.primal - norm, self.primal + (self.gap_bound - self.gap) - norm)

    @property
    def primal_bound(self) -> float:
        """The proved upper bound of the primal value; its estimate if the model has no upper bounds.

        The bound is not computed as ``dual + gap_bound``, which differs by rounding if the dual value is far larger
        than the primal value.
        """
        return self.primal if np.isinf(self.gap_bound) else self.primal + (self.gap_bound - self.gap)

    def proven(self, target: float) -> tuple[Certificate, bool]:
        """Return the certificate to report, and whether its gap is proved.

        If the upper bound of a heuristic oracle proves the target, or is closed (``CLOSED``), the reported primal value
        and gap are computed from the upper bound.
        """
        closed = self.gap_bound - self.gap <= CLOSED * (abs(self.primal) + abs(self.dual))
        certified = closed or self.proved(target)
        if certified and self.gap_bound > self.gap:
            return self._replace(primal=self.primal_bound, gap=self.gap_bound), True
        return self, certified


class HingeSums(NamedTuple):
    """The sum ``sum_i c_i max_y H_i(y; w)`` as the oracle found it, and an upper bound of this sum."""

    found: float
    at_most: float


def hinge_sums(c: np.ndarray, hinge_losses: np.ndarray) -> HingeSums:
    """Return the weighted sums of the (2, n) hinge losses: found values in row 0, upper bounds in row 1.

    Raise ``OracleError`` if an upper bound is below the found value by more than rounding, or NaN.
    """
    found, at_most = hinge_losses
    for i in np.flatnonzero(~(at_most >= found - CONTRADICTION * (1.0 + np.abs(found))))[:1]:  # also if a value is NaN
        raise OracleError(
            f"example {i}: the model's upper bound says that the hinge loss is at most {at_most[i]:.6g}, but an output "
            f"with {found[i]:.6g} is known; upper_bound must be at least max_y loss(y_true, y) + <w, features(x, y)>",
            int(i),
        )
    sums = np.array([found, np.maximum(found, at_most)]) @ c
    return HingeSums(float(sums[0]), float(sums[1]))


def dual_value(lam: float, v: np.ndarray, w: np.ndarray, ell: float) -> float:
    """Return ``D = ell - lam (v'w - |w|^2/2)`` of the dual point (v, ell), where w is v clipped to the bounds."""
    return ell - lam * (float(v @ w) - 0.5 * float(w @ w))


def regulariser(lam: float, w: np.ndarray) -> float:
    """Return ``lam/2 |w|^2``."""
    return 0.5 * lam * float(w @ w)


def certificate(norm: float, hinge: HingeSums, dual: float) -> Certificate:
    """Return the certificate of weights w with ``lam/2 |w|^2 = norm``, the given hinge losses and any dual value."""
    primal, at_most = norm + hinge.found, norm + hinge.at_most
    return Certificate(primal, dual, _difference(primal, dual), _difference(at_most, dual))


def _difference(primal: float, dual: float) -> float:
    """Return ``primal - dual``, or zero if this difference is negative only by rounding."""
    gap = primal - dual
    return 0.0 if -ROUNDING * (1.0 + abs(primal) + abs(dual)) <= gap < 0.0 else gap
