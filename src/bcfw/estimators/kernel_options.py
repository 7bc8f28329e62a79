"""KernelSVM: base of the estimators that can use a kernel between inputs instead of explicit features."""

from __future__ import annotations

from typing import Any, ClassVar

from bcfw.errors import OptionError
from bcfw.estimators.base import LabelSVM
from bcfw.solvers import KernelBCFW, Solver

#: Attributes that only explicit features have.
EXPLICIT = ("coef_", "intercept_")


class KernelSVM(LabelSVM):
    """Base of the estimators with the options ``kernel``, ``gamma``, ``degree`` and ``coef0`` of scikit-learn's SVC.

    With ``kernel=None`` or "linear", features are explicit. With another kernel, :class:`bcfw.solvers.KernelBCFW`
    trains, the intercept is the weight of a constant feature in addition to the kernel's feature map, and the fitted
    estimator has support vectors instead of ``coef_``.
    """

    kernel: Any = None
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 0.0

    _fitted: ClassVar[tuple[str, ...]] = ("_kernel_solver",)

    def _read_options(self) -> None:
        super()._read_options()
        self._kernel_solver = self._find_kernel_solver(0.0 if self._constant is None else self._constant)
        if self._kernel_solver is None:
            return
        self._constant = None  # x has no constant feature; the solver's bias adds one to the kernel's feature map
        if self.warm_start:
            raise OptionError(f"{self._name}: warm_start=True does not go with a kernel; leave one of them out")
        if self._kernel_solver.kernel == "precomputed" and getattr(self, "probability", False):
            raise OptionError(
                f"{self._name}: probability=True does not go with kernel='precomputed', whose values belong to all "
                "examples and not to folds of them; give a function as kernel"
            )

    def _find_kernel_solver(self, bias: float) -> KernelBCFW | None:
        """Return the solver that works with kernel values; None if features are explicit."""
        if not (self.kernel is None or isinstance(self.kernel, str) or callable(self.kernel)):
            raise OptionError(
                f"{self._name}: kernel must be a name, a function of two matrices or None, got a "
                f"{type(self.kernel).__name__}; for values of a kernel give kernel='precomputed' and the values as X"
            )
        named = self.kernel if isinstance(self.kernel, str) else None
        explicit = self.kernel is None or named == "linear"
        if named == "joint" or (isinstance(self.solver, KernelBCFW) and self.solver.kernel == "joint"):
            raise OptionError(
                f"{self._name}: kernel='joint' is for a model of your own (bcfw.JointKernelModel) in StructuralSVM; "
                "choose a kernel between inputs"
            )
        if isinstance(self.solver, KernelBCFW):
            if self.kernel is not None:
                raise OptionError(f"{self._name}: kernel is given twice; leave it out, or give solver='auto'")
            return with_options(self.solver, bias=self.solver.bias or bias)
        if explicit and not (isinstance(self.solver, str) and self.solver == "kernel-bcfw"):
            return None
        if not isinstance(self.solver, str) or self.solver not in ("auto", "kernel-bcfw"):
            raise OptionError(
                f"{self._name}: solver {self.solver!r} needs explicit features and does not go with "
                f"kernel={self.kernel!r}; leave solver='auto', or give KernelBCFW(kernel=...) and no kernel"
            )
        options = {"kernel": "rbf" if self.kernel is None else self.kernel, "bias": bias}
        if named in ("rbf", "poly"):
            options["gamma"] = self.gamma
        if named == "poly":
            options |= {"degree": self.degree, "coef0": self.coef0}
        return KernelBCFW(**options)

    @property
    def _solver(self) -> Solver | str:
        return self.solver if self._kernel_solver is None else self._kernel_solver

    def _set_support(self) -> None:
        """Set ``support_`` (M,) and ``dual_coef_`` (K, M), and remove explicit weights."""
        weights, solver = self.result_.kernel_weights, self._kernel_solver
        assert weights is not None
        assert solver is not None
        if solver.kernel in ("rbf", "poly"):  # keep gamma, so that the folds of probability=True use this kernel
            self._kernel_solver = with_options(solver, gamma=weights.kernel.gamma)
        for name in EXPLICIT:
            self.__dict__.pop(name, None)
        self.support_, self.dual_coef_ = weights.support, weights.coefficients.T

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError; Python calls this only for missing attributes."""
        if name in EXPLICIT and vars(self).get("_kernel_solver") is not None:
            raise AttributeError(
                f"{type(self).__name__}: {name} is only available with explicit features (kernel=None or 'linear'); "
                "support_ and dual_coef_ are what a kernel has instead"
            )
        return object.__getattribute__(self, name)  # raises the first AttributeError again, with its reasons


def with_options(solver: KernelBCFW, **changes: Any) -> KernelBCFW:
    """Return a copy of the solver with some options changed."""
    return KernelBCFW(**{**{name: getattr(solver, name) for name in KernelBCFW._options}, **changes})
