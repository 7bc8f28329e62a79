"""The enumerated structural SVM: objective, optimum and block-coordinate Frank-Wolfe written from the formulas.

Nothing here uses bcfw. Every output is listed, so that the max oracle is a maximum over rows and the dual is a QP
over a product of simplices that an interior-point method solves; weak duality proves the accuracy of its answer.

With bounds on w, a dual point gives an unclipped ``v = A alpha`` and ``w = clip(v)``; block points live where v does.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, nnls


@dataclass(frozen=True)
class Optimum:
    """Primal and dual point with ``dual <= D* = P* <= primal``; w is v clipped to the bounds."""

    v: np.ndarray
    w: np.ndarray
    primal: float
    dual: float
    alpha: list[np.ndarray]


@dataclass(frozen=True)
class Enumerated:
    """All psi_i(y), (m_i, d), and losses L_i(y), (m_i,), of every block, with block weights c_i that sum to one.

    ``bounds`` are (lower, upper) of w, two (d,) arrays that may hold infinities; None for no bounds.
    """

    psi: list[np.ndarray]
    loss: list[np.ndarray]
    c: np.ndarray
    lam: float
    bounds: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def n(self) -> int:
        return len(self.psi)

    @property
    def dim(self) -> int:
        return self.psi[0].shape[1]

    def clip(self, v: np.ndarray) -> np.ndarray:
        """The weights of a dual point."""
        return v if self.bounds is None else np.minimum(np.maximum(v, self.bounds[0]), self.bounds[1])

    def hinge(self, w: np.ndarray) -> np.ndarray:
        """(n,) max_y H_i(y; w)."""
        return np.array([np.max(loss - psi @ w) for psi, loss in zip(self.psi, self.loss, strict=True)])

    def primal(self, w: np.ndarray) -> float:
        return 0.5 * self.lam * float(w @ w) + float(self.c @ self.hinge(w))

    def dual(self, v: np.ndarray, ell: float) -> float:
        """``min_w lam/2 |w|^2 - lam v'w + ell`` over the bounds: attained by clip(v)."""
        w = self.clip(v)
        return ell - self.lam * (float(v @ w) - 0.5 * float(w @ w))

    def corner(self, i: int, w: np.ndarray) -> tuple[np.ndarray, float]:
        """v_s and ell_s of the max oracle's answer at w."""
        best = int(np.argmax(self.loss[i] - self.psi[i] @ w))
        return self.c[i] / self.lam * self.psi[i][best], self.c[i] * self.loss[i][best]

    def outside(self, i: int, v_i: np.ndarray, ell_i: float) -> float:
        """Distance of a block's (v_i, ell_i) from the convex hull of its corners (0 inside), by least squares."""
        corners = np.column_stack([self.psi[i] / self.lam, self.loss[i]]).T * self.c[i]
        system = np.vstack([corners, np.ones(corners.shape[1])])
        return float(nnls(system, np.concatenate([v_i, [ell_i, 1.0]]))[1])

    @functools.cached_property
    def optimum(self) -> Optimum:
        """Solve the dual QP; the distance of the two values bounds the error of both.

        A finite bound adds a variable beta >= 0: ``w = A alpha + (beta_l - beta_u)/lam`` and the linear terms
        ``l'beta_l - u'beta_u``.
        """
        sizes = [len(loss) for loss in self.loss]
        A = np.vstack([c / self.lam * psi for c, psi in zip(self.c, self.psi, strict=True)]).T
        b = np.concatenate([c * loss for c, loss in zip(self.c, self.loss, strict=True)])
        columns, linear = [A], [b]
        for bound, sign in zip(self.bounds or (), (1.0, -1.0), strict=False):
            finite = np.isfinite(bound)
            columns.append(sign / self.lam * np.eye(self.dim)[:, finite])
            linear.append(sign * bound[finite])
        M = np.hstack(columns)
        alpha = minimise_over_simplices(self.lam * M.T @ M, np.concatenate(linear), sizes)
        v, ell = A @ alpha, float(b @ alpha)
        pieces = np.split(alpha, np.cumsum(sizes)[:-1])
        return Optimum(v, self.clip(v), self.primal(self.clip(v)), self.dual(v, ell), pieces)


def minimise_over_simplices(Q: np.ndarray, b: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Minimise ``a'Qa/2 - b'a`` over a product of simplices by Mehrotra's predictor-corrector method.

    Variables beyond the simplices only have to be non-negative; they are not returned.
    """
    m, n, inside = len(b), len(sizes), int(np.sum(sizes))
    ends = np.cumsum(sizes)[:-1]
    E = np.zeros((n, m))
    E[np.repeat(np.arange(n), sizes), np.arange(inside)] = 1.0
    scale = max(1e-300, float(np.max(np.abs(b))))
    Q, b = Q / scale, b / scale
    a = np.concatenate([1.0 / np.repeat(sizes, sizes), np.ones(m - inside)])
    gradient = Q @ a - b
    nu = np.array([part.min() - 1.0 for part in np.split(gradient[:inside], ends)])
    z = np.maximum(gradient - E.T @ nu, 1.0)
    for _ in range(100):
        residual = np.concatenate([Q @ a - b - E.T @ nu, E @ a - 1.0])
        if a @ z < 1e-14 and np.max(np.abs(residual[:m] - z)) < 1e-12:
            break
        kkt = np.block([[Q + np.diag(z / a), -E.T], [E, np.zeros((n, n))]])
        mean = a @ z / m
        da, dnu, dz = newton_step(kkt, residual, a, z, np.zeros(m))
        t = min(room(a, da), room(z, dz))
        centre = ((a + t * da) @ (z + t * dz) / m / mean) ** 3
        da, dnu, dz = newton_step(kkt, residual, a, z, centre * mean - da * dz)
        t = 0.995 * min(room(a, da), room(z, dz))
        a, nu, z = a + t * da, nu + t * dnu, z + t * dz
    return np.concatenate([part / part.sum() for part in np.split(a[:inside], ends)])


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
    """State of the naive method after a step: per-block v_i and ell_i, their sums, w, and the step's block gap."""

    v: np.ndarray
    w: np.ndarray
    ell: float
    v_blocks: np.ndarray
    ell_blocks: np.ndarray
    gap: float


def exact_step(problem: Enumerated, v: np.ndarray, dv: np.ndarray, gap: float) -> float:
    """Maximiser over [0, 1] of the dual along ``v + gamma dv``, whose slope at 0 is ``gap``, by Brent's method."""

    def slope(gamma: float) -> float:
        return gap - problem.lam * float(dv @ (problem.clip(v + gamma * dv) - problem.clip(v)))

    if gap <= 0.0:
        return 0.0
    return 1.0 if slope(1.0) >= 0.0 else float(brentq(slope, 0.0, 1.0, xtol=1e-16, rtol=1e-15))


def naive_bcfw(problem: Enumerated, order: Sequence[int], step_size: str = "exact") -> Iterator[Iterate]:
    """bcfw-2013, Alg. 4, with one d-vector per block; yields after every step.

    ``step_size`` is "exact", "decay" or "short": the step that is best without bounds (gaps-2016, App. H).
    """
    v_blocks, ell_blocks = np.zeros((problem.n, problem.dim)), np.zeros(problem.n)
    for k, i in enumerate(order):
        v = v_blocks.sum(axis=0)
        w = problem.clip(v)
        v_s, ell_s = problem.corner(i, w)
        dv = v_s - v_blocks[i]
        gap = ell_s - ell_blocks[i] - problem.lam * float(dv @ w)
        curvature = problem.lam * float(dv @ dv)
        if step_size == "decay":
            gamma = 2.0 * problem.n / (k + 2.0 * problem.n)
        elif problem.bounds is not None and step_size == "exact":
            gamma = exact_step(problem, v, dv, gap)
        elif curvature > 0.0:
            gamma = float(np.clip(gap / curvature, 0.0, 1.0))
        else:
            gamma = float(gap > 0.0)
        v_blocks[i] += gamma * dv
        ell_blocks[i] += gamma * (ell_s - ell_blocks[i])
        v = v_blocks.sum(axis=0)
        yield Iterate(v, problem.clip(v), float(ell_blocks.sum()), v_blocks.copy(), ell_blocks.copy(), gap)


def naive_subgradient(problem: Enumerated, order: Sequence[int]) -> Iterator[np.ndarray]:
    """Pegasos: ``w <- (1 - gamma lam) w + gamma n c_i psi_i(y*)``, gamma = 1/(lam (k+1)); yields w after every step.

    With bounds w is clipped, and the sum of the subgradients goes on unclipped.
    """
    v = np.zeros(problem.dim)
    for k, i in enumerate(order):
        w = problem.clip(v)
        psi = problem.psi[i][int(np.argmax(problem.loss[i] - problem.psi[i] @ w))]
        gamma = 1.0 / (problem.lam * (k + 1.0))
        v = (1.0 - gamma * problem.lam) * v + gamma * problem.n * problem.c[i] * psi
        yield problem.clip(v)


def naive_groups(problem: Enumerated, order: Sequence[int], size: int, in_alpha: bool = False) -> Iterator[Iterate]:
    """flexible-blocks-2026, Alg. 2: groups of consecutive blocks of the order; yields after every group.

    M begins with 1, is multiplied by 0.9 before every group and by 2 whenever test (5) fails, here evaluated by dual
    values; in the metric of the weights it is at most the number of moving blocks. Mass is kept per enumerated output.
    """
    v_blocks, ell_blocks, M = np.zeros((problem.n, problem.dim)), np.zeros(problem.n), 1.0
    alpha = []
    for psi, loss in zip(problem.psi, problem.loss, strict=True):
        alpha.append(np.eye(len(loss))[int(np.argmax((loss == 0.0) & ~psi.any(axis=1)))])  # on the truth
    for start in range(0, len(order), size):
        group = list(order[start : start + size])
        w = v_blocks.sum(axis=0)
        best = [int(np.argmax(problem.loss[i] - problem.psi[i] @ w)) for i in group]
        corners = [problem.corner(i, w) for i in group]
        dv = np.array([v_s - v_blocks[i] for i, (v_s, _) in zip(group, corners, strict=True)])
        dell = np.array([ell_s - ell_blocks[i] for i, (_, ell_s) in zip(group, corners, strict=True)])
        gap = dell - problem.lam * dv @ w
        moves = np.array([np.eye(len(alpha[i]))[y] - alpha[i] for i, y in zip(group, best, strict=True)], dtype=object)
        distance = problem.lam * (dv * dv).sum(axis=1)
        if in_alpha:
            distance = np.array([float(move @ move) for move in moves])
        M *= 0.9
        while True:
            gamma = np.where(gap > 0, np.minimum(1.0, gap / np.maximum(M * distance, 1e-300)), 0.0)
            before, after = (problem.dual(w + t * gamma @ dv, ell_blocks.sum() + t * gamma @ dell) for t in (0.0, 1.0))
            if after >= before + gamma @ gap - 0.5 * M * gamma**2 @ distance - 1e-13:
                break
            M = 2.0 * M if in_alpha else min(2.0 * M, float((gap > 0).sum()))
        for m, i in enumerate(group):
            v_blocks[i] += gamma[m] * dv[m]
            ell_blocks[i] += gamma[m] * dell[m]
            alpha[i] = alpha[i] + gamma[m] * moves[m]
        v = v_blocks.sum(axis=0)
        yield Iterate(v, v, float(ell_blocks.sum()), v_blocks.copy(), ell_blocks.copy(), float(gap.sum()))


def naive_exponentiated(
    problem: Enumerated, order: Sequence[int], largest: Sequence[float], wrong: Sequence[np.ndarray]
) -> Iterator[Iterate]:
    """Online exponentiated gradient with alpha over all outputs (the truth once); yields after every step.

    ``largest`` are the blocks' largest losses of one part, ``wrong`` the numbers of wrong parts of their outputs:
    ``alpha_i(y)`` begins as ``exp(-10 L_i(y) / largest)``. As long as the dual is negative there, every wrong part
    costs as much more as the best step from no mass to this mass says. Step sizes begin with the last one accepted, are
    halved where the dual would fall, and grow by 5 % otherwise.
    """
    psis, losses = [psi[:-1] for psi in problem.psi], [loss[:-1] for loss in problem.loss]
    etas, last, less = np.zeros(problem.n), 1.0, 0.0

    def point(i: int, exponents: np.ndarray) -> tuple[np.ndarray, float]:
        alpha = np.exp(exponents - exponents.max())
        alpha /= alpha.sum()
        return problem.c[i] / problem.lam * alpha @ psis[i], problem.c[i] * float(alpha @ losses[i])

    while True:
        log_alpha = [
            -10.0 * loss / unit - less * count for loss, unit, count in zip(losses, largest, wrong, strict=True)
        ]
        blocks = [point(i, log_alpha[i]) for i in range(problem.n)]
        v_blocks, ell_blocks = np.array([v for v, _ in blocks]), np.array([ell for _, ell in blocks])
        w, ell = v_blocks.sum(axis=0), float(ell_blocks.sum())
        if problem.dual(w, ell) >= 0.0:
            break
        less += np.log(problem.lam * w @ w / ell)
    for i in order:
        w = v_blocks.sum(axis=0)
        before, eta = problem.dual(w, ell_blocks.sum()), etas[i] or last
        while True:
            trial = log_alpha[i] + eta * (losses[i] - psis[i] @ w)
            v_i, ell_i = point(i, trial)
            if problem.dual(w - v_blocks[i] + v_i, ell_blocks.sum() - ell_blocks[i] + ell_i) >= before:
                break
            eta *= 0.5
        last, etas[i], log_alpha[i] = eta, 1.05 * eta, trial
        v_blocks[i], ell_blocks[i] = v_i, ell_i
        v = v_blocks.sum(axis=0)
        yield Iterate(v, v, float(ell_blocks.sum()), v_blocks.copy(), ell_blocks.copy(), 0.0)


def naive_batch_fw(problem: Enumerated, n_steps: int) -> tuple[np.ndarray, float]:
    """bcfw-2013, Alg. 2: v and ell after the steps."""
    v, ell = np.zeros(problem.dim), 0.0
    for _ in range(n_steps):
        w = problem.clip(v)
        corners = [problem.corner(i, w) for i in range(problem.n)]
        v_s, ell_s = sum(corner[0] for corner in corners), sum(corner[1] for corner in corners)
        dv = v_s - v
        gap = ell_s - ell - problem.lam * float(dv @ w)
        if problem.bounds is None:
            gamma = float(np.clip(gap / (problem.lam * float(dv @ dv)), 0.0, 1.0))
        else:
            gamma = exact_step(problem, v, dv, gap)
        v, ell = v + gamma * dv, ell + gamma * (ell_s - ell)
    return v, ell


def weighted_average(points: Sequence[np.ndarray]) -> np.ndarray:
    """``w_bar <- k/(k+2) w_bar + 2/(k+2) w``, k = 0, 1, ...: the first average is the first iterate."""
    average = np.zeros_like(points[0])
    for k, point in enumerate(points):
        average = k / (k + 2.0) * average + 2.0 / (k + 2.0) * point
    return average
