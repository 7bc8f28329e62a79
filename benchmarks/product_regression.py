"""``bcfw.minimize`` on regressions and incomplete tables, beside what people use today.

    python benchmarks/product_regression.py [--problems lasso 'completion*'] [--max-seconds 10]

Every problem is ``min f(x)`` within a radius, f half a sum of squares. The radius is that of an accurate solution of
the penalised form, so that the two forms have the same solution x*. A table shows CPU seconds to ``(f - f*) / f*``;
for methods that solve the penalised form F it is ``(F - F*) / f*``. A method that offers a tolerance is run with
several, and the fastest run that is accurate enough counts. In brackets: what was reached at the end. Parts of a run
that only measure do not count; certificates do.

problems
    lasso          diabetes with squares and products of its features (442 x 65), one l1 ball
    robust-lasso   the same with gross errors in 5 % of the targets: ``1/2 |X w + e - y|^2``, w and e in l1 balls
    multi-task     pixels of the digits against their ten classes (1797 x 64, 10 tasks), sum of the rows' norms bounded
    completion     digits (1797 x 64), half of the entries seen, nuclear norm bounded; error of the unseen entries, too
    completion-40  the first 40 digits: small enough for a conic solver
    completion-kernel  similarities of 1797 digits (1797 x 1797), a fifth of them seen

cvxpy is optional. One thread is enough: OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib.util
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import Lasso, MultiTaskLasso
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import bcfw
from bcfw.domains import L1Ball, NuclearBall

TARGETS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)
HAS_CVXPY = importlib.util.find_spec("cvxpy") is not None


class Point(NamedTuple):
    """A moment of a run, or a run with one tolerance: CPU seconds, relative excess of the objective."""

    seconds: float
    excess: float


class Row(NamedTuple):
    """A line of a table; ``error`` is that of unseen entries."""

    method: str
    points: list[Point]
    error: float | None = None


def cpu(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """CPU seconds of the fastest of some calls, and the result of the last."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        result = work()
        times.append(time.process_time() - began)
    return min(times), result


def half_square(residual: np.ndarray) -> float:
    return 0.5 * float((residual**2).sum())


# --- one way to run each method -----------------------------------------------------------------------------------


class Watch:
    """A callback that notes CPU seconds and the objective, after iterations one per cent apart."""

    def __init__(self, value: Callable[[list[np.ndarray]], float], best: float, max_seconds: float) -> None:
        self.value = value
        self.best = best
        self.max_seconds = max_seconds
        self.points: list[Point] = []
        self.next = 1

    def start(self) -> None:
        self.begun, self.aside = time.process_time(), 0.0

    def __call__(self, info: Any) -> bool:
        began = time.process_time()
        if info.n_iters < self.next:
            return False
        self.next = max(info.n_iters + 1, int(1.01 * info.n_iters))
        seconds = began - self.begun - self.aside
        self.points.append(Point(seconds, self.value(info.x) / self.best - 1.0))
        self.aside += time.process_time() - began
        return seconds > self.max_seconds or self.points[-1].excess <= TARGETS[-1]


def ours(
    name: str, objective: Any, domains: list[Any], value: Any, best: float, seconds: float, **options: Any
) -> tuple[Row, list[np.ndarray]]:
    """A run of ``bcfw.minimize``; the objective is computed from the point by ``value``."""
    watch = Watch(value, best, seconds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        result = bcfw.minimize(objective, domains, tol=0, max_iters=10**9, callbacks=[watch], **options)
    return Row(f"bcfw, {name}", watch.points), result.x


def by_tolerance(name: str, fit: Callable[[float], Any], penalised: Callable[[Any], float], best: float) -> Row:
    """A scikit-learn model, once per tolerance."""
    least = penalised(fit(1e-14))
    points = []
    for tol in (1e-1, 1e-2, 1e-4, 1e-6, 1e-8):
        seconds, model = cpu(lambda tol=tol: fit(tol))
        points.append(Point(seconds, max(0.0, penalised(model) - least) / best))
    return Row(name, points)


def by_cvxpy(build: Callable[[Any], tuple[Any, list[Any], list[Any]]], value: Any, best: float) -> list[Row]:
    """Conic solvers with their default tolerances; ``build`` returns the objective, constraints and variables."""
    if not HAS_CVXPY:
        return []
    import cvxpy

    rows = []
    for solver in ("CLARABEL", "SCS"):

        def solve(solver: str = solver) -> list[np.ndarray]:
            objective, constraints, variables = build(cvxpy)
            cvxpy.Problem(cvxpy.Minimize(objective), constraints).solve(solver=solver)
            return [variable.value for variable in variables]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # "may be inaccurate": the table shows how much
            seconds, x = cpu(solve, repeats=1)
        rows.append(Row(f"cvxpy, {solver}", [Point(seconds, abs(value(x) / best - 1.0))]))
    return rows


# --- regressions --------------------------------------------------------------------------------------------------


def diabetes() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_diabetes(return_X_y=True)
    features = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    return StandardScaler().fit_transform(features), y - y.mean()


def lasso(seconds: float) -> list[Row]:
    X, y = diabetes()
    alpha = 1.0

    def fit(tol: float) -> np.ndarray:
        return Lasso(alpha=alpha, fit_intercept=False, tol=tol, max_iter=10**6).fit(X, y).coef_

    radius = np.abs(fit(1e-14)).sum()
    best = half_square(X @ fit(1e-14) - y)
    objective = bcfw.objectives.LeastSquares(X, y)

    def value(x: list[np.ndarray]) -> float:
        return half_square(X @ x[0] - y)

    def build(cp: Any) -> Any:
        w = cp.Variable(X.shape[1])
        return 0.5 * cp.sum_squares(X @ w - y), [cp.norm1(w) <= radius], [w]

    rows = [
        ours(d, objective, [L1Ball(X.shape[1], radius)], value, best, seconds, direction=d, step="line-search")[0]
        for d in ("fw", "pairwise", "blended")
    ]
    penalised = lambda w: value([w]) + len(y) * alpha * np.abs(w).sum()  # noqa: E731
    return [*rows, by_tolerance("scikit-learn, Lasso", fit, penalised, best), *by_cvxpy(build, value, best)]


def robust_lasso(seconds: float) -> list[Row]:
    X, y = diabetes()
    n, d = X.shape
    rng = np.random.default_rng(0)
    y = y + np.where(rng.random(n) < 0.05, 1000.0 * rng.standard_normal(n), 0.0)
    alpha, price = 1.0, 200.0  # of a unit of w, times n, and of a unit of e
    scale = n * alpha / price
    both = np.hstack([X, scale * np.eye(n)])

    def fit(tol: float) -> np.ndarray:
        return Lasso(alpha=alpha, fit_intercept=False, tol=tol, max_iter=10**6).fit(both, y).coef_

    solution = fit(1e-14)
    best = half_square(both @ solution - y)
    radii = np.abs(solution[:d]).sum(), scale * np.abs(solution[d:]).sum()
    objective = bcfw.objectives.LeastSquares([X, sp.identity(n)], y)
    domains = [L1Ball(d, radii[0]), L1Ball(n, radii[1])]

    def value(x: list[np.ndarray]) -> float:
        return half_square(X @ x[0] + x[1] - y)

    def build(cp: Any) -> Any:
        w, e = cp.Variable(d), cp.Variable(n)
        return 0.5 * cp.sum_squares(X @ w + e - y), [cp.norm1(w) <= radii[0], cp.norm1(e) <= radii[1]], [w, e]

    options = {"direction": "pairwise", "step": "line-search"}
    rows = [
        ours(f"pairwise, {rule}", objective, domains, value, best, seconds, selection=rule, **options)[0]
        for rule in ("full", "permuted", "gap")
    ]
    penalised = lambda c: half_square(both @ c - y) + n * alpha * np.abs(c).sum()  # noqa: E731
    return [*rows, by_tolerance("scikit-learn, Lasso on [X, I]", fit, penalised, best), *by_cvxpy(build, value, best)]


class RowsBall:
    """Matrices whose rows' Euclidean norms sum to at most a radius."""

    def __init__(self, shape: tuple[int, int], radius: float) -> None:
        self.shape = shape
        self.radius = radius

    def argmin(self, direction: np.ndarray) -> np.ndarray:
        norms = np.linalg.norm(direction, axis=1)
        row = norms.argmax()
        vertex = np.zeros(self.shape)
        if norms[row] > 0.0:
            vertex[row] = direction[row] * (-self.radius / norms[row])
        return vertex


def multi_task(seconds: float) -> list[Row]:
    data = load_digits()
    X = StandardScaler().fit_transform(data.data)
    Y = np.eye(10)[data.target]
    Y -= Y.mean(axis=0)
    alpha = 0.05

    def fit(tol: float) -> np.ndarray:
        return MultiTaskLasso(alpha=alpha, fit_intercept=False, tol=tol, max_iter=10**6).fit(X, Y).coef_.T

    def norms(W: np.ndarray) -> float:
        return float(np.linalg.norm(W, axis=1).sum())

    solution = fit(1e-14)
    radius, best = norms(solution), half_square(X @ solution - Y)
    # more examples than pixels: iterate on the Gram matrix, and give conic solvers the triangular factor
    preparing, (gram, cross) = cpu(lambda: (X.T @ X, X.T @ Y))
    constant, (Q, R) = half_square(Y), np.linalg.qr(X)

    def value(x: list[np.ndarray]) -> float:
        return 0.5 * float((x[0] * (gram @ x[0] - 2.0 * cross)).sum()) + constant

    objective = bcfw.objectives.Function(value, lambda x: [gram @ x[0] - cross], convex=True)

    def build(cp: Any) -> Any:
        W = cp.Variable(solution.shape)
        return 0.5 * cp.sum_squares(R @ W - Q.T @ Y), [cp.sum(cp.norm(W, axis=1)) <= radius], [W]

    options = {"selection": "full", "step": "line-search", "x0": [np.zeros(solution.shape)], "gap_every": 100}
    rows = [
        ours(d, objective, [RowsBall(solution.shape, radius)], value, best, seconds, direction=d, **options)[0]
        for d in ("fw", "pairwise", "blended")
    ]
    rows = [row._replace(points=[Point(preparing + spent, excess) for spent, excess in row.points]) for row in rows]
    penalised = lambda W: value([W]) + len(Y) * alpha * norms(W)  # noqa: E731
    return [*rows, by_tolerance("scikit-learn, MultiTaskLasso", fit, penalised, best), *by_cvxpy(build, value, best)]


# --- incomplete tables --------------------------------------------------------------------------------------------


class Table(NamedTuple):
    """A matrix of which some entries are seen."""

    truth: np.ndarray
    seen: np.ndarray

    def value(self, x: list[np.ndarray]) -> float:
        return half_square((x[0] - self.truth)[self.seen])

    def error(self, x: np.ndarray) -> float:
        """Root mean square of the errors of unseen entries."""
        return float(np.sqrt(((x - self.truth)[~self.seen] ** 2).mean()))

    def objective(self) -> Any:
        """Least squares with a matrix that selects the seen entries: a step costs the entries of the table."""
        entries = np.flatnonzero(self.seen)
        pick = sp.csr_matrix(
            (np.ones(len(entries)), entries, np.arange(len(entries) + 1)), (len(entries), self.seen.size)
        )
        return bcfw.objectives.LeastSquares(pick, self.truth[self.seen])


def soft_impute(table: Table, lam: float, thin_svd: Any, tol: float, max_iters: int) -> tuple[np.ndarray, np.ndarray]:
    """Fill in, shrink the singular values, repeat (Mazumder, Hastie and Tibshirani 2010).

    Returns
    -------
    X : the completed matrix
    trace : (n, 3) CPU seconds, penalised objective and nuclear norm after each iteration
    """
    X, trace, spent = np.zeros_like(table.truth), [], 0.0
    for _ in range(max_iters):
        began = time.process_time()
        U, s, V = thin_svd(np.where(table.seen, table.truth, X))
        s = np.maximum(s - lam, 0.0)
        X, before = (U * s) @ V, X
        moved = np.linalg.norm(X - before) / np.linalg.norm(X)
        spent += time.process_time() - began
        trace.append((spent, table.value([X]) + lam * s.sum(), s.sum()))
        if moved <= tol:
            break
    return X, np.array(trace)


def dense_svd(matrix: np.ndarray) -> Any:
    return np.linalg.svd(matrix, full_matrices=False)


def leading_svd(matrix: np.ndarray) -> Any:
    from scipy.sparse.linalg import svds

    return svds(matrix, k=20, random_state=0)


def complete(table: Table, lam: float, seconds: float, svd: Any, iters: int, directions: Any, **options: Any) -> Any:
    """Rows of soft-impute and ours, with the radius and the best value."""
    X, trace = soft_impute(table, lam, svd, 1e-10, iters)
    radius, best = float(trace[-1, 2]), table.value([X])
    least = trace[:, 1].min()
    points = [Point(spent, (penalised - least) / best) for spent, penalised, _ in trace[:-1]]
    rows = [Row("soft-impute", points, table.error(X))]
    ball = NuclearBall(table.truth.shape, radius, certify=options.pop("certify", True))
    for direction in directions:
        options |= {"selection": "full", "step": "line-search", "direction": direction}
        row, x = ours(direction, table.objective(), [ball], table.value, best, seconds, **options)
        rows.insert(-1, row._replace(error=table.error(x[0])))
    return rows, radius, best


def completion(seconds: float) -> list[Row]:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

    digits = load_digits().data
    table = Table(digits, np.random.default_rng(0).random(digits.shape) < 0.5)
    rows, _, _ = complete(table, 40.0, seconds, dense_svd, 1000, ["fw", "away"], gap_every=200)
    holes = np.where(table.seen, digits, np.nan)
    for imputer in (SimpleImputer(keep_empty_features=True), KNNImputer(), IterativeImputer(max_iter=5)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spent, filled = cpu(lambda imputer=imputer: imputer.fit_transform(holes), repeats=1)
        rows.append(Row(f"scikit-learn, {type(imputer).__name__} ({spent:.1f} s)", [], table.error(filled)))
    return rows


def completion_40(seconds: float) -> list[Row]:
    digits = load_digits().data[:40]
    table = Table(digits, np.random.default_rng(0).random(digits.shape) < 0.5)
    rows, radius, best = complete(table, 20.0, seconds, dense_svd, 3000, ["fw", "away", "blended"], gap_every=200)

    def build(cp: Any) -> Any:
        X = cp.Variable(digits.shape)
        distance = cp.sum_squares(cp.multiply(table.seen.astype(float), X - digits))
        return 0.5 * distance, [cp.normNuc(X) <= radius], [X]

    return [*rows, *by_cvxpy(build, table.value, best)]


def completion_kernel(seconds: float) -> list[Row]:
    kernel = rbf_kernel(load_digits().data / 16.0, gamma=0.05)
    table = Table(kernel, np.random.default_rng(0).random(kernel.shape) < 0.2)
    rows, _, _ = complete(table, 10.0, seconds, leading_svd, 60, ["fw"], gap_every=10**9, certify=False)
    return rows


PROBLEMS = {
    "lasso": lasso,
    "robust-lasso": robust_lasso,
    "multi-task": multi_task,
    "completion": completion,
    "completion-40": completion_40,
    "completion-kernel": completion_kernel,
}


def cells(row: Row) -> Iterator[str]:
    for target in TARGETS:
        times = [point.seconds for point in row.points if point.excess <= target]
        if times:
            yield f"{min(times):.2g}"
        else:
            yield f"({min(point.excess for point in row.points):.1g})" if row.points else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=["*"], help="names or patterns")
    parser.add_argument("--max-seconds", type=float, default=10.0, help="CPU seconds of one run of bcfw")
    options = parser.parse_args()
    if not HAS_CVXPY:
        print("The rows of cvxpy are left out, because it is not installed: pip install cvxpy")
    for name, problem in PROBLEMS.items():
        if any(fnmatch.fnmatch(name, pattern) for pattern in options.problems):
            rows = problem(options.max_seconds)
            print(f"\n### {name}\n\n| method |" + "".join(f" {target:g} |" for target in TARGETS) + " unseen error |")
            print("|---|" + "---|" * (len(TARGETS) + 1))
            for row in rows:
                error = "" if row.error is None else f"{row.error:.3g}"
                print(f"| {row.method} |" + "".join(f" {cell} |" for cell in cells(row)) + f" {error} |", flush=True)


if __name__ == "__main__":
    main()
