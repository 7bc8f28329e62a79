"""Checkpoint files: when they are written, what survives a failure, and files that are none."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re

import numpy as np
import pytest

import bcfw
from bcfw.dual import snapshots
from bcfw.models import Multiclass
from bcfw.solvers import BCFW, pass_runner
from bcfw.storage import checkpoints
from problems import ACCELERATED, CASES, Case, Pairs, same_run
from small_data import X2, Y2


def test_file_that_is_no_checkpoint(tmp_path):
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.savez(tmp_path / "other.npz", a=1)
    np.savez(tmp_path / "foreign.npz", version=1, a=1)
    np.save(tmp_path / "array.npy", np.ones(3))
    for name in ("text.npz", "empty.npz", "other.npz", "foreign.npz", "array.npy", "missing.npz"):
        with pytest.raises(bcfw.InputError, match=re.escape(name)):
            bcfw.train(Multiclass(), X2, Y2, warm_start=tmp_path / name)


def test_checkpoint_of_a_newer_version(tmp_path):
    path = tmp_path / "state.npz"
    bcfw.train(Multiclass(), X2, Y2, lam=1.0, tol=0.5, checkpoint=path)
    arrays = dict(np.load(path)) | {"version": 999}
    np.savez(path, **arrays)
    with pytest.raises(bcfw.InputError, match="newer"):
        bcfw.train(Multiclass(), X2, Y2, warm_start=path)


def test_checkpoint_that_cannot_be_written_fails_before_training(tmp_path):
    """Not after hours of work."""
    passes = []
    for path, message in ((tmp_path / "no" / "a.npz", "does not exist"), (tmp_path, "is a folder")):
        with pytest.raises(bcfw.InputError, match=f"checkpoint.*{message}"):
            bcfw.train(Multiclass(), X2, Y2, lam=1.0, tol=0.01, checkpoint=path, callbacks=[passes.append])
    assert passes == []
    assert list(tmp_path.iterdir()) == []


def test_checkpoint_is_written_during_training(tmp_path):
    """With zero seconds between saves every pass leaves a readable file, each at least as good as the one before."""
    case, path = CASES["chain-cost"], tmp_path / "state.npz"
    duals = []

    def read_back(info):
        problem = case.problem()
        snapshots.restore(problem, checkpoints.read(path))
        duals.append(problem.dual_value())

    case.few_passes(4, solver="bcfw", checkpoint=(path, 0.0), callbacks=[read_back])
    assert len(duals) == 4
    assert duals[0] > 0.0
    assert np.all(np.diff(duals) >= -1e-12)


class Slow(Pairs):
    """An oracle that takes a second."""

    def oracle(self, w, x, y_true=None):
        self.clock.advance(1.0)
        return super().oracle(w, x, y_true)

    def fingerprint(self, data):
        return ""


def test_long_passes_are_saved_within(tmp_path, clock, monkeypatch):
    """With a second per call and saves every two, a kill never costs more than three calls."""
    base = CASES["dense-features"]
    model = Slow(base.model.K, base.model.cost)
    model.clock = clock
    times = []

    def save(problem, path):
        times.append(clock.seconds)

    monkeypatch.setattr(snapshots, "save", save)
    n = len(base.y)
    dataclasses.replace(base, model=model).few_passes(3, solver="bcfw", checkpoint=(tmp_path / "state.npz", 2.0))
    begin = 2 * n  # P(0) and the first certificate move nothing
    assert times[0] <= begin + 3.0
    assert len(times) >= 3 * n / 3
    assert max(np.diff(times)) <= 3.0 + n  # a certificate, which moves nothing either


@pytest.mark.part(9, of=16)
def test_state_saved_within_a_pass_is_whole(case, solver, tmp_path, monkeypatch):
    """Its w belongs to its blocks, its dual value is one of the problem, and training can go on from it."""
    path, taken = tmp_path / "state.npz", []
    monkeypatch.setattr(pass_runner, "CALL_SECONDS", 0.0)  # a save after every visit
    monkeypatch.setattr(snapshots, "save", lambda problem, path: taken.append(snapshots.take(problem)))
    case.few_passes(2, solver=solver, checkpoint=(path, 0.0))
    objective, problem = case.enumerated(), case.problem()
    for snapshot in taken:
        snapshots.restore(problem, snapshot)
        np.testing.assert_allclose(problem.v, snapshot["w"], rtol=0, atol=1e-10)
        assert problem.ell == pytest.approx(snapshot["ell"].sum(), abs=1e-10)
        assert problem.dual_value() <= objective.optimum.primal + 1e-9
        if "point" in snapshot:
            np.testing.assert_array_equal(snapshot["point"], case.clip(snapshot["point"]))
    middle = dataclasses.replace(case.few_passes(1, solver=solver), snapshot=taken[len(taken) // 2])
    resumed = case.train(tol=0.05, max_passes=5000, warm_start=middle)
    assert resumed.primal - objective.optimum.primal <= resumed.gap + 1e-9


@pytest.mark.parametrize("solver", ACCELERATED, ids=repr)
def test_saves_do_not_change_the_run(case, solver, tmp_path, monkeypatch):
    monkeypatch.setattr(pass_runner, "CALL_SECONDS", 0.0)
    plain = case.few_passes(4, solver=solver)
    saved = case.few_passes(4, solver=solver, checkpoint=(tmp_path / "state.npz", 0.0))
    same_run(plain, saved)


class Exhausted(Pairs):
    """An oracle that fails after a number of calls."""

    calls = 0

    def oracle(self, w, x, y_true=None):
        type(self).calls += 1
        if type(self).calls > 30:
            raise RuntimeError("out of memory")
        return super().oracle(w, x, y_true)


def test_checkpoint_survives_a_failing_oracle(tmp_path):
    base, path = CASES["dense-features"], tmp_path / "state.npz"
    model = Exhausted(base.model.K, base.model.cost)
    case = Case("exhausted", model, base.X, base.y, base.outputs, base.phi, base.delta, base.lam)
    with pytest.raises(bcfw.OracleError) as caught:
        case.train(tol=1e-9, checkpoint=path, solver="bcfw")
    n = len(base.y)
    assert caught.value.result.n_passes == pytest.approx((30 - n) / n)  # the first n calls gave P(0)
    assert pickle.loads(pickle.dumps(caught.value)).example == caught.value.example
    Exhausted.calls = -(10**9)
    for source in (path, caught.value.result):
        resumed = case.few_passes(1, warm_start=source)
        assert resumed.history["dual"][0] == pytest.approx(caught.value.result.dual, abs=1e-12)
        assert resumed.history["dual"][0] > 0.0


def test_failed_write_leaves_the_older_checkpoint(tmp_path, monkeypatch):
    case, path = CASES["multiclass-cost"], tmp_path / "state.npz"
    case.few_passes(1, checkpoint=path)
    before = path.read_bytes()

    def broken(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", broken)
    with pytest.warns(RuntimeWarning, match=r"state.npz was not written: disk full"):
        result = case.train(checkpoint=path)
    assert result.status == "converged"
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["state.npz"]


@pytest.fixture(scope="module")
def chain_file(tmp_path_factory):
    """A checkpoint with averages and a store."""
    path = tmp_path_factory.mktemp("checkpoint") / "state.npz"
    CASES["chain-cost"].few_passes(3, solver=BCFW(step="pairwise"), checkpoint=path)
    return path


def test_damaged_file_is_refused_or_read_as_it_was(chain_file, tmp_path):
    """Cut anywhere, or with any bit flipped: of headers, of names, of numbers."""
    content, expected = chain_file.read_bytes(), checkpoints.read(chain_file)
    rng, path, refused = np.random.default_rng(0), tmp_path / "state.npz", 0
    damaged = [content[: rng.integers(len(content))] for _ in range(40)]
    for position in rng.integers(len(content), size=400):
        changed = bytearray(content)
        changed[position] ^= 1 << rng.integers(8)
        damaged.append(bytes(changed))
    for one in damaged:
        path.write_bytes(one)
        found, refusal = read_or_refusal(path)
        if refusal:
            assert str(path) in refusal
            refused += 1
        else:
            assert found.keys() == expected.keys()
            assert all(np.array_equal(found[key], expected[key]) for key in expected)
    assert refused >= 350


def read_or_refusal(path):
    """What is in a checkpoint, or the message of the error."""
    try:
        return checkpoints.read(path), ""
    except bcfw.InputError as error:
        return None, str(error)


def test_changed_array_in_a_file_is_refused(chain_file, tmp_path):
    """The smallest change of a number, a missing array, one too many: the message names file and array."""
    with np.load(chain_file) as file:
        arrays = dict(file)
    path = tmp_path / "state.npz"
    assert {"w", "ell", "lam", "mu_3", "store_alpha"} < set(arrays)
    changed = {name: arrays | {name: nudged(array)} for name, array in arrays.items() if array.dtype.kind == "f"}
    missing = {name: {k: v for k, v in arrays.items() if k != name} for name in set(arrays) - {"version", "checksums"}}
    for name, contents in [*changed.items(), *missing.items(), ("more", arrays | {"more": np.ones(2)})]:
        np.savez(path, **contents)
        with pytest.raises(
            bcfw.InputError, match=rf"{re.escape(str(path))}: .*damaged: {name} .*; delete it and train"
        ):
            checkpoints.read(path)
    np.savez(path, **{key: value for key, value in arrays.items() if key != "checksums"})
    with pytest.raises(bcfw.InputError, match=r"state.npz is not a readable checkpoint"):
        checkpoints.read(path)


def nudged(array):
    """The array with its first number replaced by the next larger one."""
    changed = array.copy()
    changed.ravel()[:1] = np.nextafter(changed.ravel()[:1], np.inf)
    return changed


def test_file_is_read_without_pickle(chain_file):
    with np.load(chain_file, allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)


def test_refused_state_names_the_file(chain_file):
    case = CASES["chain-cost"]
    with pytest.raises(bcfw.InputError, match=rf"{re.escape(str(chain_file))} belongs to another problem: dim is"):
        bcfw.train(copy.copy(case.model), [np.ones((len(one), 7)) for one in case.y], case.y, warm_start=chain_file)


@pytest.mark.parametrize("name", ["a\0b", "a" * 300])
def test_path_that_no_file_can_have(name, tmp_path):
    seen = []
    with pytest.raises(bcfw.InputError, match=r"^checkpoint: cannot write to"):
        bcfw.train(Multiclass(), X2, Y2, checkpoint=tmp_path / name, callbacks=[seen.append])
    with pytest.raises(bcfw.InputError, match="is not a readable checkpoint"):
        bcfw.train(Multiclass(), X2, Y2, warm_start=tmp_path / name, callbacks=[seen.append])
    assert seen == []


def test_arrays_of_any_type_are_compared(chain_file, tmp_path):
    """Some types of numpy's have no buffer that could be hashed."""
    with np.load(chain_file) as file:
        arrays = dict(file)
    np.savez(tmp_path / "state.npz", **arrays | {"steps": np.zeros(3, "datetime64[s]")})
    with pytest.raises(bcfw.InputError, match="damaged: steps is not what was saved"):
        checkpoints.read(tmp_path / "state.npz")
