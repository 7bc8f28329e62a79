"""Exact inference on forests: the oracle by max-sum, max-marginals, and the probabilities of all parts."""

from __future__ import annotations

import numpy as np

from bcfw.algorithms.forests import max_marginals, solve_forest, sum_product
from bcfw.models.graphs.label_graph_routines import links_of, scores_of, set_tables, take_labels
from bcfw.models.shared.labelings import labeling_value
from bcfw.passes.contract import Data, Work, scores


def argmax(data, i, w, work):
    """Find the best labeling by max-sum."""
    set_tables(data, i, work)
    solve_forest(links_of(data, i), scores_of(work))
    take_labels(data, i, work.best, work)
    return labeling_value(data, i, w, work)


def part_marginals(data, i, work, out):
    """Write ``mu = sum_y P(y) z(y)`` for ``P(y) = exp(theta'z(y)) / Z`` to ``out`` (V K + E Q,); return ``log Z``.

    Theta is ``work.theta``, which the caller may have written. At nodes without a label, theta and the output are zero.
    """
    K, Q = data.n_labels, data.n_pairs
    start = data.y_off[i]
    V = data.y_off[i + 1] - start
    set_tables(data, i, work)
    total = sum_product(links_of(data, i), work.theta, work.T, work.belief, work.S)
    for p in range(V):
        known = data.y[start + p] >= 0
        if not known:
            total -= np.log(K)
        for a in range(K):
            out[p * K + a] = work.belief[p, a] if known else 0.0
    for e in range(data.edge_off[i + 1] - data.edge_off[i]):
        row = out[V * K + e * Q : V * K + e * Q + Q]
        pair = work.S[data.link[data.edge_off[i] + e]]
        flip = data.flip[data.edge_off[i] + e]
        for k in range(Q):
            row[k] = 0.0
        for a in range(K):
            for b in range(K):
                row[data.pair[a * K + b]] += pair[b, a] if flip else pair[a, b]
    return total


def max_marginals_pass(data_fields, work_fields, w, out):
    """Template: write the max-marginals to ``out`` (N, K).

    Entry (p, a) is the score of the best labeling of p's graph among the labelings with label a at p.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    for i in range(data.y_off.shape[0] - 1):
        scores(data, i, w, 0.0, work)
        set_tables(data, i, work)
        max_marginals(links_of(data, i), scores_of(work), out[data.y_off[i] : data.y_off[i + 1]])
