"""Readers: they turn rows, labels, graphs, weights and bounds that users give into checked arrays.

Their errors name the example. Files are not read here (:mod:`bcfw.text`, :mod:`bcfw.datasets`); what a structure makes
of the arrays is in its model.
"""
