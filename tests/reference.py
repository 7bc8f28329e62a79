"""The enumerated structural SVM: objective, optimum and block-coordinate Frank-Wolfe written from the formulas.

Nothing here uses bcfw. Every output is listed, so that the max oracle is a maximum over rows and the dual is a QP
over a product of simplices that an interior-point method solves; weak duality proves the accuracy of its answer.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls


@dataclass(frozen=True)
class Optimum:
    """Primal and dual point with ``dual <= D* = P* <= primal``."""

    w: np.ndarray
    primal: float
    dual: float
    alpha: list[np.ndarray]


@dataclass(frozen=True)
class Enumerated:
    """All psi_i(y), (m_i, d), and losses L_i(y), (m_i,), of every block, with block weights c_i that sum to one."""

    psi: list[np.ndarray]
    loss: list[np.ndarray]
    c: np.ndarray
    lam: float

    @property
    def n(self) -> int:
        return len(self.psi)

    @property
    def dim(self) -> int:
        return self.psi[0].shape[1]

    def hinge(self, w: np.ndarray) -> np.ndarray:
        """(n,) max_y H_i(y; w)."""
        return np.array([np.max(loss - psi @ w) for psi, loss in zip(self.psi, self.loss, strict=True)])

    def primal(self, w: np.ndarray) -> float:
        return 0.5 * self.lam * float(w @ w) + float(self.c @ self.hinge(w))

    def dual(self, w: np.ndarray, ell: float) -> float:
        return ell - 0.5 * self.lam * float(w @ w)

    def corner(self, i: int, w: np.ndarray) -> tuple[np.ndarray, float]:
        """w_s and ell_s of the max oracle's answer."""
        best = int(np.argmax(self.loss[i] - self.psi[i] @ w))
        return self.c[i] / self.lam * self.psi[i][best], self.c[i] * self.loss[i][best]

    def outside(self, i: int, w_i: np.ndarray, ell_i: float) -> float:
        """Distance of a block's (w_i, ell_i) from the convex hull of its corners (0 inside), by least squares."""
        corners = np.column_stack([self.psi[i] / self.lam, self.loss[i]]).T * self.c[i]
        system = np.vstack([corners, np.ones(corners.shape[1])])
        return float(nnls(system, np.concatenate([w_i, [ell_i, 1.0]]))[1])

    @functools.cached_property
    def optimum(self) -> Optimum:
        """Solve the dual QP; the distance of the two values bounds the error of both."""
        sizes = [len(loss) for loss in self.loss]
        A = np.vstack([c / self.lam * psi for c, psi in zip(self.c, self.psi, strict=True)]).T
        b = np.concatenate([c * loss for c, loss in zip(self.c, self.loss, strict=True)])
        alpha = minimise_over_simplices(self.lam * A.T @ A, b, sizes)
        w, ell = A @ alpha, float(b @ alpha)
        pieces = np.split(alpha, np.cumsum(sizes)[:-1])
        return Optimum(w, self.primal(w), self.dual(w, ell), pieces)


def minimise_over_simplices(Q: np.ndarray, b: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Minimise ``a'Qa/2 - b'a`` over a product of simplices by Mehrotra's predictor-corrector method."""
    m, n = len(b), len(sizes)
    E = np.zeros((n, m))
    E[np.repeat(np.arange(n), sizes), np.arange(m)] = 1.0
    scale = max(1e-300, float(np.max(np.abs(b))))
    Q, b = Q / scale, b / scale
    a = 1.0 / np.repeat(sizes, sizes).astype(float)
    gradient = Q @ a - b
    nu = np.array([part.min() - 1.0 for part in np.split(gradient, np.cumsum(sizes)[:-1])])
    z = gradient - E.T @ nu
    for _ in range(100):
        if a @ z < 1e-14:
            break
        kkt = np.block([[Q + np.diag(z / a), -E.T], [E, np.zeros((n, n))]])
        residual = np.concatenate([Q @ a - b - E.T @ nu, E @ a - 1.0])
        mean = a @ z / m
        da, dnu, dz = newton_step(kkt, residual, a, z, np.zeros(m))
        t = min(room(a, da), room(z, dz))
        centre = ((a + t * da) @ (z + t * dz) / m / mean) ** 3
        da, dnu, dz = newton_step(kkt, residual, a, z, centre * mean - da * dz)
        t = 0.995 * min(room(a, da), room(z, dz))
        a, nu, z = a + t * da, nu + t * dnu, z + t * dz
    return np.concatenate([part / part.sum() for part in np.split(a, np.cumsum(sizes)[:-1])])


def newton_step(
    kkt: np.ndarray, residual: np.ndarray, a: np.ndarray, z: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Changes of (a, nu, z) that make the residual zero and ``a z = target`` to first order."""
    m = len(a)
    step = np.linalg.solve(kkt, np.concatenate([target / a, np.zeros(len(residual) - m)]) - residual)
    return step[:m], step[m:], (target - z * step[:m]) / a - z


def room(point: np.ndarray, step: np.ndarray) -> float:
    """Largest t <= 1 that keeps ``point + t step`` non-negative."""
    falling = step < 0
    return min(1.0, float(np.min(-point[falling] / step[falling], initial=np.inf)))


@dataclass(frozen=True)
class Iterate:
    """State of the naive method after a step: per-block w_i and ell_i, their sums, and the step's block gap."""

    w: np.ndarray
    ell: float
    w_blocks: np.ndarray
    ell_blocks: np.ndarray
    gap: float


def naive_bcfw(problem: Enumerated, order: Sequence[int], decay: bool = False) -> Iterator[Iterate]:
    """bcfw-2013, Alg. 4, with one d-vector per block; yields after every step."""
    w_blocks, ell_blocks = np.zeros((problem.n, problem.dim)), np.zeros(problem.n)
    for k, i in enumerate(order):
        w = w_blocks.sum(axis=0)
        w_s, ell_s = problem.corner(i, w)
        d = w_blocks[i] - w_s
        gap = problem.lam * float(d @ w) - ell_blocks[i] + ell_s
        curvature = problem.lam * float(d @ d)
        if decay:
            gamma = 2.0 * problem.n / (k + 2.0 * problem.n)
        elif curvature > 0.0:
            gamma = float(np.clip(gap / curvature, 0.0, 1.0))
        else:
            gamma = float(gap > 0.0)
        w_blocks[i] -= gamma * d
        ell_blocks[i] += gamma * (ell_s - ell_blocks[i])
        yield Iterate(w_blocks.sum(axis=0), float(ell_blocks.sum()), w_blocks.copy(), ell_blocks.copy(), gap)


def naive_batch_fw(problem: Enumerated, n_steps: int) -> tuple[np.ndarray, float]:
    """bcfw-2013, Alg. 2."""
    w, ell = np.zeros(problem.dim), 0.0
    for _ in range(n_steps):
        corners = [problem.corner(i, w) for i in range(problem.n)]
        w_s, ell_s = sum(corner[0] for corner in corners), sum(corner[1] for corner in corners)
        gap = problem.lam * float((w - w_s) @ w) - ell + ell_s
        gamma = float(np.clip(gap / (problem.lam * float((w - w_s) @ (w - w_s))), 0.0, 1.0))
        w, ell = w + gamma * (w_s - w), ell + gamma * (ell_s - ell)
    return w, ell


def weighted_average(points: Sequence[np.ndarray]) -> np.ndarray:
    """``w_bar <- k/(k+2) w_bar + 2/(k+2) w``, k = 0, 1, ...: the first average is the first iterate."""
    average = np.zeros_like(points[0])
    for k, point in enumerate(points):
        average = k / (k + 2.0) * average + 2.0 / (k + 2.0) * point
    return average
