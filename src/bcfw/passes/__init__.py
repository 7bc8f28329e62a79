"""Everything that is compiled around a model's kernels: one template per pass, and the contract of the kernels.

A *template* is a plain Python function that calls kernels by the names in :mod:`bcfw.passes.contract`.
:class:`bcfw.kernels.KernelSet` copies it with one model's kernels bound to these names and compiles the copy, or leaves
it interpreted for models written in Python. A pass that may end early takes ``first``, the visit to begin with, and
returns the number of visits that are done.
"""
