"""Compiled algorithms that know no model: Viterbi, maximum flow, message passing, forests, trees of gaps.

Dynamic programming that is tied to one structure is with its model in :mod:`bcfw.models`.
"""
