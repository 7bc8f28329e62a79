"""Pictures of runs: one, several with curves that can be told apart, and of minimize."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import bcfw
from bcfw.report import curve_style, plot_convergence, plot_images
from problems import CASES

CASE = CASES["multiclass-wide"]


@pytest.fixture(scope="module")
def result():
    return bcfw.train(CASE.model, CASE.X, CASE.y, lam=0.1, tol=1e-2, solver=bcfw.solvers.BCFW(gap_every=1))


def test_the_report_is_found_from_the_package():
    assert "report" in dir(bcfw)
    assert bcfw.report.plot_convergence is plot_convergence
    assert set(bcfw.report.__all__) == set(dir(bcfw.report))


def test_one_run(result, drawn, tmp_path):
    assert plot_convergence(result, tmp_path / "one.png").stat().st_size > 10_000
    values, gaps = drawn
    primal, dual = values.lines
    np.testing.assert_array_equal(primal.get_ydata(), result.history["primal"])
    np.testing.assert_array_equal(dual.get_ydata(), result.history["dual"])
    np.testing.assert_array_equal(gaps.lines[0].get_xdata(), result.history["passes"][1:])
    assert values.get_title().startswith("objective and lower bound")


def test_twelve_runs_have_twelve_styles(result, drawn, tmp_path):
    names = [f"run {number}" for number in range(12)]
    assert plot_convergence(dict.fromkeys(names, result), tmp_path / "twelve.svg").exists()
    for axis, title in zip(drawn, ("gap against passes over the data", "gap against seconds"), strict=True):
        styles = [(line.get_color(), line.get_linestyle()) for line in axis.lines]
        assert len(set(styles)) == 12
        for before, after in pairwise(styles):
            assert before[0] != after[0]
            assert before[1] != after[1]
        assert axis.get_title() == title
    assert [text.get_text() for text in drawn[0].get_legend().get_texts()] == names


def test_the_first_twenty_styles_differ():
    assert len({tuple(curve_style(number).items()) for number in range(20)}) == 20


def test_runs_of_minimize(result, drawn, tmp_path):
    f = (lambda x: 0.5 * ((x[0] - 0.1) ** 2).sum(), lambda x: [x[0] - 0.1])
    found = bcfw.minimize(f, [bcfw.domains.Simplex(20)], tol=1e-3, gap_every=1)
    plot_convergence(found, tmp_path / "one.png")
    np.testing.assert_array_equal(drawn[0].lines[0].get_ydata(), found.history["value"])
    plot_convergence({"a": found, "b": found}, tmp_path / "two.png")
    assert drawn[2].get_title() == "gap against iterations"
    with pytest.raises(bcfw.InputError, match="do not go into one picture"):
        plot_convergence({"a": found, "b": result}, tmp_path / "both.png")
    with pytest.raises(bcfw.InputError, match="no results"):
        plot_convergence({}, tmp_path / "none.png")


def test_rows_of_images(drawn, tmp_path):
    colour, mask = np.full((4, 6, 3), 300.0), np.eye(4, 6) > 0
    assert plot_images({"photograph": [colour, colour], "truth": [mask, mask]}, tmp_path / "rows.png").exists()
    assert [axis.get_ylabel() for axis in drawn] == ["photograph", "", "truth", ""]
    assert drawn[0].images[0].get_array().max() == 255
    np.testing.assert_array_equal(drawn[3].images[0].get_array(), mask)
    with pytest.raises(bcfw.InputError, match="same number of images"):
        plot_images({"photograph": [colour], "truth": []}, tmp_path / "rows.png")
