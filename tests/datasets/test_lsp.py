"""Joints of people: the converter of the original files, the real data, and the score maps made up for them."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.io import savemat

import bcfw
from bcfw.commands import main
from bcfw.datasets import convert_lsp, fetch_lsp, lsp, poses, synthetic_poses
from bcfw.errors import InputError, OptionError
from data_files import written


def save_joints(folder, n=1003, n_extended=4):
    """Both original files, with numbers that single precision holds."""
    rng = np.random.default_rng(0)
    folder.mkdir(exist_ok=True)
    first = np.round(200.0 * rng.random((3, 14, n)))
    second = np.round(200.0 * rng.random((14, 3, n_extended)))
    first[2], second[:, 2] = rng.integers(2, size=(14, n)), rng.integers(2, size=(14, n_extended))
    files = folder / "joints.mat", folder / "extended.mat"
    for path, array in zip(files, (first, second), strict=True):
        savemat(path, {"joints": array})
    return files, first, second


def test_round_trip(cache, tmp_path):
    files, first, second = save_joints(tmp_path)
    done = CliRunner().invoke(main, ["convert", "lsp", *map(str, files)])
    assert done.output.splitlines() == [f"wrote {cache / lsp.FILE}"]
    found = fetch_lsp()
    assert [len(found[f"y_{part}"]) for part in ("train", "test", "extended")] == [1000, 3, 4]
    np.testing.assert_array_equal(found.y_train[7], first[:2, :, 7].T)
    np.testing.assert_array_equal(found.X_test[1], first[2, :, 1001])
    np.testing.assert_array_equal(found.y_extended[3], second[:, :2, 3])
    np.testing.assert_array_equal(found.X_extended[3], 1 - second[:, 2, 3])
    assert found.target_names == list(lsp.JOINT_NAMES)
    assert "1000 training and 3 test people, 14 joints each; 4 more" in found.DESCR


def test_other_files_are_no_joints(tmp_path):
    (joints, extended), first, _ = save_joints(tmp_path)
    with pytest.raises(
        InputError, match=r"joints\.mat: 'joints' should be .* shape \(14, 3, n\), got float64 of shape"
    ):
        convert_lsp(joints, joints, tmp_path)
    with pytest.raises(InputError, match=r"no\.mat is not a MATLAB file with an array 'joints'"):
        convert_lsp(written(tmp_path / "no.mat", "no MATLAB file"), extended, tmp_path)
    savemat(tmp_path / "other.mat", {"joint": first})
    with pytest.raises(InputError, match=r"other\.mat is not a MATLAB file with an array 'joints'"):
        convert_lsp(tmp_path / "other.mat", extended, tmp_path)
    with pytest.raises(FileNotFoundError):
        convert_lsp(tmp_path / "missing.mat", extended, tmp_path)


def test_real_joints(real_data, tmp_path):
    (path,) = real_data(lsp.SOURCE)
    found = fetch_lsp()
    assert found.y_train.shape == found.y_test.shape == (1000, 14, 2)
    assert found.y_extended.shape == (10000, 14, 2)
    assert found.target_names == list(lsp.JOINT_NAMES)
    assert np.median(found.y_train[:, 13, 1]) < np.median(found.y_train[:, 0, 1])  # heads are above ankles
    with np.load(path) as original:
        first = np.concatenate([original["lsp_xy"], original["lsp_flag"][..., None]], axis=2).T[:, :, :50]
        second = np.concatenate([original["lspet_xy"], original["lspet_visible"][..., None]], axis=2)[:50]
        savemat(tmp_path / "first.mat", {"joints": first})
        savemat(tmp_path / "second.mat", {"joints": second.transpose(1, 2, 0)})
        with np.load(convert_lsp(tmp_path / "first.mat", tmp_path / "second.mat", tmp_path)[0]) as archive:
            assert set(archive) == set(original)
            for name in original:
                assert archive[name].dtype == original[name].dtype
                np.testing.assert_array_equal(archive[name], original[name][:50])


# --- score maps --------------------------------------------------------------------------------------------------


def random_joints(n):
    return 300.0 * np.random.default_rng(1).random((n, 14, 2))


@pytest.mark.parametrize("midpoints", [False, True])
def test_poses_are_trees_on_a_grid(midpoints):
    V = 26 if midpoints else 14
    found = synthetic_poses(random_joints(5), cells=20, midpoints=midpoints)
    assert found.y.shape == (5, V, 2)
    assert found.y.min() >= 0
    assert found.y.max() < 20
    assert all(scores.shape == (V, 20, 20) and np.isfinite(scores).all() for scores, _ in found.X)
    np.testing.assert_array_equal([scale for _, scale in found.X], ((found.y[:, 9] - found.y[:, 2]) ** 2).sum(axis=1))
    model = bcfw.models.PictorialTree(found.edges)
    assert model.n_parts == V
    assert np.isfinite(model.features(found.X[0], found.y[0])).all()
    again, other = (synthetic_poses(random_joints(5), cells=20, midpoints=midpoints, seed=seed) for seed in (0, 1))
    np.testing.assert_array_equal(again.X[0][0], found.X[0][0])
    assert not np.array_equal(other.X[0][0], found.X[0][0])


def test_midpoints_lie_between_their_neighbours():
    joints = random_joints(4)
    edges, mirrored = np.array(lsp.SKELETON), np.array(poses.MIRRORED)
    places, links, sides = poses.with_midpoints(joints, edges, mirrored)
    for middle in range(14, 26):
        ends = [p + q - middle for p, q in links.tolist() if middle in (p, q)]
        np.testing.assert_allclose(places[:, middle], joints[:, ends].mean(axis=1))
    np.testing.assert_array_equal(sides[sides], np.arange(26))
    assert (sides != np.arange(26)).sum() == 24


def test_true_peaks_are_often_but_not_always_the_highest():
    found = synthetic_poses(random_joints(40))
    best = np.array([scores.reshape(14, -1).argmax(axis=1) for scores, _ in found.X])
    away = np.hypot(*(np.stack(np.unravel_index(best, (40, 40)), axis=-1) - found.y).transpose(2, 0, 1))
    assert 0.3 < (away <= 3.0).mean() < 0.8


def test_bad_joints_and_options_are_named():
    with pytest.raises(InputError, match=r"joints must be finite, of shape \(n, 14, 2\), got shape \(3, 13, 2\)"):
        synthetic_poses(np.zeros((3, 13, 2)))
    with pytest.raises(OptionError, match="cells must be a whole number >= 2, got 1"):
        synthetic_poses(np.zeros((3, 14, 2)), cells=1)
