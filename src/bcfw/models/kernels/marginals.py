"""Shared routines of marginals, for models whose parts are one dense vector per block, and softmax.

A model that uses ``MARGINAL_KERNELS`` with ``PART_VECTOR_KERNELS`` writes :func:`part_marginals`. If its theta does not
hold the scores of all parts, it also writes ``part_scores`` of the contract (:mod:`bcfw.passes.contract`).
"""

from __future__ import annotations

from typing import Any

import numpy as np


def part_marginals(data: Any, i: int, work: Any, out: np.ndarray) -> float:
    """Write the expected parts under the scores in ``work.theta``, return ``log Z`` (written by the model)."""
    return 0.0


def part_scores(data, i, w, work, out):
    """Copy theta_i to ``out``."""
    for part in range(out.shape[0]):
        out[part] = work.theta[part]


def expected_parts(data, i, u, work, out):
    """Write the marginals of the scores u to ``out`` and return ``log Z``; theta is overwritten by u."""
    for part in range(u.shape[0]):
        work.theta[part] = u[part]
    return part_marginals(data, i, work, out)


def add_expected(data, i, s, parts, work):
    """Add ``s parts`` to d."""
    for part in range(parts.shape[0]):
        work.d[part] += s * parts[part]


def softmax(x, out):
    """Write ``exp(x) / sum exp(x)`` to ``out``, over as many entries of x as ``out`` has; return ``log sum exp(x)``."""
    largest = x[0]
    for k in range(1, out.shape[0]):
        largest = max(largest, x[k])
    total = 0.0
    for k in range(out.shape[0]):
        out[k] = np.exp(x[k] - largest)
        total += out[k]
    for k in range(out.shape[0]):
        out[k] /= total
    return largest + np.log(total)


def log_sum_of_two(a, b):
    """Return ``log(exp(a) + exp(b))``."""
    larger = max(a, b)
    return larger + np.log1p(np.exp(min(a, b) - larger))


#: To be added to ``PART_VECTOR_KERNELS``: marginals; the model writes the routine that is None here.
MARGINAL_KERNELS = {
    "part_marginals": None,
    "part_scores": part_scores,
    "expected_parts": expected_parts,
    "add_expected": add_expected,
}
