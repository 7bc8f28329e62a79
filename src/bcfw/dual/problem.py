"""One structural SVM in the dual: its packed data, its block state, and what can be certified about it.

    primal  P(w)     = lam/2 |w|^2 + sum_i c_i max_y H_i(y; w),        c_i = s_i / sum_j s_j
    dual    D(alpha) = sum_i ell_i - lam/2 |w|^2,                      w = sum_i c_i/lam B_i (z(y_i) - mu_i)
    gap     P(w) - D(alpha) = sum_i g_i,                               g_i = c_i theta_i'(z* - mu_i)

This package is the only place that knows how w, lam and the block weights c_i go together.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bcfw.dual import snapshots
from bcfw.dual.gaps import gap_pass, loss_pass, rebuild_pass
from bcfw.dual.store import fill_store_pass, fold_pass, store_gap_pass, store_rebuild_pass
from bcfw.errors import InputError, OracleError
from bcfw.records import BLOCK, NOT_MAXIMAL, STEPS, STOP, TALLY_SIZE, State, Store


class Certificate(NamedTuple):
    """Primal and dual value at one point; their difference bounds the suboptimality of both."""

    primal: float
    dual: float
    gap: float


class DualProblem:
    """Data, state and certificates of one problem.

    Parameters
    ----------
    model : bound model
    X, y : training data
    lam : float
    sample_weight : (n,) array or None
    n_jobs : int
        Threads of a certificate pass.
    """

    def __init__(self, model: Any, X: Any, y: Any, lam: float, sample_weight: Any = None, n_jobs: int = 1) -> None:
        self.model = model
        self.lam = lam
        self.data = model.pack(X, y)
        self.n_blocks = len(y)
        weight = block_weights(sample_weight, self.n_blocks)
        #: Blocks with positive weight: the ones that passes visit.
        self.blocks = np.flatnonzero(weight > 0)
        self.state = State(
            w=np.zeros(model.dim),
            mu=tuple(model.initial_mu(self.data)),
            ell=np.zeros(self.n_blocks),
            gap=np.zeros(self.n_blocks),
            weight=weight,
        )
        #: Labelings kept per block; None while all mass is in the averages.
        self.store: Store | None = None
        #: Whether no step has been taken and no state restored.
        self.untouched = True
        self._hash: str | None = None
        self.tally = np.zeros(TALLY_SIZE)
        self.oracle_calls = 0
        self._works = [model.make_work(self.data) for _ in range(n_jobs)]
        self.worst_loss = self.certificate().primal  # P(0)

    @property
    def work(self) -> Any:
        """Scratch of the solver's own thread."""
        return self._works[0]

    def call(self, template: Any, *args: Any) -> Any:
        """Run a template, specialised to the model, on this problem's data and state."""
        run = self.model.kernels.entry(template)
        return run(tuple(self.data), tuple(self.work), tuple(self.state), *args)

    def sweep(self, template: Any, order: np.ndarray, *args: Any) -> None:
        """Run a template over the blocks of ``order``, making room for the averages where it asks for it."""
        done = 0
        self.untouched = False
        while True:
            done += self.call(template, order[done:], self.tally, *args)
            if done == len(order):
                return
            if self.tally[STOP] == NOT_MAXIMAL:
                raise self.not_maximal(int(self.tally[BLOCK]))
            self.state = self.state._replace(mu=tuple(self.model.enlarge_mu(self.state.mu)))

    def open_store(self, capacity: int, active: bool) -> Store:
        """Room for ``capacity`` labelings per block; with ``active`` they carry mass, else they are only cached.

        Mass that is in the averages already stays there, as the rest of its block.
        """
        if self.store is not None and (not active or self.store.alpha.shape[1] != capacity):
            self.close_store()
        if self.store is None:
            n = self.n_blocks
            self.store = Store(
                labels=self.model.make_labelings(self.data, capacity + 1),
                alpha=np.zeros((n, capacity)),
                loss=np.zeros((n, capacity)),
                used=np.zeros((n, capacity), np.int64),
                size=np.zeros(n, np.int64),
                rest=np.ones(n),
                rest_loss=self._averaged_losses(),
            )
            self.call(fill_store_pass, tuple(self.store))
            if active and self.untouched:
                self.store.alpha[:, 0] = 1.0
                self.store.rest[:] = 0.0
        return self.store

    def close_store(self) -> None:
        """Move all mass back into the averages and forget the labelings."""
        if self.store is not None:
            store, self.store = self.store, None
            self.sweep(fold_pass, np.arange(self.n_blocks), tuple(store))

    def dual_value(self) -> float:
        """``D = sum ell_i - lam/2 |w|^2`` of the current state."""
        w = self.state.w
        return float(self.state.ell.sum() - 0.5 * self.lam * (w @ w))

    def certificate(self) -> Certificate:
        """Primal, dual and gap of the current state, by one pass of the oracle over all blocks.

        The pass also stores every block gap. Their sum must equal ``P - D``; where rounding has separated the two,
        w is rebuilt from the block averages and the pass repeated.
        """
        certificate = self._certify_state()
        scale = abs(certificate.primal) + abs(certificate.dual)
        if abs(certificate.gap - self.state.gap.sum()) > 1e-9 * scale:
            self.rebuild()
            certificate = self._certify_state()
        return certificate

    def _certify_state(self) -> Certificate:
        return self.certify(self.state.w, float(self.state.ell.sum()))

    def certify(self, w: np.ndarray, ell: float) -> Certificate:
        """Certificate of any feasible dual point, given by ``w = A alpha`` and ``ell = b'alpha``.

        At points other than the current state the stored block gaps are left alone.
        """
        here = w is self.state.w
        state = self.state if here else self.state._replace(gap=np.empty(self.n_blocks))
        hinge = np.zeros(self.n_blocks)

        chunks = np.array_split(self.blocks, len(self._works))

        def part(job: int) -> int:
            fields = tuple(self.data), tuple(self._works[job]), tuple(state), w, chunks[job], hinge
            if self.store is None:
                return self.model.kernels.entry(gap_pass)(*fields)
            value = np.zeros(self.store.alpha.shape[1])
            return self.model.kernels.entry(store_gap_pass)(*fields, tuple(self.store), value)

        if len(chunks) == 1:
            done = [part(0)]
        else:
            with ThreadPoolExecutor(len(chunks)) as pool:
                done = list(pool.map(part, range(len(chunks))))
        self.oracle_calls += len(self.blocks)
        for chunk, count in zip(chunks, done, strict=True):
            if count < len(chunk):
                raise self.not_maximal(chunk[count], state.gap[chunk[count]])
        return self.weigh(w, ell, hinge)

    def weigh(self, w: np.ndarray, ell: float, hinge: np.ndarray) -> Certificate:
        """Primal, dual and gap of a point whose (n,) hinge losses are known."""
        square = 0.5 * self.lam * float(w @ w)
        primal = square + float(self.state.weight @ hinge)
        dual = ell - square
        return Certificate(primal, dual, primal - dual)

    def not_maximal(self, i: int, gap: float | None = None) -> OracleError:
        """The error for a block whose oracle returned less than the block's current average."""
        gap = self.state.gap[i] if gap is None else gap
        return OracleError(
            f"example {i}: the oracle's output has a smaller value than labelings it returned before (block gap "
            f"{gap:.3g} < 0), so it is not maximal; bcfw.check_model helps to find out why",
            int(i),
        )

    def rebuild(self) -> None:
        """Recompute w and ell from the block averages, which clears accumulated rounding."""
        self.state.w[:] = self._weights_from_blocks()
        self.state.ell[:] = self.state.weight * self._averaged_losses()

    def _weights_from_blocks(self) -> np.ndarray:
        w = np.zeros_like(self.state.w)
        if self.store is None:
            self.call(rebuild_pass, self.lam, self.blocks, w)
        else:
            self.call(store_rebuild_pass, self.lam, self.blocks, w, tuple(self.store))
        return w

    def audit(self) -> dict[str, float]:
        """Largest deviation of the maintained w and ell from their recomputation out of the block averages."""
        w = self._weights_from_blocks()
        ell = self.state.weight * self._averaged_losses()
        return {
            "w": float(np.max(np.abs(w - self.state.w), initial=0.0)),
            "ell": float(np.max(np.abs(ell - self.state.ell), initial=0.0)),
        }

    def _averaged_losses(self) -> np.ndarray:
        """(n,) averaged loss of every block, out of the block averages."""
        losses = np.zeros(self.n_blocks)
        self.call(loss_pass, np.zeros_like(self.state.w), losses)
        if self.store is None:
            return losses
        return self.store.rest * losses + np.sum(self.store.alpha * self.store.loss, axis=1)

    def snapshot(self) -> dict[str, Any]:
        """Everything needed to continue, as plain arrays: the form that is saved and that warm starts read."""
        arrays = self._all_in_averages()
        return {
            "model": type(self.model).__name__,
            "dim": self.model.dim,
            "data": self._data_hash(),
            "lam": self.lam,
            "steps": self.tally[STEPS],
            "weight": self.state.weight.copy(),
            "w": self.state.w.copy(),
            "ell": self.state.ell.copy(),
            **{f"mu_{j}": np.array(array) for j, array in enumerate(arrays)},
        }

    def _all_in_averages(self) -> list[np.ndarray]:
        """The block averages as plain arrays, with the store's mass folded in; the state itself stays as it is."""
        arrays = self.model.export_mu(self.data, self.state.mu)
        if self.store is None:
            return arrays
        kept = self.state, self.store
        try:
            self.state = self.state._replace(mu=tuple(self.model.import_mu(self.data, arrays)))
            self.store = self.store._replace(
                alpha=self.store.alpha.copy(), rest=self.store.rest.copy(), rest_loss=self.store.rest_loss.copy()
            )
            self.close_store()
            return self.model.export_mu(self.data, self.state.mu)
        finally:
            self.state, self.store = kept

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Continue from a snapshot of the same problem; lam and sample weights may differ.

        The dual variables alpha are kept, w and ell follow: ``w = A alpha`` with this problem's lam and weights. In
        part space alpha is feasible for any data of the same sizes; in feature space only for the same data.
        """
        expected = {"model": type(self.model).__name__, "dim": self.model.dim, "examples": self.n_blocks}
        found = {
            "model": str(snapshot["model"]),
            "dim": int(snapshot["dim"]),
            "examples": len(snapshot["ell"]),
        }
        for what, value in expected.items():
            if found[what] != value:
                raise InputError(
                    f"warm_start belongs to another problem: {what} is {found[what]} there and {value} here"
                )
        same_data = str(snapshot["data"]) == self._data_hash()
        if not same_data and not self.model.in_part_space:
            raise InputError(f"warm_start belongs to other data; {expected['model']} can only continue on the same")
        n_arrays = sum(key.startswith("mu_") for key in snapshot)
        mu = self.model.import_mu(self.data, [snapshot[f"mu_{j}"] for j in range(n_arrays)])
        self.state = self.state._replace(mu=tuple(mu))
        self.store, self.untouched = None, False
        self.tally[STEPS] = float(snapshot["steps"])
        same_scale = float(snapshot["lam"]) == self.lam and np.array_equal(snapshot["weight"], self.state.weight)
        if same_data and same_scale:
            self.state.w[:] = snapshot["w"]  # to the last bit
            self.state.ell[:] = snapshot["ell"]
        else:
            self.rebuild()

    def _data_hash(self) -> str:
        if self._hash is None:
            digest = hashlib.sha256()
            for array in self.model.data_arrays(self.data):
                digest.update(repr((array.dtype.str, array.shape)).encode())
                digest.update(np.ascontiguousarray(array).data)
            self._hash = digest.hexdigest()
        return self._hash

    def save(self, path: str | Path) -> None:
        """Write a snapshot to one file, in place of an older one only when it is complete."""
        snapshots.write(path, self.snapshot())


def block_weights(sample_weight: Any, n: int) -> np.ndarray:
    """``c_i = s_i / sum_j s_j``; 1/n for None."""
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    try:
        s = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight must hold one number per example ({error})") from error
    if s.shape != (n,):
        raise InputError(f"sample_weight must have one number per example ({n}), got shape {s.shape}")
    bad = np.flatnonzero(~(np.isfinite(s) & (s >= 0)))
    if len(bad):
        raise InputError(f"sample_weight of example {bad[0]} is {s[bad[0]]}; weights must be finite and >= 0")
    if s.sum() == 0:
        raise InputError("sample_weight is zero for every example; give at least one a positive weight")
    return s / s.sum()
