"""Scratch of models whose parts are one dense vector per block (see :mod:`bcfw.models.kernels.part_vectors`)."""

from __future__ import annotations

import numpy as np


def part_scratch(n_parts: int, by_part: bool) -> dict[str, np.ndarray]:
    """Fields of a model's scratch, for blocks with at most ``n_parts`` parts.

    Parameters
    ----------
    n_parts : int
    by_part : bool
        Whether scores are computed where they are needed: the model joins ``SCORES_BY_PART``.

    Returns
    -------
    dict
        Arrays ``theta``, ``d``, ``moved``, ``n_moved``, and ``stamp`` and ``tick`` with ``by_part``.
    """
    scratch = {
        "theta": np.zeros(n_parts),
        "d": np.zeros(n_parts),
        "moved": np.zeros(n_parts, np.int64),
        "n_moved": np.zeros(1, np.int64),
    }
    rounds = {"stamp": np.zeros(n_parts, np.int64), "tick": np.zeros(1, np.int64)}
    return scratch | rounds if by_part else scratch
