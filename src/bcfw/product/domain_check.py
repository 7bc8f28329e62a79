"""``bcfw.check_domain``: test a user's set for wrong oracles, inconsistent methods and other mistakes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from bcfw.errors import DomainError, OptionError
from bcfw.options import Count
from bcfw.product.checked_oracle import parsed, rounding_of

#: ``contains`` is tested on points outside the set: an answer v of the oracle plus BEYOND times its difference to the
#: mean of all answers.
BEYOND = 0.1


def check_domain(
    domain: Any, shape: Any = None, directions: Iterable[Any] | None = None, n_directions: int = 10, seed: int = 0
) -> list[str]:
    """Check the methods of a set against each other in random directions.

    Every answer v of ``argmin`` to any direction is a point of the set. So ``argmin(d)`` must be at least as good as
    all of these points: ``<d, argmin(d)> <= <d, v>``. This test finds oracles that maximise, that miss a sign or a
    constraint, or whose answers depend on the length of d. Answers must be arrays of real numbers of one shape, and
    ``argmin`` must not change the direction. If the set has ``start``, ``contains``, ``lower_bound`` or ``diameter``,
    these must agree with the answers.

    Parameters
    ----------
    domain : object with ``argmin(direction)``
    shape : int or tuple, or None
        Shape of the set's points; needed if the set has neither ``shape`` nor ``start()``.
    directions : sequence of arrays, or None
        Directions to try, for an oracle that supports special directions only. None: random directions and some unit
        vectors, and the negatives of all these.
    n_directions : int
        How many random directions to try.
    seed : int

    Returns
    -------
    list of str
        Remarks that are not errors: the oracle changes arrays that it returned before (``minimize`` copies them); it
        gives different points of one value for one direction; it says ``exact = False`` and a better point is known.

    Raises
    ------
    DomainError
        If there are mistakes; the message has one line for every kind of mistake.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> class Corner:
    ...     shape = (3,)
    ...
    ...     def argmin(self, direction):
    ...         return np.eye(3)[direction.argmax()]
    >>> bcfw.check_domain(Corner())
    Traceback (most recent call last):
        ...
    bcfw.errors.DomainError: Corner:
      argmin maximises: for 26 of 26 directions d no known point has a larger <d, v> than its answer...
    """
    Count(10).check("check_domain", "n_directions", n_directions)
    Count(0, least=0).check("check_domain", "seed", seed)
    if isinstance(domain, type):
        raise OptionError(f"check_domain: the domain is the class {domain.__name__}; give an instance")
    if not callable(getattr(domain, "argmin", None)):
        raise OptionError(f"check_domain: the domain {domain!r:.80} has no method argmin(direction)")
    tried = TriedDomain(domain, _shape(domain, shape))
    if directions is None:
        chosen = list(_random_directions(tried.shape, n_directions, np.random.default_rng(seed)))
    else:
        chosen = [np.asarray(direction, dtype=np.float64) for direction in directions]
    tried.ask_all(chosen)
    if tried.answers:
        tried.compare()
        tried.try_other_methods()
    if tried.mistakes:
        raise DomainError(f"{type(domain).__name__}:\n  " + "\n  ".join(tried.mistakes.values())) from tried.error
    return list(tried.remarks.values())


def _shape(domain: Any, given: Any) -> tuple[int, ...]:
    """Return the shape of the set's points; raise OptionError if it cannot be found."""
    found = getattr(domain, "shape", None) if given is None else given
    if found is None:
        if not callable(getattr(domain, "start", None)):
            raise OptionError("check_domain: the domain has neither a shape nor start(); give shape")
        found = np.shape(domain.start())
    return tuple(int(size) for size in np.atleast_1d(found))


def _random_directions(shape: tuple[int, ...], count: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield dense random directions, up to three unit vectors, and the negative of each."""
    size = int(np.prod(shape))
    for _ in range(count):
        yield (dense := rng.standard_normal(shape))
        yield -dense
    for place in rng.permutation(size)[: min(3, size)]:
        unit = np.zeros(size)
        unit[place] = 1.0
        yield unit.reshape(shape)
        yield -unit.reshape(shape)


class TriedDomain:
    """The tests of :func:`check_domain` and their results.

    Attributes
    ----------
    directions, answers : lists of arrays of equal length
    again : the answers to a second call with each direction
    doubled : the answers to twice each direction
    mistakes, remarks : for every kind the first message
    error : the last exception of the set's methods, or None
    rounding : the allowed relative rounding error of the values of answers
    """

    def __init__(self, domain: Any, shape: tuple[int, ...]) -> None:
        self.domain = domain
        self.shape = shape
        self.exact = bool(getattr(domain, "exact", True))
        self.directions: list[np.ndarray] = []
        self.answers: list[np.ndarray] = []
        self.again: list[np.ndarray] = []
        self.doubled: list[np.ndarray] = []
        self.mistakes: dict[str, str] = {}
        self.remarks: dict[str, str] = {}
        self.error: Exception | None = None
        self.rounding = 0.0
        self._returned: list[tuple[Any, np.ndarray]] = []

    def mistake(self, kind: str, text: str) -> None:
        self.mistakes.setdefault(kind, text)

    def remark(self, kind: str, text: str) -> None:
        self.remarks.setdefault(kind, text)

    def ask_all(self, directions: list[np.ndarray]) -> None:
        """Call the oracle twice with every direction and once with twice the direction."""
        for direction in directions:
            answers = [self._ask(direction), self._ask(direction), self._ask(2.0 * direction)]
            if not any(answer is None for answer in answers):
                self.directions.append(direction)
                for kept, answer in zip((self.answers, self.again, self.doubled), answers, strict=True):
                    kept.append(answer)  # type: ignore[arg-type]
        if any(isinstance(answer, np.ndarray) and (answer != copy).any() for answer, copy in self._returned):
            self.remark("alias", "argmin returns an array that it changes later; minimize copies it, others may not")

    def _ask(self, direction: np.ndarray) -> np.ndarray | None:
        """Return the oracle's answer as a new array; record a mistake and return None if the answer is wrong."""
        given = direction.copy()
        try:
            returned = self.domain.argmin(given)
        except Exception as error:
            self.mistake(f"raised {type(error)}", f"argmin raised {type(error).__name__}: {error}")
            self.error = error
            return None
        if not np.array_equal(given, direction):
            self.mistake("changed", "argmin changes the direction that it is given; it must work on a copy")
        answer = parsed(returned, self.shape)
        if not isinstance(answer, str) and not np.isfinite(answer).all():
            answer = "argmin returned nan or infinite numbers"
        if isinstance(answer, str):
            self.mistake(answer, answer)
            return None
        self.rounding = max(self.rounding, rounding_of(answer))
        self._returned.append((returned, answer))
        return np.asarray(answer, dtype=np.float64)

    def compare(self) -> None:
        """Compare the answer to every direction with all other answers, by their values in this direction."""
        points = np.array([*self.answers, *self.again, *self.doubled]).reshape(3 * len(self.answers), -1)
        n, maximal, worse = len(self.answers), 0, 0
        for k, direction in enumerate(self.directions):
            values = points @ direction.ravel()
            tolerance = self.rounding * float(np.abs(points).max(initial=0.0) * np.abs(direction).sum())
            own, best = values[k], int(values.argmin())
            others = np.delete(values, [k, k + n, k + 2 * n])
            maximal += len(others) > 0 and own >= others.max() - tolerance and own > others.min() + tolerance
            if abs(values[k + n] - own) > tolerance:
                self._is_worse(
                    "twice",
                    f"argmin gives answers of different values for one direction: {own:.6g}, {values[k + n]:.6g}",
                )
            elif abs(values[k + 2 * n] - own) > tolerance:
                self._is_worse(
                    "length",
                    f"argmin(2 d) and argmin(d) have different values <d, v>, {values[k + 2 * n]:.6g} and {own:.6g}; "
                    "the length of a direction must not matter",
                )
            elif own > values[best] + tolerance:
                worse += 1
                self._is_worse(
                    "worse",
                    f"argmin(d) is not the best point: <d, v> is {own:.6g}, but {values[best]:.6g} for a point that it "
                    "returned for another direction",
                )
            if abs(values[k + n] - own) <= tolerance and not np.array_equal(points[k], points[k + n]):
                self.remark("ties", "argmin gives different points of one value for one direction; runs may differ")
        if self.exact and worse and maximal == n:
            self.mistakes.pop("worse")
            self.mistakes = {
                "maximises": f"argmin maximises: for {maximal} of {n} directions d no known point has a larger <d, v> "
                "than its answer, and others have a smaller one; it must minimise",
                **self.mistakes,
            }

    def _is_worse(self, kind: str, text: str) -> None:
        """Record a mistake, or a remark if the domain says that its oracle is not exact."""
        if self.exact:
            self.mistake(kind, text)
        else:
            self.remark(kind, f"{text} (it says exact = False)")

    def try_other_methods(self) -> None:
        """Test the optional methods that the set has."""
        for name in ("start", "contains", "lower_bound", "diameter"):
            try:
                if getattr(self.domain, name, None) is not None:
                    getattr(self, f"_try_{name}")()
            except Exception as error:
                self.mistake(name, f"{name} raised {type(error).__name__}: {error}")
                self.error = error

    def _try_start(self) -> None:
        start = np.asarray(self.domain.start(), dtype=np.float64)
        if start.shape != self.shape:
            self.mistake("start", f"start() has shape {start.shape}, but points of the domain have shape {self.shape}")
            return
        for direction, answer in zip(self.directions, self.answers, strict=True):
            least, value = float(np.vdot(direction, answer)), float(np.vdot(direction, start))
            if value < least - self.rounding * float(
                np.abs(direction).ravel() @ (np.abs(answer) + np.abs(start)).ravel()
            ):
                self._is_worse("start", f"start() is better than argmin(d): <d, v> is {value:.6g}, and {least:.6g}")
        if callable(getattr(self.domain, "contains", None)) and not self.domain.contains(start.copy()):
            self.mistake("start outside", "start() is a point that contains(x) does not accept")

    def _try_contains(self) -> None:
        centre = np.mean(self.answers, axis=0)
        for direction, answer in zip(self.directions, self.answers, strict=True):
            if not self.domain.contains(answer.copy()):
                self.mistake("outside", "argmin returned a point that contains(x) does not accept")
            elif not self.domain.contains(0.5 * (answer + centre)):
                self.mistake("mixture", "contains(x) does not accept a mixture of answers; the set must be convex")
            out = answer + BEYOND * (answer - centre)
            gain = float(np.vdot(direction, answer - out))
            if gain > 1e-3 * float(np.vdot(np.abs(direction), np.abs(answer - out))) and self.domain.contains(
                out.copy()
            ):
                self._is_worse(
                    "better", f"contains(x) accepts a point that is better than argmin(d) by {gain:.3g}: <d, v> is less"
                )

    def _try_lower_bound(self) -> None:
        points = np.array(self.answers).reshape(len(self.answers), -1)
        for direction in self.directions:
            bound = self.domain.lower_bound(direction.copy())
            values = points @ direction.ravel()
            tolerance = self.rounding * float(np.abs(points).max(initial=0.0) * np.abs(direction).sum())
            if bound is not None and not float(bound) <= values.min() + tolerance:
                self.mistake(
                    "bound",
                    f"lower_bound(d) is {float(bound):.6g}, but a point of the set has <d, v> = {values.min():.6g}",
                )

    def _try_diameter(self) -> None:
        points = np.array(self.answers).reshape(len(self.answers), -1)
        farthest = max(float(np.linalg.norm(points - point, axis=1).max()) for point in points)
        if not float(self.domain.diameter) >= farthest * (1.0 - 1e-9):
            self.mistake(
                "diameter", f"diameter is {self.domain.diameter:.6g}, but two answers are {farthest:.6g} apart"
            )
