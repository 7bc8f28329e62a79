"""Max-marginals of chains and forests: the best score of an output in which a given place has a given label."""

from __future__ import annotations

import numpy as np

from bcfw.models.shared.label_tree import orient


def chain_max_marginals(unary: np.ndarray, transitions: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return the (T, K) best score of a labeling with label k at position t, by forward and backward max-sum.

    Parameters
    ----------
    unary : (T, K) scores of the labels of each position
    transitions : (K, K) scores of the transitions
    first, last : (K,) additional scores of the first and of the last label
    """
    ahead = unary.copy()
    ahead[0] += first
    for t in range(1, len(unary)):
        ahead[t] += np.max(ahead[t - 1][:, None] + transitions, axis=0)
    behind = np.empty_like(unary)
    behind[-1] = last
    for t in range(len(unary) - 2, -1, -1):
        behind[t] = np.max(transitions + (unary[t + 1] + behind[t + 1]), axis=1)
    return ahead + behind


def forest_max_marginals(unary: np.ndarray, edges: np.ndarray, edge_coef: np.ndarray) -> np.ndarray:
    """Return the (n, L) best score with a label on minus the best score with the label off.

    Max-sum messages go up and down the forest.

    Parameters
    ----------
    unary : (n, L) scores of each label if it is on
    edges : (E, 2) pairs of labels that form a forest
    edge_coef : (E, 2, 2) scores of the joint states of each edge
    """
    forest = orient(edges, unary.shape[1])
    best = np.stack([np.zeros_like(unary), unary], axis=2)  # (n, L, 2): of subtrees, then of all
    inner = [label for label in forest.order if forest.above[label] >= 0]
    pairs, messages = {}, {}
    for label in reversed(inner):
        pair = edge_coef[forest.link[label]]
        pairs[label] = pair if forest.stride[label] == 2 else pair.T  # [own state, parent's state]
        messages[label] = np.max(best[:, label, :, None] + pairs[label], axis=1)
        best[:, forest.above[label]] += messages[label]
    for label in inner:
        rest = best[:, forest.above[label]] - messages[label]
        best[:, label] += np.max(rest[:, None, :] + pairs[label], axis=2)
    return best[:, :, 1] - best[:, :, 0]
