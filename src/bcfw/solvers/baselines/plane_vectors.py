"""Dense and sparse collections of the vectors of cutting planes, with products and mixtures of the vectors.

Both classes keep vectors ``v_j`` (d,) in the order in which they were added. :func:`vectors_for` chooses the class by
the number of nonzero entries of a plane.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

#: Vectors are kept as sparse rows if at most this share of the first plane's entries is nonzero. The first plane is
#: found at w = 0, where most outputs are wrong; later planes have fewer nonzero entries.
SPARSE_SHARE = 0.25

#: Initial capacity of a dense matrix, in vectors.
FIRST_ROOM = 16


class DensePlanes:
    """Vectors as rows of a matrix whose capacity doubles when it is full; rows of removed vectors are used again.

    Sums are computed by ``einsum``, in one thread. Products of this size gain little from several threads, and on a
    busy machine the threads of a linear algebra library can wait for each other many times longer than the sums take.

    Parameters
    ----------
    dim : int
    """

    def __init__(self, dim: int) -> None:
        self._matrix = np.zeros((FIRST_ROOM, dim))
        self._places: list[int] = []
        self._free = list(range(FIRST_ROOM))

    def add(self, v: np.ndarray) -> None:
        """Add a copy of v."""
        if not self._free:
            room = len(self._matrix)
            self._matrix = np.concatenate([self._matrix, np.zeros_like(self._matrix)])
            self._free = list(range(room, 2 * room))
        self._places.append(self._free.pop())
        self._matrix[self._places[-1]] = v

    def products(self, v: np.ndarray) -> np.ndarray:
        """Return the (J,) inner products ``<v_j, v>``."""
        return np.asarray(np.einsum("jk,k->j", self._matrix, v)[self._places])

    def mixture(self, mass: np.ndarray) -> np.ndarray:
        """Return ``sum_j mass_j v_j`` as a new vector."""
        shares = np.zeros(len(self._matrix))
        shares[self._places] = mass
        return np.einsum("j,jk->k", shares, self._matrix)

    def keep(self, kept: np.ndarray) -> None:
        """Remove all vectors except the vectors with the numbers ``kept``."""
        places = [self._places[j] for j in kept]
        self._free += set(self._places).difference(places)
        self._places = places


class SparsePlanes:
    """Vectors as separate sparse rows: rows are added and removed often, and are too long to copy into one matrix.

    Parameters
    ----------
    dim : int
    """

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._rows: list[sp.csr_matrix] = []

    def add(self, v: np.ndarray) -> None:
        """Add a sparse copy of v."""
        index = np.flatnonzero(v)
        self._rows.append(sp.csr_matrix((v[index], index, [0, len(index)]), shape=(1, self._dim)))

    def products(self, v: np.ndarray) -> np.ndarray:
        """Return the (J,) inner products ``<v_j, v>``."""
        return np.array([(row @ v)[0] for row in self._rows])

    def mixture(self, mass: np.ndarray) -> np.ndarray:
        """Return ``sum_j mass_j v_j`` as a new vector."""
        used = np.flatnonzero(mass)
        return np.asarray(mass[used] @ sp.vstack([self._rows[j] for j in used], format="csr"))

    def keep(self, kept: np.ndarray) -> None:
        """Remove all vectors except the vectors with the numbers ``kept``."""
        self._rows = [self._rows[j] for j in kept]


def vectors_for(v: np.ndarray) -> DensePlanes | SparsePlanes:
    """Return an empty collection, dense or sparse, for planes that have about as many nonzero entries as v."""
    sparse = np.count_nonzero(v) <= SPARSE_SHARE * len(v)
    return SparsePlanes(len(v)) if sparse else DensePlanes(len(v))
