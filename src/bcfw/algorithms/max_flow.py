"""Maximum flow and minimum cut: the two search trees of Boykov and Kolmogorov (PAMI 2004).

A graph has V nodes and, for every edge {p, q}, two arcs p -> q and q -> p, which are *sisters*. Arcs are sorted by
their tail: the arcs ``arc_off[p] .. arc_off[p + 1]`` leave node p, arc a leads to the node ``head[a]``, and
``sister[a]`` is the reverse arc. Source and sink are not nodes: ``excess[p] > 0`` is the capacity of an arc from the
source to p, and ``excess[p] < 0`` is minus the capacity of an arc from p to the sink.

One tree grows from the source along arcs with residual capacity, the other grows backwards from the sink. Where the
trees meet, the path is augmented. Nodes that lose their path to the root (*orphans*) look for a new parent in their
tree or become free. A node's distance to its root counts as known if its time stamp is new enough, so that most
searches for the root are short.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.compile.specialise import not_inlined

#: Values of ``tree``: the node is in no tree, in the source's tree, or in the sink's tree.
FREE, SOURCE, SINK = 0, 1, 2

#: Values of ``parent`` that are not arcs: the node's parent is the source or the sink, or the node has lost its parent.
ROOT, ORPHAN = -1, -2

#: Value of ``next`` for a node that is not in the queue of active nodes; the last node in the queue points to itself.
IDLE = -1

#: Entries of ``queue``: both ends of the queue of active nodes; first place and number of the orphans; current time.
FIRST, LAST, OLDEST, ORPHANS, TIME = range(5)


class Flow(NamedTuple):
    """Capacities of one graph, which :func:`max_flow` turns into residual capacities, and scratch.

    Attributes
    ----------
    cap : (A,) capacities of the arcs, >= 0
    excess : (V,) capacities of the arcs from the source (> 0) and to the sink (< 0)
    tree : (V,) the search tree of each node; at the end ``SOURCE`` marks the source's side of a minimum cut
    parent : (V,) arc to the parent, or ``ROOT`` or ``ORPHAN``
    stamp, dist : (V,) time at which the distance to the root was last known, and this distance
    next : (V,) the node that follows in the queue of active nodes
    orphans : (V,) ring buffer of orphans
    queue : (5,) see ``FIRST``
    """

    cap: np.ndarray
    excess: np.ndarray
    tree: np.ndarray
    parent: np.ndarray
    stamp: np.ndarray
    dist: np.ndarray
    next: np.ndarray
    orphans: np.ndarray
    queue: np.ndarray


def make_flow(n_nodes: int, n_arcs: int) -> Flow:
    """Return a ``Flow`` for graphs of up to ``n_nodes`` nodes and ``n_arcs`` arcs."""
    cap, excess, tree = np.zeros(n_arcs), np.zeros(n_nodes), np.zeros(n_nodes, np.int8)
    parent, stamp, dist, following, orphans = (np.zeros(n_nodes, np.int32) for _ in range(5))
    return Flow(cap, excess, tree, parent, stamp, dist, following, orphans, np.zeros(5, np.int64))


@not_inlined
def max_flow(arc_off, head, sister, flow):
    """Find a maximum flow from source to sink and a minimum cut; return the value of the flow.

    Parameters
    ----------
    arc_off : (V + 1,) where the arcs of each node begin
    head, sister : (A,) the node that each arc leads to, and the reverse arc
    flow : Flow, which holds capacities on entry, residual capacities and the cut on return

    Notes
    -----
    The residual capacity of an arc that limits a path is set to exactly zero, so that each augmentation removes at
    least one arc from the residual graph in spite of rounding.
    """
    total = push_direct(arc_off, head, sister, flow)
    plant(arc_off.shape[0] - 1, flow)
    queue = flow.queue
    node = next_active(flow)
    while node >= 0:
        a = arc_off[node]
        stop = arc_off[node + 1]
        while flow.tree[node] != FREE:
            a = grow(node, a, stop, head, sister, flow)
            if a == stop:
                break
            queue[TIME] += 1
            total += augment(a if flow.tree[node] == SOURCE else sister[a], head, sister, flow)
            while queue[ORPHANS] > 0:
                adopt(pop_orphan(flow), arc_off, head, sister, flow)
        node = next_active(flow)
    return total


def push_direct(arc_off, head, sister, flow):
    """Augment all paths source -> p -> q -> sink, which need no search; return the total flow."""
    total = 0.0
    for p in range(arc_off.shape[0] - 1):
        a = arc_off[p]
        while flow.excess[p] > 0.0 and a < arc_off[p + 1]:
            q = head[a]
            if flow.excess[q] < 0.0 and flow.cap[a] > 0.0:
                amount = min(flow.cap[a], flow.excess[p], -flow.excess[q])
                flow.cap[a] -= amount
                flow.cap[sister[a]] += amount
                flow.excess[p] -= amount
                flow.excess[q] += amount
                total += amount
            a += 1
    return total


def plant(n_nodes, flow):
    """Make every node with an arc from the source or to the sink an active root, and all other nodes free."""
    queue = flow.queue
    queue[FIRST] = -1
    queue[LAST] = -1
    queue[OLDEST] = 0
    queue[ORPHANS] = 0
    queue[TIME] = 0
    for p in range(n_nodes):
        flow.next[p] = IDLE
        flow.stamp[p] = 0
        flow.dist[p] = 1
        flow.parent[p] = ROOT
        flow.tree[p] = FREE
        if flow.excess[p] != 0.0:
            flow.tree[p] = SOURCE if flow.excess[p] > 0.0 else SINK
            activate(p, flow)


def activate(p, flow):
    """Append a node to the queue of active nodes, unless it is in the queue."""
    if flow.next[p] != IDLE:
        return
    flow.next[p] = p
    if flow.queue[LAST] < 0:
        flow.queue[FIRST] = p
    else:
        flow.next[flow.queue[LAST]] = p
    flow.queue[LAST] = p


def next_active(flow):
    """Remove nodes from the queue up to the first that is still in a tree, and return it; -1 if there is none."""
    queue = flow.queue
    while queue[FIRST] >= 0:
        p = queue[FIRST]
        if flow.next[p] == p:
            queue[FIRST] = -1
            queue[LAST] = -1
        else:
            queue[FIRST] = flow.next[p]
        flow.next[p] = IDLE
        if flow.tree[p] != FREE:
            return p
    return -1


def grow(p, a, stop, head, sister, flow):
    """Add free neighbours of p to its tree, from arc a on; return the first arc to the other tree, or ``stop``.

    Arcs before a are not checked again: a node that becomes free makes its neighbours active again.
    """
    side = flow.tree[p]
    while a < stop:
        back = sister[a]
        if flow.cap[a if side == SOURCE else back] > 0.0:
            q = head[a]
            reached = flow.tree[q]
            if reached == FREE:
                flow.tree[q] = side
                activate(q, flow)
                hang(q, back, p, flow)
            elif reached != side:
                return a
            elif flow.stamp[q] <= flow.stamp[p] and flow.dist[q] > flow.dist[p] + 1:
                hang(q, back, p, flow)
        a += 1
    return stop


def hang(q, up, p, flow):
    """Make p, to which arc ``up`` leads, the parent of q."""
    flow.parent[q] = up
    flow.stamp[q] = flow.stamp[p]
    flow.dist[q] = flow.dist[p] + 1


def augment(bridge, head, sister, flow):
    """Augment the path through the arc ``bridge`` and return the amount; nodes behind saturated arcs become orphans."""
    start, stop = head[sister[bridge]], head[bridge]
    amount = flow.cap[bridge]
    p = start
    while flow.parent[p] != ROOT:
        amount = min(amount, flow.cap[sister[flow.parent[p]]])
        p = head[flow.parent[p]]
    amount = min(amount, flow.excess[p])
    p = stop
    while flow.parent[p] != ROOT:
        amount = min(amount, flow.cap[flow.parent[p]])
        p = head[flow.parent[p]]
    amount = min(amount, -flow.excess[p])
    shift(bridge, amount, sister, flow)
    p = start
    while flow.parent[p] != ROOT:
        up = flow.parent[p]
        if shift(sister[up], amount, sister, flow):
            orphan_first(p, flow)
        p = head[up]
    flow.excess[p] -= amount
    if flow.excess[p] <= 0.0:
        flow.excess[p] = 0.0
        orphan_first(p, flow)
    p = stop
    while flow.parent[p] != ROOT:
        up = flow.parent[p]
        if shift(up, amount, sister, flow):
            orphan_first(p, flow)
        p = head[up]
    flow.excess[p] += amount
    if flow.excess[p] >= 0.0:
        flow.excess[p] = 0.0
        orphan_first(p, flow)
    return amount


def shift(a, amount, sister, flow):
    """Push ``amount`` along one arc; return whether the arc is saturated now."""
    flow.cap[sister[a]] += amount
    left = flow.cap[a] - amount
    flow.cap[a] = max(left, 0.0)
    return left <= 0.0


def orphan_first(p, flow):
    """Make p an orphan, at the front of the ring.

    On a path the node nearest to the root is added last, so that it is adopted first.
    """
    queue = flow.queue
    flow.parent[p] = ORPHAN
    queue[OLDEST] = queue[OLDEST] - 1 if queue[OLDEST] > 0 else flow.orphans.shape[0] - 1
    flow.orphans[queue[OLDEST]] = p
    queue[ORPHANS] += 1


def orphan_last(p, flow):
    """Make p an orphan, at the end of the ring."""
    queue = flow.queue
    flow.parent[p] = ORPHAN
    place = queue[OLDEST] + queue[ORPHANS]
    if place >= flow.orphans.shape[0]:
        place -= flow.orphans.shape[0]
    flow.orphans[place] = p
    queue[ORPHANS] += 1


def pop_orphan(flow):
    queue = flow.queue
    p = flow.orphans[queue[OLDEST]]
    queue[OLDEST] = queue[OLDEST] + 1 if queue[OLDEST] + 1 < flow.orphans.shape[0] else 0
    queue[ORPHANS] -= 1
    return p


def adopt(p, arc_off, head, sister, flow):
    """Find a new parent for the orphan p: the neighbour in its tree that is nearest to the root.

    If the tree has no neighbour of p with a path to the root, p becomes free, and its children become orphans.
    """
    side = flow.tree[p]
    best = -1
    nearest = flow.tree.shape[0] + 1
    for a in range(arc_off[p], arc_off[p + 1]):
        q = head[a]
        if flow.tree[q] != side or flow.cap[sister[a] if side == SOURCE else a] <= 0.0:
            continue
        away = distance(q, head, flow)
        if away > 0:
            mark(q, away, head, flow)
            if away < nearest:
                nearest = away
                best = a
    if best >= 0:
        flow.parent[p] = best
        flow.stamp[p] = flow.queue[TIME]
        flow.dist[p] = nearest + 1
        return
    flow.tree[p] = FREE
    for a in range(arc_off[p], arc_off[p + 1]):
        q = head[a]
        if flow.tree[q] != side:
            continue
        if flow.cap[sister[a] if side == SOURCE else a] > 0.0:
            activate(q, flow)
        if flow.parent[q] >= 0 and head[flow.parent[q]] == p:
            orphan_last(q, flow)


def distance(p, head, flow):
    """Return the number of nodes from p to its root, both included; 0 if the path ends in an orphan."""
    away = 0
    while flow.stamp[p] != flow.queue[TIME]:
        up = flow.parent[p]
        if up == ORPHAN:
            return 0
        away += 1
        if up == ROOT:
            return away
        p = head[up]
    return away + flow.dist[p]


def mark(p, away, head, flow):
    """Write the distances of the nodes on the path from p to the root, with the current time."""
    while flow.stamp[p] != flow.queue[TIME]:
        flow.stamp[p] = flow.queue[TIME]
        flow.dist[p] = away
        away -= 1
        if flow.parent[p] == ROOT:
            return
        p = head[flow.parent[p]]
