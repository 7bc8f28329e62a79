"""The kernel trick: kernels between inputs, problems without w, their rows of values, and the solver.

The class of a user's joint kernel is in :mod:`bcfw.models.joint_kernel`. Compiled routines of models are no kernels
here.
"""
