"""Passes over the blocks: the inner loops of the solvers as templates, and the contract of a model's routines.

A *pass* visits a list of blocks, and a *template* is the plain Python function of a pass. It calls a model's routines
by the names in :mod:`bcfw.passes.contract`. :class:`bcfw.kernels.KernelSet` copies the template with the routines of
one model bound to these names, and compiles the copy; for models written in Python the copy stays interpreted. A pass
that may end early takes the argument ``first``, the number of the visit to begin with, and returns how many visits are
done. The loops that run passes are in :mod:`bcfw.solvers`.
"""
