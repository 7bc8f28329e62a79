"""The cache of kernel rows: it computes rows when they are needed, and evicts the least recently used ones."""

from __future__ import annotations

import warnings

import numpy as np

from bcfw.errors import OptionError
from bcfw.solvers.kernelized.input_kernels import AT_ONCE, TrainingKernel

#: When every row was computed more often than this on average, a warning says that the cache is too small.
AGAIN = 2


class KernelRows:
    """A cache of rows ``k(x_p, x_1), ..., k(x_p, x_N)``; the least recently used rows are evicted.

    Parameters
    ----------
    kernel : TrainingKernel
    cache_mb : float
        Megabytes for the rows.
    least : int
        The number of rows that must fit into the cache; if they do not, ``OptionError`` is raised.

    Attributes
    ----------
    rows : (capacity, N) array
        The cached rows.
    slot : (N,) array
        The index in ``rows`` of the row of every input, -1 if it is not cached.
    used : (N,) array
        When the row of every input was last used, in ticks of ``clock``.
    clock : (1,) array
        Compiled code and ``load`` advance it.
    computed : int
        The number of rows that were computed so far.
    """

    def __init__(self, kernel: TrainingKernel, cache_mb: float, least: int) -> None:
        N = kernel.size
        capacity = min(N, int(cache_mb * 1e6 / (8 * N)))
        if capacity < least:
            raise OptionError(
                f"cache_mb is {cache_mb:g}, but the kernel rows of one example take {8e-6 * N * least:.3g} MB; "
                "raise cache_mb"
            )
        self.kernel = kernel
        self.rows = np.empty((capacity, N))
        self.slot = np.full(N, -1)
        self.used = np.zeros(N, np.int64)
        self.clock = np.zeros(1, np.int64)
        self.computed = 0
        self._owner = np.full(capacity, -1)
        self._filled = 0

    @property
    def capacity(self) -> int:
        """The number of rows that fit into the cache."""
        return len(self.rows)

    def load(self, positions: np.ndarray) -> None:
        """Compute the rows of these inputs that are not cached; there must not be more of them than ``capacity``."""
        missing = positions[self.slot[positions] < 0]
        if not len(missing):
            return
        self.clock += 1
        self.used[positions] = self.clock
        slots = self._free_slots(len(missing))
        self._count(len(missing))
        if slots[-1] - slots[0] == len(slots) - 1:  # contiguous slots, at least until the cache is full
            self.kernel.rows(missing, out=self.rows[slots[0] : slots[-1] + 1])
        else:
            self.rows[slots] = self.kernel.rows(missing)
        self.slot[missing], self._owner[slots] = slots, missing

    def _count(self, rows: int) -> None:
        """Count computed rows; warn once, when their number shows that the cache is far too small."""
        N, before = self.kernel.size, self.computed
        self.computed += rows
        if before <= AGAIN * N < self.computed:
            warnings.warn(
                f"the kernel rows of {N} inputs do not fit into cache_mb and are computed again and again, which takes "
                f"most of the time; cache_mb={np.ceil(8e-6 * N * N):.0f} holds all of them",
                RuntimeWarning,
                stacklevel=2,
            )

    def _free_slots(self, count: int) -> np.ndarray:
        """Return ``count`` slots: the empty slots first, then slots of the least recently used rows, evicting them."""
        fresh = np.arange(self._filled, min(self._filled + count, self.capacity))
        self._filled += len(fresh)
        more = count - len(fresh)
        if not more:
            return fresh
        old = np.argpartition(self.used[self._owner[: fresh[0] if len(fresh) else self.capacity]], more - 1)[:more]
        self.slot[self._owner[old]] = -1
        return np.sort(np.append(fresh, old))

    def times(self, beta: np.ndarray) -> np.ndarray:
        """Return the (N, K) sums ``sum_s k(x_p, x_s) beta[s, k]`` for all inputs p.

        Missing rows fill the empty slots of the cache; the other missing rows are computed and not kept.
        """
        missing = np.flatnonzero((self.slot < 0) & beta.any(axis=1))
        free = min(len(missing), self.capacity - self._filled)
        self.load(missing[:free])
        missing, kept = missing[free:], self._filled
        out = self.rows[:kept].T @ beta[self._owner[:kept]]
        step = max(1, AT_ONCE // len(beta))
        for begin in range(0, len(missing), step):
            some = missing[begin : begin + step]
            out += self.kernel.rows(some).T @ beta[some]
            self._count(len(some))
        return out
