"""Kernels of models with a joint kernel: those of black-box models, where features are numbers of pairs.

An oracle gets a score in the place of w, and an output's features are the unit vector of its pair
(:mod:`bcfw.models.pairs`).
"""

from __future__ import annotations

from bcfw.models.kernels.black_box import BLACK_BOX_KERNELS


def shown_weights(data, i, w):
    """The scores of the outputs of example i."""
    return data.vectors.pairs.score(i, w)


def output_features(data, i, y):
    """The pair of an output."""
    return data.vectors.unit(i, y)


JOINT_KERNELS = BLACK_BOX_KERNELS.rebound(shown_weights=shown_weights, output_features=output_features)
