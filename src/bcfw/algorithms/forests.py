"""Exact inference on forests of labelled nodes: max-sum, max-marginals and sum-product.

A forest is given as :class:`bcfw.algorithms.message_passing.Links`, in an order in which each node has at most one link
to an earlier node. The earlier node ``lo`` is the node *above*; a node without a link to an earlier node is a *root*.
The score of labels y is

    s(y) = sum_p theta_p(y_p) + sum_l T_l(y_lo, y_hi).

From the leaves to the roots, every node gathers what lies below it,

    b_p(a) = theta_p(a) + sum_{links l from p to nodes q below} m_l(a),

with the messages

    max-sum         m_l(a) = max_c T_l(a, c) + b_q(c)                for the largest score,
    sum-product     m_l(a) = log sum_c exp(T_l(a, c) + b_q(c))       for the distribution P(y) = exp(s(y)) / Z.

Then labels, or probabilities, are computed from the roots to the leaves:

    labels          y_q = argmax_c T_l(y_p, c) + b_q(c),
    probabilities   P_l(a, c) = P_p(a) exp(T_l(a, c) + b_q(c) - m_l(a)),    P_q(c) = sum_a P_l(a, c).

Exponentials are taken of differences to a maximum, so that large scores do not overflow. Conditional probabilities are
multiplied, where other implementations divide messages, so that small probabilities are not lost to rounding.
"""

from __future__ import annotations

import numpy as np

from bcfw.algorithms.message_passing import add_row, largest
from bcfw.compile.specialise import not_inlined


def link_above(links, p):
    """Return the link of a node to the node above; -1 for a root."""
    return links.arc[links.first[p]] if links.middle[p] > links.first[p] else -1


def set_beliefs(theta, belief, n_nodes):
    """Set ``b_p = theta_p`` for all nodes."""
    K = belief.shape[1]
    for p in range(n_nodes):
        for a in range(K):
            belief[p, a] = theta[p * K + a]


def take_largest(shift, table, out):
    """Write ``out(b) = max_a shift(a) + table(a, b)``."""
    K = out.shape[0]
    for b in range(K):
        out[b] = -np.inf
    for a in range(K):
        s = shift[a]
        row = table[a]
        for b in range(K):
            v = s + row[b]
            out[b] = v if v > out[b] else out[b]


@not_inlined
def gather_largest(links, scores):
    """Run max-sum from the leaves to the roots; write b_p to ``belief`` and the messages m_l to ``down``."""
    V = links.order.shape[0]
    set_beliefs(scores.theta, scores.belief, V)
    for j in range(V - 1, -1, -1):
        p = links.order[j]
        link = link_above(links, p)
        if link >= 0:
            take_largest(scores.belief[p], scores.S[link], scores.down[link])
            add_row(scores.down[link], scores.belief[links.lo[link]])


@not_inlined
def solve_forest(links, scores):
    """Find a best labeling y; among equally good labels of a node, given the node above, take the first."""
    base = scores.base
    gather_largest(links, scores)
    for j in range(links.order.shape[0]):
        p = links.order[j]
        link = link_above(links, p)
        for a in range(base.shape[0]):
            base[a] = scores.belief[p, a]
        if link >= 0:
            add_row(scores.T[link, scores.y[links.lo[link]]], base)
        scores.y[p] = largest(base)


@not_inlined
def max_marginals(links, scores, out):
    """Write the max-marginals: ``out[p, a] = max s(y)`` over the labelings with ``y_p = a``, (V, K)."""
    base = scores.base
    gather_largest(links, scores)
    best = 0.0  # the largest score of the whole forest
    for p in range(links.order.shape[0]):
        if link_above(links, p) < 0:
            best += scores.belief[p, largest(scores.belief[p])]
    for j in range(links.order.shape[0]):
        p = links.order[j]
        link = link_above(links, p)
        if link >= 0:
            for a in range(base.shape[0]):
                base[a] = out[links.lo[link], a] - scores.down[link, a]
            take_largest(base, scores.T[link], out[p])
        else:
            rest = best - scores.belief[p, largest(scores.belief[p])]
            for a in range(base.shape[0]):
                out[p, a] = rest
        add_row(scores.belief[p], out[p])


def normalise(row):
    """Replace ``row`` by ``exp(row) / sum exp(row)``; return ``log sum exp(row)``. Entries of ``-inf`` become zeros."""
    K = row.shape[0]
    top = row[largest(row)]
    if top == -np.inf:
        for a in range(K):
            row[a] = 0.0
        return top
    total = 0.0
    for a in range(K):
        row[a] = np.exp(row[a] - top)
        total += row[a]
    for a in range(K):
        row[a] /= total
    return top + np.log(total)


@not_inlined
def sum_product(links, theta, T, node, pair):
    """Write the probabilities of labels and of pairs of labels; return ``log Z = log sum_y exp(s(y))``.

    Parameters
    ----------
    links : the forest
    theta : (V K,) scores of the nodes, one row of K after the other
    T : (L, K, K) scores of the links, with the labels of the node above as rows; ``-inf`` excludes pairs of labels
    node : (V, K) output, ``P(y_p = a)``
    pair : (L, K, K) output, ``P(y_lo = a, y_hi = c)``; an array other than T
    """
    V = links.order.shape[0]
    K = node.shape[1]
    set_beliefs(theta, node, V)
    for j in range(V - 1, -1, -1):
        p = links.order[j]
        link = link_above(links, p)
        if link >= 0:
            for a in range(K):
                row = pair[link, a]  # conditional probabilities for now
                for c in range(K):
                    row[c] = T[link, a, c] + node[p, c]
                node[links.lo[link], a] += normalise(row)
    total = 0.0
    for j in range(V):
        p = links.order[j]
        link = link_above(links, p)
        if link < 0:
            total += normalise(node[p])
        else:
            for c in range(K):
                node[p, c] = 0.0
            for a in range(K):
                row = pair[link, a]
                for c in range(K):
                    row[c] *= node[links.lo[link], a]
                add_row(row, node[p])
    return total
