"""The vectors of planes of one slack variable: products with another vector, and mixtures.

Both classes keep vectors ``v_j`` (d,) in the order in which they were added. Which one serves better depends on how
many entries of a plane are not zero: see :func:`vectors_for`.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

#: Vectors are kept as sparse ones where at most this share of the entries of the first plane is not zero. It is the one
#: at w = 0, where most outputs are wrong; later ones have fewer entries.
SPARSE_SHARE = 0.25

#: Vectors that a dense matrix has room for at the start.
FIRST_ROOM = 16


class DenseVectors:
    """Rows of a matrix with room for more; rows that are free again are used first.

    Sums are those of ``einsum``, in one thread: products this small gain little by several, and on a busy machine the
    threads of a linear algebra library wait for each other many times as long as the sums take.

    Parameters
    ----------
    dim : int
    """

    def __init__(self, dim: int) -> None:
        self._matrix = np.zeros((FIRST_ROOM, dim))
        self._places: list[int] = []
        self._free = list(range(FIRST_ROOM))

    def add(self, v: np.ndarray) -> None:
        """Keep a copy of v."""
        if not self._free:
            room = len(self._matrix)
            self._matrix = np.concatenate([self._matrix, np.zeros_like(self._matrix)])
            self._free = list(range(room, 2 * room))
        self._places.append(self._free.pop())
        self._matrix[self._places[-1]] = v

    def products(self, v: np.ndarray) -> np.ndarray:
        """(J,) ``<v_j, v>``."""
        return np.asarray(np.einsum("jk,k->j", self._matrix, v)[self._places])

    def mixture(self, mass: np.ndarray) -> np.ndarray:
        """``sum_j mass_j v_j``, a new vector."""
        shares = np.zeros(len(self._matrix))
        shares[self._places] = mass
        return np.einsum("j,jk->k", shares, self._matrix)

    def keep(self, kept: np.ndarray) -> None:
        """Forget all but those with these numbers."""
        places = [self._places[j] for j in kept]
        self._free += set(self._places).difference(places)
        self._places = places


class SparseVectors:
    """Sparse rows, one by one: they come and go, and are too long to be copied together each time.

    Parameters
    ----------
    dim : int
    """

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._rows: list[sp.csr_matrix] = []

    def add(self, v: np.ndarray) -> None:
        """Keep what is not zero of v."""
        index = np.flatnonzero(v)
        self._rows.append(sp.csr_matrix((v[index], index, [0, len(index)]), shape=(1, self._dim)))

    def products(self, v: np.ndarray) -> np.ndarray:
        """(J,) ``<v_j, v>``."""
        return np.array([(row @ v)[0] for row in self._rows])

    def mixture(self, mass: np.ndarray) -> np.ndarray:
        """``sum_j mass_j v_j``, a new vector."""
        used = np.flatnonzero(mass)
        return np.asarray(mass[used] @ sp.vstack([self._rows[j] for j in used], format="csr"))

    def keep(self, kept: np.ndarray) -> None:
        """Forget all but those with these numbers."""
        self._rows = [self._rows[j] for j in kept]


def vectors_for(v: np.ndarray) -> DenseVectors | SparseVectors:
    """An empty collection that suits planes like v."""
    sparse = np.count_nonzero(v) <= SPARSE_SHARE * len(v)
    return SparseVectors(len(v)) if sparse else DenseVectors(len(v))
