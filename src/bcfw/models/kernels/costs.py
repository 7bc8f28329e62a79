"""Kernels for the cost of single labels: ``cost[true, predicted]``, a (K, K) matrix, or an empty one for the 0/1 loss.

Data that hold such a matrix have the field ``cost``; an empty one takes no memory, however many labels there are.
"""

from __future__ import annotations


def cost_of(data, truth, k):
    """What label k costs in place of the truth."""
    if data.cost.shape[0] == 0:
        return 0.0 if truth == k else 1.0
    return data.cost[truth, k]


def write_costs(data, truth, scale, out):
    """``out[k] = scale cost[truth, k]`` for all labels."""
    if data.cost.shape[0] == 0:
        for k in range(out.shape[0]):
            out[k] = scale
        out[truth] = 0.0
        return
    cost = data.cost[truth]
    for k in range(out.shape[0]):
        out[k] = scale * cost[k]


def largest_cost(data, truth):
    """What the worst label costs in place of the truth."""
    if data.cost.shape[0] == 0:
        return 1.0
    largest = 0.0
    for k in range(data.cost.shape[1]):
        largest = max(largest, data.cost[truth, k])
    return largest
