"""What users derive a model from, and the adapters through which solvers see it.

A model in plain Python has its adapter in :mod:`bcfw.models.python`, one with a joint kernel in
:mod:`bcfw.models.joint_kernel`.
"""
