"""Which blocks come next.

Two forms of the same rules. :class:`Rule` is what users write and :func:`bcfw.minimize` follows: an iterator over sets
of blocks, one set per iteration. :class:`Sampling` is what the compiled passes of :func:`bcfw.train` follow: the visits
of one pass, one block at a time; rules that have such a form name it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bcfw.errors import OptionError
from bcfw.kernels.trees import SCALE, drawn_leaf, largest_leaf, set_leaf
from bcfw.options import Choice, Count, named
from bcfw.records import BY_GAP, IN_ORDER, LARGEST_GAP, Visits, in_order

__all__ = [
    "PQ",
    "RULES",
    "CostAware",
    "Custom",
    "Cyclic",
    "EssentiallyCyclic",
    "Facts",
    "Full",
    "Gap",
    "Greedy",
    "Lazy",
    "Permuted",
    "QuasiStochastic",
    "Rule",
    "Uniform",
    "find_rule",
]

#: Blocks that are drawn from the generator at once.
DRAWS = 1024


# --- rules: sets of blocks, one per iteration ---------------------------------------------------------------------


@dataclass
class Facts:
    """What a rule may look at; the optimiser keeps it up to date.

    Attributes
    ----------
    n_blocks : m
    rng : the generator of the run
    gaps : (m,) Frank-Wolfe gap of every block when its oracle was last asked; infinite before
    seconds : (m,) the shortest time that the block's oracle took lately; infinite before. Kept for rules that are
        ``timed``
    certificates : how often all gaps were computed anew
    """

    n_blocks: int
    rng: np.random.Generator
    gaps: np.ndarray
    seconds: np.ndarray
    certificates: int = 0


class Rule:
    """Chooses a set of blocks for every iteration.

    A subclass writes :meth:`iterations`. An instance holds options only, so that it may serve many runs.
    """

    #: Whether :attr:`Facts.seconds` is read.
    timed: ClassVar[bool] = False

    @property
    def sampling(self) -> str | None:
        """The word of :data:`SAMPLINGS` for the same choice in the passes of ``train``; None if there is none."""
        return None

    def iterations(self, facts: Facts) -> Iterator[Sequence[int]]:
        """Endless: the distinct blocks of one iteration after the other."""
        raise NotImplementedError

    def window(self, n_blocks: int) -> int | None:
        """The K of the rule: iterations [0, K), [K, 2K), ... touch every block, each; None if no such K exists."""
        return None

    def per_pass(self, n_blocks: int) -> int:
        """Iterations that touch each block about once: the unit in which certificates are scheduled."""
        return self.window(n_blocks) or n_blocks


@dataclass(frozen=True)
class Full(Rule):
    """All blocks at every iteration: K = 1."""

    def iterations(self, facts: Facts) -> Iterator[Sequence[int]]:
        return itertools.repeat(range(facts.n_blocks))

    def window(self, n_blocks: int) -> int:
        return 1


@dataclass(frozen=True)
class Sized(Rule):
    """A rule that takes ``size`` blocks at a time."""

    size: int = 1

    def __post_init__(self) -> None:
        _count(self, "size")

    def per_pass(self, n_blocks: int) -> int:
        return -(-n_blocks // self.size)

    def _groups(self, order: Sequence[int]) -> Iterator[Sequence[int]]:
        return (order[start : start + self.size] for start in range(0, len(order), self.size))


@dataclass(frozen=True)
class Cyclic(Sized):
    """Blocks in their order, ``size`` at a time: K = ceil(m / size)."""

    @property
    def sampling(self) -> str | None:
        return "cyclic" if self.size == 1 else None

    def iterations(self, facts: Facts) -> Iterator[Sequence[int]]:
        return itertools.cycle(self._groups(range(facts.n_blocks)))

    def window(self, n_blocks: int) -> int:
        return self.per_pass(n_blocks)


@dataclass(frozen=True)
class Permuted(Sized):
    """Every block once per pass, in a new random order, ``size`` at a time: K = 2 ceil(m / size) - 1.

    That K holds for windows that begin anywhere; for windows that begin with a pass it is ceil(m / size).
    """

    @property
    def sampling(self) -> str | None:
        return "permuted" if self.size == 1 else None

    def iterations(self, facts: Facts) -> Iterator[Sequence[int]]:
        while True:
            yield from self._groups(facts.rng.permutation(facts.n_blocks).tolist())

    def window(self, n_blocks: int) -> int:
        return 2 * self.per_pass(n_blocks) - 1


@dataclass(frozen=True)
class Uniform(Sized):
    """``size`` different blocks, drawn uniformly and independently of what came before: no K."""

    @property
    def sampling(self) -> str | None:
        return "uniform" if self.size == 1 else None

    def iterations(self, facts: Facts) -> Iterator[Sequence[int]]:
        size = min(self.size, facts.n_blocks)
        while size == 1:
            yield from ((i,) for i in facts.rng.integers(facts.n_blocks, size=DRAWS).tolist())
        while True:
            yield facts.rng.choice(facts.n_blocks, size, replace=False, shuffle=False).tolist()


@dataclass(frozen=True)
class EssentiallyCyclic(Rule):
    """One block at a time; in every window of K iterations each expensive block once, at its end, the others as often.

    The others come in random orders, one after the other, until K - (number of expensive blocks) are taken
    (flexible-blocks-2026, section 4, (iv)). K must be at least m.
    """

    K: int
    expensive: Sequence[int] = ()

    def __post_init__(self) -> None:
        _count(self, "K")

    def iterations(self, facts: Facts) -> Iterator[Sequence[int]]:
        cheap, expensive = _split(self, self.expensive, facts.n_blocks)
        if facts.n_blocks > self.K:
            raise OptionError(f"{self!r}: K must be at least the number of blocks, {facts.n_blocks}")
        room = self.K - len(expensive)
        while True:
            left = room if cheap else 0
            while left > 0:
                yield from ((i,) for i in facts.rng.permutation(cheap)[:left].tolist())
                left -= len(cheap)
            yield from ((i,) for i in expensive)

    def window(self, n_blocks: int) -> int:
        return self.K


@dataclass(frozen=True)
class Lazy(Rule):
    """All blocks at every q-th iteration, all but the expensive ones else (flexible-blocks-2026, (51)): K = q."""

    q: int
    expensive: Sequence[int] = ()

    def __post_init__(self) -> None:
        _count(self, "q")

    def iterations(self, facts: Facts) -> Iterator[Sequence[int]]:
        cheap, _ = _split(self, self.expensive, facts.n_blocks)
        everything = range(facts.n_blocks)
        return itertools.cycle([everything, *[cheap or everything] * (self.q - 1)])

    def window(self, n_blocks: int) -> int:
        return self.q


@dataclass(frozen=True)
class PQ(Rule):
    """All blocks at every q-th iteration, p random ones of the others that are not expensive (53): K = q."""

    p: int
    q: int
    expensive: Sequence[int] = ()

    def __post_init__(self) -> None:
        _count(self, "p")
        _count(self, "q")

    def iterations(self, facts: Facts) -> Iterator[Sequence[int]]:
        cheap, _ = _split(self, self.expensive, facts.n_blocks)
        cheap = cheap or list(range(facts.n_blocks))
        size = min(self.p, len(cheap))
        while True:
            yield range(facts.n_blocks)
            for _ in range(self.q - 1):
                yield facts.rng.choice(cheap, size, replace=False, shuffle=False).tolist()

    def window(self, n_blocks: int) -> int:
        return self.q


@dataclass(frozen=True)
class QuasiStochastic(Rule):
    """One random block at a time; the last iteration of every window of K also takes the blocks that were missed."""

    K: int

    def __post_init__(self) -> None:
        _count(self, "K")

    def iterations(self, facts: Facts) -> Iterator[Sequence[int]]:
        m = facts.n_blocks
        while True:
            drawn = facts.rng.integers(m, size=self.K).tolist()
            yield from ((i,) for i in drawn[:-1])
            yield [drawn[-1], *sorted(set(range(m)).difference(drawn))]

    def window(self, n_blocks: int) -> int:
        return self.K


@dataclass(frozen=True)
class CostAware(Rule):
    """Measures the oracles, and asks the expensive ones once per window of K iterations, the others at every one.

    After each window the blocks are sorted by the shortest time that their oracle took lately. The largest ratio
    between neighbours divides cheap from expensive, if it is at least 4; otherwise all are cheap. The choice depends on
    the clock: repeat a run with ``Lazy(K, expensive=[...])``.
    """

    K: int
    timed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _count(self, "K")

    def iterations(self, facts: Facts) -> Iterator[Sequence[int]]:
        while True:
            yield range(facts.n_blocks)
            cheap = _cheap_blocks(facts.seconds)
            for _ in range(self.K - 1):
                yield cheap

    def window(self, n_blocks: int) -> int:
        return self.K


@dataclass(frozen=True)
class Gap(Rule):
    """One block, drawn in proportion to its last known gap (gaps-2016, Alg. 2): no K; certificates refresh the gaps."""

    _largest: ClassVar[bool] = False

    @property
    def sampling(self) -> str | None:
        return "gap"

    def iterations(self, facts: Facts) -> Iterator[Sequence[int]]:
        seen, tree = -1, np.zeros(0)
        while True:
            if seen != facts.certificates:
                seen, tree = facts.certificates, make_tree(facts.gaps, self._largest)
            if not 0.0 < tree[1] < np.inf:  # nothing is known, or nothing is left: a pass over all blocks
                yield from ((i,) for i in facts.rng.permutation(facts.n_blocks).tolist())
                tree = make_tree(facts.gaps, self._largest)
                continue
            i = largest_leaf(tree) if self._largest else drawn_leaf(tree, facts.rng.integers(SCALE))
            yield (i,)
            set_leaf(tree, self._largest, i, facts.gaps[i])


@dataclass(frozen=True)
class Greedy(Gap):
    """The block of the largest last known gap: no K; certificates refresh the gaps."""

    _largest: ClassVar[bool] = True

    @property
    def sampling(self) -> str | None:
        return "max-gap"


@dataclass(frozen=True)
class Custom(Rule):
    """A user's function ``choose(t, rng, gaps) -> blocks`` of iteration number, generator and last known gaps."""

    choose: Callable[[int, np.random.Generator, np.ndarray], Any]

    def iterations(self, facts: Facts) -> Iterator[Sequence[int]]:
        for t in itertools.count():
            answer = np.atleast_1d(np.asarray(self.choose(t, facts.rng, facts.gaps.copy())))
            inside = answer.dtype.kind in "iu" and answer.ndim == 1 and answer.size > 0
            if (
                not inside
                or answer.min() < 0
                or answer.max() >= facts.n_blocks
                or len(set(answer.tolist())) < len(answer)
            ):
                raise OptionError(
                    f"selection: iteration {t} chose {answer.tolist()!r}; give one or more different blocks, whole "
                    f"numbers from 0 to {facts.n_blocks - 1}"
                )
            yield answer.tolist()


#: Words for rules that need no options.
RULES: dict[str, type[Rule]] = {
    "full": Full,
    "cyclic": Cyclic,
    "permuted": Permuted,
    "uniform": Uniform,
    "gap": Gap,
    "greedy": Greedy,
}


def find_rule(selection: Any) -> Rule:
    """The rule behind a word, a rule or a user's function."""
    if callable(selection) and not isinstance(selection, type):
        return Custom(selection)
    return named("selection", selection, Rule, RULES)


def _count(rule: Any, name: str) -> None:
    Count(1).check(type(rule).__name__, name, getattr(rule, name))


def _split(rule: Rule, expensive: Any, n_blocks: int) -> tuple[list[int], list[int]]:
    """The other blocks, and the expensive ones, which are given by their indices."""
    chosen = np.atleast_1d(np.asarray(expensive, dtype=object)).tolist()
    if not all(Count(0, least=0).accepts(i) and i < n_blocks for i in chosen) or len(set(chosen)) < len(chosen):
        raise OptionError(f"{rule!r}: expensive must be different whole numbers from 0 to {n_blocks - 1}")
    return sorted(set(range(n_blocks)).difference(chosen)), [int(i) for i in chosen]


def _cheap_blocks(seconds: np.ndarray, least_ratio: float = 4.0) -> list[int]:
    """Blocks below the largest relative jump between sorted times; all of them where there is none."""
    order = np.argsort(seconds, kind="stable")
    jumps = seconds[order[1:]] / np.maximum(seconds[order[:-1]], 1e-9)
    if len(jumps) == 0 or jumps.max() < least_ratio:
        return list(range(len(seconds)))
    return sorted(order[: int(jumps.argmax()) + 1].tolist())


# --- samplings: the visits of one compiled pass -------------------------------------------------------------------


class Sampling(NamedTuple):
    """How a pass chooses its blocks.

    Attributes
    ----------
    order : function of a random generator and the blocks that returns the order of one pass
    visits_all : whether every pass visits every block
    kind : ``IN_ORDER``, or how blocks are drawn once their gaps are known: ``BY_GAP`` or ``LARGEST_GAP``
    """

    order: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    visits_all: bool
    kind: int = IN_ORDER

    @property
    def by_gap(self) -> bool:
        """Whether blocks are drawn by their gaps, in proportion or always the largest."""
        return self.kind != IN_ORDER

    @property
    def largest(self) -> bool:
        """Whether always the block of the largest gap is taken."""
        return self.kind == LARGEST_GAP

    def visits(self, rng: np.random.Generator, blocks: np.ndarray, gaps: np.ndarray | None) -> Visits:
        """The visits of one pass, as many as there are blocks.

        Without gaps (None: they count as infinite) or where all are zero, every block is visited once.
        """
        order = self.order(rng, blocks)
        if not self.by_gap or gaps is None or gaps.max() <= 0.0:
            return in_order(order)
        draws = rng.integers(SCALE, size=len(order))
        return Visits(self.kind, len(order), order[:0], draws, make_tree(gaps, self.largest))


def uniform(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """As many blocks as there are, drawn independently with replacement."""
    return blocks[rng.integers(len(blocks), size=len(blocks))]


def permuted(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """Every block once, in a new random order."""
    return rng.permutation(blocks)


def cyclic(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """Every block once, in the order of the data."""
    return blocks


def make_tree(values: np.ndarray, largest: bool) -> np.ndarray:
    """A tree of sums, or of maxima, over non-negative values (see :mod:`bcfw.kernels.trees`)."""
    leaves = 1 << max(1, int(np.ceil(np.log2(max(2, len(values))))))
    tree = np.zeros(2 * leaves)
    tree[leaves : leaves + len(values)] = np.maximum(values, 0.0)
    level = leaves
    while level > 1:
        below = tree[level : 2 * level].reshape(-1, 2)
        level //= 2
        tree[level : 2 * level] = below.max(axis=1) if largest else below.sum(axis=1)
    return tree


SAMPLINGS = {
    "permuted": Sampling(permuted, visits_all=True),
    "uniform": Sampling(uniform, visits_all=False),
    "cyclic": Sampling(cyclic, visits_all=True),
    "gap": Sampling(permuted, visits_all=False, kind=BY_GAP),
    "max-gap": Sampling(permuted, visits_all=False, kind=LARGEST_GAP),
}


class SamplingChoice(Choice):
    """A word of :data:`SAMPLINGS`, or a rule that has one."""

    def check(self, owner: str, name: str, value: Any) -> Any:
        if isinstance(value, Rule):
            if value.sampling is None:
                words = " or ".join(repr(word) for word in self.words)
                raise OptionError(f"{owner}: {name}={value!r} chooses several blocks at once or by time; use {words}")
            return super().check(owner, name, value.sampling)
        return super().check(owner, name, value)


def __dir__() -> list[str]:
    return sorted(__all__)
