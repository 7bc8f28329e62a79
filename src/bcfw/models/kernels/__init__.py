"""The kernels of the built-in models and of the forms of users' models: what :mod:`bcfw.passes` is compiled around."""
