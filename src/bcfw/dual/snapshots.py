"""Snapshots of a problem's dual state: taken, restored, and kept in npz files, which are read without pickle."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from bcfw.dual.problem import DualProblem
from bcfw.errors import InputError
from bcfw.files import replacing
from bcfw.passes.rebuild import fold_pass
from bcfw.records import STEPS, Store

#: Version of the layout; a reader refuses any other.
VERSION = 2

#: What every snapshot has besides the model's averages; "weight" are the shares c_i.
KEYS = ("model", "dim", "data", "lam", "steps", "weight", "w", "ell")


def take(problem: DualProblem) -> dict[str, Any]:
    """Everything needed to continue, as plain arrays: the form that is saved and that warm starts read."""
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


def restore(problem: DualProblem, snapshot: dict[str, Any]) -> None:
    """Continue from a snapshot of the same problem; lam and sample weights may differ.

    The dual variables alpha are kept, w and ell follow: ``w = A alpha`` with this problem's lam and shares c_i. In part
    space alpha is feasible for any data of the same sizes; in feature space only for the same data.
    """
    require_same_problem(problem, snapshot)
    same_data = str(snapshot["data"]) == problem.identity
    if not same_data and not problem.form.in_part_space:
        raise InputError(
            f"warm_start belongs to other data or options; {problem.form.name} can only continue on the same"
        )
    mu, store = saved_blocks(problem, snapshot)
    problem.state = problem.state._replace(mu=mu)
    problem.store, problem.point, problem.untouched = store, None, False
    problem.state.gap[:] = 0.0
    if problem.store is not None:
        problem.store.used[:] = 0
        if not same_data:
            problem.close_store()  # averages can be taken over, losses cannot
    problem.tally[STEPS] = float(snapshot["steps"])
    same_scale = float(snapshot["lam"]) == problem.lam and np.array_equal(snapshot["weight"], problem.state.c)
    if same_data and same_scale:
        problem.v = snapshot["w"]  # to the last bit
        problem.point = problem.clip(snapshot["point"]) if "point" in snapshot else None
        problem.state.ell[:] = snapshot["ell"]
    else:
        problem.rebuild()


def require_same_problem(problem: DualProblem, snapshot: dict[str, Any]) -> None:
    """Raise if a snapshot has another model or other sizes."""
    expected = {"model": problem.form.name, "dim": problem.form.dim, "examples": problem.n_blocks}
    found = {"model": str(snapshot["model"]), "dim": int(snapshot["dim"]), "examples": len(snapshot["ell"])}
    for what, value in expected.items():
        if found[what] != value:
            raise InputError(f"warm_start belongs to another problem: {what} is {found[what]} there and {value} here")


def saved_blocks(problem: DualProblem, snapshot: dict[str, Any]) -> tuple[tuple[Any, ...], Store | None]:
    """The averages and, if the snapshot has one, the store."""
    n_arrays = sum(key.startswith("mu_") for key in snapshot)
    has_store = any(key.startswith("store_") for key in snapshot)
    try:
        mu = tuple(problem.form.import_mu(problem.data, [snapshot[f"mu_{j}"] for j in range(n_arrays)]))
        fields = {name: np.array(snapshot[f"store_{name}"]) for name in Store._fields if has_store}
    except InputError:
        raise
    except (KeyError, ValueError, IndexError) as error:
        raise InputError(f"warm_start: the saved state is incomplete ({error})") from error
    return mu, Store(**fields) if has_store else None


def save(problem: DualProblem, path: str | Path) -> None:
    """Write a snapshot to one file; a crash leaves an older one intact."""
    with replacing(path) as file:
        np.savez(file, version=VERSION, **take(problem))


def read(path: str | Path) -> dict[str, Any]:
    """Read a checkpoint; raise an :class:`InputError` that names the file if it is none."""
    try:
        with np.load(path, allow_pickle=False) as file:
            snapshot = {key: file[key] for key in file.files}
        version = int(snapshot.pop("version"))
        missing = [key for key in KEYS if key not in snapshot]
    except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is not a readable checkpoint ({error})") from error
    if version != VERSION:
        age, advice = ("a newer", "update to read it") if version > VERSION else ("an older", "train without it")
        raise InputError(f"{path} was written by {age} bcfw (layout {version}); {advice}")
    if missing:
        raise InputError(f"{path} is not a readable checkpoint (it has no {missing[0]})")
    return snapshot
