"""Solvers to compare with, each beside its compiled pass: batch and adaptive steps, exponentiated gradient, planes.

The solver that the package recommends for its problems is one folder up (:mod:`bcfw.solvers`).
"""
