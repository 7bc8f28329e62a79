"""Converters of original research data: what ``bcfw convert`` writes for the loaders of :mod:`bcfw.datasets`.

Data sets whose converter is a few lines have it beside their loader.
"""
