"""Compiled building blocks: specialisation of templates to a model, and the disk cache behind it."""

from bcfw.kernels.specialise import KernelSet, entry

__all__ = ["KernelSet", "entry"]
