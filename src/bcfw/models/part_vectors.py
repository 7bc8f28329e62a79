"""part_scratch: the scratch arrays of models with a dense vector of parts per block.

:mod:`bcfw.models.kernels.part_vectors` has the routines that use the arrays.
"""

from __future__ import annotations

import numpy as np


def part_scratch(n_parts: int, by_part: bool) -> dict[str, np.ndarray]:
    """Return fields of a model's scratch record for blocks with at most ``n_parts`` parts.

    Parameters
    ----------
    n_parts : int
    by_part : bool
        Whether the model uses ``SCORES_BY_PART``, which computes only the scores that are needed.

    Returns
    -------
    dict
        The arrays ``theta``, ``d``, ``moved``, ``n_moved``; with ``by_part`` also ``stamp`` and ``tick``.
    """
    scratch = {
        "theta": np.zeros(n_parts),
        "d": np.zeros(n_parts),
        "moved": np.zeros(n_parts, np.int64),
        "n_moved": np.zeros(1, np.int64),
    }
    rounds = {"stamp": np.zeros(n_parts, np.int64), "tick": np.zeros(1, np.int64)}
    return scratch | rounds if by_part else scratch
