"""How numba compiles functions that only compiled code calls: optimised once, inside the function that is called.

numba turns every function into machine code of its own, and then optimises it once more as a part of each function that
calls it. Python only ever calls the outermost one, the pass. Here all other functions are left unoptimised until they
are a part of the pass: that takes 40 % off the time to compile it, and the optimiser sees the whole pass at once.
Recursive functions cannot be compiled in this way: numba may call them by the addresses of their machine code.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import Compiler

#: How numba names the variable that points to a function's environment: what its printing and raising need.
_ENVIRONMENT = "_ZN08NumbaEnv"


def _global_names(library: Any) -> list[str]:
    return [variable.name for variable in library._final_module.global_variables]


def needs_addresses(library: Any) -> bool:
    """Whether the code calls functions by their addresses in this process, as numba does where they are recursive."""
    return any(name.startswith(RuntimeLinker.PREFIX) for name in _global_names(library))


class _Inner(JITCodeLibrary):
    """The code of a function and of all that it calls, neither optimised nor turned into machine code."""

    def _optimize_final_module(self) -> None:
        """Do nothing: the pass that this function becomes a part of is optimised as a whole."""

    def _finalize_final_module(self) -> None:
        self._define_environments()
        self._finalized = True

    def _define_environments(self) -> None:
        """Make room for the pointers to the environments, which numba is about to set."""
        engine = self._codegen._engine
        module = self._codegen._create_empty_module(self.name)
        pointer = ir.IntType(8).as_pointer()
        for name in _global_names(self):
            if name.startswith(_ENVIRONMENT) and not engine.is_symbol_defined(name):
                variable = ir.GlobalVariable(module, pointer, name)
                variable.linkage, variable.initializer = "common", ir.Constant(pointer, None)
        self._codegen._add_module(binding.parse_assembly(str(module)))


class InnerCompiler(Compiler):
    """numba's compiler, for ``njit(pipeline_class=...)``."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *more: Any) -> None:
        if library is None:
            library = _Inner(targetctx.codegen(), __name__)
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *more)
