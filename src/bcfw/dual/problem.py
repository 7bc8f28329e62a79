"""The class DualProblem: one structural SVM in the dual, with its packed data, block state and store.

    primal  P(w)     = lam/2 |w|^2 + sum_i c_i max_y H_i(y; w),        c_i = s_i / sum_j s_j
    dual    D(alpha) = sum_i ell_i - lam/2 |w|^2,                      w = sum_i c_i/lam B_i (z(y_i) - mu_i)
            (with bounds on w: see :mod:`bcfw.passes.bounded_steps`)
    gap     P(w) - D(alpha) = sum_i g_i,                               g_i = c_i theta_i'(z* - mu_i)

Only this package relates w to lam and the shares c_i.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bcfw.dual.certificates import dual_value, regulariser
from bcfw.dual.rebuild import fold_pass, loss_pass, rebuild_pass, store_rebuild_pass
from bcfw.dual.threads import Threads
from bcfw.inputs.bounds import join_bounds
from bcfw.inputs.memory import available, memory_named, require_room
from bcfw.passes.block_solves import solve_pass
from bcfw.passes.bounded_steps import LOWER, UPPER, V, box_step
from bcfw.passes.contract import with_bounds
from bcfw.passes.order import Visits, in_order
from bcfw.passes.records import (
    ALL_PARTS,
    BLOCK,
    CERTIFY,
    EXACT_SIZE,
    N_COUNTERS,
    NOT_MAXIMAL,
    ORACLE,
    PAIRWISE,
    STEP,
    STOP,
    WORST,
    PartLists,
    State,
    StepSettings,
    Store,
    StoreUse,
)
from bcfw.passes.steps import exact_step
from bcfw.passes.store_visits import store_pass
from bcfw.passes.visits import block_pass

#: The gain, relative to the dual value, of steps that change the weights by a share of 1e-13: gains are about the
#: squares of steps.
RESOLUTION = 1e-26

#: The list of a block holds up to ``SHORT_LIST`` parts or a quarter of its parts, whichever is more. The lists of all
#: blocks together hold at most ``LISTED`` parts, which take a quarter of a gigabyte.
SHORT_LIST = 16
LISTED = 1 << 26

#: Every run needs at least this many vectors of weights: the current weights, and a copy to return.
WEIGHTS = 2

#: The argument for hinge losses in passes that do not write them.
NO_HINGE_LOSSES = np.zeros((2, 0))

#: How a certificate uses the store: it calls the oracle for every block.
ASK_ORACLE = StoreUse(
    step=PAIRWISE, away_corner=WORST, source=ORACLE, cache_share=0.0, cache_floor=0.0, round=0, oldest=0
)


class DualProblem:
    """Data, block state and store of one problem; :func:`bcfw.dual.open_problem` creates it.

    Parameters
    ----------
    adapter : ModelAdapter
        The adapter of the bound model.
    data : packed examples
    c : (n,) array
        Share of every block in the objective. The shares of all blocks of a problem sum to one; if the problem has only
        a part of the blocks, its shares sum to less than one.
    lam : float
    bounds : (lower, upper) or None
        (d,) arrays: the box that w must lie in.
    n_jobs : int
        The number of threads of a certificate pass.

    Attributes
    ----------
    state : State
    store : Store or None
        The stored labelings of every block; None while all mass is in the averages.
    lists : Lists or None
        The parts that exact block solves may move; None if blocks take steps, or if there is a store.
    point : (d,) array or None
        The weights to return, if they differ from the w of the dual point (averaging, acceleration); else None.
    is_initial : bool
        Whether no step has been taken and no state restored.
    outside : function that returns a context
        Context in which the problem has its own state back while a solver works on a modified problem (an accelerated
        iteration).
    blocks : the blocks with positive c_i; passes visit only these blocks
    bounded : the coordinates of w with a finite bound
    box : the bounds and scratch arrays, with no columns if there are no bounds (see :mod:`bcfw.passes.bounded_steps`)
    counters : counters of the passes (see :mod:`bcfw.passes.records`)
    oracle_calls : number of oracle calls of steps and certificates so far
    """

    def __init__(
        self,
        adapter: Any,
        data: Any,
        c: np.ndarray,
        lam: float,
        bounds: tuple[np.ndarray, np.ndarray] | None = None,
        n_jobs: int = 1,
    ) -> None:
        self.adapter = adapter
        self.data = data
        self.lam = lam
        self.n_blocks = len(c)
        self.require_room({"weights": WEIGHTS * 8 * adapter.dim})
        self.blocks = np.flatnonzero(c > 0)
        self.box = np.zeros((4, 0 if bounds is None else adapter.dim))
        if bounds is not None:
            self.box[LOWER], self.box[UPPER] = bounds
        self.bounded = np.flatnonzero(np.isfinite(self.box[LOWER]) | np.isfinite(self.box[UPPER]))
        self._probe = np.zeros(self.box.shape[1])
        self._moved = np.zeros(len(self.bounded), np.int64), np.zeros(1, np.int64)
        self._store_pass = store_pass
        self._first_hinge_losses: np.ndarray | None = None
        with self.memory_named():
            self._works = [adapter.make_work(data) for _ in range(n_jobs)]
            self.reset(c)
        self.outside: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
        self.counters = np.zeros(N_COUNTERS)
        self.oracle_calls = 0
        self._threads = Threads(n_jobs)
        self._fingerprint: str = adapter.fingerprint(data)  # before any oracle call, which may change the model

    def reset(self, c: np.ndarray) -> None:
        """Put all mass on the truths, with v = 0 and without a store or lists; c are the shares of the blocks."""
        self.state = State(
            w=self.clip(np.zeros(self.adapter.dim)),
            mu=tuple(self.adapter.initial_mu(self.data)),
            ell=np.zeros(self.n_blocks),
            gap=np.zeros(self.n_blocks),
            c=c,
        )
        self.box[V] = 0.0
        self.store: Store | None = None
        self.lists: PartLists | None = None
        self.point: np.ndarray | None = None
        self.is_initial = True

    # --- memory

    def require_room(self, parts: Mapping[str, int], advice: str = "") -> None:
        """Raise ``TooLargeError`` unless the arrays ``parts`` (bytes by name) fit into memory at once."""
        require_room(*self._numbers(), parts, advice or self._what_helps())

    def memory_named(self) -> contextlib.AbstractContextManager[None]:
        """Return a context that turns a ``MemoryError`` into a ``TooLargeError`` with the model's name and sizes."""
        return memory_named(*self._numbers(), self._what_helps())

    def _numbers(self) -> tuple[str, dict[str, int]]:
        """Return the name of the model and the sizes of the problem for messages."""
        return self.adapter.name, {"examples": self.n_blocks, **self.adapter.sizes()}

    def _what_helps(self) -> str:
        """Return advice for messages: to use fewer features, or fewer labels if the number of labels makes w large.

        Labels make w large if there are more labels than features, or if the weights that do not belong to features
        (such as transitions) do not fit into memory.
        """
        sizes = self.adapter.sizes()
        F, K = sizes.get("features", 0), sizes.get("labels", 0)
        others = WEIGHTS * 8 * (self.adapter.dim - F * K)
        by_features = "labels" not in sizes or (F >= K and others < available()[0])
        return f"use fewer {'features' if by_features else 'labels'}, or a machine with more memory"

    # --- weights

    @property
    def bounds(self) -> tuple[Any, Any]:
        """Lower and upper bounds of w: (d,) arrays, or the numbers -inf and inf if w has no bounds."""
        return (self.box[LOWER], self.box[UPPER]) if len(self.bounded) else (-np.inf, np.inf)

    def clip(self, v: np.ndarray) -> np.ndarray:
        """Return v clipped to the bounds of w; without bounds, return v itself."""
        return np.clip(v, *self.bounds) if len(self.bounded) else v

    @property
    def v(self) -> np.ndarray:
        """The unclipped weights ``sum_i c_i/lam B_i (z(y_i) - mu_i)`` of the current state; w itself without bounds."""
        if not len(self.bounded):
            return self.state.w
        v = self.state.w.copy()
        v[self.bounded] = self.box[V, self.bounded]
        return v

    @v.setter
    def v(self, v: np.ndarray) -> None:
        self.box[V, self.bounded] = v[self.bounded]
        self.state.w[:] = self.clip(v)

    def solution(self) -> np.ndarray:
        """Return the weights of the current state, or its coefficients if weights are not formed; not a copy."""
        return self.state.w

    def weights_for_callbacks(self, w: np.ndarray) -> np.ndarray | None:
        """Return a copy of the weights ``w`` for callbacks; None if weights are not formed."""
        return w.copy()

    @property
    def n_jobs(self) -> int:
        """The number of threads of a certificate pass."""
        return len(self._works)

    @property
    def ell(self) -> float:
        """The sum ``sum_i ell_i`` of the current state."""
        return float(self.state.ell.sum())

    def dual_value(self) -> float:
        """Return ``D = ell - lam (v'w - |w|^2/2)`` of the current state."""
        return dual_value(self.lam, self.v, self.state.w, self.ell)

    def regulariser(self, w: np.ndarray) -> float:
        """Return ``lam/2 |w|^2`` of any weights."""
        return regulariser(self.lam, w)

    def smallest_gain(self) -> float:
        """Return the smallest gain of the dual value that is more than rounding, given the size of its two terms."""
        ell = self.ell
        return RESOLUTION * (abs(ell) + abs(ell - self.dual_value()))

    # --- steps

    def rule(self, size: int = EXACT_SIZE, tracks: int = 0) -> StepSettings:
        """Return the settings of steps: ``size`` is the step size rule, ``tracks`` the number of averages of w."""
        if tracks:
            self.require_room({"weights and their running averages": (WEIGHTS + tracks) * 8 * self.adapter.dim})
        averages = np.zeros((tracks, self.adapter.dim))
        n = len(self.blocks)
        return StepSettings(self.lam, size, n, averages, 0, self.bounded, self.box, self._probe, *self._moved)

    def best_step(self, v: np.ndarray, direction: np.ndarray, slope: float) -> float:
        """Return the step size in [0, 1] that maximises the dual from v along a direction with the given slope."""
        if not len(self.bounded):
            return exact_step(slope, self.lam * float(direction @ direction), 1.0)
        inside = direction[self.bounded]
        free = self.lam * max(float(direction @ direction - inside @ inside), 0.0)
        box = np.stack([self.box[LOWER], self.box[UPPER], v, direction])
        return box_step(slope, free, self.lam, 1.0, box, self.bounded)

    def announce_visits(self, visits: Visits) -> None:
        """Prepare for a pass with these visits; called before the pass, which may call :meth:`visit` several times."""

    def visit(self, visits: Visits, rule: StepSettings, plan: StoreUse | None = None) -> None:
        """Take steps on the blocks of ``visits``; with an open store, ``plan`` says how the steps use it."""
        template, more = self._block_visits(plan)
        self.run_template(template, visits.n_visits, tuple(visits), tuple(rule), STEP, NO_HINGE_LOSSES, *more)

    def _block_visits(self, plan: StoreUse | None) -> tuple[Any, tuple[Any, ...]]:
        """Return the template that visits blocks (with lists, with a store, or plain), and its additional arguments."""
        if self.lists is not None:
            return solve_pass, (tuple(self.lists),)
        if self.store is None:
            return block_pass, ()
        assert plan is not None
        return self._store_pass, (tuple(self.store), tuple(plan), np.zeros(self.store.alpha.shape[1]))

    @property
    def routines(self) -> Any:
        """The routines that templates are specialised to."""
        return with_bounds(self.adapter.routines) if len(self.bounded) else self.adapter.routines

    def call(self, template: Any, *args: Any) -> Any:
        """Run a template, specialised to the model, on the data and the state of this problem."""
        return self._run(template, self._works[0], self.state, *args)

    def _run(self, template: Any, work: Any, state: State, *args: Any) -> Any:
        try:
            return self.routines.compiled_pass(template)(tuple(self.data), tuple(work), tuple(state), *args)
        except Exception as error:
            located = self.adapter.located(error, self.data, state.w)
            if located is error:
                raise
            raise located from error

    def run_template(self, template: Any, count: int, *args: Any) -> None:
        """Run a template that makes ``count`` visits; raise ``OracleError`` if it finds an oracle that is not maximal.

        Whenever the template stops for lack of room, the arrays of averages are enlarged and the template goes on.
        """
        done = 0
        self.is_initial = False
        while True:
            done = self.call(template, self.counters, done, *args)
            if done == count:
                return
            if self.counters[STOP] == NOT_MAXIMAL:
                i = int(self.counters[BLOCK])
                raise self.adapter.not_maximal(i, self.state.gap[i])
            self._make_room(int(self.counters[BLOCK]))

    def _make_room(self, i: int) -> None:
        """Enlarge the arrays of averages, after the routine ``reserve`` has found no room at block i."""
        self.require_room({"averages of the examples": 2 * sum(np.asarray(array).nbytes for array in self.state.mu)})
        with self.memory_named():
            self.state = self.state._replace(mu=tuple(self.adapter.enlarge_mu(self.state.mu)))

    # --- the store

    def open_store(self, capacity: int, active: bool, template: Any = store_pass) -> Store:
        """Open the store, with room for ``capacity`` labelings per block, and return it.

        With ``active`` the stored labelings carry mass; otherwise the store is only a cache. Mass that is already in
        the averages remains there, as the rest of its block. Visits and certificates will run ``template``, which is
        ``store_pass`` or a variant of it.
        """
        self._store_pass = template
        self.lists = None
        if self.store is not None and (not active or self.store.alpha.shape[1] != capacity):
            self.close_store()
        if self.store is None:
            n = self.n_blocks
            self.store = Store(
                labels=self.adapter.make_labelings(self.data, capacity + 1),
                alpha=np.zeros((n, capacity)),
                loss=np.zeros((n, capacity)),
                used=np.zeros((n, capacity), np.int64),
                size=np.ones(n, np.int64),  # slot 0, the truth
                folded_mass=np.ones(n),
                rest_loss=self._rest_losses(),
            )
            if active and self.is_initial:
                self.store.alpha[:, 0] = 1.0
                self.store.folded_mass[:] = 0.0
        return self.store

    def _rest_losses(self) -> np.ndarray:
        """Return the (n,) averaged losses; if all c_i are positive, compute them as ``ell_i / c_i`` to save a pass."""
        if len(self.blocks) == self.n_blocks:
            return self.state.ell / self.state.c
        return self.averaged_losses()

    def close_store(self) -> None:
        """Move all mass back into the averages, and drop the store and the lists."""
        self.lists = None
        if self.store is not None:
            store, self.store = self.store, None
            self.run_template(fold_pass, self.n_blocks, np.arange(self.n_blocks), tuple(store))

    # --- lists of parts

    def open_lists(self, slack: float) -> PartLists:
        """Switch to exact block solves, and return the lists of the parts that the block solves may move.

        At first every block is solved over all its parts; every certificate lists the parts that may move until the
        next certificate. The model must offer "block solves".
        """
        self.close_store()
        n = self.n_blocks
        n_parts = int(self.adapter.part_offsets(self.data)[-1]) // max(n, 1)
        most = max(SHORT_LIST, LISTED // max(n, 1))
        width = min(n_parts, max(SHORT_LIST, n_parts // 4), most)
        self.lists = PartLists(np.zeros((n, width), np.int32), np.full(n, ALL_PARTS), np.zeros(n, np.bool_), slack)
        return self.lists

    @property
    def active_blocks(self) -> np.ndarray:
        """The blocks that the next pass visits: without lists, all ``blocks``.

        With lists, the blocks with listed parts, except the blocks that did not move at their last visit.
        """
        if self.lists is None:
            return self.blocks
        return self.blocks[(self.lists.size[self.blocks] != 0) & ~self.lists.idle[self.blocks]]

    # --- hinge losses

    def value_at_zero(self) -> float:
        """Return ``P(0)``, the weighted mean of the largest loss of every block; costs a pass of the oracle.

        If the bounds that the model itself needs exclude w = 0, where its oracle may fail, the hinge losses are
        computed at the nearest weights within these bounds.
        """
        needed = join_bounds(self.adapter.dim, self.adapter.bounds())
        zero = np.zeros(self.adapter.dim)
        if needed is not None:
            zero = np.clip(zero, *needed)
        is_here = self.is_initial and np.array_equal(zero, self.state.w)
        hinge_losses = self.hinge_losses_at(self.state.w if is_here else zero)
        if is_here:
            self._first_hinge_losses = hinge_losses
        return float(self.state.c @ hinge_losses[0])

    def hinge_losses_at(self, w: np.ndarray, gaps: np.ndarray | None = None) -> np.ndarray:
        """Return (2, n) structured hinge losses of all blocks at any weights: found values and upper bounds.

        The block gaps at these weights are written to ``gaps`` (n,) if it is given. The state does not change.
        """
        gaps = np.empty(self.n_blocks) if gaps is None else gaps
        return self._hinge_losses(self.state._replace(w=w, gap=gaps), self.blocks, self._threads)

    def hinge_losses(self) -> np.ndarray:
        """Return (2, n) structured hinge losses of all blocks at the current w: found values and upper bounds.

        Every block gap is stored in the state.
        """
        if self.is_initial and self._first_hinge_losses is not None:  # value_at_zero has called the oracle at this w
            self.state.gap[:] = self.state.c * self._first_hinge_losses[0]
            return self._first_hinge_losses
        return self._hinge_losses(self.state, self.blocks, self._threads)

    def call_oracle_only(self, blocks: np.ndarray) -> None:
        """Call the oracle on some blocks at the current w, in one thread, and discard the outputs.

        It is for measuring time; the state does not change.
        """
        self._hinge_losses(self.state._replace(gap=np.empty(self.n_blocks)), blocks, Threads(1))

    def _hinge_losses(self, state: State, blocks: np.ndarray, threads: Threads) -> np.ndarray:
        """Return (2, n) hinge losses of the given blocks at ``state.w``, and write their block gaps to ``state.gap``.

        Row 0 has the values that the oracle found, row 1 their upper bounds; the rows differ only if the oracle is a
        heuristic.
        """
        hinge_losses = np.zeros((2, self.n_blocks))
        rule = tuple(self.rule())
        chunks = np.array_split(blocks, threads.count)

        def part(job: int) -> int:
            template, more = self._block_visits(ASK_ORACLE)
            visits = tuple(in_order(chunks[job]))
            counters = np.zeros(N_COUNTERS)
            return int(
                self._run(template, self._works[job], state, counters, 0, visits, rule, CERTIFY, hinge_losses, *more)
            )

        done = threads.map(part)
        self.oracle_calls += len(blocks)
        for chunk, count in zip(chunks, done, strict=True):
            if count < len(chunk):
                raise self.adapter.not_maximal(int(chunk[count]), state.gap[chunk[count]])
        return hinge_losses

    # --- recomputation from the block averages

    def rebuild(self) -> None:
        """Recompute w and ell from the block averages, which removes accumulated rounding errors."""
        self.v = self.v_from_blocks()
        self.state.ell[:] = self.state.c * self.averaged_losses()

    def v_from_blocks(self) -> np.ndarray:
        """Return v, recomputed from the block averages."""
        v = np.zeros_like(self.state.w)
        if self.store is None:
            self.call(rebuild_pass, self.lam, self.blocks, v)
        else:
            self.call(store_rebuild_pass, self.lam, self.blocks, v, tuple(self.store))
        return v

    def averaged_losses(self) -> np.ndarray:
        """Return the (n,) averaged losses of the blocks, recomputed from the block averages."""
        losses = np.zeros(self.n_blocks)
        if self.store is None or np.any(self.store.folded_mass):
            self.call(loss_pass, np.zeros_like(self.state.w), losses)
        if self.store is None:
            return losses
        return self.store.folded_mass * losses + np.sum(self.store.alpha * self.store.loss, axis=1)

    @functools.cached_property
    def identity(self) -> str:
        """Hash of the packed data and all options that change the problem; saved states are compared by this hash."""
        digest = hashlib.sha256(self._fingerprint.encode())
        for array in self.adapter.data_arrays(self.data):
            digest.update(repr((array.dtype.str, array.shape)).encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()
