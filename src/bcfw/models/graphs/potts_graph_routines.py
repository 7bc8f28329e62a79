"""Oracle of Potts graphs: alpha-expansion by minimum cuts; max-sum on forests.

An edge has one part, for unequal labels, whose score is ``-c_e <= 0``. An *expansion* of label alpha lets every node
keep its label or take alpha. With ``x_p = 1`` if node p takes alpha, an edge (p, q) between nodes of other labels costs

    A = c [y_p != y_q],    c,    c,    0      for (x_p, x_q) = (0, 0), (0, 1), (1, 0), (1, 1),

which is ``A - A/2 (x_p + x_q) + (c - A/2) [x_p != x_q]``: the best expansion is a minimum cut (Boykov, Veksler and
Zabih, Fast approximate energy minimization via graph cuts, PAMI 2001). When no expansion increases the score, the score
is at most ``sum_e c_e [y*_p != y*_q]`` below the score of a best labeling y*. For two labels the expansion of label 1
from the labeling with label 0 everywhere is the exact cut.

Most labels of most nodes are ruled out before the first cut. At first all labels are *possible*. With

    low_p(a)  = theta_p(a) + sum of c_e over the neighbours at which only a is possible,
    high_p(b) = theta_p(b) + sum of c_e over the neighbours at which b is possible,

a change from b to a at p increases the score by at least ``low_p(a) - high_p(b)``, for all possible labels of the
neighbours. If this is positive, no best labeling has b at p, and b is no longer possible there (dead-end elimination;
R. F. Goldstein, Biophysical Journal 1994). An expansion of alpha then moves only nodes at which alpha is possible. The
guarantee above remains valid, because its proof needs only expansions to the labels of y*.
"""

from __future__ import annotations

import numpy as np

from bcfw.algorithms.forests import solve_forest
from bcfw.algorithms.max_flow import SOURCE, Flow, max_flow
from bcfw.algorithms.message_passing import BOUND, VALUE, clear_messages, largest, reweighted
from bcfw.compile import not_inlined
from bcfw.models.graphs.label_graph_routines import links_of, scores_of, set_tables, take_labels, value_of
from bcfw.models.graphs.pairwise_graph_routines import BOUND_PATIENCE
from bcfw.models.shared.labelings import labeling_value

#: Relative gain below which an expansion, or a change that would rule out a label, counts as rounding.
LEAST_GAIN = 1e-12

#: Largest number of rounds of expansions over all labels; the search stops earlier when no label gains.
MOST_ROUNDS = 100

#: Number of sweeps over the nodes that rule out labels; further sweeps take more time than they save in the cuts.
SWEEPS = 3

#: Value of ``work.only`` for nodes with several possible labels.
SEVERAL = -1


def argmax(data, i, w, work):
    """Find a labeling that no expansion to possible labels improves; it is optimal on forests and for two labels."""
    K = data.n_labels
    if data.forest[i]:
        set_tables(data, i, work)
        solve_forest(links_of(data, i), scores_of(work))
        take_labels(data, i, work.best, work)
        undecided = 0
    else:
        undecided = rule_out(data, i, work)
    value = labeling_value(data, i, w, work)
    idle = 0
    alpha = 1 % K
    for _ in range(MOST_ROUNDS * K if undecided > 0 else 0):
        if idle == K:
            break
        gained = expand(data, i, alpha, value, w, work)
        idle = 1 if gained > value else idle + 1  # the same expansion gains nothing a second time
        value = gained
        alpha = alpha + 1 if alpha + 1 < K else 0
    work.found[VALUE] = value
    work.found[BOUND] = value if K <= 2 or undecided == 0 else np.inf
    return value


# --- labels that no best labeling has ----------------------------------------------------------------------------


@not_inlined
def rule_out(data, i, work):
    """Rule out labels and write a first labeling; return at how many nodes several labels are possible.

    The labeling starts with the label of the largest theta at each node (with label 0 if there are two labels). If the
    label of a node is ruled out, the better label that rules it out replaces it, which increases the score.
    """
    K = data.n_labels
    start = data.y_off[i]
    V = data.y_off[i + 1] - start
    undecided = 0
    for p in range(V):
        labelled = data.y[start + p] >= 0
        best = largest(work.theta[p * K : p * K + K]) if K > 2 else 0
        work.y[p] = best if labelled else -1
        work.only[p] = SEVERAL if labelled and K > 1 else 0
        undecided += work.only[p] == SEVERAL
        for a in range(K):
            work.possible[p, a] = 1.0
    for _ in range(SWEEPS):
        ruled_out = 0
        for p in range(V):
            if work.only[p] == SEVERAL:
                set_limits(data, i, p, work)
                ruled_out += drop_labels(p, work)
                undecided -= work.only[p] != SEVERAL
        if ruled_out == 0:
            break
    return undecided


def set_limits(data, i, p, work):
    """Write low_p to ``work.base`` and high_p to ``work.h``."""
    K = data.n_labels
    start = data.y_off[i]
    n_node_parts = (data.y_off[i + 1] - start) * K
    arc = 2 * data.edge_off[i]
    low, high = work.base, work.h
    for a in range(K):
        low[a] = work.theta[p * K + a]
        high[a] = low[a]
    for k in range(arc + data.arc_off[start + i + p], arc + data.arc_off[start + i + p + 1]):
        q = data.head[k]
        c = -work.theta[n_node_parts + data.arc_edge[k]]
        if work.only[q] == SEVERAL:
            possible = work.possible[q]
            for a in range(K):
                high[a] += c * possible[a]
        else:
            low[work.only[q]] += c
            high[work.only[q]] += c


def drop_labels(p, work):
    """Rule out the labels of a node that are worse than the label of the largest low_p; return how many."""
    low, high = work.base, work.h
    possible = work.possible[p]
    best = work.y[p]
    for a in range(possible.shape[0]):
        if possible[a] > 0.0 and low[a] > low[best]:
            best = a
    least = low[best] - LEAST_GAIN * (1.0 + abs(low[best]))
    others = 0
    dropped = 0
    for a in range(possible.shape[0]):
        if a != best and possible[a] > 0.0:
            if high[a] < least:
                possible[a] = 0.0
                dropped += 1
            else:
                others += 1
    if possible[work.y[p]] == 0.0:
        work.y[p] = best
    if others == 0:
        work.only[p] = best
    return dropped


# --- expansions --------------------------------------------------------------------------------------------------


@not_inlined
def expand(data, i, alpha, value, w, work):
    """Take the best expansion of label alpha if it increases the score ``value``; return the new score."""
    V = data.y_off[i + 1] - data.y_off[i]
    movable = list_movable(V, alpha, work)
    least = LEAST_GAIN * (1.0 + abs(value))
    if movable == 0 or best_gain(data, i, alpha, movable, work) <= least:
        return value
    for p in range(V):
        work.trial[p] = alpha if work.place[p] >= 0 and work.tree[work.place[p]] == SOURCE else work.y[p]
    gained = value_of(data, i, work.trial[:V], w, work)
    if gained <= value + least:
        return value
    for p in range(V):
        work.y[p] = work.trial[p]
    return gained


def list_movable(n_nodes, alpha, work):
    """List and number the nodes that may take alpha and do not have it; return how many."""
    count = 0
    for p in range(n_nodes):
        work.place[p] = -1
        if work.only[p] == SEVERAL and work.possible[p, alpha] > 0.0 and work.y[p] != alpha:
            work.place[p] = count
            work.movable[count] = p
            count += 1
    return count


def best_gain(data, i, alpha, movable, work):
    """Cut the graph of the movable nodes and return the gain; nodes on the side of ``SOURCE`` should take alpha."""
    gain = 0.0
    arcs = 0
    for j in range(movable):
        work.cut_off[j] = arcs
        arcs = set_node(data, i, alpha, j, arcs, work)
        gain += max(work.excess[j], 0.0)
    work.cut_off[movable] = arcs
    flow = Flow(
        work.cap, work.excess, work.tree, work.parent, work.dated, work.dist, work.next, work.orphans, work.queue
    )
    return gain - max_flow(work.cut_off[: movable + 1], work.cut_head[:arcs], work.cut_sister[:arcs], flow)


def set_node(data, i, alpha, j, arcs, work):
    """Write the excess of the j-th movable node and the capacities of its arcs to other movable nodes.

    These arcs begin at ``arcs``; returns where they end.
    """
    K = data.n_labels
    start = data.y_off[i]
    n_node_parts = (data.y_off[i + 1] - start) * K
    first = 2 * data.edge_off[i]
    p = work.movable[j]
    before = work.y[p]
    gain = work.theta[p * K + alpha] - work.theta[p * K + before]
    for k in range(data.arc_off[start + i + p], data.arc_off[start + i + p + 1]):
        q = data.head[first + k]
        c = -work.theta[n_node_parts + data.arc_edge[first + k]]
        if work.place[q] < 0:
            gain += c * (int(work.y[q] == alpha) - int(work.y[q] == before))
            continue
        half = 0.5 * c if work.y[q] != before else 0.0  # A/2
        gain += half
        work.cap[arcs] = c - half
        work.cut_head[arcs] = work.place[q]
        work.cut_arc[k] = arcs
        if work.place[q] < j:
            sister = work.cut_arc[data.sister[first + k]]
            work.cut_sister[arcs] = sister
            work.cut_sister[sister] = arcs
        arcs += 1
    work.excess[j] = gain
    return arcs


def upper_bound(data, i, w, work):
    """Return the value itself if the labeling is known to be optimal, else the bound of TRW-S.

    Without iterations of TRW-S for bounds in ``data.effort``, the bound is infinite.
    """
    if work.found[BOUND] == np.inf and data.effort[2] > 0:
        links = links_of(data, i)
        scores = scores_of(work)
        value = work.found[VALUE]
        set_tables(data, i, work)
        clear_messages(links, scores)
        work.found[VALUE] = value
        reweighted(links, scores, data.effort[2], BOUND_PATIENCE)
    return work.found[BOUND]
