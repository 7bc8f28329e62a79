"""Models whose joint features are known by a kernel ``k((x, y), (x', y'))`` alone.

Kernels between inputs, and the solver that needs no w, are in :mod:`bcfw.solvers.kernelized`.
"""
