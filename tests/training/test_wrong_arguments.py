"""Arguments of ``train``: wrong ones are named, solvers are found by their names."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.models import Multiclass
from bcfw.solvers import BCFW, SOLVERS, BlockSolves
from small_data import X2, Y2


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "0.1", None, True])
def test_lam_must_be_positive(value):
    with pytest.raises(bcfw.OptionError, match="lam"):
        bcfw.train(Multiclass(), X2, Y2, lam=value)


@pytest.mark.parametrize(
    "options",
    [
        *({"tol": value} for value in (-1e-3, np.nan, "small", None)),
        *({"max_passes": value} for value in (0, -1, np.nan, "10", None)),
        *({"max_seconds": value} for value in (0, -1, np.nan, "10")),
        *({"n_jobs": value} for value in (0, -2, 1.5, "2", None, 10**7)),
        *({"bounds": value} for value in ((0, 1, 2), np.zeros((2, 4)), "free", (1, 0), ("low", 1), (1j, None))),
        *({"bounds": (value, None)} for value in (np.datetime64("2020-01-01"), ["0"] * 4, [None] * 4)),
        *({"verbose": value} for value in (3, "1", np.zeros(0))),
        *({"solver": value} for value in (None, 3, "newton")),
        *({"warm_start": value} for value in (3, {"w": 1})),
        *({"checkpoint": value} for value in ("", 123, ("", 1.0))),
        *({"callbacks": value} for value in (None, [1], print)),
    ],
    ids=str,
)
def test_wrong_value_of_a_training_option(options):
    (name,) = options
    with pytest.raises(bcfw.OptionError, match=name):
        bcfw.train(Multiclass(), X2, Y2, **options)


def test_unknown_solver_names_the_nearest():
    with pytest.raises(bcfw.OptionError, match="did you mean 'batch-fw'"):
        bcfw.train(Multiclass(), X2, Y2, solver="batchfw")


@pytest.mark.parametrize("kind", SOLVERS.values(), ids=SOLVERS.keys())
def test_solver_class_instead_of_an_instance(kind):
    with pytest.raises(bcfw.OptionError, match=rf"give an instance, {kind.__name__}\("):
        bcfw.train(Multiclass(), X2, Y2, solver=kind)


@pytest.mark.parametrize("name", SOLVERS)
def test_solver_by_name(name):
    result = bcfw.train(Multiclass(), X2, Y2, lam=1.0, tol=0.1, max_passes=300, solver=name)
    assert result.status == ("converged" if SOLVERS[name]().certifies else "max_passes")
    chosen = BlockSolves(acceleration=0.5) if name == "auto" else SOLVERS[name]()  # blocks have a closed form
    assert repr(result.solver) == repr(chosen)


def test_numbers_of_numpy_are_numbers():
    result = bcfw.train(
        Multiclass(n_labels=np.int64(2)),
        X2,
        Y2,
        lam=np.float32(0.5),
        tol=np.float64(0.1),
        max_passes=np.int64(50),
        n_jobs=np.int64(1),
        solver=BCFW(gap_every=np.int64(2)),
    )
    assert result.status == "converged"
