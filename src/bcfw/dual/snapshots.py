"""Snapshots of a problem's dual state: taken, restored, and kept in npz files, which are read without pickle."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bcfw.dual.problem import DualProblem
from bcfw.errors import InputError
from bcfw.files import replacing
from bcfw.passes.rebuild import fold_pass
from bcfw.records import STEPS, Store
from bcfw.saved_arrays import REMEDY, SavedArrays, check_sums, checksums

#: Version of the layout; a reader refuses any other.
VERSION = 3

#: How far the mass of a block may be from one, which it is but for rounding.
MASS_ROUNDING = 1e-6


def take(problem: DualProblem) -> dict[str, Any]:
    """Everything needed to continue, as plain arrays: the form that is saved and that warm starts read.

    "weight" are the shares c_i, "w" is v, "point" are the weights to return where they are others.
    """
    with problem.outside():
        return _taken(problem)


def _taken(problem: DualProblem) -> dict[str, Any]:
    form, store = problem.form, problem.store
    snapshot = {
        "model": form.name,
        "dim": form.dim,
        "data": problem.identity,
        "lam": problem.lam,
        "steps": problem.tally[STEPS],
        "weight": problem.state.c.copy(),
        "w": problem.v.copy(),
        "ell": problem.state.ell.copy(),
    }
    if problem.point is not None:
        snapshot["point"] = problem.point.copy()
    folded = store is not None and not form.saves_labelings
    mu = folded_averages(problem) if folded else problem.state.mu
    snapshot |= {f"mu_{j}": np.array(array) for j, array in enumerate(form.export_mu(problem.data, mu))}
    if store is not None and not folded:
        snapshot |= {f"store_{name}": np.array(array) for name, array in store._asdict().items()}
    return snapshot


def folded_averages(problem: DualProblem) -> tuple[Any, ...]:
    """Block averages with all mass of the store folded in; the problem stays as it is."""
    form, store = problem.form, problem.store
    assert store is not None
    mu = tuple(form.import_mu(problem.data, form.export_mu(problem.data, problem.state.mu)))
    copies = store._replace(alpha=store.alpha.copy(), rest=store.rest.copy(), rest_loss=store.rest_loss.copy())
    state = problem.state._replace(mu=mu)
    run = form.kernels.entry(fold_pass)
    run(
        tuple(problem.data),
        tuple(form.make_work(problem.data)),
        tuple(state),
        problem.tally.copy(),
        0,
        np.arange(problem.n_blocks),
        tuple(copies),
    )
    return mu


def restore(problem: DualProblem, snapshot: dict[str, Any], source: str = "warm_start") -> None:
    """Continue from a snapshot of the same problem; lam and sample weights may differ.

    The dual variables alpha are kept, w and ell are computed from them: ``w = A alpha`` with this problem's lam and
    shares c_i. In part space alpha is feasible for any data of the same sizes; in feature space only for the same data.
    Every array is checked before compiled code reads it; messages call the snapshot ``source``.
    """
    saved = SavedArrays(snapshot, source)
    require_same_problem(problem, saved)
    same_data = str(snapshot.get("data")) == problem.identity
    if not same_data and not problem.form.in_part_space:
        raise InputError(
            f"{source} belongs to other data or options; {problem.form.name} can only continue on the same"
        )
    n, dim = problem.n_blocks, problem.form.dim
    lam, weight = saved.get("lam", float, least=0.0), saved.get("weight", float, (n,), least=0.0, most=1.0)
    point = saved.get("point", float, (dim,)) if "point" in snapshot else None
    steps = saved.get("steps", float, least=0.0)
    mu, store = saved_averages(problem, saved), saved_store(problem, saved, same_data)
    problem.state = problem.state._replace(mu=mu)
    problem.store, problem.point, problem.untouched = store, None, False
    problem.state.gap[:] = 0.0
    if problem.store is not None:
        problem.store.used[:] = 0
        if not same_data:
            problem.close_store()  # averages can be taken over, losses cannot
    problem.tally[STEPS] = float(steps)
    problem.rebuild()
    if point is not None and same_data and lam == problem.lam and np.array_equal(weight, problem.state.c):
        problem.point = problem.clip(point)


def require_same_problem(problem: DualProblem, saved: SavedArrays) -> None:
    """Raise if a snapshot has another model or other sizes."""
    expected = {"model": problem.form.name, "dim": problem.form.dim, "examples": problem.n_blocks}
    found = {
        "model": str(saved.snapshot.get("model")),
        "dim": int(saved.get("dim", int)),
        "examples": len(saved.get("ell", float, (None,))),
    }
    for what, value in expected.items():
        if found[what] != value:
            raise InputError(
                f"{saved.source} belongs to another problem: {what} is {found[what]} there and {value} here"
            )
    saved.get("w", float, (problem.form.dim,))


def saved_averages(problem: DualProblem, saved: SavedArrays) -> tuple[Any, ...]:
    """The block averages; what their numbers may be, the model knows."""
    form, data = problem.form, problem.data
    current = form.export_mu(data, problem.state.mu)
    arrays = [saved.get(f"mu_{j}", like.dtype, (None, *like.shape[1:])) for j, like in enumerate(current)]
    try:
        return tuple(form.import_mu(data, arrays))
    except InputError as error:
        raise InputError(f"{saved.source}: {error}; {REMEDY}") from error


def saved_store(problem: DualProblem, saved: SavedArrays, same_data: bool) -> Store | None:
    """The store, if the snapshot has one."""
    form, n = problem.form, problem.n_blocks
    if not form.saves_labelings or not saved.has("store_"):
        return None
    alpha = saved.get("store_alpha", float, (n, None), -MASS_ROUNDING, 1.0 + MASS_ROUNDING)
    capacity = alpha.shape[1]
    labels = form.make_labelings(problem.data)
    room = (capacity + 1) * len(labels)
    store = Store(
        labels=saved.get("store_labels", labels.dtype, (room,), *(form.label_limits(problem.data) or ())),
        alpha=alpha,
        loss=saved.get("store_loss", float, (n, capacity)),
        used=saved.get("store_used", np.int64, (n, capacity)),
        size=saved.get("store_size", np.int64, (n,), 1, capacity),
        rest=saved.get("store_rest", float, (n,), -MASS_ROUNDING, 1.0 + MASS_ROUNDING),
        rest_loss=saved.get("store_rest_loss", float, (n,)),
    )
    in_use = np.arange(capacity) < store.size[:, None]
    if np.any(np.abs(store.rest + (alpha * in_use).sum(axis=1) - 1.0) > MASS_ROUNDING):
        raise saved.damaged("store_alpha", "does not sum to one with store_rest")
    if same_data and not form.keeps_truths(problem.data, store.labels):
        raise saved.damaged("store_labels", "does not have the truths in its first slots")
    return store


def save(problem: DualProblem, path: str | Path) -> None:
    """Write a snapshot to one file; a crash leaves an older one intact."""
    write(take(problem), path)


def write(arrays: dict[str, Any], path: str | Path) -> None:
    """Write a snapshot that has been taken, and whatever else belongs to it, to one file."""
    with replacing(path) as file:
        np.savez(file, version=VERSION, checksums=checksums(arrays), **arrays)


def read(path: str | Path) -> dict[str, Any]:
    """Read a checkpoint; raise an :class:`InputError` that names the file if it is none, or not as it was saved."""
    try:
        with np.load(path, allow_pickle=False) as file:
            snapshot = {key: file[key] for key in file.files}
        version = int(snapshot.pop("version"))
        sums = snapshot.pop("checksums", None)
    except Exception as error:  # of a damaged file numpy, zipfile and zlib may raise anything
        raise InputError(f"{path} is not a readable checkpoint ({error}); {REMEDY}") from error
    if version != VERSION:
        age, advice = ("a newer", "update to read it") if version > VERSION else ("an older", "train without it")
        raise InputError(f"{path} was written by {age} bcfw (layout {version}); {advice}")
    if sums is None or sums.ndim != 2 or sums.shape[1] != 2:
        raise InputError(f"{path} is not a readable checkpoint (it has no checksums); {REMEDY}")
    check_sums(snapshot, sums, str(path))
    return snapshot


@contextlib.contextmanager
def warned(path: str | Path) -> Iterator[None]:
    """A checkpoint that cannot be written must not cost what was computed."""
    try:
        yield
    except (OSError, InputError) as error:
        warnings.warn(f"the checkpoint {path} was not written: {error}", RuntimeWarning, stacklevel=2)
