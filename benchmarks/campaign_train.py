"""bcfw.train on random small problems of all models, by all solvers: every certificate is recomputed from all outputs.

    nice python benchmarks/campaign_train.py [--count 2000] [--seed 0] [--log FILE] [--only NUMBER]

What is drawn: the model with its options, dense, sparse or single-precision features of scales from 1e-160 to 1e8
(mostly 0.001 to 10,000), lam from 1e-6 to 10, sample weights (zero, too), bounds, the solver with any of its options,
tol (zero, too), warm starts from other solvers and other lam, runs in legs that are stopped and continued, callbacks
that stop, threads. All outputs of an example are listed, so that

- the primal value is computed again at the returned weights, and the dual value from the returned state;
- the certificate must enclose the optimum, which an interior-point method finds with a proof of its own accuracy;
- "converged" must mean that the gap is what was asked for, and "stalled" that rounding explains the gap;
- no certified result may be worse than w = 0, and a warm start never loses dual value;
- bounds must hold, and predictions must be the best of all outputs.

With input kernels and joint kernels, the reference has explicit features with these inner products. Tolerances follow
from rounding: 1e-11 of the largest terms that the values are sums of.
"""

from __future__ import annotations

import dataclasses
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import bcfw
import campaign
import random_cases
from bcfw.dual import snapshots
from bcfw.solvers import SOLVERS
from random_cases import count, flip, problems

ROUNDING = 1e-11

#: How far the dual value of a saved v may be from that of its blocks, relative to its terms.
DRIFT = 1e-8

#: A run may stall where the gap is below this share of the terms that rounding acts on.
STALL_ROUNDING = 1e-9

#: For checkpoints.
FOLDER = tempfile.TemporaryDirectory()

#: Passes at most; each costs a thousand times as much for a model that is written in Python.
PASSES = {False: 300, True: 40}


@dataclasses.dataclass
class Trial:
    """A problem, what it is in explicit features, its sample weights, and how a result becomes explicit weights."""

    case: problems.Case
    explicit: problems.Case
    sample_weight: Any
    weights_of: Any = None

    @property
    def objective(self) -> Any:
        return self.explicit.enumerated(self.sample_weight)

    def weights(self, result: bcfw.Result) -> np.ndarray:
        return np.asarray(result.w if self.weights_of is None else self.weights_of(result, np.asarray))

    @property
    def masses(self) -> float:
        """With kernels, for rounding: coefficients are sums of masses times c_i / lam, which kernel values multiply."""
        if self.weights_of is None:
            return 0.0
        parts = zip(self.objective.c, self.objective.psi, strict=True)
        return 1e-3 * max(float(c / self.case.lam * np.max(np.sum(psi**2, axis=1))) for c, psi in parts)

    def points(self, result: bcfw.Result) -> list[np.ndarray]:
        """What rounding acts on: the weights and the dual point, or the sizes of what weights are sums of."""
        if self.weights_of is not None:
            return [self.weights_of(result, np.abs)]
        return [result.w, *([result.snapshot["w"]] if result.snapshot else [])]


# --- drawing ------------------------------------------------------------------------------------------------------


def draw_solver(rng: np.random.Generator, case: problems.Case) -> Any:
    """A solver with random options that the problem can be solved by."""
    if flip(rng, 0.15):
        return bcfw.solvers.Auto()
    kinds = [kind for kind in SOLVERS.values() if kind().forms_weights]
    while True:
        kind = kinds[rng.integers(len(kinds))]
        options = {name: draw_option(rng, name, option) for name, option in kind._options.items() if flip(rng, 0.6)}
        try:
            solver = kind(**options)
            if problems.matches(solver, case):
                return solver
        except bcfw.OptionError:
            continue


NUMBERS: dict[str, list[Any]] = {
    "gap_every": [1, 2, 3, 10],
    "block_size": [1, 2, 3, 10],
    "max_labelings": [1, 2, 5, 50],
    "inactive": [1, 3, 10],
    "acceleration": [0, 2, 10, "features"],
    "passes": [1, 3, "auto"],
    "cache_F": [0.5, 4.0],
    "cache_nu": [0.2, 1.0],
    "store_cost": [0.1, 1.0],
}


def draw_option(rng: np.random.Generator, name: str, option: Any) -> Any:
    if name in NUMBERS:
        return NUMBERS[name][rng.integers(len(NUMBERS[name]))]
    values = problems.option_values(name, option)
    return values[rng.integers(len(values))]


def draw_trial(rng: np.random.Generator) -> tuple[str, Trial, Any]:
    """The kind, the problem and the solver."""
    scale, lam, special = random_cases.draw_scale(rng), 10.0 ** rng.uniform(-6, 1), rng.random()
    if special < 0.06:
        return draw_input_kernel(rng, min(scale, 100.0), lam)
    if special < 0.10:
        return draw_joint_kernel(rng, min(scale, 100.0), lam)
    kind, case = random_cases.draw(rng, scale)
    case = dataclasses.replace(case, lam=lam)
    if flip(rng, 0.25):
        case = random_cases.draw_bounds(rng, case, scale)
    weights = random_cases.draw_weights(rng, len(case.y))
    return kind, Trial(case, case, weights), draw_solver(rng, case)


def draw_input_kernel(rng: np.random.Generator, scale: float, lam: float) -> tuple[str, Trial, Any]:
    """Multiclass or Chain with a kernel; and with explicit features whose inner products are the kernel's values."""
    K, F, with_cost = count(rng, 2, 3), count(rng, 1, 4), flip(rng)
    cost = problems.random_cost(rng, K) if with_cost else 1.0 - np.eye(K)
    lengths = rng.integers(1, 3, size=count(rng, 1, 5))
    rows = rng.standard_normal((int(lengths.sum()), F))
    sharpness, bias = 10.0 ** rng.uniform(-1, 1), float(rng.choice([0.0, 0.7]))
    kind = str(rng.choice(["linear", "rbf", "poly"]))
    in_range = max(scale, 1e-100)  # its square and the inverse of its square are numbers of floating point
    rows, gamma = (scale if kind == "linear" else in_range) * rows, sharpness / in_range**2
    dots = rows @ rows.T
    squares = np.diag(dots)
    gram = {
        "linear": dots,
        "rbf": np.exp(-gamma * np.maximum(squares[:, None] + squares - 2.0 * dots, 0.0)),
        "poly": (gamma * dots + 1.0) ** 2,
    }[kind] + bias**2
    values, vectors = np.linalg.eigh(gram)
    explicit, N = vectors * np.sqrt(np.maximum(values, 0.0)), len(rows)
    if flip(rng):
        y: Any = rng.integers(K, size=N)
        model = bcfw.models.Multiclass(n_labels=K, cost=cost if with_cost else None)
        case, same = (problems.multiclass_case("", model, X, y, X.shape[1], K, cost) for X in (rows, explicit))
    else:
        y, ends = [rng.integers(K, size=T) for T in lengths], np.cumsum(lengths)[:-1]
        options = cost if with_cost else None, flip(rng), flip(rng)
        parts = (np.split(rows, ends), F), (np.split(explicit, ends), N)
        case, same = (problems.chain_case("", X, y, width, K, *options) for X, width in parts)
    weights = random_cases.draw_weights(rng, len(case.y))
    given = {"linear": {}, "rbf": {"gamma": gamma}, "poly": {"gamma": gamma, "degree": 2, "coef0": 1.0}}[kind]
    step = str(rng.choice(["auto", "solve", "fw", "batch"] if isinstance(y, np.ndarray) else ["auto", "fw", "batch"]))
    if step == "fw":
        given["sampling"] = str(rng.choice(["permuted", "uniform", "cyclic", "gap", "max-gap"]))
    solver = bcfw.solvers.KernelBCFW(kernel=kind, bias=bias, step=step, **given)

    def weights_of(result: bcfw.Result, each: Any) -> np.ndarray:
        found = result.kernel_weights
        return np.append((each(explicit[found.support]).T @ each(found.coefficients)).ravel(), each(found.others))

    case, same = dataclasses.replace(case, lam=lam), dataclasses.replace(same, lam=lam)
    return "input kernels", Trial(case, same, weights, weights_of), solver


class Joint(bcfw.JointKernelModel):
    """The mathematics of a case with the inner product of its features as a kernel; inputs are (x, y_true)."""

    def __init__(self, case: problems.Case) -> None:
        self.case = case

    def joint_kernel(self, pairs: Any, others: Any) -> Any:
        A, B = (np.array([self.case.phi(x[0], y) for x, y in some]) for some in (pairs, others))
        return A @ B.T

    def loss(self, y_true: Any, y: Any) -> float:
        return self.case.delta(y_true, y)

    def outputs(self, x: Any) -> Any:
        return self.case.outputs(*x)


class JointWithSlack(Joint):
    """With slack rescaling."""

    slack_rescaling = True


def draw_joint_kernel(rng: np.random.Generator, scale: float, lam: float) -> tuple[str, Trial, Any]:
    names = ["Multiclass", "Multiclass, slack", "Multilabel", "Matching", "Python", "Python, slack"]
    _, base = random_cases.draw(rng, scale, names)
    base = dataclasses.replace(base, lam=lam)
    weights = random_cases.draw_weights(rng, len(base.y))
    model = (JointWithSlack if base.slack else Joint)(base)
    case = dataclasses.replace(base, model=model, X=list(base.examples()), y=[base.y[i] for i in range(len(base.y))])
    options = {"step": str(rng.choice(["fw", "batch"]))} if flip(rng) else {}
    solver = bcfw.solvers.KernelBCFW(kernel="joint", **options) if flip(rng) else bcfw.solvers.Auto()

    def weights_of(result: bcfw.Result, each: Any) -> np.ndarray:
        found, w = result.kernel_weights, np.zeros(base.dim)
        for (x, y), beta in zip(found.support, found.coefficients, strict=True):
            w += each(beta * base.phi(x[0], y))
        return w

    return "joint kernels", Trial(case, base, weights, weights_of), solver


# --- running ------------------------------------------------------------------------------------------------------


def one_problem(number: int, seed: int) -> campaign.Outcome:
    random_cases.forget()
    rng = np.random.default_rng([seed, number])
    kind, trial, solver = draw_trial(rng)
    campaign.trying(kind)
    weights = trial.sample_weight
    case, tol = trial.case, 0.0 if flip(rng, 0.1) else 10.0 ** rng.uniform(-6, -1)
    slow = not problems.routines_of(case.model).compiled
    options: dict[str, Any] = {"sample_weight": weights, "seed": number, "tol": tol, "solver": solver}
    options |= {"n_jobs": count(rng, 1, 2), "max_passes": PASSES[slow], "max_seconds": 5}
    chosen = solver.resolve(case.problem(weights)) if isinstance(solver, bcfw.solvers.Auto) else solver
    start, wrong = None, []
    if flip(rng, 0.3) and chosen.can_resume and trial.weights_of is None:
        start, options["warm_start"] = draw_start(rng, case, weights, slow)
    elif flip(rng, 0.15):
        options["callbacks"] = [stop_after(count(rng, 0, 4))]
    elif (
        flip(rng, 0.15) and chosen.can_resume and chosen.can_checkpoint and getattr(solver, "clock", "count") == "count"
    ):
        wrong += check_legs(rng, trial, {**options, "max_passes": min(30, PASSES[slow])})
    result = case.train(**options)
    wrong += check_result(trial, result, tol) + check_predictions(trial, result)
    if start is not None:
        wrong += check_start(case, weights, start, result)
    given = "".join(f", {name}" for name in ("warm_start", "callbacks") if name in options)
    about = f"{result.solver}, lam {case.lam:.3g}, tol {tol:.2g}, box {case.box is not None}{given}, {result.summary()}"
    return campaign.Outcome(kind, result.status, wrong, about)


def draw_start(rng: np.random.Generator, case: problems.Case, weights: Any, slow: bool) -> tuple[bcfw.Result, Any]:
    """A short run of another solver, perhaps at another lam; and where to go on from, the result or its checkpoint."""
    file = Path(FOLDER.name) / "start.npz" if flip(rng, 0.3) else None
    while True:
        solver = draw_solver(rng, case)
        if solver.can_checkpoint:
            lam = case.lam * float(rng.choice([0.1, 1.0, 1.0, 10.0]))
            passes = 3 if slow else count(rng, 1, 10)
            options = {"solver": solver, "sample_weight": weights, "lam": lam}
            start = case.few_passes(passes, checkpoint=None if file is None else (file, 0.0), **options)
            return start, file or start


def stop_after(passes: int) -> Any:
    return lambda info: info.n_passes >= passes


def check_legs(rng: np.random.Generator, trial: Trial, options: dict[str, Any]) -> list[str]:
    """A run in legs, and one that goes on from a checkpoint that the first one had: they must end alike."""
    if isinstance(options["solver"], bcfw.solvers.Auto) and not trial.case.name.startswith(("multiclass", "chain")):
        return []  # may read the clock
    options = {**options, "n_jobs": 1}
    with tempfile.TemporaryDirectory() as folder:
        path, kept = Path(folder) / "run.npz", Path(folder) / "kept.npz"
        passes, when = count(rng, 2, 5), count(rng, 2, 12)

        def keep(info: Any) -> None:
            if path.exists() and info.n_passes <= when:
                shutil.copy(path, kept)

        whole = trial.case.train(checkpoint=bcfw.Legs(path, passes), callbacks=[keep], **options)
        if not kept.exists():
            return []
        again = trial.case.train(checkpoint=bcfw.Legs(kept, passes), warm_start=kept, **options)
    figures = [[one.primal, one.dual, one.gap] for one in (whole, again)]
    same = np.array_equal(*figures, equal_nan=True) and np.array_equal(whole.w, again.w)
    return [] if same and whole.status == again.status else ["legs"]


# --- checking -----------------------------------------------------------------------------------------------------


def check_result(trial: Trial, result: bcfw.Result, tol: float) -> list[str]:
    """What is wrong with a result, by the enumerated problem."""
    case, objective, w = trial.case, trial.objective, trial.weights(result)
    if not np.isfinite(w).all():
        return ["weights not finite"]
    zero = objective.primal(objective.clip(np.zeros(objective.dim)))
    best = optimum(objective)
    size = largest_terms(objective, trial.points(result)) + trial.masses
    room = ROUNDING * size
    checks = {"bounds": bool(np.all(objective.clip(w) == w))}
    if not result.solver.certifies:
        checks["primal"] = primal_is_right(result, objective.primal(w), room)
        checks["uncertified"] = not result.certified and bool(np.isnan([result.dual, result.gap]).all())
    elif not np.isfinite([result.primal, result.dual, result.gap]).all():
        checks["finite"] = False
    else:
        checks |= check_gap(result, objective.primal(w), room)
        checks |= {
            "certified": result.certified or not case.model.exact_oracle,
            "converged": result.status != "converged" or result.gap <= tol * zero * (1.0 + 1e-9) + room,
            "stalled": result.status != "stalled" or result.gap <= STALL_ROUNDING * size,
            "worse than w = 0": not case.model.exact_oracle or result.primal <= zero + room,
            "a dual that fell": not result.solver.monotone or not_falling(result.history["dual"], room),
        }
        if trial.weights_of is None:
            checks |= check_state(trial, result, room)
        if best is not None:
            checks["dual above the optimum"] = result.dual <= best.primal + room
    if best is not None:
        checks["primal below the optimum"] = objective.primal(w) >= best.dual - room
    return [name for name, right in checks.items() if not right]


def primal_is_right(result: bcfw.Result, primal: float, room: float) -> bool:
    """Whether the reported value is that of the weights; a heuristic oracle may find less, or prove a larger bound."""
    difference = result.primal - primal
    if result.model.exact_oracle:
        return abs(difference) <= room
    return difference >= -room if result.certified else difference <= room


def check_gap(result: bcfw.Result, primal: float, room: float) -> dict[str, bool]:
    """Primal value and gap."""
    gap = abs(result.primal - result.dual - result.gap) <= room and result.gap >= 0.0
    return {"primal": primal_is_right(result, primal, room), "gap": gap}


def not_falling(values: np.ndarray, room: float) -> bool:
    return bool(np.all(np.diff(values) >= -room))


def check_state(trial: Trial, result: bcfw.Result, room: float) -> dict[str, bool]:
    """The dual state: its value is not above what was reported, and not another one by its blocks."""
    if not result.snapshot:
        return {}
    last = result if result.last is None else result.last
    v, ell = result.snapshot["w"], float(result.snapshot["ell"].sum())
    problem = trial.case.problem(trial.sample_weight)
    snapshots.restore(problem, result.snapshot)
    found = trial.objective.dual(v, ell)
    # Accelerated steps multiply v by 1 + ratio, and its rounding with it; what is restored is computed from the blocks.
    drift = room + DRIFT * (abs(ell) + trial.objective.lam * float(v @ v))
    return {
        "dual of the state": found <= last.dual + room,  # less if an earlier state was better
        "state and blocks": abs(problem.dual_value() - found) <= drift,
    }


def check_start(case: problems.Case, weights: Any, start: bcfw.Result, result: bcfw.Result) -> list[str]:
    """The dual value of a solver that never loses any is at least that of its start, at the new lam."""
    if not result.solver.certifies or not result.solver.monotone or not np.isfinite(result.dual):
        return []
    problem = case.problem(weights)
    snapshots.restore(problem, start.snapshot)
    before = problem.dual_value()
    last = result if result.last is None else result.last
    room = 1e-11 * (abs(before) + case.lam * float(start.snapshot["w"] @ start.snapshot["w"]))
    return [] if last.dual >= before - room else ["warm start lost"]


def check_predictions(trial: Trial, result: bcfw.Result) -> list[str]:
    """Predictions have the largest score of all outputs; not checked of heuristics, and where labels are missing."""
    case, w = trial.case, trial.weights(result)
    if not case.model.exact_oracle or any(np.min(y) < 0 for y in case.y if case.settled is not None):
        return []
    found = result.predict(case.X)
    for (x, y_true), y in zip(trial.explicit.examples(), found, strict=True):
        outputs = [z for z in trial.explicit.outputs(x, y_true) if not np.array_equal(z, y)]
        features = np.array([trial.explicit.phi(x, z) for z in [y, *outputs]])
        scores, terms = features @ w, np.abs(features) @ np.abs(w)
        if scores[0] < scores.max() - ROUNDING * terms.max():
            return ["prediction"]
    return []


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


if __name__ == "__main__":
    sys.exit(campaign.main(__doc__, one_problem))
