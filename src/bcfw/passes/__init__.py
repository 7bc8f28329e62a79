"""The compiled passes that several solvers share, as templates, and the contract of the routines that they call.

A *template* is a plain Python function that calls a model's routines by the names in :mod:`bcfw.passes.contract`.
:class:`bcfw.compile.RoutineSet` copies it with one model's routines bound to these names and compiles the copy, or
leaves it interpreted for models written in Python. A pass that may end early takes ``first``, the visit to begin with,
and returns the number of visits that are done.

The pass of a baseline is beside its solver (:mod:`bcfw.solvers.baselines`), the routines of a structure are beside its
model (:mod:`bcfw.models`).
"""
