"""Kernels of models whose inputs are known by an input kernel alone: what a step changes.

Input p, one of N positions or examples, has the unit vector e_p as its features, and there are two vectors of weights
of the model's usual layout, ``[(N, K), others]``:

    beta    the coefficients, ``U = sum_p f(x_p) beta_p'`` where f are the features of the input kernel
    w       the scores of all inputs, ``w[p, k] = sum_s k(x_p, x_s) beta[s, k]``, so that ``e_p'w = f(x_p)'U``

The others (transitions, biases of ends) are the same in both. All kernels of the model read w and work as they are;
only :func:`apply_by_rows` knows that a step which changes the coefficients of one block changes the scores of all.
"""

from __future__ import annotations

from bcfw.passes.contract import sqnorm

#: Changed labels are updated by twos if they are two, or no more than one in so many of all labels; otherwise whole
#: rows of scores are, which vectorises.
FEW_SHARE = 4

#: Fields that are joined to a model's data: kernel rows (see :class:`bcfw.dual.kernel_rows.KernelRows`), coefficients,
#: scratch of a step (coefficients of the block before it, changed labels, changes), and the inputs whose scores matter.
ROW_FIELDS = ("rows", "slot", "used", "clock", "beta", "before", "changed", "change", "live", "n_live")


def apply_parts(data, i, s, work, w):
    """Model's kernel: its own ``apply``."""


def reserve_parts(data, i, mu, work):
    """Model's kernel: its own ``reserve``."""
    return True


def has_rows(data, i):
    """Whether the kernel values of all inputs of block i are in the cache."""
    missing = 0
    for p in range(data.y_off[i], data.y_off[i + 1]):
        if data.slot[p] < 0:
            missing += 1
    return missing == 0


def reserve_with_rows(data, i, mu, work):
    """Whether a step along d can be made; without rows only where it changes no scores, ``|B_i d| = 0``."""
    if not has_rows(data, i) and sqnorm(data, i, work) > 0.0:
        return False
    return reserve_parts(data, i, mu, work)


def apply_by_rows(data, i, s, work, w):
    """``beta += s B_i d``, and the scores of all inputs follow."""
    K = data.n_labels
    N = data.slot.shape[0]
    start, stop = data.y_off[i], data.y_off[i + 1]
    for j in range((stop - start) * K):
        data.before[j] = data.beta[start * K + j]
    apply_parts(data, i, s, work, data.beta)
    for j in range(N * K, w.shape[0]):
        w[j] = data.beta[j]
    if not has_rows(data, i):  # |B_i d| = 0
        return
    data.clock[0] += 1
    for p in range(start, stop):
        count = 0
        for k in range(K):
            data.change[k] = data.beta[p * K + k] - data.before[(p - start) * K + k]
            if data.change[k] != 0.0:
                data.changed[count] = k
                count += 1
        data.used[p] = data.clock[0]
        if count > 0:
            add_row(data, data.slot[p], count, w)


def add_row(data, slot, count, w):
    """``w[q, k] += change_k k(x_q, x_p)`` for all live inputs q and the changed labels."""
    if count > 2 and count * FEW_SHARE > data.n_labels:
        add_whole_row(data, slot, w)
        return
    for m in range(0, count, 2):
        add_to_pair(data, slot, data.changed[m], data.changed[min(m + 1, count - 1)], m + 1 < count, w)


def add_whole_row(data, slot, w):
    """The same for all labels, also those without a change."""
    K = data.n_labels
    row = data.rows[slot]
    for j in range(data.n_live[0]):
        q = data.live[j]
        value = row[q]
        scores = w[q * K : q * K + K]
        for k in range(K):
            scores[k] += data.change[k] * value


def add_to_pair(data, slot, k, l, both, w):
    """The same for one label or two."""
    K = data.n_labels
    row = data.rows[slot]
    first, second = w[k:], w[l:]
    a = data.change[k]
    b = data.change[l] if both else 0.0
    for j in range(data.n_live[0]):
        q = data.live[j]
        value = row[q]
        first[q * K] += a * value
        second[q * K] += b * value
