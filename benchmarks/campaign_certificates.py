"""Random small problems of all models, solvers and options: every certificate is recomputed from all outputs.

    nice python benchmarks/campaign_certificates.py [--count 2000] [--seed 0] [--only NUMBER]

Features are scaled by 0.001 to 10,000 and lam lies between 1e-6 and 10; there are sample weights, bounds, warm starts
from other solvers and other lam, and threads. All outputs of an example are listed, so that

- the primal value is computed again at the returned weights, and the dual value from the returned state;
- the certificate must enclose the optimum, which an interior-point method finds with a proof of its own accuracy;
- a run that says "converged" must have the gap that was asked for.

Tolerances follow from rounding: 1e-11 of the largest terms that the values are sums of. Runs that end as "stalled" are
listed, too: they count as failures if the gap is far above what rounding explains. Prints counts and every failure with
its number, which ``--only`` runs again; the exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bcfw
from bcfw.dual import snapshots

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from problems import (  # noqa: E402 - builders of problems whose mathematics is written in plain loops
    VARIANTS,
    Bits,
    Case,
    Pairs,
    SparsePairs,
    chain_case,
    drawn_truth,
    graph_case,
    matches,
    matching_case,
    multiclass_case,
    multilabel_case,
    random_box,
    random_cost,
    random_graph,
)

ROUNDING = 1e-11

#: A run may stall where the gap is below this share of the terms that rounding acts on.
STALL_ROUNDING = 1e-9


def build_multiclass(rng: np.random.Generator, scale: float) -> Case:
    K, F, n = rng.integers(2, 6), rng.integers(1, 6), rng.integers(1, 9)
    cost = random_cost(rng, K)
    model = bcfw.models.Multiclass(n_labels=int(K), cost=cost)
    return multiclass_case(
        "multiclass", model, scale * rng.standard_normal((n, F)), rng.integers(K, size=n), F, K, cost
    )


def build_chain(rng: np.random.Generator, scale: float) -> Case:
    K, F, lengths = int(rng.integers(2, 4)), int(rng.integers(1, 4)), rng.integers(1, 4, size=rng.integers(1, 6))
    X = [scale * rng.standard_normal((T, F)) for T in lengths]
    y = [rng.integers(K, size=T) for T in lengths]
    cost = random_cost(rng, K) if rng.random() < 0.5 else None
    return chain_case("chain", X, y, F, K, cost, bool(rng.integers(2)), bool(rng.integers(2)))


def build_multilabel(rng: np.random.Generator, scale: float) -> Case:
    L, F, n = int(rng.integers(2, 5)), int(rng.integers(1, 4)), int(rng.integers(1, 8))
    tree = [(int(rng.integers(b)), b) for b in range(1, L)] if rng.random() < 0.5 else None
    X, Y = scale * rng.standard_normal((n, F)), rng.integers(2, size=(n, L))
    return multilabel_case("multilabel", X, list(Y), F, L, tree, bool(rng.integers(2)))


def build_graph(rng: np.random.Generator, scale: float) -> Case:
    F, G = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    graphs = [random_graph(rng, V, rng.integers(6), F, G, False) for V in rng.integers(1, 6, size=rng.integers(1, 6))]
    X = [(scale * nodes, edges, scale * values) for nodes, edges, values in graphs]
    y = [rng.integers(2, size=len(nodes)) for nodes, _, _ in X]
    cost = random_cost(rng, 2)
    return graph_case("graph", bcfw.models.BinaryGraph(cost, normalize=bool(rng.integers(2))), X, y, F, G, cost)


def build_matching(rng: np.random.Generator, scale: float) -> Case:
    F, shapes = int(rng.integers(1, 4)), rng.integers(1, 4, size=(rng.integers(1, 6), 2))
    X = [scale * rng.standard_normal((*shape, F)) for shape in shapes]
    y = [drawn_truth(rng, tuple(shape)) for shape in shapes]
    return matching_case("matching", X, y, 0.5 + rng.random(), 0.5 + rng.random(), bool(rng.integers(2)))


def build_python(rng: np.random.Generator, scale: float) -> Case:
    K, F, n = int(rng.integers(2, 4)), int(rng.integers(1, 4)), int(rng.integers(1, 8))
    kind, cost = (Pairs, SparsePairs)[rng.integers(2)], random_cost(rng, K)
    model, plain = kind(K, cost), Pairs(K, cost)
    y = [tuple(int(k) for k in rng.integers(K, size=2)) for _ in range(n)]
    X = list(scale * rng.standard_normal((n, F)))
    return Case("python", model, X, y, lambda x, y: plain.outputs(), plain.features, plain.loss)


def build_compiled(rng: np.random.Generator, scale: float) -> Case:
    L, F, n = int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(1, 8))
    model = Bits(0.5 + rng.random(L), F)
    X, y = list(scale * rng.standard_normal((n, F))), list(rng.integers(2, size=(n, L)))

    def outputs(x: Any, y: Any) -> list[np.ndarray]:
        return [np.array(z) for z in np.ndindex(*(2,) * L)]

    return Case("compiled", model, X, y, outputs, lambda x, y: np.concatenate([bit * x for bit in y]), model.loss)


BUILDERS: list[Callable[[np.random.Generator, float], Case]] = [
    build_multiclass,
    build_chain,
    build_multilabel,
    build_graph,
    build_matching,
    build_python,
    build_compiled,
]


def draw_case(rng: np.random.Generator) -> Case:
    scale, lam = 10.0 ** rng.uniform(-3, 4), 10.0 ** rng.uniform(-6, 1)
    builder = BUILDERS[rng.integers(len(BUILDERS))]
    case = dataclasses.replace(builder(rng, scale), lam=lam)
    if rng.random() < 0.25:
        size = 10.0 ** rng.uniform(-2, 2) / scale
        low, high = random_box(rng, case.dim, free=0.4) if case.needs is None else (-rng.random(), rng.random())
        case = dataclasses.replace(case, bounds=(low * size, high * size))
    return case


def draw_weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    kind = rng.integers(4)
    if kind == 0:
        return 10.0 ** rng.uniform(-2, 2, size=n)
    if kind == 1:
        weights = rng.integers(4, size=n).astype(float)
        return weights if weights.any() else None
    return None


def draw_solver(rng: np.random.Generator, case: Case) -> Any:
    while True:
        solver = list(VARIANTS.values())[rng.integers(len(VARIANTS))] if rng.random() < 0.8 else bcfw.solvers.Auto()
        if matches(solver, case):
            return solver


def one_problem(number: int, seed: int) -> tuple[str, list[str], str]:
    """The status of the run, what is wrong, and a description."""
    rng = np.random.default_rng([seed, number])
    case = draw_case(rng)
    weights, tol = draw_weights(rng, len(case.y)), 10.0 ** rng.uniform(-6, -1)
    options: dict[str, Any] = {"sample_weight": weights, "n_jobs": int(rng.integers(1, 3)), "seed": number}
    if rng.random() < 0.3:
        lam = case.lam * float(rng.choice([0.1, 1.0, 10.0]))
        options["warm_start"] = case.few_passes(3, solver=draw_solver(rng, case), sample_weight=weights, lam=lam)
    solver = draw_solver(rng, case)
    result = case.train(solver=solver, tol=tol, max_passes=300, max_seconds=20, **options)
    wrong = check_result(case, weights, result, tol)
    about = f"{case.name}, {result.solver}, lam {case.lam:.3g}, tol {tol:.2g}, {result.summary()}"
    return result.status, wrong, about


def check_result(case: Case, weights: Any, result: bcfw.Result, tol: float) -> list[str]:
    """What is wrong with a result, by the enumerated problem."""
    objective, last = case.enumerated(weights), result if result.last is None else result.last
    v, ell = result.snapshot["w"], float(result.snapshot["ell"].sum())
    if not np.isfinite([result.primal, result.dual, result.gap, ell, *result.w, *v]).all():
        return ["not finite"]
    size = largest_terms(objective, [result.w, v])
    room = ROUNDING * size
    # P(0) is that of the nearest weights that the model allows.
    zero = objective.primal(np.zeros(case.dim) if case.needs is None else np.clip(0.0, *case.needs))
    problem = case.problem(weights)
    snapshots.restore(problem, result.snapshot)
    checks = {
        "primal": abs(objective.primal(result.w) - result.primal) <= room,
        "gap": abs(result.primal - result.dual - result.gap) <= room and result.gap >= -room,
        "dual of the state": objective.dual(v, ell) <= last.dual + room,  # less if an earlier state was better
        "state and blocks": abs(problem.dual_value() - objective.dual(v, ell)) <= room,
        "bounds": bool(np.all(case.clip(result.w) == result.w)),
        "certified": result.certified,
        "converged": result.status != "converged" or result.gap <= tol * zero * (1.0 + 1e-9) + room,
        "stalled": result.status != "stalled" or result.gap <= STALL_ROUNDING * size,
    }
    best = optimum(objective)
    if best is not None:
        checks["dual above the optimum"] = result.dual <= best.primal + room
        checks["primal below the optimum"] = result.primal >= best.dual - room
    return [name for name, right in checks.items() if not right]


def largest_terms(objective: Any, points: list[np.ndarray]) -> float:
    """The size of the terms that primal and dual values at these points are sums of."""
    terms = [0.0]
    for w in points:
        terms.append(objective.lam * float(w @ w))
        for psi, loss in zip(objective.psi, objective.loss, strict=True):
            terms.append(float(np.max(np.abs(loss) + np.abs(psi) @ np.abs(w))))
    return max(terms)


def optimum(objective: Any) -> Any:
    """The optimum with its proof; None where the interior-point method fails on such scales."""
    try:
        best = objective.optimum
    except np.linalg.LinAlgError:
        return None
    return best if np.isfinite([best.primal, best.dual]).all() else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="number of a single problem")
    options = parser.parse_args()
    numbers = range(options.count) if options.only is None else [options.only]
    statuses: collections.Counter[str] = collections.Counter()
    failures: collections.Counter[str] = collections.Counter()
    for number in numbers:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                status, wrong, about = one_problem(number, options.seed)
        except Exception as error:
            status, wrong, about = "exception", ["exception"], f"{type(error).__name__}: {error}"
            if options.only is not None:
                traceback.print_exc()
        statuses[status] += 1
        failures.update(wrong)
        if wrong:
            print(f"problem {number}: {', '.join(wrong)} ({about})", flush=True)
    print(f"{len(numbers)} problems (seed {options.seed}): {dict(statuses)}; failures: {dict(failures) or 'none'}")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
