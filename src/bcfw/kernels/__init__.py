"""Compiled building blocks: specialisation of templates to a model, and the disk cache behind it."""

from bcfw.kernels.specialise import KernelSet, entry, not_inlined, variant

__all__ = ["KernelSet", "entry", "not_inlined", "variant"]
