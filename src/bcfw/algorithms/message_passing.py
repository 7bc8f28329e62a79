"""Approximate best labelings of graphs, with upper bounds: sequential tree-reweighted message passing (TRW-S).

The score ``sum_p theta_p(y_p) + sum_l T_l(y_lo, y_hi)`` is maximised over labels 0 .. K - 1 of the nodes. The nodes
have an order; a *link* l joins a node lo with a later node hi. Messages ``up_l`` (to hi) and ``down_l`` (to lo) move
scores between nodes and links without changing the sum:

    h_p = theta_p + all messages to p,      R_l(a, b) = T_l(a, b) - down_l(a) - up_l(b).

The links are covered by chains whose nodes ascend in the order. Node p lies on
``n_p = max(links to earlier nodes, links to later nodes)`` chains, and each chain gets the share ``h_p / n_p``. A
forward sweep sets, for the links from p to later nodes,

    m(b) = max_a h_p(a) / n_p - down_l(a) + T_l(a, b),      delta_l = max_b m(b),      up_l = m - delta_l.

Afterwards the largest score of a chain's part before hi is delta_l, for every label of hi. The largest scores of all
chains add up to

    bound = sum_l delta_l + sum_p (1 - ahead_p / n_p) max_a h_p(a)  >=  the maximum,

where ahead_p is the number of links from p to nodes that the sweep has not reached. No sweep increases the bound (V.
Kolmogorov, Convergent tree-reweighted message passing for energy minimization, PAMI 2006). A backward sweep is the
mirror image. During a sweep each node takes the label that is best given the labels of the nodes before it in the sweep
and the messages from the nodes after it.

Exact algorithms for forests, on the records of this module, are in :mod:`bcfw.algorithms.forests`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.compile.specialise import not_inlined

#: If bound and value differ by at most this, relative to the value, the labeling counts as optimal.
TIGHT = 1e-9

#: An iteration is idle if it reduces the bound by less than this share of the difference between bound and value.
IDLE_SHARE = 0.01

#: Largest number of rounds of :func:`improve`, which also stops after a round that changes no label.
MOST_ROUNDS = 50

#: Entries of ``found``: the value of the best labeling, the smallest upper bound, the number of iterations done.
VALUE, BOUND, DONE = range(3)


class Links(NamedTuple):
    """The links of one graph with V nodes and L links.

    Attributes
    ----------
    order : (V,) the nodes, in their order
    lo, hi : (L,) the earlier and the later node of each link
    first : (V + 1,) where each node's links begin in ``arc``
    middle : (V,) where each node's links to later nodes begin in ``arc``
    arc : (2 L,) links, sorted by nodes; for each node, links to earlier nodes come before links to later nodes
    """

    order: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    first: np.ndarray
    middle: np.ndarray
    arc: np.ndarray


class Scores(NamedTuple):
    """Scores of nodes and links, messages, and labelings, for up to V nodes and L links.

    Attributes
    ----------
    theta : (V K,) scores of the nodes, one row of K after the other
    T, S : (L, K, K) scores of the links, ``S[l, b, a] = T[l, a, b]`` for label a at lo and b at hi
    up, down : (L, K) messages to hi and to lo
    belief : (V, K) for forests: score of each label plus the best scores of the nodes below
    spare_up, spare_down : (L, K) messages of max-product
    h, base : (K,) scratch
    y, trial, rounded : (V,) the best labeling found, the labeling of the latest sweep, and scratch
    found : (3,) see ``VALUE``
    """

    theta: np.ndarray
    T: np.ndarray
    S: np.ndarray
    up: np.ndarray
    down: np.ndarray
    belief: np.ndarray
    spare_up: np.ndarray
    spare_down: np.ndarray
    h: np.ndarray
    base: np.ndarray
    y: np.ndarray
    trial: np.ndarray
    rounded: np.ndarray
    found: np.ndarray


class Way(NamedTuple):
    """The arrays of a sweep in one direction.

    Attributes
    ----------
    behind, ahead : (L, K) messages along the sweep, and messages against it
    table : (L, K, K) scores of the links, with the labels of the node ``source`` as rows
    source : (L,) the node of each link that the sweep visits first
    """

    behind: np.ndarray
    ahead: np.ndarray
    table: np.ndarray
    source: np.ndarray


def value_of_labels(links, scores, y):
    """Return the score of the labeling y."""
    K = scores.h.shape[0]
    total = 0.0
    for p in range(links.order.shape[0]):
        total += scores.theta[p * K + y[p]]
    for link in range(links.lo.shape[0]):
        total += scores.T[link, y[links.lo[link]], y[links.hi[link]]]
    return total


def is_tight(found):
    """Return whether the bound proves that the best labeling found is optimal."""
    return found[BOUND] < np.inf and found[BOUND] - found[VALUE] <= TIGHT * (1.0 + abs(found[VALUE]))


def add_row(row, out):
    """Add ``row`` to ``out``."""
    for a in range(out.shape[0]):
        out[a] += row[a]


def largest(row):
    """Return the index of the largest number; among equals, the first."""
    best = 0
    for a in range(1, row.shape[0]):
        if row[a] > row[best]:
            best = a
    return best


def send(share, h, back, table, out):
    """Write ``out(b) = max_a share h(a) - back(a) + table(a, b)`` minus its maximum over b, and return the maximum."""
    K = out.shape[0]
    for b in range(K):
        out[b] = -np.inf
    for a in range(K):
        s = share * h[a] - back[a]
        row = table[a]
        for b in range(K):
            v = s + row[b]
            out[b] = v if v > out[b] else out[b]
    delta = out[0]
    for b in range(1, K):
        delta = out[b] if out[b] > delta else delta
    for b in range(K):
        out[b] -= delta
    return delta


@not_inlined
def sweep(links, scores, forward, divides):
    """Send messages along the order or against it, write a label of every node to ``trial``, and return the bound.

    With ``divides``, nodes send the share ``h_p / n_p``; without it they send all of ``h_p`` (max-product), and the
    bound is valid only on forests.
    """
    V = links.order.shape[0]
    K = scores.h.shape[0]
    h = scores.h
    base = scores.base
    way = Way(scores.up, scores.down, scores.T, links.lo)
    if not forward:
        way = Way(scores.down, scores.up, scores.S, links.hi)
    bound = 0.0
    for j in range(V):
        p = links.order[j if forward else V - 1 - j]
        b0, b1, a0, a1 = links.first[p], links.middle[p], links.middle[p], links.first[p + 1]
        if not forward:
            b0, b1, a0, a1 = a0, a1, b0, b1
        for a in range(K):
            h[a] = scores.theta[p * K + a]
        for k in range(a0, a1):
            add_row(way.ahead[links.arc[k]], h)
        for a in range(K):
            base[a] = h[a]
        for k in range(b0, b1):
            link = links.arc[k]
            add_row(way.behind[link], h)
            add_row(way.table[link, scores.trial[way.source[link]]], base)
        scores.trial[p] = largest(base)
        share = 1.0 / max(b1 - b0, a1 - a0, 1) if divides else 1.0
        bound += (1.0 - (a1 - a0) * share) * h[largest(h)]
        for k in range(a0, a1):
            link = links.arc[k]
            bound += send(share, h, way.ahead[link], way.table[link], way.behind[link])
    return bound


def clear_messages(links, scores):
    """Set all messages to zero, and forget the value, the bound and the number of iterations."""
    for link in range(links.lo.shape[0]):
        for a in range(scores.h.shape[0]):
            scores.up[link, a] = 0.0
            scores.down[link, a] = 0.0
    scores.found[VALUE] = -np.inf
    scores.found[BOUND] = np.inf
    scores.found[DONE] = 0.0


def keep_if_better(links, scores, y):
    """Make y the best labeling if its score is larger than the largest so far."""
    value = value_of_labels(links, scores, y)
    if value > scores.found[VALUE]:
        scores.found[VALUE] = value
        for p in range(links.order.shape[0]):
            scores.y[p] = y[p]


@not_inlined
def reweighted(links, scores, iterations, patience):
    """Run iterations of TRW-S, each a forward and a backward sweep, from the current messages.

    Stops when the bound is tight, when ``found[DONE]`` has reached ``iterations``, or after ``patience`` idle
    iterations in a row.
    """
    found = scores.found
    idle = 0
    while found[DONE] < iterations and idle < patience and not is_tight(found):
        before = found[BOUND]
        for forward in (True, False):
            found[BOUND] = min(found[BOUND], sweep(links, scores, forward, True))
            keep_if_better(links, scores, scores.trial)
        found[DONE] += 1.0
        left = found[BOUND] - found[VALUE]
        idle = idle + 1 if before - found[BOUND] < IDLE_SHARE * left else 0


@not_inlined
def improve(links, scores, y):
    """Change single labels of y as long as a change increases the score (iterated conditional modes)."""
    K = scores.h.shape[0]
    h = scores.h
    changes = 1
    rounds = 0
    while changes > 0 and rounds < MOST_ROUNDS:
        changes = 0
        rounds += 1
        for p in range(links.order.shape[0]):
            for a in range(K):
                h[a] = scores.theta[p * K + a]
            for k in range(links.first[p], links.middle[p]):
                link = links.arc[k]
                add_row(scores.T[link, y[links.lo[link]]], h)
            for k in range(links.middle[p], links.first[p + 1]):
                link = links.arc[k]
                add_row(scores.S[link, y[links.hi[link]]], h)
            best = largest(h)
            if h[best] > h[y[p]] + TIGHT * (1.0 + abs(h[best])):
                y[p] = best
                changes += 1


@not_inlined
def max_product(links, scores, iterations):
    """Look for a better labeling by max-product sweeps, whose labelings are improved label by label.

    These labelings are often better than the labelings of TRW-S if its bound is not tight. The function first improves
    the best labeling so far. The messages and the bound of TRW-S do not change.
    """
    for link in range(links.lo.shape[0]):
        for a in range(scores.h.shape[0]):
            scores.spare_up[link, a] = 0.0
            scores.spare_down[link, a] = 0.0
    spare = Scores(
        scores.theta,
        scores.T,
        scores.S,
        scores.spare_up,
        scores.spare_down,
        scores.belief,
        scores.up,
        scores.down,
        scores.h,
        scores.base,
        scores.y,
        scores.trial,
        scores.rounded,
        scores.found,
    )
    for p in range(links.order.shape[0]):
        scores.rounded[p] = scores.y[p]
    improve(links, scores, scores.rounded)
    keep_if_better(links, scores, scores.rounded)
    for t in range(2 * iterations):
        sweep(links, spare, t % 2 == 0, False)
        for p in range(links.order.shape[0]):
            scores.rounded[p] = scores.trial[p]
        improve(links, scores, scores.rounded)
        keep_if_better(links, scores, scores.rounded)


def make_scores(n_nodes: int, n_links: int, n_labels: int, theta: np.ndarray) -> Scores:
    """Return ``Scores`` for graphs of up to ``n_nodes`` nodes and ``n_links`` links; ``theta`` is not copied."""
    T, S = (np.zeros((n_links, n_labels, n_labels)) for _ in range(2))
    up, down, spare_up, spare_down = (np.zeros((n_links, n_labels)) for _ in range(4))
    belief, h, base = np.zeros((n_nodes, n_labels)), np.zeros(n_labels), np.zeros(n_labels)
    y, trial, rounded = (np.zeros(n_nodes, np.int64) for _ in range(3))
    return Scores(theta, T, S, up, down, belief, spare_up, spare_down, h, base, y, trial, rounded, np.zeros(3))
