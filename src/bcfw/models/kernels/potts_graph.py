"""Oracle of Potts graphs: alpha-expansion by minimum cuts; max-sum on forests.

An edge has one part, for unequal labels, whose score is ``-c_e <= 0``. An *expansion* of label alpha lets every node
keep its label or take alpha. With ``x_p = 1`` for alpha, an edge (p, q) costs

    A = c [y_p != y_q],    B = c [y_p != alpha],    C = c [alpha != y_q],    0

for ``(x_p, x_q) = (0, 0), (0, 1), (1, 0), (1, 1)``, and ``A <= B + C``: the best expansion is a minimum cut (Boykov,
Veksler and Zabih, Fast approximate energy minimization via graph cuts, PAMI 2001). When no expansion gains, the score
is at most ``sum_e c_e [y*_p != y*_q]`` below that of a best labeling y*. For two labels the expansion of label 1 from
all labels 0 is the exact cut.
"""

from __future__ import annotations

import numpy as np

from bcfw.kernels import not_inlined
from bcfw.kernels.forests import solve_forest
from bcfw.kernels.maxflow import SOURCE, Flow, max_flow
from bcfw.kernels.message_passing import BOUND, DONE, VALUE, clear_messages, largest, reweighted
from bcfw.models.kernels.label_graph import links_of, scores_of, set_tables, take_labels, value_of
from bcfw.models.kernels.labelings import labeling_value
from bcfw.models.kernels.pairwise_graph import BOUND_PATIENCE

#: Relative gain below which an expansion counts as none.
LEAST_GAIN = 1e-12

#: Rounds over all labels; a round that gains nothing is the last.
MOST_ROUNDS = 100


def argmax(data, i, w, work):
    """A labeling that no expansion improves; exact on forests and for two labels."""
    start = data.y_off[i]
    K = data.n_labels
    if data.forest[i]:
        set_tables(data, i, work)
        solve_forest(links_of(data, i), scores_of(work))
        take_labels(data, i, work.best, work)
        work.found[BOUND] = labeling_value(data, i, w, work)
        return work.found[BOUND]
    for p in range(data.y_off[i + 1] - start):
        best = largest(work.theta[p * K : p * K + K]) if K > 2 else 0
        work.y[p] = -1 if data.y[start + p] < 0 else best
    value = labeling_value(data, i, w, work)
    idle = 0
    alpha = 1 % K
    for _ in range(MOST_ROUNDS * K):
        if idle == K:
            break
        gained = expand(data, i, alpha, value, w, work)
        idle = 1 if gained > value else idle + 1  # the same expansion gains nothing a second time
        value = gained
        alpha = alpha + 1 if alpha + 1 < K else 0
    work.found[VALUE] = value
    work.found[BOUND] = value if K <= 2 else np.inf
    return value


@not_inlined
def expand(data, i, alpha, value, w, work):
    """Take the best expansion of a label if it gains; returns the new value, ``value`` is that before."""
    start = data.y_off[i]
    V = data.y_off[i + 1] - start
    set_expansion(data, i, alpha, work)
    first, stop = 2 * data.edge_off[i], 2 * data.edge_off[i + 1]
    flow = Flow(
        work.cap, work.excess, work.tree, work.parent, work.dated, work.dist, work.next, work.orphans, work.queue
    )
    max_flow(data.arc_off[start + i : start + i + V + 1], data.head[first:stop], data.sister[first:stop], flow)
    for p in range(V):
        work.trial[p] = alpha if work.tree[p] == SOURCE and work.y[p] >= 0 else work.y[p]
    gained = value_of(data, i, work.trial[:V], w, work)
    if gained <= value + LEAST_GAIN * (1.0 + abs(value)):
        return value
    for p in range(V):
        work.y[p] = work.trial[p]
    return gained


def set_expansion(data, i, alpha, work):
    """Capacities of the cut: what alpha gains at each node, and for each edge an arc q -> p with B + C - A."""
    K = data.n_labels
    V = data.y_off[i + 1] - data.y_off[i]
    y = work.y
    for p in range(V):
        work.excess[p] = 0.0
        if y[p] >= 0:
            work.excess[p] = work.theta[p * K + alpha] - work.theta[p * K + y[p]]
    first = data.edge_off[i]
    for e in range(data.edge_off[i + 1] - first):
        p, q = data.left[first + e], data.right[first + e]
        c = -work.theta[V * K + e]
        A = c if y[p] != y[q] else 0.0
        C = c if alpha != y[q] else 0.0
        work.excess[p] -= C - A
        work.excess[q] += C
    for a in range(2 * first, 2 * data.edge_off[i + 1]):
        e = data.arc_edge[a]
        p, q = data.left[first + e], data.right[first + e]
        c = -work.theta[V * K + e]
        unequal = int(y[p] != alpha) + int(y[q] != alpha) - int(y[p] != y[q])
        work.cap[a - 2 * first] = c * unequal if data.head[a] == p else 0.0


def upper_bound(data, i, w, work):
    """What is proved: the value itself where the oracle is exact, else the bound of TRW-S if it is wanted."""
    if not data.forest[i] and data.n_labels > 2 and data.effort[2] > 0:
        links = links_of(data, i)
        scores = scores_of(work)
        value = work.found[VALUE]
        set_tables(data, i, work)
        clear_messages(links, scores)
        work.found[VALUE] = value
        work.found[DONE] = 0.0
        reweighted(links, scores, data.effort[2], BOUND_PATIENCE)
    return work.found[BOUND]
