"""The dual problem with an input kernel k(x, x'): it keeps the scores of all training inputs and never forms w.

Let f(x) be the features of the input kernel. The weights of the inputs are ``U = sum_p f(x_p) beta_p'`` with the
coefficients

    beta_p = c_j/lam (z(y_j) - mu_j)(p)        for an input p of example j

so that ``|U|^2 = sum_{p, s} k(x_p, x_s) beta_p'beta_s``. ``state.w`` holds the scores ``K beta`` of all inputs, label
by label (K, N), followed by the other weights (such as transitions), which are explicit. Passes, certificates and block
averages are the ones for any problem; :mod:`bcfw.solvers.kernelized.kernel_routines` has the routines that read and
update scores.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from bcfw.compile import RoutineSet
from bcfw.dual.problem import DualProblem
from bcfw.dual.threads import Threads
from bcfw.models.base.kernel_model import BuiltinAdapter
from bcfw.passes.order import Visits
from bcfw.passes.records import STEPS, PartLists
from bcfw.passes.steps import exact_step
from bcfw.solvers.kernelized.input_kernels import TrainingKernel
from bcfw.solvers.kernelized.kernel_routines import record_with_rows, routines_by_rows, routines_on_coefficients
from bcfw.solvers.kernelized.row_cache import KernelRows
from bcfw.solvers.kernelized.support_vectors import KernelWeights

#: When a kernel row is missing, the rows of up to this many blocks that will probably need theirs next are computed
#: with it: one product of two matrices takes far less time than many products of a matrix and a vector.
AHEAD = 64

#: The AHEAD blocks are chosen among this many candidates, whose current gaps are computed for the choice.
LOOKED_AT = 4 * AHEAD


class KernelProblem(DualProblem):
    """A dual problem whose features are known only through the values of an input kernel.

    Parameters
    ----------
    problem : DualProblem
        The problem with explicit features, before any step; its model must offer "input kernel".
    kernel : TrainingKernel
        The kernel values among all inputs of the problem.
    cache_mb : float
        Megabytes for the cache of kernel rows.

    Attributes
    ----------
    rows : KernelRows
        The cache of kernel rows.
    beta : (dim,) array
        The coefficients (N, K), followed by the other weights.
    """

    def __init__(self, problem: DualProblem, kernel: TrainingKernel, cache_mb: float) -> None:
        source = problem.adapter.model
        model, units = source.on_unit_rows(problem.data, kernel)
        K = units.n_labels
        longest = int(np.max(np.diff(units.y_off)))
        self.source = source
        self.rows = KernelRows(kernel, cache_mb, longest)
        self.beta = np.zeros(model.dim)
        record: Any = type(units)
        with_rows: Any = record_with_rows(record)
        data = with_rows(
            *units,
            rows=self.rows.rows,
            slot=self.rows.slot,
            used=self.rows.used,
            clock=self.rows.clock,
            beta=self.beta,
            before=np.zeros(longest * K),
            changed=np.zeros(K, np.int64),
            change=np.zeros(K),
            live=np.zeros(len(units.indptr) - 1, np.int64),
            n_live=np.zeros(1, np.int64),
        )
        self._stepping = routines_by_rows(source.routines)
        self._fixed = routines_on_coefficients(source.routines)
        model.routines = self._stepping
        super().__init__(BuiltinAdapter(model), data, problem.state.c, problem.lam, n_jobs=problem.n_jobs)
        self.counters, self.oracle_calls = problem.counters, problem.oracle_calls
        self._first_hinge_losses = problem._first_hinge_losses
        self._refreshed = 0.0
        self._order = np.zeros(0, np.int64)
        self._set_live(np.arange(self.n_blocks))

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (N, K) of the coefficients: N inputs, K labels."""
        return self.rows.kernel.size, self.data.n_labels

    def solution(self) -> np.ndarray:
        return self.beta

    def weights_for_callbacks(self, w: np.ndarray) -> None:
        """Return None: callbacks see no weights."""

    # --- scores and norms

    @property
    def v(self) -> np.ndarray:
        """The coefficients. Assigning to ``v`` also computes the scores anew."""
        return self.beta

    @v.setter
    def v(self, beta: np.ndarray) -> None:
        self.beta[:] = beta
        self.state.w[:] = self.scores_of(self.beta)

    def scores_of(self, beta: np.ndarray) -> np.ndarray:
        """Return the scores (K, N) of all inputs for the coefficients ``beta``, followed by the other weights."""
        N, K = self.shape
        scores = self.rows.times(beta[: N * K].reshape(N, K))
        return np.append(scores.T.ravel(), beta[N * K :])

    def product(self, beta: np.ndarray, scores: np.ndarray) -> float:
        """Return ``<beta, K beta'> + <others, others'>``, where ``scores`` are the scores of coefficients beta'."""
        N, K = self.shape
        inputs = np.vdot(beta[: N * K].reshape(N, K), scores[: N * K].reshape(K, N).T)
        return float(inputs + beta[N * K :] @ scores[N * K :])

    def regulariser(self, w: np.ndarray) -> float:
        """Return ``lam/2 (<beta, K beta> + |others|^2)``; w must be the current scores.

        With exact block solves, the value is an estimate between certificates, because some scores are out of date.
        """
        assert w is self.state.w
        return 0.5 * self.lam * self.product(self.beta, w)

    def dual_value(self) -> float:
        return self.ell - self.regulariser(self.state.w)

    def best_step(self, v: np.ndarray, direction: np.ndarray, slope: float) -> float:
        """Return the step size in [0, 1] that maximises the dual along a direction of the coefficients."""
        return exact_step(slope, self.lam * self.product(direction, self.scores_of(direction)), 1.0)

    def hinge_losses(self) -> np.ndarray:
        """Return the (2, n) hinge losses (see ``DualProblem.hinges``), after computing the scores of all inputs anew.

        With lists of parts, only the scores of blocks that may move are kept up to date from now on.
        """
        self.refresh()
        found = super().hinge_losses()
        if self.lists is not None:
            self._set_live(np.flatnonzero(self.lists.size != 0))
        return found

    def refresh(self) -> None:
        """Compute all scores anew from the coefficients, unless no step was taken since the last time."""
        if self.counters[STEPS] != self._refreshed:
            self.state.w[:] = self.scores_of(self.beta)
            self._refreshed = self.counters[STEPS]

    def v_from_blocks(self) -> np.ndarray:
        """Return the coefficients, recomputed from the block averages."""
        with self.on_coefficients():
            return super().v_from_blocks()

    # --- passes

    @property
    def routines(self) -> RoutineSet:
        return self.adapter.routines

    @contextlib.contextmanager
    def on_coefficients(self) -> Iterator[None]:
        """Context in which passes add directions to an array of coefficients and do not update any scores."""
        self.adapter.routines = self._fixed
        try:
            yield
        finally:
            self.adapter.routines = self._stepping

    def announce_visits(self, visits: Visits) -> None:
        self._order = visits.order

    def open_lists(self, slack: float) -> PartLists:
        """Open the lists (see ``DualProblem.open_lists``) with all scores up to date, because every block may move."""
        self.refresh()
        self._set_live(np.arange(self.n_blocks))
        return super().open_lists(slack)

    def _set_live(self, blocks: np.ndarray) -> None:
        """From now on, let steps update only the scores of the inputs of these blocks."""
        lengths = np.diff(self.data.y_off)
        chosen = np.zeros(self.n_blocks, np.bool_)
        chosen[blocks] = True
        live = np.flatnonzero(np.repeat(chosen, lengths))
        self.data.live[: len(live)] = live
        self.data.n_live[0] = len(live)

    def _make_room(self, i: int) -> None:
        """Load the kernel rows of block i, with the rows of blocks that probably come next.

        If all rows of block i are in the cache, enlarge the arrays of averages instead.
        """
        if np.all(self.rows.slot[self._positions(i)] >= 0):
            super()._make_room(i)
            return
        chosen = [self._positions(j) for j in self._likely_next(i)]
        room = self.rows.capacity // 4  # rows that were just loaded must not evict each other
        totals = np.cumsum([len(one) for one in chosen])
        chosen = [one for one, total in zip(chosen, totals, strict=True) if total <= room]
        self.rows.load(np.unique(np.concatenate([*chosen, self._positions(i)])))

    def _positions(self, i: int) -> np.ndarray:
        return np.arange(self.data.y_off[i], self.data.y_off[i + 1])

    def _likely_next(self, i: int) -> np.ndarray:
        """Return up to ``AHEAD`` blocks that have a positive gap now and have kernel rows missing from the cache.

        Candidates are the next blocks in the order of the pass, or the blocks with the largest stored gaps if the pass
        has no order.
        """
        missing = np.minimum.reduceat(self.rows.slot, self.data.y_off[:-1]) < 0
        missing[i] = False
        if len(self._order):
            place = np.flatnonzero(self._order == i)
            blocks = self._order[place[0] if len(place) else 0 :]
            blocks = blocks[missing[blocks]]
        else:
            blocks = self.blocks[missing[self.blocks]]
            blocks = blocks[np.argsort(-self.state.gap[blocks], kind="stable")]
        blocks = blocks[:LOOKED_AT]
        gaps, calls = np.zeros(self.n_blocks), self.oracle_calls
        lists = self.lists
        if lists is not None:  # computing the gaps below must not change the lists
            self.lists = lists._replace(parts=lists.parts.copy(), size=lists.size.copy())
        self._hinge_losses(self.state._replace(gap=gaps), np.unique(blocks), Threads(1))
        self.lists, self.oracle_calls = lists, calls
        blocks = blocks[gaps[blocks] > 0.0]
        return blocks[:AHEAD]

    # --- the returned predictor

    def weights(self, solution: np.ndarray | None = None) -> KernelWeights:
        """Return the predictor with the coefficients ``solution``, by default the current coefficients."""
        N, K = self.shape
        solution = self.solution() if solution is None else solution
        beta = solution[: N * K].reshape(N, K)
        support = np.flatnonzero(beta.any(axis=1))
        kernel = self.rows.kernel
        owners = np.unique(np.searchsorted(self.data.y_off, support, side="right"))
        return KernelWeights(
            model=self.source,
            kernel=kernel.kernel,
            support=support,
            inputs=kernel.support(support),
            coefficients=beta[support],
            others=solution[N * K :].copy(),
            n_examples=len(owners),
        )
