"""The generalised distance transform against the maximum over all pairs of places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bcfw.algorithms.distance_transform import Quadratic, best_source, make_envelope, transform_grid, transform_line
from bcfw.compile import entry

# Sums of values of a few hundreds.
ROUNDING = 1e-11

#: Weights of squares: none, the smallest numbers there are, and ordinary ones.
SQUARES = (0.0, 5e-324, 1e-310, 1e-300, 1e-12, 1e-3, 0.5, 1.0, 7.25)


def slow_line(values, score):
    """The maximum over all sources of every target."""
    s, t = np.arange(len(values))[:, None], np.arange(len(values))[None, :]
    d = s - t - score.shift
    return (values[:, None] + score.linear * d - score.square * d**2).max(axis=0)


def slow_grid(values, down, across):
    return np.array([slow_line(line, down) for line in np.array([slow_line(row, across) for row in values]).T]).T


def all_pairs(values, down, across):
    """Score of every source for every target, (H, W, H, W)."""
    r, c = (np.arange(size) for size in values.shape)
    d, e = r[:, None] - r - down.shift, c[:, None] - c - across.shift
    vertical, horizontal = (one * (score.linear - score.square * one) for one, score in ((d, down), (e, across)))
    return values[:, :, None, None] + vertical[:, None, :, None] + horizontal[None, :, None, :]


def line_of(values, score):
    out = np.full(len(values), np.nan)
    entry(transform_line)(np.asarray(values, float), len(values), score, make_envelope(len(values)), out)
    return out


def grid_of(values, down, across):
    flat, size = values.ravel().copy(), max(values.shape)
    out = np.full(values.size, np.nan)
    entry(transform_grid)(flat, values.shape, down, across, make_envelope(size), np.zeros(values.size), out)
    return out.reshape(values.shape)


def same(found, expected):
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isneginf(found), ~finite)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=0, atol=ROUNDING)


#: Small whole numbers, so that ties are frequent, and places that are not allowed.
PLACES = st.one_of(st.integers(-3, 3).map(float), st.just(-np.inf))
SCORES = st.builds(
    Quadratic,
    st.sampled_from([0.0, -1.0, 1.0, 0.3, -2.5]),
    st.sampled_from(SQUARES),
    st.sampled_from([0.0, 1.0, -1.0, 0.5, -2.0, 2.25, 30.0, -30.0]),
)


@given(st.lists(PLACES, min_size=1, max_size=9), SCORES)
def test_line_is_the_maximum_over_all_sources(values, score):
    same(line_of(values, score), slow_line(np.array(values), score))


@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_grid_is_the_maximum_over_all_sources(H, W, data):
    values = np.array(data.draw(st.lists(PLACES, min_size=H * W, max_size=H * W))).reshape(H, W)
    down, across = data.draw(SCORES), data.draw(SCORES)
    expected = all_pairs(values, down, across).max(axis=(0, 1))
    same(slow_grid(values, down, across), expected)
    same(grid_of(values, down, across), expected)


@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_best_sources_have_the_values_of_the_transform(H, W, data):
    values = np.array(data.draw(st.lists(PLACES, min_size=H * W, max_size=H * W))).reshape(H, W)
    down, across = data.draw(SCORES), data.draw(SCORES)
    transformed, pairs = grid_of(values, down, across), all_pairs(values, down, across)
    for target in np.ndindex(H, W):
        line = np.zeros(W)
        source, value = entry(best_source)(values.ravel().copy(), (H, W), down, across, target, line)
        if not np.isfinite(values).any():
            assert (source, value) == (-1, -np.inf)
            continue
        assert value == pytest.approx(transformed[target], abs=ROUNDING)
        assert pairs[(*np.unravel_index(source, (H, W)), *target)] == pytest.approx(value, abs=ROUNDING)


@pytest.mark.parametrize("square", SQUARES)
@pytest.mark.parametrize("linear", [0.0, 0.7, -40.0])
def test_long_lines_of_real_numbers(square, linear):
    rng = np.random.default_rng(0)
    for shift in (0.0, 3.7, -120.5):
        values = 10.0 * rng.standard_normal(150)
        values[rng.random(150) < 0.3] = -np.inf
        score = Quadratic(linear, square, shift)
        found, expected = line_of(values, score), slow_line(values, score)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=ROUNDING)


def test_without_squares_every_target_has_the_source_that_a_slope_favours():
    values = np.array([0.0, 0.0, -np.inf, 0.0])
    np.testing.assert_array_equal(line_of(values, Quadratic(0.0, 0.0, 5.0)), 0.0)
    np.testing.assert_array_equal(line_of(values, Quadratic(1.0, 0.0, 0.0)), [3.0, 2.0, 1.0, 0.0])
    np.testing.assert_array_equal(line_of(values, Quadratic(-1.0, 0.0, 0.0)), [0.0, 1.0, 2.0, 3.0])


def test_lines_without_an_allowed_source_have_no_score():
    for square in SQUARES:
        assert np.isneginf(line_of([-np.inf, -np.inf], Quadratic(1.0, square, 0.5))).all()
