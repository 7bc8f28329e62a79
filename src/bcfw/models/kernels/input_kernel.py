"""Kernels of models whose inputs are known by an input kernel alone: what scores are, and what a step changes.

Input p, one of N positions or examples, has the unit vector e_p as its features, and there are two vectors of weights:

    beta    [(N, K), others]: coefficients, ``U = sum_p f(x_p) beta_p'`` where f are the features of the input kernel
    w       [(K, N), others]: scores of all inputs, ``w[k, p] = f(x_p)'U[:, k] = sum_s k(x_p, x_s) beta[s, k]``

The others (transitions, biases of ends) are the same in both. A step changes the scores of all inputs for a few labels:
these stand side by side in w, so that the update vectorises. The kernels of the model work as they are, but for those
that read features (:mod:`bcfw.models.kernels.feature_rows`), which here only look up scores, and ``apply``.
"""

from __future__ import annotations

from bcfw.passes.contract import sqnorm

#: Where at least one input in so many is live, the scores of all are updated: that vectorises.
LIVE_SHARE = 4

#: Fields that are joined to a model's data: kernel rows (see :class:`bcfw.dual.kernel_rows.KernelRows`), coefficients,
#: scratch of a step (coefficients of the block before it, changed labels, changes), and the inputs whose scores matter.
ROW_FIELDS = ("rows", "slot", "used", "clock", "beta", "before", "changed", "change", "live", "n_live")


def add_scores(data, token, w, out):
    """``out[k] += w[k, token]``, in the place of ``add_rows``."""
    N = data.slot.shape[0]
    for k in range(out.shape[0]):
        out[k] += w[k * N + token]


def score_of(data, row, k, w):
    """``w[k, row]``, in the place of ``column_product``."""
    return w[k * data.slot.shape[0] + row]


def score_pair_of(data, row, k, l, w):
    """``w[k, row]`` and ``w[l, row]``, in the place of ``column_pair_product``."""
    N = data.slot.shape[0]
    return w[k * N + row], w[l * N + row]


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
    """``w[k, q] += change_k k(x_q, x_p)`` for the changed labels and, at least, all live inputs q; labels by twos."""
    N = data.slot.shape[0]
    row = data.rows[slot]
    for m in range(0, count, 2):
        k, l = data.changed[m], data.changed[min(m + 1, count - 1)]
        first, second = w[k * N : k * N + N], w[l * N : l * N + N]
        a, b = data.change[k], data.change[l] if m + 1 < count else 0.0
        if LIVE_SHARE * data.n_live[0] >= N:
            for q in range(N):
                first[q] += a * row[q]
                second[q] += b * row[q]
        else:
            for j in range(data.n_live[0]):
                q = data.live[j]
                first[q] += a * row[q]
                second[q] += b * row[q]
