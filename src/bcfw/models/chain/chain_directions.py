"""Directions of linear chains in part space, and the averages that move along them.

The direction from the average to the oracle's output decides the speed of training. It is merged from the block's list
and the output, so that the entries of a position are neighbours, which :func:`add_outer` uses. All other directions are
built as sums: their entries come in any order, and ``work.slot`` gives the entry of a part.
"""

from __future__ import annotations

import numpy as np

from bcfw.models.chain.chain_routines import ChainAverage, score_part, transition_offset
from bcfw.models.shared.labelings import slot_offset
from bcfw.models.shared.pooled_lists import make_room

#: The two kinds of parts.
POSITION, TRANSITION = range(2)

#: The bits of the number of a part (see :func:`position_part`) that hold the label.
LABEL = 0xFFFFFFFF


def position_part(t, k):
    """Return the number of the part "label k at position t"."""
    return np.int64(t) << 32 | np.int64(k)


def first_entry(kind, work):
    """Return the offset of a kind of parts, both in the direction's entries and in ``work.slot``."""
    return kind * work.theta.shape[0] * work.theta.shape[1]


def write_entry(e, part, mass, d, work):
    """Write entry e of the direction."""
    work.part[e] = part
    work.mass[e] = mass
    work.d[e] = d


def fetch(data, i, mu, work):
    """Prefetch the block's list and Gram matrix: read one number of every cache line, which holds 8 numbers.

    The sum is written to the scratch only because the compiler would remove reads whose result is not used.
    """
    average = ChainAverage(*mu)
    total = 0.0
    for m in range(average.start[i], average.start[i] + average.size[i], 8):
        total += average.mass[m] + average.part[m]
    for m in range(data.gram_off[i], data.gram_off[i + 1], 8):
        total += data.gram[m]
    work.best[0, 0] = total


def direction_from_average(data, i, mu, work):
    """Make ``d = z(y) - mu_i`` the direction, by merging the block's list with the current labeling."""
    average = ChainAverage(*mu)
    T = data.y_off[i + 1] - data.y_off[i]
    start = average.start[i]
    middle = start + average.positions[i]
    merge_positions(average, start, middle, T, work)
    merge_transitions(average, middle, start + average.size[i], T, work)


def merge_positions(average, begin, end, T, work):
    """Merge the labels of positions: list and labeling are both sorted by position.

    A label of the labeling that has no mass comes after the labels of its position that have mass.
    """
    e = 0
    m = begin
    for t in range(T):
        current = position_part(t, work.y[t])
        behind = position_part(t + 1, 0)
        is_new = True
        while m < end and average.part[m] < behind:
            is_current = average.part[m] == current
            is_new = is_new and not is_current
            write_entry(e, average.part[m], average.mass[m], is_current - average.mass[m], work)
            e += 1
            m += 1
        if is_new:
            write_entry(e, current, 0.0, 1.0, work)
            e += 1
    work.size[POSITION] = e


def merge_transitions(average, begin, end, T, work):
    """Merge the transitions: first the transitions of the list, then transitions of the labeling without mass.

    The transitions of the labeling are counted in ``work.slot``, as ``-1 - count``.
    """
    K = work.theta.shape[1]
    first = first_entry(TRANSITION, work)
    for t in range(1, T):
        work.slot[first + work.y[t - 1] * K + work.y[t]] -= 1
    e = first
    for m in range(begin, end):
        place = first + average.part[m]
        write_entry(e, average.part[m], average.mass[m], (-1 - work.slot[place]) - average.mass[m], work)
        work.slot[place] = -1
        e += 1
    for t in range(1, T):
        part = work.y[t - 1] * K + work.y[t]
        count = -1 - work.slot[first + part]
        if count > 0:
            write_entry(e, part, 0.0, float(count), work)
            work.slot[first + part] = -1
            e += 1
    work.size[TRANSITION] = e - first


def start_direction(data, i, work):
    """Begin with ``d = 0``, a direction without entries."""
    work.size[POSITION] = 0
    work.size[TRANSITION] = 0


def add_average(data, i, s, mu, work):
    """Make ``d = s mu_i``: the parts of the average are distinct and come first, so that each gets a new entry."""
    average = ChainAverage(*mu)
    K = data.n_labels
    start = average.start[i]
    positions, transitions = average.positions[i], average.size[i] - average.positions[i]
    for e in range(positions):
        part, mass = average.part[start + e], average.mass[start + e]
        write_entry(e, part, mass, s * mass, work)
        work.slot[(part >> 32) * K + (part & LABEL)] = e
    first = first_entry(TRANSITION, work)
    for m in range(transitions):
        part, mass = average.part[start + positions + m], average.mass[start + positions + m]
        write_entry(first + m, part, mass, s * mass, work)
        work.slot[first + part] = first + m
    work.size[POSITION] = positions
    work.size[TRANSITION] = transitions


def add_parts(data, i, s, y, work):
    """Add ``s z(y)`` to the direction: the label of every position and every transition."""
    add_part(POSITION, 0, y[0], s, work)
    for t in range(1, y.shape[0]):
        add_part(POSITION, t, y[t], s, work)
        add_part(TRANSITION, y[t - 1], y[t], s, work)


def add_part(kind, row, label, s, work):
    """Add s to the direction at one part: ``label`` at position ``row``, or the transition ``row`` to ``label``."""
    first = first_entry(kind, work)
    place = row * work.theta.shape[1] + label
    e = work.slot[first + place]
    if e < 0:
        e = first + work.size[kind]
        work.size[kind] += 1
        work.slot[first + place] = e
        write_entry(e, position_part(row, label) if kind == POSITION else place, 0.0, 0.0, work)
    work.d[e] += s


def order_positions(work):
    """Sort the entries of positions by position (a stable insertion sort)."""
    for e in range(1, work.size[POSITION]):
        part, mass, d = work.part[e], work.mass[e], work.d[e]
        f = e
        while f > 0 and work.part[f - 1] >> 32 > part >> 32:
            write_entry(f, work.part[f - 1], work.mass[f - 1], work.d[f - 1], work)
            f -= 1
        write_entry(f, part, mass, d, work)


def end_direction(data, i, work):
    """Reset ``work.slot`` to -1 at the parts of the direction."""
    K = data.n_labels
    for e in range(work.size[POSITION]):
        work.slot[(work.part[e] >> 32) * K + (work.part[e] & LABEL)] = -1
    first = first_entry(TRANSITION, work)
    for e in range(first, first + work.size[TRANSITION]):
        work.slot[first + work.part[e]] = -1


def difference(data, i, slot, other, labelings, work):
    """Make ``d = z(y) - z(y')``, with entries only for positions and transitions in which the labelings differ."""
    T = data.y_off[i + 1] - data.y_off[i]
    begin = slot_offset(data, i, slot, labelings)
    y = labelings[begin : begin + T]
    begin = slot_offset(data, i, other, labelings)
    z = labelings[begin : begin + T]
    start_direction(data, i, work)
    for t in range(T):
        if y[t] != z[t]:
            add_part(POSITION, t, y[t], 1.0, work)
            add_part(POSITION, t, z[t], -1.0, work)
        if t > 0 and (y[t] != z[t] or y[t - 1] != z[t - 1]):
            add_part(TRANSITION, y[t - 1], y[t], 1.0, work)
            add_part(TRANSITION, z[t - 1], z[t], -1.0, work)
    end_direction(data, i, work)


def direction_scores(data, i, w, work):
    """Compute theta at the labels of positions in the direction."""
    for e in range(work.size[POSITION]):
        score_part(data, i, work.part[e] >> 32, work.part[e] & LABEL, w, work)


def slope(data, i, w, work):
    """Return ``theta'd``; the score of a transition is its weight."""
    trans = w[transition_offset(data) :]
    total = 0.0
    for e in range(work.size[POSITION]):
        total += work.d[e] * work.theta[work.part[e] >> 32, work.part[e] & LABEL]
    first = first_entry(TRANSITION, work)
    for e in range(first, first + work.size[TRANSITION]):
        total += work.d[e] * trans[work.part[e]]
    return total


def sqnorm(data, i, work):
    """Return ``|B_i d|^2``: the sum over U and the biases of the ends, plus the sum over the transitions."""
    if data.gram_off[i + 1] > data.gram_off[i]:
        total = positions_sqnorm_by_gram(data, i, work)
    else:
        total = positions_sqnorm_by_scratch(data, i, work)
    first = first_entry(TRANSITION, work)
    for e in range(first, first + work.size[TRANSITION]):
        total += work.d[e] * work.d[e]
    return total


def positions_sqnorm_by_gram(data, i, work):
    """Return ``sum_k sum_{t, s} d[t, k] d[s, k] gram[t, s]``; the entries of each label form a linked list."""
    gram = data.gram[data.gram_off[i] : data.gram_off[i + 1]]
    total = 0.0
    for e in range(work.size[POSITION]):
        t, k, d = work.part[e] >> 32, work.part[e] & LABEL, work.d[e]
        if d == 0.0:
            continue
        inner = 0.0
        f = work.head[k]
        while f >= 0:
            s = work.part[f] >> 32
            later = max(s, t)
            inner += gram[later * (later + 1) // 2 + min(s, t)] * work.d[f]
            f = work.next[f]
        total += d * (2.0 * inner + gram[t * (t + 1) // 2 + t] * d)
        work.next[e] = work.head[k]
        work.head[k] = e
    for e in range(work.size[POSITION]):
        work.head[work.part[e] & LABEL] = -1
    return max(total, 0.0)


def positions_sqnorm_by_scratch(data, i, work):
    """Return the squared norm of ``sum_t x_t d_t'`` plus the biases of the ends.

    The sum is accumulated in the scratch matrix ``work.features``, whose changed entries are set to zero again.
    """
    K = data.n_labels
    start = data.y_off[i]
    last = data.y_off[i + 1] - start - 1
    add_outer(data, start, 1.0, work, work.features)
    total = 0.0
    for e in range(work.size[POSITION]):
        t, k, d = work.part[e] >> 32, work.part[e] & LABEL, work.d[e]
        if d == 0.0:
            continue
        total += data.ends * ((t == 0) + (t == last)) * d * d
        indices = data.indices[data.index_at[start + t] :]
        for j in range(data.indptr[start + t + 1] - data.indptr[start + t]):
            value = work.features[indices[j] * K + k]
            total += value * value
            work.features[indices[j] * K + k] = 0.0
    return total


def reserve(data, i, mu, work):
    """Make room for all parts of the direction, which include all parts with mass; return False if the pool is full."""
    return make_room(ChainAverage(*mu), i, work.size[POSITION] + work.size[TRANSITION])


def advance(data, i, gamma, work, mu):
    """Move the average, ``mu_i += gamma d``: write a new list of the parts with mass, in the order of the entries."""
    average = ChainAverage(*mu)
    start = average.start[i]
    middle = write_list(gamma, POSITION, work, start, average)
    end = write_list(gamma, TRANSITION, work, middle, average)
    average.positions[i] = middle - start
    average.size[i] = end - start


def write_list(gamma, kind, work, begin, average):
    """Write the entries of one kind, moved by gamma, to the pool from ``begin`` on; return where they end."""
    first = first_entry(kind, work)
    end = begin
    for e in range(first, first + work.size[kind]):
        mass = work.mass[e] + gamma * work.d[e]
        if mass > 0.0:
            average.part[end] = work.part[e]
            average.mass[end] = mass
            end += 1
    return end


def apply(data, i, s, work, w):
    """Add ``s B_i d`` to w."""
    K = data.n_labels
    F = data.n_features
    start = data.y_off[i]
    add_outer(data, start, s, work, w)
    if data.ends == 1:
        last = data.y_off[i + 1] - start - 1
        for e in range(work.size[POSITION]):
            t, k = work.part[e] >> 32, work.part[e] & LABEL
            if t == 0:
                w[F * K + k] += s * work.d[e]
            if t == last:
                w[F * K + K + k] += s * work.d[e]
    trans = w[transition_offset(data) :]
    first = first_entry(TRANSITION, work)
    for e in range(first, first + work.size[TRANSITION]):
        trans[work.part[e]] += s * work.d[e]


def add_outer(data, start, s, work, out):
    """Add ``s sum_t x_t d_t'`` to the flat (F, K) matrix ``out``, two neighbouring entries of a position at once."""
    count = work.size[POSITION]
    e = 0
    while e < count:
        t, k = work.part[e] >> 32, work.part[e] & LABEL
        if e + 1 < count and work.part[e + 1] >> 32 == t:
            add_column_pair(data, start + t, s * work.d[e], k, s * work.d[e + 1], work.part[e + 1] & LABEL, out)
            e += 2
        else:
            if work.d[e] != 0.0:
                add_column(data, start + t, s * work.d[e], k, out)
            e += 1


def add_column(data, row, s, k, out):
    """Add ``s x_row`` to ``out[:, k]``."""
    K = np.uint64(data.n_labels)  # unsigned: numba then leaves out the code for negative indices
    column = out[k:]
    indices = data.indices[data.index_at[row] :]
    values = data.values[data.indptr[row] : data.indptr[row + 1]]
    for j in range(values.shape[0]):
        column[indices[j] * K] += s * values[j]


def add_column_pair(data, row, s, k, r, l, out):
    """Add ``s x_row`` to ``out[:, k]`` and ``r x_row`` to ``out[:, l]``."""
    K = np.uint64(data.n_labels)
    first, second = out[k:], out[l:]
    indices = data.indices[data.index_at[row] :]
    values = data.values[data.indptr[row] : data.indptr[row + 1]]
    for j in range(values.shape[0]):
        place = indices[j] * K
        first[place] += s * values[j]
        second[place] += r * values[j]


def touched(data, i, work, out):
    """List the weights of the moved transitions, of the moved labels' features, and of the biases of the ends."""
    K, F = data.n_labels, data.n_features
    start = data.y_off[i]
    T = data.y_off[i + 1] - start
    if work.size[TRANSITION] > out.shape[0]:
        return -1
    first = first_entry(TRANSITION, work)
    for e in range(work.size[TRANSITION]):
        out[e] = transition_offset(data) + work.part[first + e]
    listed = work.size[TRANSITION]
    for e in range(work.size[POSITION]):
        t, k = work.part[e] >> 32, work.part[e] & LABEL
        size = data.indptr[start + t + 1] - data.indptr[start + t]
        if listed + size + 2 > out.shape[0]:
            return -1
        indices = data.indices[data.index_at[start + t] :]
        for j in range(size):
            out[listed] = indices[j] * K + k
            listed += 1
        if data.ends == 1:
            if t == 0:
                out[listed] = F * K + k
                listed += 1
            if t == T - 1:
                out[listed] = F * K + K + k
                listed += 1
    return listed
