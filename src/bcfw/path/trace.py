"""What a path has found so far: breakpoints, their weights, kept economically, and how far each of them reaches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bcfw.path.bounds import GapBound
from bcfw.saved_arrays import SavedArrays

#: Relative difference of two lam that count as the same.
SAME_LAM = 1e-12

#: Begins the names of a trace's arrays among those of a saved state.
PREFIX = "path_"

#: What is counted until each breakpoint is done.
COUNTS = ("passes", "oracle_calls", "seconds")

#: In a saved trace, stands for the number of changes of a vector that is kept whole.
WHOLE = -1


class Changes:
    """Weight vectors in a row, each kept as what differs from the one before where that takes less room.

    A vector that differs from the one before in fewer than half of its entries is kept as those entries, an index and
    a value each.
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._kept: list[np.ndarray | tuple[np.ndarray, np.ndarray]] = []
        self._last = np.zeros(dim)

    def __len__(self) -> int:
        return len(self._kept)

    def append(self, w: np.ndarray) -> None:
        changed = np.flatnonzero(w != self._last)
        self._kept.append((changed, w[changed]) if 2 * len(changed) < self.dim else w.copy())
        self._last = w.copy()

    @property
    def last(self) -> np.ndarray:
        """The vector that was kept last."""
        return self._last

    def __iter__(self) -> Iterator[np.ndarray]:
        """All vectors in turn, each a copy."""
        w = np.zeros(self.dim)
        for kept in self._kept:
            w = self._after(w, kept)
            yield w.copy()

    def __getitem__(self, j: int) -> np.ndarray:
        start = max((k for k in range(j + 1) if isinstance(self._kept[k], np.ndarray)), default=0)
        w = np.zeros(self.dim)
        for kept in self._kept[start : j + 1]:
            w = self._after(w, kept)
        return w

    @staticmethod
    def _after(w: np.ndarray, kept: np.ndarray | tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """The vector after w, which is overwritten unless the whole of it is kept."""
        if isinstance(kept, np.ndarray):
            return kept.copy()
        w[kept[0]] = kept[1]
        return w

    def first(self, count: int) -> Changes:
        """The first so many vectors."""
        some = Changes(self.dim)
        some._kept = self._kept[:count]
        some._last = some[count - 1] if count else some._last
        return some

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything as three arrays: how many entries of each vector are kept (or ``WHOLE``), where, and what."""
        parts = [(None, kept) if isinstance(kept, np.ndarray) else kept for kept in self._kept]
        none = np.zeros(0, np.int64)
        return {
            "sizes": np.array([WHOLE if places is None else len(places) for places, _ in parts], np.int64),
            "places": np.concatenate([none, *(places for places, _ in parts if places is not None)]),
            "values": np.concatenate([np.zeros(0), *(values for _, values in parts)]),
        }

    @classmethod
    def from_arrays(cls, saved: SavedArrays, dim: int, count: int) -> Changes:
        """The opposite of :meth:`arrays`."""
        sizes = saved.get(PREFIX + "sizes", np.int64, (count,), WHOLE, dim)
        listed = np.maximum(sizes, 0)
        lengths = np.where(sizes == WHOLE, dim, sizes)
        places = saved.get(PREFIX + "places", np.int64, (int(listed.sum()),), 0, dim - 1)
        values = saved.get(PREFIX + "values", float, (int(lengths.sum()),))
        found = cls(dim)
        ends = zip(sizes, np.cumsum(listed) - listed, np.cumsum(lengths) - lengths, strict=True)
        for size, place, value in ends:
            whole = size == WHOLE
            kept = values[value : value + (dim if whole else size)]
            found._kept.append(kept if whole else (places[place : place + size], kept))
        return found.first(count)


@dataclass
class Trace:
    """Breakpoints in descending order of lam, each with its weights.

    Attributes
    ----------
    weights : Changes
    bounds : list of GapBound
        The gaps of each breakpoint's weights at smaller lam.
    rows : list of dicts
        lam, gap, passes, oracle_calls and seconds of each breakpoint.
    certified : bool
        Whether all gaps are proved.
    """

    weights: Changes
    bounds: list[GapBound] = field(default_factory=list)
    rows: list[dict[str, float]] = field(default_factory=list)
    certified: bool = True

    def column(self, name: str) -> np.ndarray:
        return np.array([row[name] for row in self.rows])

    def down_to(self, lam: float) -> Trace:
        """The breakpoints above lam, as a trace that can be continued."""
        count = int(np.sum(self.column("lam") > lam * (1.0 + SAME_LAM))) if self.rows else 0
        return Trace(self.weights.first(count), self.bounds[:count], self.rows[:count], self.certified)

    def arrays(self) -> dict[str, Any]:
        """Everything as plain arrays, by names that begin with ``PREFIX``."""
        columns = {name: self.column(name).astype(np.float64) for name in ("lam", "gap", *COUNTS)}
        bounds = np.array([list(map(float, bound)) for bound in self.bounds])
        found = {**columns, **self.weights.arrays(), "bounds": bounds, "certified": float(self.certified)}
        return {PREFIX + name: value for name, value in found.items()}

    @classmethod
    def from_arrays(cls, saved: SavedArrays, dim: int) -> Trace:
        """The opposite of :meth:`arrays`, with a check of every array."""
        count = len(saved.get(PREFIX + "lam", float, (None,), least=0.0))
        columns = {name: saved.get(PREFIX + name, float, (count,)) for name in ("lam", "gap", *COUNTS)}
        table = saved.get(PREFIX + "bounds", float, (count, len(GapBound._fields)))
        bounds = [GapBound._make([*row[:-1], bool(row[-1])]) for row in table.tolist()]
        rows = [{name: float(columns[name][j]) for name in columns} for j in range(count)]
        certified = bool(saved.get(PREFIX + "certified", float, (), 0.0, 1.0))
        return cls(Changes.from_arrays(saved, dim, count), bounds, rows, certified)
