"""Certificates as numbers: the better of two."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bcfw.dual import Certificate
from bcfw.dual.certificates import HingeSums, certificate

VALUES = st.floats(0.0, 1e6)


@given(st.tuples(VALUES, VALUES), st.tuples(VALUES, VALUES))
def test_the_better_of_two_exact_ones_is_proved(first, second):
    """The smaller primal, the larger dual value; the bound is the gap itself, to the last bit."""
    one, other = (Certificate(1e6 + P, D, 1e6 + P - D, 1e6 + P - D) for P, D in (first, second))
    best = one.better_of(other)
    assert (best.primal, best.dual) == (min(one.primal, other.primal), max(one.dual, other.dual))
    assert best.gap == best.gap_bound == best.primal - best.dual
    assert best.proven(0.0)[1]


@pytest.mark.parametrize("dual", [-1e15, -1e60])
def test_a_primal_value_far_smaller_than_a_dual_one_is_kept(dual):
    """The gap of a poor dual point says nothing about the primal value any more; another point's dual value does."""
    found = certificate(0.25, HingeSums(0.5, 0.5), dual)
    best = Certificate(1.0, 0.0, 1.0, 1.0).better_of(found)
    assert best == Certificate(0.75, 0.0, 0.75, 0.75)
    assert found.hinge(0.5, np.ones(1)) == HingeSums(0.5, 0.5)


def test_of_a_heuristic_what_is_proved_decides():
    estimated = Certificate(primal=1.0, dual=0.5, gap=0.5, gap_bound=2.5)
    proved = Certificate(primal=1.5, dual=0.25, gap=1.25, gap_bound=1.75)
    best = estimated.better_of(proved)
    assert best == proved.better_of(estimated) == Certificate(1.5, 0.5, 1.0, 1.5)


def test_without_any_bound_the_estimate_decides():
    one, other = Certificate(1.0, 0.5, 0.5, np.inf), Certificate(1.5, 0.75, 0.75, np.inf)
    assert one.better_of(other) == pytest.approx(Certificate(1.0, 0.75, 0.25, np.inf))
