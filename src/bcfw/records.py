"""The named tuples that enter compiled code. Fields are arrays or numbers, never Python objects."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class State(NamedTuple):
    """Primal-dual state of one structural SVM with n blocks.

    Attributes
    ----------
    w : (d,) weights, ``w = sum_i c_i/lam B_i (z(y_i) - mu_i)``
    mu : tuple of arrays, the averaged parts of all blocks, laid out by the model
    ell : (n,) ``ell_i = c_i sum_y alpha_i(y) L_i(y)``
    gap : (n,) block gap when block i was last visited by a step or a certificate
    weight : (n,) block weights ``c_i = s_i / sum_j s_j`` (1/n without sample weights)
    """

    w: np.ndarray
    mu: tuple[Any, ...]
    ell: np.ndarray
    gap: np.ndarray
    weight: np.ndarray


class Rule(NamedTuple):
    """What a step needs to know besides the state.

    Attributes
    ----------
    lam : regularisation strength
    decay_blocks : n for the predefined step 2n/(k + 2n), 0 for the exact line search
    average : (d,) running sum ``U`` of lazy weighted averaging, or empty when averaging is off
    """

    lam: float
    decay_blocks: int
    average: np.ndarray


#: Places in the ``tally`` array that a pass updates: steps ever taken (k), dual gain of this pass, steps since
#: averaging began (s), the averaging sum of ell, and why a pass ended before the end of its order.
STEPS, GAIN, AVERAGED_STEPS, AVERAGE_ELL, STOP = range(5)
TALLY_SIZE = 5

#: Values of ``tally[STOP]``: the oracle was not maximal, or the block's average needs more room.
NOT_MAXIMAL, NEEDS_ROOM = 1.0, 2.0
