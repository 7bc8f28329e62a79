"""The compiler: it specialises a pass to a model's routines, compiles it with numba and caches it on disk.

Compiled algorithms are not here (:mod:`bcfw.algorithms`), nor the passes (:mod:`bcfw.passes`) and the routines of
models (:mod:`bcfw.models`).
"""

from bcfw.compile.specialise import RoutineSet, entry, not_inlined, variant

__all__ = ["RoutineSet", "entry", "not_inlined", "variant"]
