"""``bcfw.check_objective``: test a user's objective for wrong gradients, constants and other mistakes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bcfw.errors import ObjectiveError
from bcfw.options import Count
from bcfw.product.checked_oracle import Oracle
from bcfw.product.derivatives import AGREEMENT, Line
from bcfw.product.minimizing import is_domain, read_domains, read_start
from bcfw.product.objectives import find_objective
from bcfw.product.trackers import Tracker

#: Allowed relative rounding error between two numbers that should be equal, or of which one should be larger.
TOLERANCE = 1e-6

#: Limits: blocks that are tested separately, lines per block, entries of one gradient that are compared with f.
BLOCKS, LINES, ENTRIES = 50, 12, 200

#: Largest number of blocks, and of entries of a gradient, that a message names.
NAMED = 3


def check_objective(objective: Any, domains: Any, x0: Any = None, n_points: int = 3, seed: int = 0) -> list[str]:
    """Check an objective's value, gradient and constants against each other at random points of the domains.

    For up to 50 blocks, the change of f along lines within the domain must agree with the gradient; if it does not, the
    message names the entries of the gradient that are farthest from difference quotients of f. ``block_gradient`` must
    agree with the block of the gradient. Between random points, gradients must not change faster than ``smoothness``
    and ``block_smoothness`` allow, and the slope of f must not decrease if f is declared convex. The functions must
    return finite numbers, must return equal results for equal x, and must not change x.

    Parameters
    ----------
    objective, domains, x0 : as for :func:`bcfw.minimize`
    n_points : int
        How many random points to try.
    seed : int

    Returns
    -------
    list of str
        Remarks that are not errors: a remark if f is not convex and the objective does not say so.

    Raises
    ------
    ObjectiveError
        If there are mistakes; the message has one line for every kind of mistake, with the first block that has it.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> A = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]])
    >>> f = lambda x: 0.5 * np.sum((A @ x) ** 2)
    >>> bcfw.check_objective((f, lambda x: A.T @ (A @ x)), bcfw.domains.Simplex(3))
    []
    >>> bcfw.check_objective((f, lambda x: -(A.T @ (A @ x))), bcfw.domains.Simplex(3))
    Traceback (most recent call last):
        ...
    bcfw.errors.ObjectiveError: Function:
      block 0: the gradient is not that of f: along a line in the domain, f changes at ... (is its sign wrong?)...
    """
    Count(3).check("check_objective", "n_points", n_points)
    Count(0, least=0).check("check_objective", "seed", seed)
    single = is_domain(domains)
    tried = TriedObjective(
        find_objective(objective, single),
        read_domains([domains] if single else domains),
        [x0] if single else x0,
        np.random.default_rng(seed),
    )
    try:
        tried.find(n_points)
    except ObjectiveError:
        raise
    except Exception as error:  # no further test is possible
        if not tried.mistakes:
            text = str(error) if type(error).__module__.startswith("bcfw.") else f"{type(error).__name__}: {error}"
            if isinstance(error, ValueError) and "read-only" in str(error):
                text = f"a function changes x, which it must not ({text})"
            tried.mistakes[text] = [text]
        tried.error = error
    if tried.mistakes:
        name = "Function" if isinstance(objective, tuple | list) else type(objective).__name__
        raise ObjectiveError(f"{name}:\n  " + "\n  ".join(tried.lines())) from tried.error
    return tried.remarks


class TriedObjective:
    """The tests of :func:`check_objective` and their results.

    Attributes
    ----------
    blocks : the blocks that are tested separately
    mistakes : for every kind of mistake the messages, one per occurrence
    remarks : remarks that are not errors
    error : the exception that ended the tests, or None
    """

    def __init__(self, objective: Any, domains: list[Any], x0: Any, rng: np.random.Generator) -> None:
        self.objective = objective
        self.rng = rng
        self.start, self.shapes = read_start(domains, x0)
        self.oracle = Oracle(domains, self.start, self.shapes, None)
        self.blocks = np.sort(rng.permutation(len(domains))[:BLOCKS]).tolist()
        self.mistakes: dict[str, list[str]] = {}
        self.remarks: list[str] = []
        self.error: Exception | None = None

    def mistake(self, kind: str, text: str) -> None:
        self.mistakes.setdefault(kind, []).append(text)

    def lines(self) -> list[str]:
        """Return one line per kind of mistake: the first message and the number of further ones."""
        return [
            f"{texts[0]} (and {len(texts) - 1} more of this kind)" if len(texts) > 1 else texts[0]
            for texts in self.mistakes.values()
        ]

    def tracker(self, x: list[np.ndarray]) -> Tracker:
        """Return a new tracker of the objective at a copy of x, without any stored values."""
        copies = [block.copy() for block in x]
        return self.objective.track(copies, self.shapes)  # type: ignore[no-any-return]

    def value(self, x: list[np.ndarray]) -> float:
        return self.tracker([block.ravel() for block in x]).value()

    def gradients(self, x: list[np.ndarray]) -> list[np.ndarray]:
        return list(self.tracker([block.ravel() for block in x]).gradients())

    def vertex(self, i: int) -> np.ndarray:
        """Return the answer of block i's oracle to a random direction, which is dense or has one non-zero entry."""
        size = len(self.start[i])
        direction = self.rng.standard_normal(size)
        if self.rng.random() < 0.5:
            direction *= np.arange(size) == self.rng.integers(size)
        return self.oracle.ask(i, direction)

    def point(self) -> list[np.ndarray]:
        """Return a random point: in each block a convex combination of the start and two random vertices."""
        found = []
        for i, start in enumerate(self.start):
            one, two, three = self.rng.dirichlet(np.ones(3))
            found.append(one * start + two * self.vertex(i) + three * self.vertex(i))
        return found

    def find(self, n_points: int) -> None:
        """Run all tests at the start and at ``n_points`` random points."""
        points = [self.start, *(self.point() for _ in range(n_points))]
        for x in points:
            self.try_again(x)
        for x in points[1:]:
            wrong = [i for i in self.blocks if not self.try_block(i, x)]
            for i in wrong[:NAMED]:
                self.name_entries(i, x)
            self.try_block_gradients(x)
        self.try_constants(points)

    def try_again(self, x: list[np.ndarray]) -> None:
        """Test that two evaluations at x agree and that gradients are finite."""
        one, two = self.value(x), self.value(x)
        if abs(one - two) > TOLERANCE * (abs(one) + abs(two)):
            self.mistake("values", f"f gives different values at one point: {one:.6g} and {two:.6g}")
        for i, (first, second) in enumerate(zip(self.gradients(x), self.gradients(x), strict=True)):
            if not np.isfinite(first).all():
                self.mistake("finite", f"block {i}: the gradient holds nan or infinite numbers")
            elif size(first - second) > TOLERANCE * (size(first) + size(second)):
                self.mistake("gradients", f"block {i}: the gradient is another one at the same point")

    def try_block(self, i: int, x: list[np.ndarray]) -> bool:
        """Return whether the gradient of block i agrees with f along some random lines."""
        if "finite" in self.mistakes:
            return True
        for _ in range(min(LINES, 2 + len(x[i]))):
            ends = [self.vertex(i) if j == i else block for j, block in enumerate(x)]
            found = Line(self.value, self.gradients, x, ends, self.shapes).contradiction()
            if found is not None:
                self.mistake("slope", f"block {i}: the gradient is not that of f: along a line in the domain, {found}")
                return False
        return True

    def name_entries(self, i: int, x: list[np.ndarray]) -> None:
        """Report the entries of block i's gradient that are farthest from central differences of f.

        The differences use points outside the domain; entries at which f raises there are skipped.
        """
        claimed = self.gradients(x)[i]
        h = TOLERANCE * max(size(x[i]), size(self.start[i] - x[i]))
        places = np.sort(self.rng.permutation(len(claimed))[:ENTRIES])
        found = np.full(len(claimed), np.nan)
        for place in places:
            step = h * (np.arange(len(claimed)) == place)
            try:
                ahead, behind = (self.value([b + s * step if j == i else b for j, b in enumerate(x)]) for s in (1, -1))
            except Exception:
                continue
            found[place] = (ahead - behind) / (2.0 * h)
        errors = np.nan_to_num(np.abs(found - claimed))
        worst = [k for k in np.argsort(-errors)[:NAMED] if errors[k] > AGREEMENT * max(abs(found[k]), abs(claimed[k]))]
        named = ", ".join(
            f"{self._entry(i, k)}: {claimed[k]:.6g}, but differences of f give {found[k]:.6g}" for k in worst
        )
        if named:
            self.mistake("entries", f"block {i}: the entries of the gradient that are farthest from f: {named}")

    def _entry(self, i: int, k: int) -> str:
        """Return the indices of entry k of block i as text."""
        return str([int(index) for index in np.unravel_index(k, self.shapes[i])]) if self.shapes[i] else "[]"

    def try_block_gradients(self, x: list[np.ndarray]) -> None:
        tracker = self.tracker(x)
        if tracker.whole_gradients:
            return
        for i, gradient in enumerate(tracker.gradients()):
            own = tracker.block_gradient(i)
            if size(own - gradient) > TOLERANCE * (size(own) + size(gradient)):
                k = int(np.abs(own - gradient).argmax())
                self.mistake(
                    "block",
                    f"block {i}: block_gradient(x, {i}) differs from the gradient's block, most at entry "
                    f"{self._entry(i, k)}: {own[k]:.6g} and {gradient[k]:.6g}",
                )

    def try_constants(self, points: list[list[np.ndarray]]) -> None:
        """Test smoothness constants and convexity on pairs of points, some far apart and some close."""
        tracker = self.tracker(points[0])
        constants = tracker.block_smoothness
        for x, far in itertools.pairwise(points):
            for t in (1.0, 1e-3):
                y = [a + t * (b - a) for a, b in zip(x, far, strict=True)]
                self.try_pair(x, y, tracker.convex, tracker.smoothness, "smoothness")
                for i in self.blocks if constants is not None else ():
                    assert constants is not None
                    only = [b if j == i else a for j, (a, b) in enumerate(zip(x, y, strict=True))]
                    self.try_pair(x, only, tracker.convex, float(constants[i]), f"block_smoothness[{i}]", [i])

    def try_pair(
        self, x: list[np.ndarray], y: list[np.ndarray], convex: bool | None, constant: Any, name: str, only: Any = None
    ) -> None:
        """Test ``|g(y) - g(x)| <= L |y - x|``, and ``<g(y) - g(x), y - x> >= 0`` if f is convex.

        L is ``constant`` (None: the first inequality is not tested). On its left side are the gradients of the blocks
        ``only``, or of all blocks if ``only`` is None.
        """
        g, h = np.concatenate(self.gradients(x)), np.concatenate(self.gradients(y))
        step, change = np.concatenate(y) - np.concatenate(x), h - g
        rounding = TOLERANCE * (size(g) + size(h))
        if float(change.dot(step)) < -rounding * size(step):
            if convex:
                self.mistake("convex", "f is declared convex, but its slope falls on the way between two points")
            elif convex is None and not self.remarks:
                self.remarks.append(
                    "f is not convex; with convex=False, minimize returns the point of the smallest gap"
                )
        if constant is None:
            return
        changes = np.split(change, np.cumsum([len(block) for block in x])[:-1])
        moved = size(np.concatenate([changes[i] for i in only])) if only is not None else size(change)
        if moved > constant * size(step) * (1.0 + TOLERANCE) + rounding:
            self.mistake(
                name.split("[")[0],
                f"{name} is {constant:.6g}, but between two points the gradient changes {moved / size(step):.6g} times "
                "as much as x",
            )


def size(v: np.ndarray) -> float:
    """Return the Euclidean norm of v."""
    return float(np.linalg.norm(v))
