"""Linear chains for sequence labelling: the model, its routines, directions and marginals.

Viterbi's algorithm is in :mod:`bcfw.algorithms`; texts, and schemes of spans such as BIO, are in :mod:`bcfw.text` and
:mod:`bcfw.inputs.spans`.
"""

from bcfw.models.chain.chain import Chain

__all__ = ["Chain"]
