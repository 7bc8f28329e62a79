"""Models that are written in plain Python: their adapter, their interpreted routines and their feature vectors.

The class that users derive from is :class:`bcfw.Model` in :mod:`bcfw.models.base`.
"""
