"""Pictures of paths: drawn for paths and grids, with and without a choice, and showing what they should."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.report import plot_path
from problems import CASES

CASE = CASES["multiclass-wide"]


@pytest.fixture(scope="module")
def path():
    return bcfw.regularization_path(CASE.model, CASE.X, CASE.y, eps=0.1, lam_min=1e-2)


def test_three_panels_with_the_choice_marked(path, drawn, tmp_path):
    found = path.validate(CASE.X, CASE.y, tolerance=0.05)
    file = plot_path(path, tmp_path / "path.png", found)
    assert file.stat().st_size > 10_000
    losses, gaps, norms = drawn
    np.testing.assert_array_equal(losses.lines[0].get_ydata(), found.losses)
    assert gaps.lines[0].get_ydata().max() <= path.eps + 1e-9
    np.testing.assert_allclose(
        norms.lines[0].get_ydata(), [np.linalg.norm(path.weights(lam)) for lam in path.lambdas], rtol=1e-12
    )
    for axis in drawn:
        assert found.best in axis.lines[-1].get_xdata()


def test_a_grid_without_validation(drawn, tmp_path):
    grid = bcfw.grid_path(CASE.model, CASE.X, CASE.y, [1.0, 0.1, 0.01], eps=0.1)
    assert plot_path(grid, tmp_path / "grid.svg").exists()
    gaps, _ = drawn
    np.testing.assert_array_equal(gaps.lines[0].get_ydata(), grid.gaps)


def test_one_breakpoint(tmp_path):
    path = bcfw.regularization_path(bcfw.models.Multiclass(), np.ones((2, 1)), [0, 1], lam_min=0.01)
    assert plot_path(path, tmp_path / "one.png").exists()
