"""Rules that choose the next blocks, for :func:`bcfw.minimize` and for the solvers of :func:`bcfw.train`.

A :class:`Rule`, which users can write, is an iterator over sets of blocks, one set per iteration; :func:`bcfw.minimize`
uses it. A :class:`Sampling` gives the visits of one pass, one block at a time; the compiled passes of
:func:`bcfw.train` use it. ``Rule.sampling`` names the sampling that chooses blocks like the rule, if there is one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bcfw.algorithms.gap_tree import SCALE, drawn_leaf, largest_leaf, make_tree, set_leaf
from bcfw.errors import OptionError
from bcfw.options import Choice, Count, named
from bcfw.passes.order import BY_GAP, IN_ORDER, LARGEST_GAP, Visits, in_order

__all__ = [
    "PQ",
    "RULES",
    "CostAware",
    "Custom",
    "Cyclic",
    "EssentiallyCyclic",
    "Full",
    "Gap",
    "Greedy",
    "Lazy",
    "Permuted",
    "QuasiStochastic",
    "Rule",
    "SelectionState",
    "Uniform",
    "find_rule",
]


#: Number of blocks that are drawn from the generator at once.
DRAWS = 1024


# --- rules: sets of blocks, one per iteration ---------------------------------------------------------------------


@dataclass
class SelectionState:
    """State of a run that a rule can use; :func:`bcfw.minimize` updates it.

    Attributes
    ----------
    n_blocks : m
    rng : the random generator of the run
    gaps : (m,) Frank-Wolfe gap of every block at the latest call of its oracle; infinite before the first call
    seconds : (m,) the shortest recent time of every block's oracle; infinite before the first call, and always infinite
        if the rule is not ``timed``
    certificates : the number of certificates so far, each of which computes all gaps
    """

    n_blocks: int
    rng: np.random.Generator
    gaps: np.ndarray
    seconds: np.ndarray
    certificates: int = 0


class Rule:
    """Base class of rules that choose a set of blocks for every iteration.

    A subclass defines :meth:`iterations`. An instance holds options only, so that it can be used in several runs.
    """

    #: Whether the rule uses :attr:`SelectionState.seconds`.
    timed: ClassVar[bool] = False

    @property
    def sampling(self) -> str | None:
        """The word of :data:`SAMPLINGS` for this choice of blocks in the passes of ``train``; None if there is none."""
        return None

    def iterations(self, facts: SelectionState) -> Iterator[Sequence[int]]:
        """Yield without end the blocks of each iteration; the blocks of one iteration are distinct."""
        raise NotImplementedError

    def window(self, n_blocks: int) -> int | None:
        """Return K such that each window of iterations [0, K), [K, 2K), ... visits all blocks; None if no K does."""
        return None

    def per_pass(self, n_blocks: int) -> int:
        """Return the number of iterations that visit each block about once; certificates are scheduled in this unit."""
        return self.window(n_blocks) or n_blocks


@dataclass(frozen=True)
class Full(Rule):
    """All blocks in every iteration: K = 1."""

    def iterations(self, facts: SelectionState) -> Iterator[Sequence[int]]:
        return itertools.repeat(range(facts.n_blocks))

    def window(self, n_blocks: int) -> int:
        return 1


@dataclass(frozen=True)
class Sized(Rule):
    """Base class of rules that choose ``size`` blocks at a time."""

    size: int = 1

    def __post_init__(self) -> None:
        _count(self, "size")

    def per_pass(self, n_blocks: int) -> int:
        return -(-n_blocks // self.size)

    def _groups(self, order: Sequence[int]) -> Iterator[Sequence[int]]:
        return (order[start : start + self.size] for start in range(0, len(order), self.size))


@dataclass(frozen=True)
class Cyclic(Sized):
    """Blocks in the order of their indices, ``size`` at a time: K = ceil(m / size)."""

    @property
    def sampling(self) -> str | None:
        return "cyclic" if self.size == 1 else None

    def iterations(self, facts: SelectionState) -> Iterator[Sequence[int]]:
        return itertools.cycle(self._groups(range(facts.n_blocks)))

    def window(self, n_blocks: int) -> int:
        return self.per_pass(n_blocks)


@dataclass(frozen=True)
class Permuted(Sized):
    """Every block once per pass, in a new random order, ``size`` at a time: K = 2 ceil(m / size) - 1.

    This K is valid for windows that begin at any iteration; for windows that begin with a pass, K = ceil(m / size).
    """

    @property
    def sampling(self) -> str | None:
        return "permuted" if self.size == 1 else None

    def iterations(self, facts: SelectionState) -> Iterator[Sequence[int]]:
        while True:
            yield from self._groups(facts.rng.permutation(facts.n_blocks).tolist())

    def window(self, n_blocks: int) -> int:
        return 2 * self.per_pass(n_blocks) - 1


@dataclass(frozen=True)
class Uniform(Sized):
    """``size`` distinct blocks, drawn uniformly and independently of earlier iterations: no K."""

    @property
    def sampling(self) -> str | None:
        return "uniform" if self.size == 1 else None

    def iterations(self, facts: SelectionState) -> Iterator[Sequence[int]]:
        size = min(self.size, facts.n_blocks)
        while size == 1:
            yield from ((i,) for i in facts.rng.integers(facts.n_blocks, size=DRAWS).tolist())
        while True:
            yield facts.rng.choice(facts.n_blocks, size, replace=False, shuffle=False).tolist()


@dataclass(frozen=True)
class EssentiallyCyclic(Rule):
    """One block at a time; each window of K iterations ends with one visit to every expensive block.

    The other blocks fill the first K - (number of expensive blocks) iterations of the window, in one random order after
    the other (flexible-blocks-2026, section 4, (iv)). K must be at least m.
    """

    K: int
    expensive: Sequence[int] = ()

    def __post_init__(self) -> None:
        _count(self, "K")

    def iterations(self, facts: SelectionState) -> Iterator[Sequence[int]]:
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
    """All blocks in every q-th iteration; in the other iterations, all blocks that are not expensive: K = q.

    See flexible-blocks-2026, equation (51).
    """

    q: int
    expensive: Sequence[int] = ()

    def __post_init__(self) -> None:
        _count(self, "q")

    def iterations(self, facts: SelectionState) -> Iterator[Sequence[int]]:
        cheap, _ = _split(self, self.expensive, facts.n_blocks)
        everything = range(facts.n_blocks)
        return itertools.cycle([everything, *[cheap or everything] * (self.q - 1)])

    def window(self, n_blocks: int) -> int:
        return self.q


@dataclass(frozen=True)
class PQ(Rule):
    """All blocks in every q-th iteration; in the other iterations, p random blocks that are not expensive: K = q.

    See flexible-blocks-2026, equation (53).
    """

    p: int
    q: int
    expensive: Sequence[int] = ()

    def __post_init__(self) -> None:
        _count(self, "p")
        _count(self, "q")

    def iterations(self, facts: SelectionState) -> Iterator[Sequence[int]]:
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
    """One random block at a time; the last iteration of every window of K also takes all blocks the window missed."""

    K: int

    def __post_init__(self) -> None:
        _count(self, "K")

    def iterations(self, facts: SelectionState) -> Iterator[Sequence[int]]:
        m = facts.n_blocks
        while True:
            drawn = facts.rng.integers(m, size=self.K).tolist()
            yield from ((i,) for i in drawn[:-1])
            yield [drawn[-1], *sorted(set(range(m)).difference(drawn))]

    def window(self, n_blocks: int) -> int:
        return self.K


@dataclass(frozen=True)
class CostAware(Rule):
    """All blocks in the first iteration of every window of K; in the other iterations, blocks with cheap oracles.

    After the first iteration of a window, the blocks are sorted by the shortest recent time of their oracle. If the
    largest ratio between neighbours is at least 4, it separates cheap from expensive blocks; otherwise all blocks are
    cheap. The choice depends on measured times; ``Lazy(K, expensive=[...])`` makes a run repeatable.
    """

    K: int
    timed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _count(self, "K")

    def iterations(self, facts: SelectionState) -> Iterator[Sequence[int]]:
        while True:
            yield range(facts.n_blocks)
            cheap = _cheap_blocks(facts.seconds)
            for _ in range(self.K - 1):
                yield cheap

    def window(self, n_blocks: int) -> int:
        return self.K


@dataclass(frozen=True)
class Gap(Rule):
    """One block, drawn in proportion to its latest gap (gaps-2016, Alg. 2): no K; certificates update all gaps."""

    _largest: ClassVar[bool] = False

    @property
    def sampling(self) -> str | None:
        return "gap"

    def iterations(self, facts: SelectionState) -> Iterator[Sequence[int]]:
        seen, tree = -1, np.zeros(0)
        while True:
            if seen != facts.certificates:
                seen, tree = facts.certificates, make_tree(facts.gaps, self._largest)
            if not 0.0 < tree[1] < np.inf:  # some gaps are unknown, or all are zero: do a pass over all blocks
                yield from ((i,) for i in facts.rng.permutation(facts.n_blocks).tolist())
                tree = make_tree(facts.gaps, self._largest)
                continue
            i = largest_leaf(tree) if self._largest else drawn_leaf(tree, facts.rng.integers(SCALE))
            yield (i,)
            set_leaf(tree, self._largest, i, facts.gaps[i])


@dataclass(frozen=True)
class Greedy(Gap):
    """The block with the largest latest gap: no K; certificates update all gaps."""

    _largest: ClassVar[bool] = True

    @property
    def sampling(self) -> str | None:
        return "max-gap"


@dataclass(frozen=True)
class Custom(Rule):
    """A user's function ``choose(t, rng, gaps) -> blocks`` of iteration number, random generator and latest gaps."""

    choose: Callable[[int, np.random.Generator, np.ndarray], Any]

    def iterations(self, facts: SelectionState) -> Iterator[Sequence[int]]:
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


#: The words of the option ``selection``, for rules that need no options.
RULES: dict[str, type[Rule]] = {
    "full": Full,
    "cyclic": Cyclic,
    "permuted": Permuted,
    "uniform": Uniform,
    "gap": Gap,
    "greedy": Greedy,
}


def find_rule(selection: Any) -> Rule:
    """Return the rule for the option ``selection``: a word, a rule or a user's function."""
    if callable(selection) and not isinstance(selection, type):
        return Custom(selection)
    return named("selection", selection, Rule, RULES)


def _count(rule: Any, name: str) -> None:
    Count(1).check(type(rule).__name__, name, getattr(rule, name))


def _split(rule: Rule, expensive: Any, n_blocks: int) -> tuple[list[int], list[int]]:
    """Return the blocks that are not expensive, and the expensive ones; raise OptionError for wrong indices."""
    chosen = np.atleast_1d(np.asarray(expensive, dtype=object)).tolist()
    if not all(Count(0, least=0).accepts(i) and i < n_blocks for i in chosen) or len(set(chosen)) < len(chosen):
        raise OptionError(f"{rule!r}: expensive must be different whole numbers from 0 to {n_blocks - 1}")
    return sorted(set(range(n_blocks)).difference(chosen)), [int(i) for i in chosen]


def _cheap_blocks(seconds: np.ndarray, least_ratio: float = 4.0) -> list[int]:
    """Return the blocks below the largest ratio between neighbouring sorted times; all blocks if no ratio is large."""
    order = np.argsort(seconds, kind="stable")
    jumps = seconds[order[1:]] / np.maximum(seconds[order[:-1]], 1e-9)
    if len(jumps) == 0 or jumps.max() < least_ratio:
        return list(range(len(seconds)))
    return sorted(order[: int(jumps.argmax()) + 1].tolist())


# --- samplings: the visits of one compiled pass -------------------------------------------------------------------


class Sampling(NamedTuple):
    """A way to choose the blocks of one pass.

    Attributes
    ----------
    order : function of a random generator and the blocks that returns the visits of a pass in order
    visits_all : whether every pass visits every block
    kind : ``IN_ORDER``: passes use ``order``. ``BY_GAP`` or ``LARGEST_GAP``: if the gaps are known, blocks are chosen
        by their gaps
    """

    order: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    visits_all: bool
    kind: int = IN_ORDER

    @property
    def by_gap(self) -> bool:
        """Whether blocks are chosen by their gaps: drawn in proportion to the gap, or always the largest gap."""
        return self.kind != IN_ORDER

    @property
    def largest(self) -> bool:
        """Whether the block with the largest gap is always chosen."""
        return self.kind == LARGEST_GAP

    def visits(self, rng: np.random.Generator, blocks: np.ndarray, gaps: np.ndarray | None) -> Visits:
        """Return the visits of one pass, as many as there are blocks.

        They follow ``order`` if the sampling does not use gaps, if the gaps are unknown (None), or if all are zero.
        """
        order = self.order(rng, blocks)
        if not self.by_gap or gaps is None or gaps.max() <= 0.0:
            return in_order(order)
        draws = rng.integers(SCALE, size=len(order))
        return Visits(self.kind, len(order), order[:0], draws, make_tree(gaps, self.largest))


def uniform(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """Return as many blocks as there are, drawn uniformly with replacement."""
    return blocks[rng.integers(len(blocks), size=len(blocks))]


def permuted(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """Return every block once, in a new random order."""
    return rng.permutation(blocks)


def cyclic(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """Return every block once, in the order of the data."""
    return blocks


#: The words of the option ``sampling`` and their samplings.
SAMPLINGS = {
    "permuted": Sampling(permuted, visits_all=True),
    "uniform": Sampling(uniform, visits_all=False),
    "cyclic": Sampling(cyclic, visits_all=True),
    "gap": Sampling(permuted, visits_all=False, kind=BY_GAP),
    "max-gap": Sampling(permuted, visits_all=False, kind=LARGEST_GAP),
}


class SamplingChoice(Choice):
    """An option that takes a word of :data:`SAMPLINGS`, or a rule with such a word."""

    def check(self, owner: str, name: str, value: Any) -> Any:
        if isinstance(value, Rule):
            if value.sampling is None:
                words = " or ".join(repr(word) for word in self.words)
                raise OptionError(f"{owner}: {name}={value!r} chooses several blocks at once or by time; use {words}")
            return super().check(owner, name, value.sampling)
        return super().check(owner, name, value)


def __dir__() -> list[str]:
    return sorted(__all__)
