"""Vectors of planes, dense and sparse: both do what plain sums over a list do."""

from __future__ import annotations

import numpy as np
import pytest

from bcfw.solvers import CuttingPlane
from bcfw.solvers.baselines import plane_vectors
from bcfw.solvers.baselines.plane_vectors import FIRST_ROOM, DensePlanes, SparsePlanes, vectors_for
from problems import CASES


@pytest.mark.parametrize("kind", [DensePlanes, SparsePlanes])
def test_products_and_mixtures_are_those_of_a_list(kind):
    """While vectors come and go, in more places than there was room for at first."""
    rng = np.random.default_rng(0)
    dim, vectors, naive = 7, kind(7), []
    for number in range(5 * FIRST_ROOM):
        v = rng.standard_normal(dim) * (rng.random(dim) < 0.4)
        vectors.add(v)
        naive.append(v.copy())
        v[:] = np.nan  # a copy was kept
        if number % 3 == 2:
            kept = np.flatnonzero(rng.random(len(naive)) < 0.9)
            vectors.keep(kept)
            naive = [naive[j] for j in kept]
        mass, other = rng.random(len(naive)) * (rng.random(len(naive)) < 0.5), rng.standard_normal(dim)
        mass[-1] = 1.0
        assert vectors.products(other) == pytest.approx([one @ other for one in naive], abs=1e-13)
        assert vectors.mixture(mass) == pytest.approx(mass @ np.array(naive), abs=1e-13)


def test_vectors_are_sparse_where_most_entries_are_zero():
    v = np.zeros(40)
    v[:10] = 1.0
    assert isinstance(vectors_for(v), SparsePlanes)
    v[10] = 1.0
    assert isinstance(vectors_for(v), DensePlanes)


@pytest.mark.parametrize("name", ["chain-wide", "sparse-features"])
def test_a_run_does_not_depend_on_the_kind(name, monkeypatch):
    pytest.importorskip("piqp")
    results = []
    for share in (-1.0, 1.0):
        monkeypatch.setattr(plane_vectors, "SPARSE_SHARE", share)
        results.append(CASES[name].train(solver=CuttingPlane(), tol=1e-8, max_passes=200))
    dense, sparse = results
    assert dense.status == sparse.status == "converged"
    assert abs(dense.n_passes - sparse.n_passes) <= 1  # products differ by rounding, and decide which planes are used
    assert sparse.dual == pytest.approx(dense.dual, rel=1e-7)
