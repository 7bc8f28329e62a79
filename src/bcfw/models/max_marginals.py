"""Max-marginals: the score of the best output among those in which one place has one label."""

from __future__ import annotations

import numpy as np

from bcfw.models.label_tree import orient


def chain_max_marginals(unary: np.ndarray, transitions: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """(T, K) score of the best labeling through each position and label, by max-sum passes both ways.

    Parameters
    ----------
    unary : (T, K) position scores
    transitions : (K, K)
    first, last : (K,)
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
    """(n, L) best score with a label on less the best with it off, by max-sum passes up and down the forest.

    Parameters
    ----------
    unary : (n, L) scores of the labels that are on
    edges : (E, 2)
    edge_coef : (E, 2, 2)
    """
    forest = orient(edges, unary.shape[1])
    best = np.stack([np.zeros_like(unary), unary], axis=2)  # (n, L, 2): first of the subtree, at the end of all
    inner = [label for label in forest.order if forest.above[label] >= 0]
    pairs, messages = {}, {}
    for label in reversed(inner):
        pair = edge_coef[forest.link[label]]
        pairs[label] = pair if forest.stride[label] == 2 else pair.T  # [own state, state above]
        messages[label] = np.max(best[:, label, :, None] + pairs[label], axis=1)
        best[:, forest.above[label]] += messages[label]
    for label in inner:
        rest = best[:, forest.above[label]] - messages[label]
        best[:, label] += np.max(rest[:, None, :] + pairs[label], axis=2)
    return best[:, :, 1] - best[:, :, 0]
