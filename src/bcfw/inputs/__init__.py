"""Readers that check users' data (features, labels, graphs, weights, bounds) and convert them to arrays.

Errors name the example at fault. The readers of whole files are in :mod:`bcfw.formats` and :mod:`bcfw.text`.
"""
