"""The compiler around numba, which specialises templates to a model and caches machine code, and compiled algorithms.

The algorithms are Viterbi, maximum flow, message passing, inference on forests, distance transforms, trees of gaps,
vector arithmetic and hashing of texts. The functions that a model provides are in :mod:`bcfw.models.kernels`.
"""

from bcfw.kernels.specialise import KernelSet, entry, not_inlined, variant

__all__ = ["KernelSet", "entry", "not_inlined", "variant"]
