"""Compiled building blocks: specialisation of templates to a model, and the disk cache behind it."""

from bcfw.kernels.specialise import KernelSet, called, entry, variant

__all__ = ["KernelSet", "called", "entry", "variant"]
