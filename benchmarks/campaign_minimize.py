"""bcfw.minimize on random products of all sets, with all objectives and options, and with mistakes in them.

    nice python benchmarks/campaign_minimize.py [--count 2000] [--seed 0] [--log FILE] [--only NUMBER]

What is drawn: one to five blocks of sets (random_sets.py; a user's own, too, exact and not), an objective (of a
product, or a user's functions; convex, not convex, and convex but for tiny negative eigenvalues), scales from 1e-6 to
1e6, the start, selection, step, direction, tol and limits. Everything is written a second time without the package:
the gap is computed again from support functions in closed form, points must lie in their sets, and accelerated
projected gradients look for a smaller value. A certified gap must not be smaller than value minus the smallest value
found; values never rise where theory says so.

A fifth of the problems have a mistake in the oracle or the gradient. Then there has to be one of the package's errors;
a result fails if it is certified and its gap is smaller than the distance to the smallest value found. It is counted as
"not to be seen" where the wrong gradient has the right slope along the line from the result that was tested.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np
import scipy.sparse as sp

import bcfw
import campaign
from random_sets import LARGE, PLACES, Place, Smooth, best_value

#: Relative to the largest terms of what is compared.
ROUNDING = 1e-11

#: Errors of slopes that minimize does not see, relative to the larger slope.
UNSEEN = 0.1

#: A run may stall where the gap is below this share of the terms that rounding acts on: about sqrt(eps), see may_stall.
STALL_ROUNDING = 1e-8


@dataclasses.dataclass
class Problem:
    """Sets, the objective as it is given to the package and written out, and the start."""

    places: list[Place]
    given: Any
    smooth: Smooth
    x0: Any
    smoothness: bool

    def pieces(self, x: np.ndarray) -> list[np.ndarray]:
        parts = np.split(x, np.cumsum([place.size for place in self.places])[:-1])
        return [part.reshape(place.shape) for part, place in zip(parts, self.places, strict=True)]


def flat(x: Any) -> np.ndarray:
    return np.concatenate([np.ravel(block) for block in x])


# --- drawing ------------------------------------------------------------------------------------------------------


def draw_places(rng: np.random.Generator) -> tuple[str, list[Place]]:
    """One to five sets; the kind is that of the first."""
    names, r = list(PLACES), 10.0 ** rng.uniform(-1, 1)
    if rng.random() < 0.1:
        r = 10.0 ** rng.uniform(-6, 6)
    if rng.random() < 0.003:
        name = list(LARGE)[rng.integers(len(LARGE))]
        return name, [LARGE[name](rng, 1.0)]
    chosen = [names[k] for k in rng.integers(len(names), size=rng.choice([1, 1, 2, 3, 4, 5]))]
    return chosen[0], [PLACES[name](rng, r) for name in chosen]


def draw_objective(rng: np.random.Generator, places: list[Place]) -> tuple[Any, Smooth, bool]:
    """As it is given, written out, and whether a smoothness is known."""
    sizes = [place.size for place in places]
    N, rows = sum(sizes), int(rng.integers(1, 8))
    scale = 10.0 ** (rng.uniform(-6, 6) if rng.random() < 0.1 else rng.uniform(-1, 1))
    A = scale * rng.standard_normal((rows, N)) / max(place.radius for place in places)
    kinds = ["least squares", "logistic", "user's", "quadratic", "form", "nearly convex", "not convex"]
    kind = kinds[rng.integers(7 if N < 1000 else 3)]  # the others have matrices of N x N here
    if kind == "least squares":
        b = scale * rng.standard_normal(rows)
        return bcfw.objectives.LeastSquares(given_matrix(rng, A, sizes), b), squares(A, b), True
    if kind == "logistic":
        y = rng.choice([-1.0, 1.0], size=rows)
        return bcfw.objectives.Logistic(given_matrix(rng, A, sizes), y), logistic(A, y), True
    if kind == "user's":
        return users_functions(rng, A, sizes)
    c = scale * rng.standard_normal(N) / max(place.radius for place in places)
    if kind == "quadratic":
        linear = np.split(c, np.cumsum(sizes)[:-1]) if rng.random() < 0.5 else c
        return bcfw.objectives.Quadratic(given_matrix(rng, A, sizes), c=linear), form(A.T @ A, c, True), True
    H = A.T @ A
    if kind == "not convex":
        H = scale**2 * symmetric(rng.standard_normal((N, N))) / max(place.radius for place in places) ** 2
    if kind == "nearly convex":
        values, vectors = np.linalg.eigh(H)
        values[0] = -(10.0 ** rng.uniform(-14, -6)) * values[-1]
        H = symmetric((vectors * values) @ vectors.T)
    given = bcfw.objectives.Quadratic(H=sp.csr_matrix(H) if rng.random() < 0.3 else H, c=c)
    return given, form(H, c, given.convex), True


def symmetric(H: np.ndarray) -> np.ndarray:
    return 0.5 * (H + H.T)


def given_matrix(rng: np.random.Generator, A: np.ndarray, sizes: list[int]) -> Any:
    """One matrix, or one per block; dense or sparse."""
    kind = rng.integers(4)
    if kind < 2:
        return A if kind == 0 else sp.csr_matrix(A)
    parts = np.split(A, np.cumsum(sizes)[:-1], axis=1)
    return parts if kind == 2 else [sp.csc_array(part) for part in parts]


def squares(A: np.ndarray, b: np.ndarray) -> Smooth:
    return Smooth(
        lambda x: 0.5 * float((A @ x - b) @ (A @ x - b)),
        lambda x: A.T @ (A @ x - b),
        lambda x: float((np.abs(A) @ np.abs(x) + np.abs(b)) @ (np.abs(A) @ np.abs(x) + np.abs(b))),
        True,
    )


def form(H: np.ndarray, c: np.ndarray, convex: bool) -> Smooth:
    return Smooth(
        lambda x: 0.5 * float(x @ (H @ x)) + float(c @ x),
        lambda x: H @ x + c,
        lambda x: float(np.abs(x) @ (np.abs(H) @ np.abs(x)) + np.abs(c) @ np.abs(x)),
        convex,
    )


def logistic(A: np.ndarray, y: np.ndarray) -> Smooth:
    def gradient(x: np.ndarray) -> np.ndarray:
        from scipy.special import expit

        return -A.T @ (y * expit(-y * (A @ x))) / len(y)

    return Smooth(
        lambda x: float(np.logaddexp(0.0, -y * (A @ x)).mean()),
        gradient,
        lambda x: 1.0 + float((np.abs(A) @ np.abs(x)).mean()),
        True,
    )


def users_functions(rng: np.random.Generator, A: np.ndarray, sizes: list[int]) -> tuple[Any, Smooth, bool]:
    """Functions of a user: pseudo-Huber or a quartic, convex; or a sum of sines, which is not."""
    cuts, rows = np.cumsum(sizes)[:-1], len(A)
    b, kind = rng.standard_normal(rows), rng.integers(3)
    phi, slope, constant = [
        (lambda p: np.sqrt(1.0 + p * p), lambda p: p / np.sqrt(1.0 + p * p), 1.0),
        (lambda p: 0.25 * p**4, lambda p: p**3, None),
        (np.sin, np.cos, 1.0),
    ][kind]
    smooth = Smooth(
        lambda x: float(phi(A @ x - b).sum()),
        lambda x: A.T @ slope(A @ x - b),
        lambda x: float(np.abs(phi(np.abs(A) @ np.abs(x) + np.abs(b))).sum()) + rows,
        kind != 2,
        float(np.linalg.norm(A, 2) ** 2) if kind == 2 else None,
    )

    def gradient(x: Any) -> list[np.ndarray]:
        parts = np.split(smooth.gradient(flat(x)), cuts)
        return [part.reshape(np.shape(block)) for part, block in zip(parts, x, strict=True)]

    known = constant is not None and rng.random() < 0.7
    options: dict[str, Any] = {"convex": smooth.convex if kind == 2 or rng.random() < 0.5 else None}
    if known:
        options["smoothness"] = float(np.linalg.norm(A, 2) ** 2) or 1e-300
    if rng.random() < 0.5:
        options["block_gradient"] = lambda x, i: gradient(x)[i]
    if known and rng.random() < 0.5:
        blocks = np.split(A, cuts, axis=1)
        options["block_smoothness"] = [float(np.linalg.norm(block, 2) ** 2) or 1e-300 for block in blocks]

    def value(x: Any) -> float:
        return smooth.value(flat(x))

    if not known and kind != 2 and rng.random() < 0.5:
        return (value, gradient), smooth, False
    return bcfw.objectives.Function(value, gradient, **options), smooth, known


def draw_start(rng: np.random.Generator, places: list[Place]) -> Any:
    """None, or a point of every set, at least of those that offer none."""
    if rng.random() < 0.5 and all(place.start is None for place in places):
        return None
    points = []
    for place in places:
        if place.start is not None or (place.image is None and rng.random() < 0.3):
            points.append(place.start)
        elif place.image is None:
            inside = place.project(place.radius * rng.standard_normal(place.size))
            points.append(inside.reshape(place.shape))
        else:
            a = place.project(rng.standard_normal(place.parts))
            points.append(place.point(a).reshape(place.shape))
    return points


def draw_selection(rng: np.random.Generator, m: int) -> Any:
    rules, size, expensive = bcfw.selection, int(rng.integers(1, m + 1)), list(range(int(rng.integers(0, m))))
    every = [
        *("permuted", "full", "cyclic", "uniform", "gap", "greedy"),
        *(rules.Permuted(size), rules.Cyclic(size), rules.Uniform(size), rules.Full(), rules.Gap(), rules.Greedy()),
        rules.EssentiallyCyclic(m + int(rng.integers(0, 4)), expensive),
        rules.Lazy(int(rng.integers(1, 5)), expensive),
        rules.PQ(int(rng.integers(1, 4)), int(rng.integers(1, 5)), expensive),
        rules.QuasiStochastic(int(rng.integers(1, 6))),
        rules.CostAware(int(rng.integers(1, 5))),
        lambda t, rng, gaps: t % m,
        lambda t, rng, gaps: rng.permutation(m)[:size],
    ]
    return every[rng.integers(len(every))]


def draw_step(rng: np.random.Generator, problem: Problem) -> Any:
    steps = bcfw.steps
    every = ["adaptive", "line-search", "open-loop", steps.LineSearch(), steps.OpenLoop()]
    every += [steps.Adaptive(initial=10.0 ** rng.uniform(-3, 3)), steps.Adaptive(shrink=0.5, grow=4.0, test="values")]
    if problem.smooth.convex:
        every.append(steps.Adaptive(test="gradients"))
    if problem.smoothness:
        every += ["short", "short", steps.Short()]
    return every[rng.integers(len(every))]


def draw_problem(rng: np.random.Generator) -> tuple[str, Problem]:
    kind, places = draw_places(rng)
    given, smooth, known = draw_objective(rng, places)
    return kind, Problem(places, given, smooth, draw_start(rng, places), known)


# --- running ------------------------------------------------------------------------------------------------------


def one_problem(number: int, seed: int) -> campaign.Outcome:
    rng = np.random.default_rng([seed, number])
    kind, problem = draw_problem(rng)
    campaign.trying(f"sets: {kind}")
    size, small = problem.smooth.terms(centre(problem)) or 1.0, len(centre(problem)) < 1000
    step, direction = draw_step(rng, problem), str(rng.choice(["fw", "away", "pairwise", "blended"]))
    if "OpenLoop" in repr(step) or step == "open-loop":
        direction = "fw"
    options: dict[str, Any] = {
        "x0": problem.x0,
        "selection": draw_selection(rng, len(problem.places)),
        "step": step,
        "direction": direction,
        "tol": 0.0 if rng.random() < 0.15 else size * 10.0 ** rng.uniform(-7, -1),
        "max_iters": int(10.0 ** rng.uniform(0, 2.6 if small else 1.3)) if rng.random() < 0.95 else 0,
        "gap_every": None if rng.random() < 0.5 else int(rng.integers(1, 30)),
        "seed": number,
    }
    if rng.random() < 0.2:
        return with_a_mistake(rng, problem, options)
    domains = [place.domain for place in problem.places]
    if rng.random() < 0.1:
        domains = [bcfw.domains.Counted(domain) for domain in domains]
    start = flat(problem.x0) if problem.x0 is not None and all(x is not None for x in problem.x0) else None
    result = minimized(problem, domains, options, single=len(domains) == 1 and number % 2 == 0)
    wrong = check(problem, result, options, start)
    names = ", ".join(repr(domain)[:40] for domain in domains)
    about = f"{type(problem.given).__name__} over {names}; {step}, {direction}, {options['selection']}"
    return campaign.Outcome(f"sets: {kind}", result.status, wrong, f"{about}, tol {options['tol']:.2g}: {result}")


def minimized(problem: Problem, domains: list[Any], options: dict[str, Any], single: bool) -> Any:
    """The result with a list of blocks; ``single``: from a set, a start and a user's functions without lists."""
    if not single:
        return bcfw.minimize(problem.given, domains, **options)
    given, x0 = problem.given, options["x0"]
    if isinstance(given, tuple | bcfw.objectives.Function):
        value, gradient = given if isinstance(given, tuple) else (given.value, given.gradient)
        known = getattr(given, "convex", None), getattr(given, "smoothness", None)
        given = OneBlock(lambda x: value([x]), lambda x: gradient([x])[0], *known)
    result = bcfw.minimize(given, domains[0], **{**options, "x0": None if x0 is None else x0[0]})
    assert isinstance(result.x, np.ndarray)
    result.x = [result.x]
    return result


@dataclasses.dataclass
class OneBlock:
    """A user's objective of one array, an object of no class of the package's."""

    value: Any
    gradient: Any
    convex: bool | None
    smoothness: float | None


def centre(problem: Problem) -> np.ndarray:
    """Some point with entries of the usual size."""
    return np.concatenate([np.full(place.size, place.radius / np.sqrt(place.size)) for place in problem.places])


def naive_gaps(problem: Problem, x: np.ndarray) -> np.ndarray:
    ends = np.cumsum([place.size for place in problem.places])[:-1]
    parts = zip(problem.places, np.split(x, ends), np.split(problem.smooth.gradient(x), ends), strict=True)
    return np.array([float(g @ one) - place.least(g) for place, one, g in parts])


def smallest_value(problem: Problem, x: np.ndarray) -> float:
    """By projected gradients from the result, and at vertices."""
    found = [best_value(problem.smooth, problem.places, x, 150 if len(x) < 1000 else 10)]
    for sign in (1.0, -1.0):
        far = [sign * 1e3 * place.radius * (np.arange(place.parts) % 3 - 1.0) for place in problem.places]
        points = [place.point(place.project(a)) for place, a in zip(problem.places, far, strict=True)]
        found.append(problem.smooth.value(np.concatenate(points)))
    return min(found)


def room_at(problem: Problem, x: np.ndarray) -> float:
    """What rounding does to values and gaps: of their largest terms."""
    spread = np.concatenate([np.full(place.size, place.radius) for place in problem.places])
    gradient = problem.smooth.gradient(x)
    return problem.smooth.terms(np.abs(x) + spread) + float(np.abs(gradient) @ (np.abs(x) + spread))


def diameter_of(place: Place) -> float:
    """The diameter of a set; of a set that names none, that of a cube around it."""
    own = getattr(place.domain, "diameter", None)
    return 2.0 * place.radius * float(np.sqrt(place.size)) if own is None else float(own)


def may_stall(problem: Problem, result: Any, size: float) -> bool:
    """Whether no step from the result gains anything that floating point resolves.

    The gradient has the Lipschitz constant L, so a step from x towards the vertices, which are at most D away, can gain
    ``min(gap/2, gap^2 / (2 L D^2))``. Blocks that move alone gain at least that together: the sum of
    ``gap_i^2 / (2 L D_i^2)`` is not less, by Cauchy-Schwarz. It is not resolved if it is below the rounding of f. Where
    ``L D^2`` is about as large as the terms of f, that is a gap below sqrt(eps) times the terms. A sum of sines has
    terms of size 1 whatever L is, and its gaps can be larger.
    """
    if result.gap <= STALL_ROUNDING * size:
        return True
    L = problem.smooth.smoothness
    if L is None:
        return False
    D = float(np.linalg.norm([diameter_of(place) for place in problem.places]))
    gain = min(0.5 * result.gap, 0.5 * result.gap**2 / (L * D * D))
    return gain <= float(np.finfo(float).eps) * abs(result.value)


def check(problem: Problem, result: Any, options: dict[str, Any], start: np.ndarray | None) -> list[str]:
    """What is wrong with a result."""
    x, smooth = flat(result.x), problem.smooth
    if not np.isfinite([*x, result.value, result.gap]).all():
        return ["not finite"]
    size = room_at(problem, x)
    room, gaps = ROUNDING * size, naive_gaps(problem, x)
    exact = all(getattr(place.domain, "exact", True) for place in problem.places)
    proved = all(place.exact for place in problem.places)
    blocks = zip(problem.places, result.x, strict=True)
    claimed = getattr(problem.given, "convex", None)  # a pair of functions says nothing
    descends = options["step"] != "open-loop" and "OpenLoop" not in repr(options["step"])
    checks = {
        "outside": all(place.outside(block.ravel()) <= 1e-9 * place.radius for place, block in blocks),
        "shapes": all(block.shape == place.shape for place, block in zip(problem.places, result.x, strict=True)),
        "value": abs(smooth.value(x) - result.value) <= room,
        "gap": not exact or abs(float(gaps.sum()) - result.gap) <= room,
        "gap too small": not result.certified or result.gap >= gaps.sum() - room,
        "negative gap": result.gap >= 0.0,
        "block gaps": abs(result.block_gaps.sum() - result.gap) <= room,
        "certified": result.certified == (proved and result.convex is not False),
        "convex": result.convex is claimed,
        "converged": result.status != "converged" or (result.gap <= options["tol"] and proved),
        "stalled": result.status != "stalled" or not exact or may_stall(problem, result, size),
    }
    if descends and smooth.convex:
        checks["value rose"] = bool(np.all(np.diff(result.history["value"]) <= room))
    if start is not None and descends and smooth.convex:
        checks["worse than the start"] = result.value <= smooth.value(start) + room
    if smooth.convex and result.certified:
        checks["wrong certificate"] = result.value - smallest_value(problem, x) <= result.gap + room
    return [name for name, right in checks.items() if not right]


# --- mistakes -----------------------------------------------------------------------------------------------------


class Wrong:
    """A set whose oracle has a mistake; nothing else of it is used but its shape, and how exact it says to be."""

    def __init__(self, domain: Any, mistake: str) -> None:
        self.domain, self.mistake, self.calls = domain, mistake, 0
        if getattr(domain, "shape", None) is not None:
            self.shape = domain.shape
        if not getattr(domain, "exact", True):
            self.exact, self.lower_bound = False, domain.lower_bound

    def argmin(self, direction: Any) -> Any:
        self.calls += 1
        sign = -1.0 if self.mistake == "sign" else 1.0
        answer = np.array(self.domain.argmin(sign * np.asarray(direction)))
        if self.mistake == "None":
            return None
        if self.mistake == "None later":
            return None if self.calls > 3 else answer
        if self.mistake == "shape":
            return np.append(answer.ravel(), 0.0)
        if self.mistake == "NaN":
            answer.ravel()[0] = np.nan
        return answer


class WrongGradient:
    """Gradients with a mistake; all points and answers are kept."""

    def __init__(self, gradient: Any, mistake: str) -> None:
        self.gradient, self.mistake = gradient, mistake
        self.last: Any = None
        self.calls: list[tuple[np.ndarray, Any]] = []

    def __call__(self, x: Any) -> Any:
        answer = self.answer(x)
        self.calls.append((flat(x), answer))
        return answer

    def cannot_be_seen(self, x: np.ndarray, right: np.ndarray) -> bool:
        """Whether all answers at x have nearly the right slope along the line that was tested last, which begins there.

        Values of f along one line tell the derivative along this line and no other one. A gradient that has it, but
        for the tenth that minimize grants (docs/minimize.md), cannot be told from a right one by the test.
        """
        last, _ = self.calls[-1]
        along = last - x
        slopes = [float(flat(answer) @ along) for point, answer in self.calls if np.array_equal(point, x)]
        true = float(right @ along)
        return bool(along.any()) and all(abs(one - true) <= UNSEEN * max(abs(one), abs(true)) for one in slopes)

    def answer(self, x: Any) -> Any:
        right, self.last = self.last, self.gradient([np.array(block) for block in x])
        if right is None or self.mistake != "stale":
            right = self.last
        factor = {"sign": -1.0, "half": 0.5, "a hundredth": 0.01, "twice": 2.0}.get(self.mistake, 1.0)
        if self.mistake == "None":
            return None
        if self.mistake == "shape":
            return [np.append(block.ravel(), 0.0) for block in right]
        if self.mistake == "too few":
            return right[:-1]
        if self.mistake == "one block":
            return [0.0 * right[0], *right[1:]]
        return [factor * block for block in right]


ORACLES = ["sign", "sign", "None", "None later", "shape", "NaN"]
GRADIENTS = ["sign", "half", "a hundredth", "twice", "None", "shape", "too few", "one block", "stale"]


def with_a_mistake(rng: np.random.Generator, problem: Problem, options: dict[str, Any]) -> campaign.Outcome:
    """An error of the package's, or a certificate that is true nevertheless."""
    domains, given, unseen = [place.domain for place in problem.places], problem.given, None
    if rng.random() < 0.5:
        mistake = str(rng.choice(ORACLES))
        kind, wrong_block = f"wrong oracle: {mistake}", int(rng.integers(len(domains)))
        domains[wrong_block] = Wrong(domains[wrong_block], mistake)
        if problem.x0 is None and not hasattr(domains[wrong_block], "shape"):
            options["x0"] = [domain.domain.start() if isinstance(domain, Wrong) else None for domain in domains]
    else:
        mistake = str(rng.choice(GRADIENTS))
        kind = f"wrong gradient: {mistake}"
        right = problem.smooth.gradient

        def gradient(x: Any) -> list[np.ndarray]:
            return problem.pieces(right(flat(x)))

        convex, known = problem.smooth.convex or None, smoothness_of(problem)
        unseen = WrongGradient(gradient, mistake)
        given = bcfw.objectives.Function(
            lambda x: problem.smooth.value(flat(x)), unseen, smoothness=known, convex=convex
        )
    about = f"{type(problem.given).__name__} over {domains}; {options}"
    try:
        result = bcfw.minimize(given, domains, **options)
    except bcfw.BcfwError:
        return campaign.Outcome(kind, "refused")
    except Exception as error:
        return campaign.Outcome(kind, "exception", ["raw error"], f"{type(error).__name__}: {error}; {about}")
    x, wrong, status = flat(result.x), [], result.status
    if result.certified and problem.smooth.convex:
        least = smallest_value(problem, x)
        if result.value - least > result.gap + ROUNDING * room_at(problem, x):
            if unseen is not None and unseen.cannot_be_seen(x, problem.smooth.gradient(x)):
                status = campaign.UNSEEN
            else:
                wrong = ["wrong certificate"]
    return campaign.Outcome(kind, status, wrong, f"{about}: {result}")


def smoothness_of(problem: Problem) -> float | None:
    known = getattr(problem.given, "smoothness", None) if problem.smoothness else None
    return None if known is None else max(float(known), 1e-300)


if __name__ == "__main__":
    sys.exit(campaign.main(__doc__, one_problem))
