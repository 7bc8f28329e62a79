"""Rules that choose blocks: their windows, what they draw, and the same rules in ``train``."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import bcfw
from bcfw import selection
from bcfw.selection import RULES, Rule, SelectionState, find_rule


def facts_of(m, gaps=None, seconds=None, seed=0):
    gaps = np.full(m, np.inf) if gaps is None else np.array(gaps, dtype=float)
    seconds = np.ones(m) if seconds is None else np.array(seconds, dtype=float)
    return SelectionState(m, np.random.default_rng(seed), gaps, seconds)


def first(rule, count, facts):
    return [list(blocks) for blocks in itertools.islice(rule.iterations(facts), count)]


M = 7
WITH_WINDOW = [
    selection.Full(),
    selection.Cyclic(),
    selection.Cyclic(size=3),
    selection.Permuted(),
    selection.Permuted(size=3),
    selection.EssentiallyCyclic(7, expensive=[2]),
    selection.EssentiallyCyclic(20, expensive=[6, 0]),
    selection.EssentiallyCyclic(9, expensive=range(7)),
    selection.Lazy(5, expensive=[6]),
    selection.PQ(2, 4, expensive=[6]),
    selection.QuasiStochastic(5),
    selection.CostAware(4),
]


@pytest.mark.parametrize("rule", WITH_WINDOW, ids=repr)
def test_every_window_touches_every_block(rule):
    K = rule.window(M)
    drawn = first(rule, 40 * K, facts_of(M, seconds=[1, 1, 1, 1, 1, 1, 100]))
    for start in range(0, len(drawn), K):
        assert set().union(*drawn[start : start + K]) == set(range(M))
    assert all(len(set(blocks)) == len(blocks) > 0 for blocks in drawn)


@pytest.mark.parametrize("rule", [selection.Cyclic(3), selection.Permuted(), selection.Permuted(3)], ids=repr)
def test_windows_that_begin_anywhere(rule):
    K = rule.window(M)
    drawn = first(rule, 30 * K, facts_of(M))
    for start in range(29 * K):
        assert set().union(*drawn[start : start + K]) == set(range(M))


def test_the_stated_windows():
    stated = [rule.window(M) for rule in WITH_WINDOW]
    assert stated == [1, 7, 3, 13, 5, 7, 20, 9, 5, 4, 5, 4]
    for rule in (selection.Uniform(), selection.Gap(), selection.Greedy(), find_rule(lambda t, rng, gaps: 0)):
        assert rule.window(M) is None
        assert rule.per_pass(M) == M


def test_expensive_blocks_are_spared():
    facts = facts_of(M)
    cyclic = first(selection.EssentiallyCyclic(20, expensive=[3]), 100, facts)
    assert [t for t, blocks in enumerate(cyclic) if blocks == [3]] == [19, 39, 59, 79, 99]
    lazy = first(selection.Lazy(5, expensive=[3]), 10, facts)
    assert [len(blocks) for blocks in lazy] == [7, 6, 6, 6, 6] * 2
    assert all(3 not in blocks for blocks in lazy[1:5])
    pairs = first(selection.PQ(2, 3, expensive=[3]), 300, facts)
    assert [len(blocks) for blocks in pairs[:6]] == [7, 2, 2, 7, 2, 2]
    assert set().union(*(blocks for blocks in pairs if len(blocks) == 2)) == set(range(M)) - {3}


def test_cost_aware_finds_the_expensive_blocks():
    drawn = first(selection.CostAware(3), 6, facts_of(4, seconds=[1e-5, 2e-5, 9e-3, 1.5e-5]))
    assert drawn == [[0, 1, 2, 3], [0, 1, 3], [0, 1, 3]] * 2
    assert first(selection.CostAware(3), 3, facts_of(4, seconds=[1e-5, 2e-5, 3e-5, 1.5e-5])) == [[0, 1, 2, 3]] * 3
    assert first(selection.CostAware(2), 2, facts_of(1)) == [[0], [0]]


def test_gap_draws_in_proportion():
    facts = facts_of(4, gaps=[0.0, 1.0, 3.0, -0.1])
    counts = np.bincount([i for (i,) in first(selection.Gap(), 4000, facts)], minlength=4)
    assert counts[[0, 3]].tolist() == [0, 0]
    assert counts[2] / counts[1] == pytest.approx(3.0, rel=0.1)


def test_greedy_takes_the_largest_gap_and_follows_changes():
    live = facts_of(3, gaps=[1, 3, 2])
    draws = selection.Greedy().iterations(live)
    assert next(draws) == (1,)
    live.gaps[1] = 0.5
    assert next(draws) == (2,)
    live.gaps[:] = [9.0, 0.0, 0.0]
    live.certificates += 1
    assert next(draws) == (0,)


@pytest.mark.parametrize("rule", [selection.Gap(), selection.Greedy()], ids=repr)
@pytest.mark.parametrize("gaps", [[np.inf] * 5, [0.0] * 5])
def test_without_gaps_every_block_comes_once(rule, gaps):
    drawn = first(rule, 5, facts_of(5, gaps=gaps))
    assert sorted(itertools.chain(*drawn)) == [0, 1, 2, 3, 4]


def test_uniform_takes_different_blocks():
    for size in (1, 3, 9):
        drawn = first(selection.Uniform(size), 200, facts_of(5))
        assert all(len(set(blocks)) == len(blocks) == min(size, 5) for blocks in drawn)
        assert set().union(*drawn) == set(range(5))


def test_a_rule_serves_many_runs():
    """All that changes lives in the iterator."""
    for rule in (*WITH_WINDOW, selection.Uniform(2), selection.Gap()):
        assert first(rule, 50, facts_of(M)) == first(rule, 50, facts_of(M))


def test_a_function_chooses():
    rule = find_rule(lambda t, rng, gaps: [t % len(gaps), (t + 1) % len(gaps)])
    assert first(rule, 3, facts_of(3)) == [[0, 1], [1, 2], [2, 0]]
    assert first(find_rule(lambda t, rng, gaps: np.int64(2)), 1, facts_of(3)) == [[2]]
    for wrong in ([], [3], [-1], [0, 0], [0.5], "a", [[0]]):
        with pytest.raises(bcfw.OptionError, match=r"selection: iteration 0 chose .* whole numbers from 0 to 2"):
            first(find_rule(lambda t, rng, gaps, wrong=wrong: wrong), 1, facts_of(3))


def test_unknown_and_wrong_rules():
    for word in RULES:
        assert isinstance(find_rule(word), Rule)
    with pytest.raises(bcfw.OptionError, match=r"selection 'permutted' is unknown; did you mean 'permuted'\?"):
        find_rule("permutted")
    with pytest.raises(bcfw.OptionError, match=r"the class Lazy; give an instance, Lazy\(...\)"):
        find_rule(selection.Lazy)
    with pytest.raises(bcfw.OptionError, match="selection 3 is unknown"):
        find_rule(3)
    for make in (selection.Cyclic, selection.Lazy, selection.CostAware, selection.QuasiStochastic):
        with pytest.raises(bcfw.OptionError, match=rf"{make.__name__}: \w+ must be a whole number >= 1, got 0"):
            make(0)
    with pytest.raises(bcfw.OptionError, match="K must be at least the number of blocks, 7"):
        first(selection.EssentiallyCyclic(5), 1, facts_of(7))
    for wrong in ([7], [-1], [0, 0], [0.5]):
        with pytest.raises(bcfw.OptionError, match="expensive must be different whole numbers from 0 to 6"):
            first(selection.Lazy(3, expensive=wrong), 1, facts_of(7))


@pytest.mark.parametrize("solver", [bcfw.solvers.BCFW, bcfw.solvers.MultiPlane])
def test_train_takes_the_rules_that_it_can_follow(solver):
    pairs = [
        (selection.Permuted(), "permuted"),
        (selection.Uniform(), "uniform"),
        (selection.Cyclic(), "cyclic"),
        (selection.Gap(), "gap"),
        (selection.Greedy(), "max-gap"),
    ]
    for rule, word in pairs:
        assert solver(sampling=rule).sampling == word
    for rule in (selection.Permuted(size=2), selection.Full(), selection.Lazy(3)):
        with pytest.raises(bcfw.OptionError, match=rf"{solver.__name__}: sampling={type(rule).__name__}\(.*; use "):
            solver(sampling=rule)
