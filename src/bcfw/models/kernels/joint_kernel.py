"""Routines of models with a joint kernel k((x, y), (x', y')): the routines of black-box models, with two replaced.

The user's oracle gets a score function instead of w, and the features of an output are the unit vector of its pair
(x, y) (:mod:`bcfw.models.pairs`).
"""

from __future__ import annotations

from bcfw.models.kernels.black_box import BLACK_BOX_KERNELS


def shown_weights(data, i, w):
    """Return the score function of the outputs of example i, which the user's oracle gets."""
    return data.vectors.pairs.score(i, w)


def output_features(data, i, y):
    """Return the unit vector of the pair of example i and output y."""
    return data.vectors.unit(i, y)


JOINT_KERNELS = BLACK_BOX_KERNELS.rebound(shown_weights=shown_weights, output_features=output_features)
