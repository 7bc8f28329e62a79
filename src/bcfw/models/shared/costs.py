"""Shared routines that read the loss of single labels from a (K, K) matrix ``cost[truth, prediction]``.

The packed data hold the matrix in the field ``cost``. For the 0/1 loss the matrix is empty and takes no memory.
"""

from __future__ import annotations


def cost_of(data, truth, k):
    """Return ``cost[truth, k]``."""
    if data.cost.shape[0] == 0:
        return 0.0 if truth == k else 1.0
    return data.cost[truth, k]


def write_costs(data, truth, scale, out):
    """Write ``out[k] = scale cost[truth, k]`` for all labels k."""
    if data.cost.shape[0] == 0:
        for k in range(out.shape[0]):
            out[k] = scale
        out[truth] = 0.0
        return
    cost = data.cost[truth]
    for k in range(out.shape[0]):
        out[k] = scale * cost[k]


def largest_cost(data, truth):
    """Return ``max_k cost[truth, k]``."""
    if data.cost.shape[0] == 0:
        return 1.0
    largest = 0.0
    for k in range(data.cost.shape[1]):
        largest = max(largest, data.cost[truth, k])
    return largest
