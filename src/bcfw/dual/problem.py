"""One structural SVM in the dual: its packed data, its block state, and what can be certified about it.

    primal  P(w)     = lam/2 |w|^2 + sum_i c_i max_y H_i(y; w),        c_i = s_i / sum_j s_j
    dual    D(alpha) = sum_i ell_i - lam/2 |w|^2,                      w = sum_i c_i/lam B_i (z(y_i) - mu_i)
            (with bounds on w: see :mod:`bcfw.dual.box`)
    gap     P(w) - D(alpha) = sum_i g_i,                               g_i = c_i theta_i'(z* - mu_i)

This package is the only place that knows how w, lam and the block weights c_i go together.
"""

from __future__ import annotations

import functools
import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bcfw.dual import snapshots
from bcfw.dual.box import DV, LOWER, UPPER, V, box_step, join_bounds
from bcfw.dual.gaps import loss_pass, rebuild_pass
from bcfw.dual.steps import exact_step
from bcfw.dual.store import fold_pass, store_rebuild_pass
from bcfw.dual.store_visits import store_pass
from bcfw.dual.visits import block_pass
from bcfw.dual.weights import block_weights
from bcfw.errors import InputError, OracleError
from bcfw.kernels.trees import NO_TREE
from bcfw.records import BLOCK, NOT_MAXIMAL, ORACLE, PAIRWISE, STEPS, STOP, TALLY_SIZE, Corners, Rule, State, Store

#: Room for hinge losses in a pass that takes steps: none.
NO_HINGES = np.zeros((2, 0))

#: How far, relative to it, an upper bound may lie below a value that was found: more than rounding is a mistake.
CONTRADICTION = 1e-6

#: How a certificate uses the store: it asks the oracle.
LOOK = Corners(step=PAIRWISE, by_gain=0, source=ORACLE, cache_share=0.0, cache_floor=0.0, round=0, oldest=0)


class Certificate(NamedTuple):
    """Primal and dual value at one point; their difference bounds the suboptimality of both.

    If the oracle is a heuristic, primal and gap are estimates from below, and ``gap_bound`` is what can be proved
    (infinity without upper bounds); otherwise it equals the gap.
    """

    primal: float
    dual: float
    gap: float
    gap_bound: float


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
    bounds : (lower, upper) or None
        Box constraints on w; joined with the model's own.
    """

    def __init__(
        self,
        model: Any,
        X: Any,
        y: Any,
        lam: float,
        sample_weight: Any = None,
        n_jobs: int = 1,
        bounds: Any = None,
    ) -> None:
        self.model = model
        self.lam = lam
        self.data = model.pack(X, y)
        self.n_blocks = len(y)
        weight = block_weights(sample_weight, self.n_blocks)
        #: Blocks with positive weight: the ones that passes visit.
        self.blocks = np.flatnonzero(weight > 0)
        joined = join_bounds(model.dim, model.bounds(), bounds)
        self._bounds = (np.full(model.dim, -np.inf), np.full(model.dim, np.inf)) if joined is None else joined
        finite = np.isfinite(self._bounds[0]) | np.isfinite(self._bounds[1])
        #: Coordinates of w with a finite bound, and the box around them (see :mod:`bcfw.dual.box`).
        self.bounded = np.flatnonzero(finite)
        self.box = np.zeros((4, len(self.bounded)))
        self.box[LOWER], self.box[UPPER] = self._bounds[0][finite], self._bounds[1][finite]
        self._probe = np.zeros(model.dim if len(self.bounded) else 0)
        self.state = State(
            w=self.clip(np.zeros(model.dim)),
            mu=tuple(model.initial_mu(self.data)),
            ell=np.zeros(self.n_blocks),
            gap=np.zeros(self.n_blocks),
            weight=weight,
        )
        #: Labelings kept per block; None while all mass is in the averages.
        self.store: Store | None = None
        self._store_pass = store_pass
        #: Weights that a run has returned, if they are not those of the dual point it has left.
        self.point: np.ndarray | None = None
        #: Whether no step has been taken and no state restored.
        self.untouched = True
        self._hash: str | None = None
        self._fingerprint = model.fingerprint(self.data)  # now: oracles may change the model's attributes
        self._first_hinges: np.ndarray | None = None
        self.tally = np.zeros(TALLY_SIZE)
        self.oracle_calls = 0
        self._works = [model.make_work(self.data) for _ in range(n_jobs)]

    @functools.cached_property
    def worst_loss(self) -> float:
        """``P(0)``, the weighted mean of the blocks' largest losses.

        If the model's own bounds exclude w = 0, where its oracle may fail, the nearest weights within them count.
        """
        zero = np.zeros_like(self.state.w)
        needed = join_bounds(self.model.dim, self.model.bounds())
        if needed is not None:
            zero = np.clip(zero, *needed)
        hinges = self._hinges(self._aside(zero), self.blocks, self._works)
        if self.untouched and np.array_equal(zero, self.state.w):
            self._first_hinges = hinges
        return float(self.state.weight @ hinges[0])

    @property
    def work(self) -> Any:
        """Scratch of the solver's own thread."""
        return self._works[0]

    def clip(self, v: np.ndarray) -> np.ndarray:
        """The weights of an unclipped v; v itself without bounds."""
        return np.clip(v, *self._bounds) if len(self.bounded) else v

    @property
    def v(self) -> np.ndarray:
        """The unclipped weights ``sum_i c_i/lam B_i (z(y_i) - mu_i)`` of the current state; w itself without bounds."""
        if not len(self.bounded):
            return self.state.w
        v = self.state.w.copy()
        v[self.bounded] = self.box[V]
        return v

    @v.setter
    def v(self, v: np.ndarray) -> None:
        self.box[V] = v[self.bounded]
        self.state.w[:] = self.clip(v)

    def rule(self, decay_blocks: int = 0, tracks: int = 0, short: bool = False) -> Rule:
        """What steps on this problem need to know."""
        averages = np.zeros((tracks, self.model.dim))
        return Rule(self.lam, decay_blocks, averages, 0, int(short), self.bounded, self.box, self._probe)

    def best_step(self, v: np.ndarray, towards: np.ndarray, slope: float) -> float:
        """Maximiser over [0, 1] of the dual from v along ``towards``, where its slope is given."""
        box = np.stack([self.box[LOWER], self.box[UPPER], v[self.bounded], towards[self.bounded]])
        free = self.lam * max(float(towards @ towards - box[DV] @ box[DV]), 0.0)
        return box_step(slope, free, self.lam, 1.0, box) if len(self.bounded) else exact_step(slope, free, 1.0)

    def call(self, template: Any, *args: Any) -> Any:
        """Run a template, specialised to the model, on this problem's data and state."""
        run = self.model.kernels.entry(template)
        return run(tuple(self.data), tuple(self.work), tuple(self.state), *args)

    def visit(self, order: np.ndarray, rule: Rule, tree: np.ndarray = NO_TREE, corners: Corners | None = None) -> None:
        """Take steps on the blocks of ``order`` (or drawn from ``tree``); ``corners`` says how, with an open store."""
        template, more = self._block_visits(corners)
        self.sweep(template, order, tuple(rule), tree, NO_HINGES, *more)

    def _block_visits(self, corners: Corners | None) -> tuple[Any, tuple[Any, ...]]:
        """The template that visits blocks, with or without an open store, and what it needs besides."""
        if self.store is None:
            return block_pass, ()
        assert corners is not None
        return self._store_pass, (tuple(self.store), tuple(corners), np.zeros(self.store.alpha.shape[1]))

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

    def open_store(self, capacity: int, active: bool, template: Any = store_pass) -> Store:
        """Room for ``capacity`` labelings per block; with ``active`` they carry mass, else they are only cached.

        Mass that is in the averages already stays there, as the rest of its block. The template is ``store_pass`` or a
        variant of it: visits and certificates run it.
        """
        self._store_pass = template
        if self.store is not None and (not active or self.store.alpha.shape[1] != capacity):
            self.close_store()
        if self.store is None:
            n = self.n_blocks
            self.store = Store(
                labels=self.model.make_labelings(self.data, capacity + 1),
                alpha=np.zeros((n, capacity)),
                loss=np.zeros((n, capacity)),
                used=np.zeros((n, capacity), np.int64),
                size=np.ones(n, np.int64),  # slot 0, the truth
                rest=np.ones(n),
                rest_loss=self._rest_losses(),
            )
            if active and self.untouched:
                self.store.alpha[:, 0] = 1.0
                self.store.rest[:] = 0.0
        return self.store

    def _rest_losses(self) -> np.ndarray:
        """(n,) averaged losses; ``ell_i / c_i`` where all blocks have weight, which saves a pass."""
        if len(self.blocks) == self.n_blocks:
            return self.state.ell / self.state.weight
        return self._averaged_losses()

    def close_store(self) -> None:
        """Move all mass back into the averages and forget the labelings."""
        if self.store is not None:
            store, self.store = self.store, None
            self.sweep(fold_pass, np.arange(self.n_blocks), tuple(store))

    def dual_value(self) -> float:
        """``D = sum ell_i - lam (v'w - |w|^2/2)`` of the current state."""
        return self._dual(self.v, float(self.state.ell.sum()))

    def _dual(self, v: np.ndarray, ell: float) -> float:
        w = self.clip(v)
        return ell - self.lam * (float(v @ w) - 0.5 * float(w @ w))

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
        if self.untouched and self._first_hinges is not None:  # P(0) has asked the oracle here
            hinges = self._first_hinges
            self.state.gap[:] = self.state.weight * hinges[0]
        else:
            hinges = self._hinges(self.state, self.blocks, self._works)
        return self.weigh(self.v, float(self.state.ell.sum()), hinges)

    def certify(self, v: np.ndarray, ell: float) -> Certificate:
        """Certificate of any feasible dual point, given by ``v = A alpha`` and ``ell = b'alpha``.

        The stored block gaps are left alone.
        """
        return self.weigh(v, ell, self._hinges(self._aside(self.clip(v)), self.blocks, self._works))

    def certify_primal(self, w: np.ndarray) -> Certificate:
        """Primal value of any w (within the bounds) against the dual value of the current state.

        The state is rebuilt first: no block gaps tell whether rounding has separated it from its blocks.
        """
        self.rebuild()
        return self._compare(w, self.dual_value(), self._hinges(self._aside(w), self.blocks, self._works))

    def _aside(self, w: np.ndarray) -> State:
        """A state to look at the blocks with other weights."""
        return self.state._replace(w=w, gap=np.empty(self.n_blocks))

    def _hinges(self, state: State, blocks: np.ndarray, works: list[Any]) -> np.ndarray:
        """(2, n) structured hinge losses of the given blocks at ``state.w``, and what they are at most.

        The two rows differ only for models whose oracle is a heuristic. Block gaps are written to ``state.gap``.
        Each of ``works`` has a thread of its own.
        """
        hinges = np.zeros((2, self.n_blocks))
        rule = tuple(self.rule())
        chunks = np.array_split(blocks, len(works))

        def part(job: int) -> int:
            tally = np.zeros(TALLY_SIZE)
            template, more = self._block_visits(LOOK)
            fields = tuple(self.data), tuple(works[job]), tuple(state), chunks[job], tally, rule, NO_TREE, hinges
            return self.model.kernels.entry(template)(*fields, *more)

        if len(chunks) == 1:
            done = [part(0)]
        else:
            with ThreadPoolExecutor(len(chunks)) as pool:
                done = list(pool.map(part, range(len(chunks))))
        self.oracle_calls += len(blocks)
        for chunk, count in zip(chunks, done, strict=True):
            if count < len(chunk):
                raise self.not_maximal(chunk[count], state.gap[chunk[count]])
        return hinges

    def oracle_seconds(self) -> float:
        """Time of one visit that only asks the oracle: the shortest of some measurements on a few blocks."""
        some = self.blocks[:: max(1, len(self.blocks) // 20)].copy()  # contiguous, as in a pass
        aside = self._aside(self.state.w)
        self._hinges(aside, some[:1], self._works[:1])  # not the time to compile
        times = [0.0]
        while len(times) <= 3 or (len(times) <= 10 and sum(times) < 0.01):
            start = time.perf_counter()
            self._hinges(aside, some, self._works[:1])
            times.append(time.perf_counter() - start)
        return min(times[1:]) / len(some)

    def weigh(self, v: np.ndarray, ell: float, hinges: np.ndarray) -> Certificate:
        """Primal, dual and gap of a point whose (2, n) hinge losses are known: found, and at most."""
        return self._compare(self.clip(v), self._dual(v, ell), hinges)

    def _compare(self, w: np.ndarray, dual: float, hinges: np.ndarray) -> Certificate:
        """Certificate of w by the hinge losses there, found and at most, and any dual value."""
        found, ceilings = hinges
        for i in np.flatnonzero(~(ceilings >= found - CONTRADICTION * (1.0 + np.abs(found))))[:1]:  # or NaN
            raise OracleError(
                f"example {i}: the model's upper bound says that the hinge loss is at most {ceilings[i]:.6g}, but an "
                f"output with {found[i]:.6g} is known; upper_bound must be at least max_y loss(y_true, y) + "
                "<w, features(x, y)>",
                int(i),
            )
        rows = np.array([found, np.maximum(found, ceilings)])
        primal, at_most = 0.5 * self.lam * float(w @ w) + rows @ self.state.weight
        return Certificate(float(primal), dual, float(primal) - dual, float(at_most) - dual)

    def not_maximal(self, i: int, gap: float | None = None) -> OracleError:
        """The error for a block whose oracle returned less than the block's current average."""
        gap = self.state.gap[i] if gap is None else gap
        if not np.isfinite(gap):
            return OracleError(
                f"example {i}: the values of its outputs are too large to be computed (block gap {gap}); scale the "
                "features, or choose another lam or other bounds",
                int(i),
            )
        return OracleError(
            f"example {i}: the oracle's output has a smaller value than labelings it returned before (block gap "
            f"{gap:.3g} < 0), so it is not maximal; bcfw.check_model helps to find out why",
            int(i),
        )

    def rebuild(self) -> None:
        """Recompute w and ell from the block averages, which clears accumulated rounding."""
        self.v = self._weights_from_blocks()
        self.state.ell[:] = self.state.weight * self._averaged_losses()

    def _weights_from_blocks(self) -> np.ndarray:
        """v, out of the block averages."""
        w = np.zeros_like(self.state.w)
        if self.store is None:
            self.call(rebuild_pass, self.lam, self.blocks, w)
        else:
            self.call(store_rebuild_pass, self.lam, self.blocks, w, tuple(self.store))
        return w

    def audit(self) -> dict[str, float]:
        """Largest deviation of the maintained w and ell from their recomputation out of the block averages."""
        v = self._weights_from_blocks()
        ell = self.state.weight * self._averaged_losses()
        return {
            "w": float(np.max(np.abs(v - self.v), initial=0.0)),
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
        snapshot = {
            "model": type(self.model).__name__,
            "dim": self.model.dim,
            "data": self._data_hash(),
            "lam": self.lam,
            "steps": self.tally[STEPS],
            "weight": self.state.weight.copy(),
            "w": self.v.copy(),
            "ell": self.state.ell.copy(),
        }
        if self.point is not None:
            snapshot["point"] = self.point.copy()
        kept = self.state, self.store
        try:
            if self.store is not None and not self.model.saves_labelings:
                self._fold_copies()
            for j, array in enumerate(self.model.export_mu(self.data, self.state.mu)):
                snapshot[f"mu_{j}"] = np.array(array)
            if self.store is not None:
                snapshot |= {f"store_{name}": np.array(array) for name, array in self.store._asdict().items()}
        finally:
            self.state, self.store = kept
        return snapshot

    def _fold_copies(self) -> None:
        """Go on with copies of the averages and the store, and with all mass in the averages."""
        assert self.store is not None
        copies = self.model.import_mu(self.data, self.model.export_mu(self.data, self.state.mu))
        self.state = self.state._replace(mu=tuple(copies))
        store = self.store
        self.store = store._replace(alpha=store.alpha.copy(), rest=store.rest.copy(), rest_loss=store.rest_loss.copy())
        self.close_store()

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
            raise InputError(
                f"warm_start belongs to other data or options; {expected['model']} can only continue on the same"
            )
        mu, store = self._saved_blocks(snapshot)
        self.state = self.state._replace(mu=mu)
        self.store, self.point, self.untouched = store, None, False
        self.state.gap[:] = 0.0
        if self.store is not None:
            self.store.used[:] = 0
            if not same_data:
                self.close_store()  # averages can be taken over, losses cannot
        self.tally[STEPS] = float(snapshot["steps"])
        same_scale = float(snapshot["lam"]) == self.lam and np.array_equal(snapshot["weight"], self.state.weight)
        if same_data and same_scale:
            self.v = snapshot["w"]  # to the last bit
            self.point = self.clip(snapshot["point"]) if "point" in snapshot else None
            self.state.ell[:] = snapshot["ell"]
        else:
            self.rebuild()

    def _saved_blocks(self, snapshot: dict[str, Any]) -> tuple[tuple[Any, ...], Store | None]:
        """The averages and, if the snapshot has one, the store."""
        n_arrays = sum(key.startswith("mu_") for key in snapshot)
        has_store = any(key.startswith("store_") for key in snapshot)
        try:
            mu = tuple(self.model.import_mu(self.data, [snapshot[f"mu_{j}"] for j in range(n_arrays)]))
            fields = {name: np.array(snapshot[f"store_{name}"]) for name in Store._fields if has_store}
        except InputError:
            raise
        except (KeyError, ValueError, IndexError) as error:
            raise InputError(f"warm_start: the saved state is incomplete ({error})") from error
        return mu, Store(**fields) if has_store else None

    def _data_hash(self) -> str:
        if self._hash is None:
            digest = hashlib.sha256(self._fingerprint.encode())
            for array in self.model.data_arrays(self.data):
                digest.update(repr((array.dtype.str, array.shape)).encode())
                digest.update(np.ascontiguousarray(array).data)
            self._hash = digest.hexdigest()
        return self._hash

    def save(self, path: str | Path) -> None:
        """Write a snapshot to one file, in place of an older one only when it is complete."""
        snapshots.write(path, self.snapshot())
