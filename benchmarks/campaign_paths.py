"""Regularisation paths, continued paths, grids and estimators that choose lam, against quadratic programs at any lam.

    nice python benchmarks/campaign_paths.py [--count 2000] [--seed 0] [--log FILE] [--only NUMBER]

Models, scales, weights and bounds are those of campaign_train.py. At random lam and at breakpoints the weights of a
path are put into the enumerated objective, whose optimum an interior-point method finds: the bound of a certified path
must not be smaller than the distance to the optimum, and not larger than eps, which is promised. A path that is
stopped, saved and continued goes through the same checks. Validation losses and their best lam are computed again from
predictions. The estimators must choose the lam that the scores of paths over the same folds say, and their last
training must have a certificate that is true.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import bcfw
import campaign
import random_cases
from campaign_train import ROUNDING, largest_terms, optimum
from random_cases import count, flip, problems

#: Models whose weights solvers of paths can find; those in Python only sometimes, as they are slow.
NAMES = [name for name in random_cases.KINDS if "Python" not in name]


def one_problem(number: int, seed: int) -> campaign.Outcome:
    random_cases.forget()
    rng = np.random.default_rng([seed, number])
    which = rng.random()
    if which < 0.15:
        return one_search(rng, number)
    if which < 0.17:
        return without_loss(rng)
    scale = min(random_cases.draw_scale(rng), 1e4)
    name, case = random_cases.draw(rng, scale, NAMES if flip(rng, 0.9) else ["Python", "Python, heuristic"])
    if flip(rng, 0.2):
        case = random_cases.draw_bounds(rng, case, scale)
    weights = random_cases.draw_weights(rng, len(case.y))
    run = one_grid if which < 0.4 else one_path
    campaign.trying("grids" if which < 0.4 else f"paths: {name}")
    return run(rng, case, name, weights, scale, number)


# --- paths --------------------------------------------------------------------------------------------------------


def draw_solver(rng: np.random.Generator, case: problems.Case) -> Any:
    """Mostly the default."""
    solvers = bcfw.solvers
    some = [solvers.BCFW(), solvers.BCFW(step="pairwise"), solvers.MultiPlane(clock="count"), solvers.BlockSolves()]
    some += [solvers.BCFW(sampling="gap", step="away", cache="gap"), solvers.MultiPlane(clock="count", acceleration=10)]
    chosen = None if flip(rng, 0.6) else some[rng.integers(len(some))]
    return chosen if chosen is None or problems.matches(chosen, case) else None


def one_path(
    rng: np.random.Generator, case: problems.Case, name: str, weights: Any, scale: float, number: int
) -> campaign.Outcome:
    exact = flip(rng, 0.8)
    options: dict[str, Any] = {
        "exact": exact,
        "tol": 10.0 ** rng.uniform(-2.5, -0.5),
        "solver": draw_solver(rng, case),
        "lam_min": max(scale**2, 1e-100) * 10.0 ** rng.uniform(-4, -1),
        "kappa": None if flip(rng) else float(rng.uniform(0.2, 0.95)),
        "max_passes": 300,
        "max_seconds": 1,
        "sample_weight": weights,
        "bounds": case.bounds,
        "seed": number,
        "n_jobs": count(rng, 1, 2),
    }
    if flip(rng, 0.2):
        options["eps"] = options["tol"] * case.enumerated(weights).primal(np.zeros(case.dim))
        options["tol"] = None
    kind = f"paths: {name}" if exact else "heuristic paths"
    model = case.model if weights is None else case.settled or case.model
    given = model, case.X, case.y
    if flip(rng, 0.3):
        kind, path = "continued paths", continued(rng, given, options)
    else:
        path = bcfw.regularization_path(*given, **options)
    wrong = check_path(rng, case, weights, path) + check_validation(rng, case, path)
    about = f"{case.name}, {path.solver}, eps {path.eps:.3g}, {path.summary()}"
    return campaign.Outcome(kind, path.status, wrong, about)


def continued(rng: np.random.Generator, given: tuple[Any, Any, Any], options: dict[str, Any]) -> Any:
    """A path that ends too early, for one of several reasons, and its continuation, from itself or from a file."""
    early = [
        {"lam_min": 30.0 * options["lam_min"]},
        {"max_passes": 3.0},
        {"callbacks": [lambda info: info.n_passes > 2]},
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "path.npz"
        first = bcfw.regularization_path(*given, checkpoint=file, **{**options, **early[rng.integers(3)]})
        if first.status == "complete":
            return first
        return bcfw.regularization_path(*given, warm_start=file if flip(rng) else first, **options)


def check_path(rng: np.random.Generator, case: problems.Case, weights: Any, path: Any) -> list[str]:
    """Bounds, gaps and weights at breakpoints and between them."""
    lambdas, wrong = path.lambdas, set()
    if not (np.all(np.diff(lambdas) < 0.0) and len(path.gaps) == len(path.norms) == len(lambdas)):
        return ["breakpoints"]
    end = path.end or lambdas[-1] * 1e-3
    tried = [float(lam) for lam in np.exp(rng.uniform(np.log(end), np.log(3.0 * lambdas[0]), size=2))]
    tried.append(float(lambdas[rng.integers(len(lambdas))]))
    if path.status in ("complete", "lam_min"):
        tried.append(end)
    for lam in tried:
        wrong |= check_lam(case, weights, path, lam, path.status in ("complete", "lam_min", "max_passes", "stopped"))
    norms = [np.linalg.norm(path.weights(float(lam))) for lam in lambdas[:3]]
    if not np.allclose(norms, path.norms[:3], rtol=1e-9, atol=0.0):
        wrong.add("norms")
    return sorted(wrong)


def check_lam(case: problems.Case, weights: Any, path: Any, lam: float, promised: bool) -> set[str]:
    """What is wrong at one lam."""
    objective, w = case.enumerated(weights, lam), path.weights(lam)
    if not np.isfinite(w).all():
        return {"weights not finite"}
    room, bound, found = ROUNDING * largest_terms(objective, [w]), path.bound(lam), objective.primal(w)
    best, wrong = optimum(objective), set()
    if best is not None:
        if found < best.dual - room:
            wrong.add("primal below the optimum")
        if path.certified and bound < found - best.primal - room:
            wrong.add("bound too small")
    # A path that was cut off may have come to its last breakpoint without solving it.
    solved = path.status in ("complete", "lam_min") or lam > path.lambdas[-1]
    if promised and solved and len(path.lambdas) > 1 and bound > path.eps * (1.0 + 1e-9) + room:
        wrong.add("bound above eps")
    if not np.all(np.abs(objective.clip(w) - w) <= 1e-12 * np.abs(w)):
        wrong.add("bounds on w")
    return wrong


def check_validation(rng: np.random.Generator, case: problems.Case, path: Any) -> list[str]:
    """Losses of predictions, and the largest lam with the smallest; on weighted examples."""
    if not case.model.exact_oracle or any(np.min(y) < 0 for y in case.y if case.settled is not None):
        return []
    share = rng.random(len(case.y)) + 0.1
    found = path.validate(case.X, case.y, sample_weight=share)
    lambdas = path.lambdas
    losses = []
    for lam in lambdas[:5]:
        predicted = path.predict(float(lam), case.X)
        each = [case.delta(case.y[i], predicted[i]) for i in range(len(case.y))]
        losses.append(float(share @ each / share.sum()))
    right = np.allclose(found.losses[:5], losses, rtol=1e-9, atol=1e-12)
    smallest = found.losses <= found.losses.min() + 1e-12 * np.abs(found.losses).max()
    right &= found.best == lambdas[np.flatnonzero(smallest)[0]] and found.interval[0] <= found.best <= found.interval[1]
    return [] if right else ["validate"]


# --- grids --------------------------------------------------------------------------------------------------------


def one_grid(
    rng: np.random.Generator, case: problems.Case, name: str, weights: Any, scale: float, number: int
) -> campaign.Outcome:
    lambdas = max(scale**2, 1e-100) * 10.0 ** rng.uniform(-3, 1, size=count(rng, 1, 4))
    tol, start = 10.0 ** rng.uniform(-4, -1), [("shrink"), "keep", None][rng.integers(3)]
    model = case.model if weights is None else case.settled or case.model
    grid = bcfw.grid_path(
        model,
        case.X,
        case.y,
        lambdas,
        warm_start=start,
        tol=tol,
        solver=draw_solver(rng, case),
        max_passes=200 * len(lambdas),
        max_seconds=1,
        bounds=case.bounds,
        sample_weight=weights,
        seed=number,
    )
    wrong = set(check_validation(rng, case, grid))
    if not np.array_equal(grid.lambdas, np.sort(lambdas)[::-1][: len(grid.lambdas)]):
        wrong.add("breakpoints")
    for lam in grid.lambdas:
        solved = grid.status == "complete" and case.model.exact_oracle
        wrong |= check_lam(case, weights, grid, float(lam), False)
        if solved and grid.bound(float(lam)) > grid.eps * (1.0 + 1e-9):
            wrong.add("bound above eps")
    about = f"{case.name}, {name}, {grid.solver}, warm_start {start}, tol {tol:.2g}, {grid.summary()}"
    return campaign.Outcome("grids", grid.status, sorted(wrong), about)


def without_loss(rng: np.random.Generator) -> campaign.Outcome:
    """One label alone: P(0) is zero, and w = 0 is the answer for every lam."""
    campaign.trying("paths without loss")
    n = count(rng, 1, 4)
    X, y, model = rng.standard_normal((n, 2)), np.zeros(n, int), bcfw.models.Multiclass(1)
    if flip(rng):
        path = bcfw.regularization_path(model, X, y, **[{"tol": 0.1}, {"eps": 0.1}][rng.integers(2)])
    else:
        path = bcfw.grid_path(model, X, y, [0.1, 0.01])
    right = path.status == "complete" and not path.norms.any() and not path.gaps.any()
    return campaign.Outcome("paths without loss", path.status, [] if right else ["not zero"], path.summary())


# --- estimators ---------------------------------------------------------------------------------------------------


def one_search(rng: np.random.Generator, number: int) -> campaign.Outcome:
    """An estimator with folds of its own, and the same search by hand."""
    kind = str(rng.choice(["MulticlassSVMCV", "ChainSVMCV", "MultilabelSVMCV", "StructuralSVMCV"]))
    campaign.trying(kind)
    K, F, n = count(rng, 2, 3), count(rng, 1, 3), count(rng, 6, 9)
    scale = 10.0 ** rng.uniform(-1, 1)
    if kind == "MulticlassSVMCV":
        X: Any = scale * rng.standard_normal((n, F))
        y: Any = np.append(np.arange(K), rng.integers(K, size=n - K))
        model: Any = bcfw.models.Multiclass(K)
        estimator: Any = bcfw.MulticlassSVMCV(fit_intercept=False)
        case = problems.multiclass_case(kind, model, X, y, F, K, 1.0 - np.eye(K))
    elif kind == "MultilabelSVMCV":
        X, y = scale * rng.standard_normal((n, F)), rng.integers(2, size=(n, K))
        y[:2] = [[0] * K, [1] * K]
        estimator, model = bcfw.MultilabelSVMCV(fit_intercept=False), bcfw.models.Multilabel()
        case = problems.multilabel_case(kind, X, y, F, K, None, True)
    else:
        lengths = np.append(K, rng.integers(1, 4, size=n - 1))
        X, y = [scale * rng.standard_normal((T, F)) for T in lengths], [rng.integers(K, size=T) for T in lengths]
        y[0] = np.arange(K)
        model = bcfw.models.Chain(K)
        estimator = bcfw.ChainSVMCV() if kind == "ChainSVMCV" else bcfw.StructuralSVMCV(model, check_model=False)
        case = problems.chain_case(kind, X, y, F, K, None, True, True)
    always = np.arange(K if kind == "MulticlassSVMCV" else 2 if kind == "MultilabelSVMCV" else 1)
    others = rng.permutation(np.arange(len(always), n))
    parts = np.array_split(others, 2)
    folds = [(np.concatenate([always, parts[1 - k]]), parts[k]) for k in range(2)]
    weights = None if flip(rng) else rng.integers(1, 4, size=n).astype(float)
    estimator.set_params(cv=folds, lam_min=scale**2 * 1e-2, eps=0.2, tol=1e-3, random_state=number % 1000)
    estimator.fit(X, y, sample_weight=weights)
    wrong = check_search(estimator, case, model, folds, weights)
    return campaign.Outcome(
        kind, estimator.result_.status, wrong, f"lam {estimator.lam_:.3g}, {estimator.result_.summary()}"
    )


def check_search(estimator: Any, case: problems.Case, model: Any, folds: Any, weights: Any) -> list[str]:
    """The chosen lam by paths and scores of our own; the last training by the enumerated problem.

    Estimators of examples with one row each put weighted examples into an order of their own, which changes the paths.
    """
    if weights is not None and case.name in ("MulticlassSVMCV", "MultilabelSVMCV"):
        found = estimator.validation_
        mean = estimator.scores_.mean(axis=0)
        best = float(found.lambdas[np.flatnonzero(mean >= mean.max() - 1e-12)[0]])
        return [*check_chosen(estimator, best), *check_training(estimator, case, weights)]
    paths = []
    for train, _ in folds:
        part, weight = case.take(train), None if weights is None else weights[train]
        options = {"tol": 0.2, "lam_min": estimator.lam_min, "seed": estimator.random_state, "sample_weight": weight}
        paths.append(bcfw.regularization_path(model, part.X, part.y, **options))
    lambdas = np.unique(np.concatenate([path.lambdas for path in paths]))[::-1]
    lambdas = lambdas[lambdas >= max(path.end for path in paths)]
    scores = np.zeros((len(folds), len(lambdas)))
    for k, (path, (_, test)) in enumerate(zip(paths, folds, strict=True)):
        part, weight = case.take(test), np.ones(len(test)) if weights is None else weights[test]
        for j, lam in enumerate(lambdas):
            scores[k, j] = score(case, path.predict(float(lam), part.X), part.y, weight)
    mean = scores.mean(axis=0)
    best = float(lambdas[np.flatnonzero(mean >= mean.max() - 1e-12)[0]])
    wrong = [] if np.array_equal(estimator.validation_.lambdas, lambdas) else ["breakpoints"]
    if estimator.scores_.shape != scores.shape or not np.allclose(estimator.scores_, scores, rtol=0.0, atol=1e-12):
        wrong.append("scores")
    return [*wrong, *check_chosen(estimator, best), *check_training(estimator, case, weights)]


def check_chosen(estimator: Any, best: float) -> list[str]:
    return [] if estimator.lam_ == best == estimator.result_.lam else ["chosen lam"]


def check_training(estimator: Any, case: problems.Case, weights: Any) -> list[str]:
    """The certificate of the last training."""
    result, objective = estimator.result_, case.enumerated(weights, estimator.lam_)
    reference, room = optimum(objective), ROUNDING * largest_terms(objective, [result.w])
    checks = {
        "certified": result.certified,
        "primal": abs(objective.primal(result.w) - result.primal) <= room,
        "dual above the optimum": reference is None or result.dual <= reference.primal + room,
        "primal below the optimum": reference is None or result.primal >= reference.dual - room,
    }
    return [name for name, right in checks.items() if not right]


def score(case: problems.Case, found: Any, truth: Any, weight: np.ndarray) -> float:
    """What the estimators say by default: weighted shares of labels, of label sets, or one minus the mean loss."""
    if case.name == "ChainSVMCV":
        right = np.array([float(np.sum(found[i] == truth[i])) for i in range(len(truth))])
        return float(weight @ right / (weight @ [len(one) for one in truth]))
    if case.name == "StructuralSVMCV":
        return 1.0 - float(weight @ [case.delta(truth[i], found[i]) for i in range(len(truth))] / weight.sum())
    right = np.array([float(np.all(found[i] == truth[i])) for i in range(len(truth))])
    return float(weight @ right / weight.sum())


if __name__ == "__main__":
    sys.exit(campaign.main(__doc__, one_problem))
