"""The routines of the built-in models and of the adapters of users' models.

:mod:`bcfw.passes.contract` lists the routines that a model needs. The classes that users see are in :mod:`bcfw.models`.
"""
