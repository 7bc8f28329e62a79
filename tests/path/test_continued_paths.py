"""Paths that are continued: by the object, by a checkpoint, after every kind of end; and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import bcfw
from bcfw.solvers import BCFW, MultiPlane
from bcfw.storage import checkpoints
from problems import CASES, Pairs

EPS = 0.1

SOLVERS = [None, BCFW(), BCFW(averaging=True), MultiPlane(clock="count", acceleration=10)]

NAMES = ["multiclass-wide", "bounded-chain-cost", "dense-features"]


def path_of(case, **options):
    options = {"eps": EPS, "lam_min": 1e-3, "bounds": case.bounds, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        return bcfw.regularization_path(case.model, case.X, case.y, **options)


def assert_within_eps(path, case):
    assert np.all(np.diff(path.lambdas) < 0)
    rng = np.random.default_rng(0)
    for lam in np.exp(rng.uniform(*np.log([path.lambdas[-1], 3.0 * path.lambdas[0]]), 6)):
        problem = case.enumerated(lam=float(lam))
        assert problem.primal(path.weights(lam)) - problem.optimum.dual <= path.bound(lam) + 1e-9
        assert path.bound(lam) <= EPS + 1e-9


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("name", NAMES)
def test_pieces_make_one_path(name, solver):
    """Down to lam_min, then by a few passes at a time to the end: what was found stays, what is counted adds up."""
    case = CASES[name]
    path = path_of(case, lam_min=1.0, solver=solver)
    for _ in range(100):
        before, path = path, path_of(case, solver=solver, max_passes=20, warm_start=path)
        kept = before.lambdas[before.lambdas > before.snapshot["lam"]]
        np.testing.assert_array_equal(path.lambdas[: len(kept)], kept)
        np.testing.assert_array_equal(path.weights(kept[-1]), before.weights(kept[-1]))
        assert path.n_oracle_calls > before.n_oracle_calls
        assert path.n_passes >= before.n_passes
        assert path.seconds > before.seconds
        assert np.all(np.diff(path.history["oracle_calls"]) >= 0)
        assert_within_eps(path, case)
        if path.status in ("complete", "lam_min"):
            break
    assert path.status in ("complete", "lam_min")
    assert path.lambdas[-1] < 1.0


@pytest.mark.parametrize("exact", [True, False])
def test_a_checkpoint_says_the_same_as_the_path(tmp_path, exact):
    case, file = CASES["chain-cost"], tmp_path / "path.npz"
    options = {"exact": exact, "lam_min": 1e-3}
    path = path_of(case, **options | {"lam_min": 2.0}, checkpoint=file)
    first, second = (path_of(case, **options, warm_start=source) for source in (path, file))
    np.testing.assert_array_equal(first.lambdas, second.lambdas)
    for lam in first.lambdas:
        np.testing.assert_array_equal(first.weights(lam), second.weights(lam))
        assert first.bound(lam) == second.bound(lam)
    assert first.certified == second.certified == exact
    assert first.n_oracle_calls == second.n_oracle_calls
    with np.load(file, allow_pickle=False) as arrays:
        assert "path_lam" in arrays.files


def test_a_checkpoint_survives_a_failing_oracle(tmp_path):
    class Breaks(Pairs):
        calls = 0
        broken = True

        def oracle(self, w, x, y_true=None):
            Breaks.calls += 1
            if self.broken and Breaks.calls > 150:
                raise ZeroDivisionError("no more")
            return super().oracle(w, x, y_true)

        def __getstate__(self):  # what identifies the model
            return {"K": self.K, "cost": self.cost}

    case, file = CASES["dense-features"], tmp_path / "path.npz"
    options = {"eps": EPS, "lam_min": 1e-3, "solver": BCFW()}
    model = Breaks(case.model.K, case.model.cost)
    with pytest.raises(bcfw.OracleError, match="no more") as caught:
        bcfw.regularization_path(model, case.X, case.y, **options, checkpoint=(file, 0.0))
    Breaks.broken = False
    path = bcfw.regularization_path(model, case.X, case.y, **options, warm_start=file)
    np.testing.assert_array_equal(path.lambdas[:3], caught.value.result.lambdas[:3])
    assert_within_eps(path, case)


def test_train_continues_from_a_path(tmp_path):
    case, file = CASES["multiclass-wide"], tmp_path / "path.npz"
    path_of(case, lam_min=0.1, checkpoint=file)
    assert bcfw.train(case.model, case.X, case.y, lam=0.1, warm_start=str(file), tol=1e-4).status == "converged"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"eps": 0.2}, "warm_start is a path with another eps"),
        ({"tol": 0.3}, "warm_start is a path with another eps"),
        ({"sample_weight": [2.0] + [1.0] * 100}, "other sample weights or bounds"),
        ({"bounds": (-1.0, 1.0)}, "other sample weights or bounds"),
        ({"warm_start": 3}, "warm_start must be a regularization_path or a checkpoint's path, got 3"),
        ({"warm_start": "nowhere.npz"}, "nowhere.npz is not a readable checkpoint"),
    ],
)
def test_what_cannot_be_continued(changes, message):
    case = CASES["multiclass-wide"]
    if "sample_weight" in changes:
        changes = {"sample_weight": changes["sample_weight"][: len(case.y)]}
    path = path_of(case, lam_min=1.0)
    with pytest.raises(bcfw.BcfwError, match=message):
        path_of(case, **{"warm_start": path, **changes})


def test_other_data_are_refused():
    case = CASES["multiclass-wide"]
    path = path_of(case, lam_min=1.0)
    with pytest.raises(bcfw.InputError, match="a path with other data"):
        bcfw.regularization_path(case.model, 2.0 * np.asarray(case.X), case.y, eps=EPS, warm_start=path)


def test_a_checkpoint_of_train_is_no_path(tmp_path):
    case, file = CASES["multiclass-wide"], tmp_path / "state.npz"
    bcfw.train(case.model, case.X, case.y, checkpoint=file)
    with pytest.raises(bcfw.InputError, match="it has no path_eps"):
        path_of(case, warm_start=file)


def test_a_grid_is_no_path():
    case = CASES["multiclass-wide"]
    grid = bcfw.grid_path(case.model, case.X, case.y, [1.0, 0.1])
    with pytest.raises(bcfw.OptionError, match="warm_start must be a regularization_path"):
        path_of(case, warm_start=grid)


def test_damaged_files(tmp_path):
    case, file = CASES["multiclass-wide"], tmp_path / "path.npz"
    path_of(case, lam_min=1.0, checkpoint=file)
    with np.load(file) as found:
        arrays = dict(found)
    for name, value in (
        ("path_lam", arrays["path_lam"][:-1]),
        ("path_sizes", arrays["path_sizes"] + 10**6),
        ("path_places", arrays["path_places"][:0].astype(np.int32)),
        ("path_values", arrays["path_values"] * np.nan),
        ("path_bounds", arrays["path_bounds"][:, :-1]),
        ("path_counted", arrays["path_counted"][:1]),
    ):
        clean = {key: array for key, array in arrays.items() if key not in ("version", "checksums")}
        checkpoints.write({**clean, name: value}, file)
        with pytest.raises(bcfw.InputError, match="the saved state is damaged"):
            path_of(case, warm_start=file)


def test_tol_is_a_share_of_the_value_at_zero():
    case = CASES["chain-no-ends-sum-csr"]
    worst = case.enumerated().primal(np.zeros(case.dim))
    path = path_of(case, tol=0.05)
    assert path.eps == pytest.approx(0.05 * worst)
    np.testing.assert_array_equal(path.lambdas, path_of(case, eps=path.eps).lambdas)
