"""``Breakpoints``: the breakpoints of a path with their weights (stored as differences), gap bounds and counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bcfw.path.gap_bound import GapBound
from bcfw.storage.checked_arrays import SavedArrays

#: Two values of lam whose relative difference is at most this are considered equal.
SAME_LAM = 1e-12

#: Prefix of the names of the breakpoints' arrays in a saved state.
PREFIX = "path_"

#: The counts that are stored for each breakpoint, from the start until it was finished.
COUNTS = ("passes", "oracle_calls", "seconds")

#: In saved breakpoints, this value instead of a number of changed entries says that a vector is stored whole.
WHOLE = -1


class WeightDeltas:
    """A sequence of weight vectors, stored whole or as differences.

    A vector that differs from the previous vector in fewer than half of its entries is stored as the indices and values
    of the changed entries.
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
        """The latest vector."""
        return self._last

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield a copy of every vector."""
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
        """Return the vector that follows w; w is overwritten unless the next vector is stored whole."""
        if isinstance(kept, np.ndarray):
            return kept.copy()
        w[kept[0]] = kept[1]
        return w

    def first(self, count: int) -> WeightDeltas:
        """Return the first ``count`` vectors."""
        some = WeightDeltas(self.dim)
        some._kept = self._kept[:count]
        some._last = some[count - 1] if count else some._last
        return some

    def arrays(self) -> dict[str, np.ndarray]:
        """Return three arrays: the number of stored entries of each vector (or ``WHOLE``), their indices and values."""
        parts = [(None, kept) if isinstance(kept, np.ndarray) else kept for kept in self._kept]
        none = np.zeros(0, np.int64)
        return {
            "sizes": np.array([WHOLE if places is None else len(places) for places, _ in parts], np.int64),
            "places": np.concatenate([none, *(places for places, _ in parts if places is not None)]),
            "values": np.concatenate([np.zeros(0), *(values for _, values in parts)]),
        }

    @classmethod
    def from_arrays(cls, saved: SavedArrays, dim: int, count: int) -> WeightDeltas:
        """Return the vectors whose :meth:`arrays` were saved."""
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
class Breakpoints:
    """Breakpoints in descending order of lam, each with its weights.

    Attributes
    ----------
    weights : Changes
    bounds : list of GapBound
        The gaps of each breakpoint's weights at smaller values of lam.
    rows : list of dicts
        lam, gap, passes, oracle_calls and seconds of each breakpoint.
    certified : bool
        Whether all gaps are proved.
    """

    weights: WeightDeltas
    bounds: list[GapBound] = field(default_factory=list)
    rows: list[dict[str, float]] = field(default_factory=list)
    certified: bool = True

    def column(self, name: str) -> np.ndarray:
        return np.array([row[name] for row in self.rows])

    def down_to(self, lam: float) -> Breakpoints:
        """Return the breakpoints above lam, which can be continued."""
        count = int(np.sum(self.column("lam") > lam * (1.0 + SAME_LAM))) if self.rows else 0
        return Breakpoints(self.weights.first(count), self.bounds[:count], self.rows[:count], self.certified)

    def arrays(self) -> dict[str, Any]:
        """Return all breakpoints as plain arrays, by names that begin with ``PREFIX``."""
        columns = {name: self.column(name).astype(np.float64) for name in ("lam", "gap", *COUNTS)}
        bounds = np.array([list(map(float, bound)) for bound in self.bounds])
        found = {**columns, **self.weights.arrays(), "bounds": bounds, "certified": float(self.certified)}
        return {PREFIX + name: value for name, value in found.items()}

    @classmethod
    def from_arrays(cls, saved: SavedArrays, dim: int) -> Breakpoints:
        """Return the breakpoints whose :meth:`arrays` were saved; raise InputError if an array is wrong."""
        count = len(saved.get(PREFIX + "lam", float, (None,), least=0.0))
        columns = {name: saved.get(PREFIX + name, float, (count,)) for name in ("lam", "gap", *COUNTS)}
        table = saved.get(PREFIX + "bounds", float, (count, len(GapBound._fields)))
        bounds = [GapBound._make([*row[:-1], bool(row[-1])]) for row in table.tolist()]
        rows = [{name: float(columns[name][j]) for name in columns} for j in range(count)]
        certified = bool(saved.get(PREFIX + "certified", float, (), 0.0, 1.0))
        return cls(WeightDeltas.from_arrays(saved, dim, count), bounds, rows, certified)
