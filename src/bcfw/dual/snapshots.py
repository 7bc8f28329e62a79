"""Snapshots: the state of a dual problem as plain arrays, taken, checked, and restored into a problem.

The files of snapshots are written and read by :mod:`bcfw.storage.checkpoints`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bcfw.dual.problem import DualProblem
from bcfw.dual.rebuild import fold_pass
from bcfw.errors import InputError
from bcfw.passes.records import STEPS, Store
from bcfw.storage.checked_arrays import REMEDY, SavedArrays
from bcfw.storage.checkpoints import write

#: The mass of a block is one up to rounding; a snapshot whose masses differ from one by more than this is damaged.
MASS_ROUNDING = 1e-6


def take(problem: DualProblem) -> dict[str, Any]:
    """Return a snapshot: everything that is needed to continue, as plain arrays, for files and warm starts.

    The key "weight" holds the shares c_i, "w" holds v, and "point" the weights to return, if they differ from clip(v).
    """
    with problem.outside():
        return _taken(problem)


def _taken(problem: DualProblem) -> dict[str, Any]:
    adapter, store = problem.adapter, problem.store
    snapshot = {
        "model": adapter.name,
        "dim": adapter.dim,
        "data": problem.identity,
        "lam": problem.lam,
        "steps": problem.counters[STEPS],
        "weight": problem.state.c.copy(),
        "w": problem.v.copy(),
        "ell": problem.state.ell.copy(),
    }
    if problem.point is not None:
        snapshot["point"] = problem.point.copy()
    folded = store is not None and not adapter.saves_labelings
    mu = folded_averages(problem) if folded else problem.state.mu
    snapshot |= {f"mu_{j}": np.array(array) for j, array in enumerate(adapter.export_mu(problem.data, mu))}
    if store is not None and not folded:
        snapshot |= {f"store_{SAVED_AS.get(name, name)}": np.array(array) for name, array in store._asdict().items()}
    return snapshot


#: Names of fields of the store in saved states, where they differ.
SAVED_AS = {"folded_mass": "rest"}


def folded_averages(problem: DualProblem) -> tuple[Any, ...]:
    """Return the block averages with all mass of the store folded in; the problem does not change."""
    adapter, store = problem.adapter, problem.store
    assert store is not None
    mu = tuple(adapter.import_mu(problem.data, adapter.export_mu(problem.data, problem.state.mu)))
    copies = store._replace(
        alpha=store.alpha.copy(), folded_mass=store.folded_mass.copy(), rest_loss=store.rest_loss.copy()
    )
    state = problem.state._replace(mu=mu)
    run = adapter.routines.compiled_pass(fold_pass)
    run(
        tuple(problem.data),
        tuple(adapter.make_work(problem.data)),
        tuple(state),
        problem.counters.copy(),
        0,
        np.arange(problem.n_blocks),
        tuple(copies),
    )
    return mu


def restore(problem: DualProblem, snapshot: dict[str, Any], source: str = "warm_start") -> None:
    """Continue from a snapshot of a problem that may differ from this problem in lam and in the sample weights.

    The dual variables alpha are taken from the snapshot; w and ell are computed from alpha: ``w = A alpha`` with this
    problem's lam and shares c_i. For models in part space, the data may differ, too, if their sizes are equal: alpha
    stays feasible. In feature space the data must be equal. Every array is checked before compiled code reads it; error
    messages call the snapshot ``source``.
    """
    saved = SavedArrays(snapshot, source)
    require_same_problem(problem, saved)
    same_data = str(snapshot.get("data")) == problem.identity
    if not same_data and not problem.adapter.in_part_space:
        raise InputError(
            f"{source} belongs to other data or options; {problem.adapter.name} can only continue on the same"
        )
    n, dim = problem.n_blocks, problem.adapter.dim
    lam, weight = saved.get("lam", float, least=0.0), saved.get("weight", float, (n,), least=0.0, most=1.0)
    point = saved.get("point", float, (dim,)) if "point" in snapshot else None
    steps = saved.get("steps", float, least=0.0)
    mu, store = saved_averages(problem, saved), saved_store(problem, saved, same_data)
    problem.state = problem.state._replace(mu=mu)
    problem.store, problem.point, problem.is_initial = store, None, False
    problem.state.gap[:] = 0.0
    if problem.store is not None:
        problem.store.used[:] = 0
        if not same_data:
            problem.close_store()  # the averages are valid for the new data, the losses of stored labelings are not
    problem.counters[STEPS] = float(steps)
    problem.rebuild()
    if point is not None and same_data and lam == problem.lam and np.array_equal(weight, problem.state.c):
        problem.point = problem.clip(point)


def require_same_problem(problem: DualProblem, saved: SavedArrays) -> None:
    """Raise unless the snapshot's model and sizes are equal to the problem's."""
    expected = {"model": problem.adapter.name, "dim": problem.adapter.dim, "examples": problem.n_blocks}
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
    saved.get("w", float, (problem.adapter.dim,))


def saved_averages(problem: DualProblem, saved: SavedArrays) -> tuple[Any, ...]:
    """Return the block averages of a snapshot; the model's adapter checks their values."""
    adapter, data = problem.adapter, problem.data
    current = adapter.export_mu(data, problem.state.mu)
    arrays = [saved.get(f"mu_{j}", like.dtype, (None, *like.shape[1:])) for j, like in enumerate(current)]
    try:
        return tuple(adapter.import_mu(data, arrays))
    except InputError as error:
        raise InputError(f"{saved.source}: {error}; {REMEDY}") from error


def saved_store(problem: DualProblem, saved: SavedArrays, same_data: bool) -> Store | None:
    """Return the store of a snapshot after checking its arrays, or None if the snapshot has no store."""
    adapter, n = problem.adapter, problem.n_blocks
    if not adapter.saves_labelings or not saved.has("store_"):
        return None
    alpha = saved.get("store_alpha", float, (n, None), -MASS_ROUNDING, 1.0 + MASS_ROUNDING)
    capacity = alpha.shape[1]
    labels = adapter.make_labelings(problem.data)
    room = (capacity + 1) * len(labels)
    store = Store(
        labels=saved.get("store_labels", labels.dtype, (room,), *(adapter.label_limits(problem.data) or ())),
        alpha=alpha,
        loss=saved.get("store_loss", float, (n, capacity)),
        used=saved.get("store_used", np.int64, (n, capacity)),
        size=saved.get("store_size", np.int64, (n,), 1, capacity),
        folded_mass=saved.get("store_rest", float, (n,), -MASS_ROUNDING, 1.0 + MASS_ROUNDING),
        rest_loss=saved.get("store_rest_loss", float, (n,)),
    )
    in_use = np.arange(capacity) < store.size[:, None]
    if np.any(np.abs(store.folded_mass + (alpha * in_use).sum(axis=1) - 1.0) > MASS_ROUNDING):
        raise saved.damaged("store_alpha", "does not sum to one with store_rest")
    if same_data and not adapter.keeps_truths(problem.data, store.labels):
        raise saved.damaged("store_labels", "does not have the truths in its first slots")
    return store


def save(problem: DualProblem, path: str | Path) -> None:
    """Take a snapshot of a problem and write it to one file; after a crash, an older file is still intact."""
    write(take(problem), path)
